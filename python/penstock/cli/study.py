"""`penstock study`: from factors and levels to advice that can be checked."""

from penstock.cli.study_analyse import analyse
from penstock.cli.verb import group

app = group()
app.command("analyse", short_help="Say what to set, what that brings, and how sure it is.")(analyse)


@app.callback()
def study() -> None:
    """Run factorial studies, and say what to set."""
