"""`penstock study`: from factors and levels to advice that can be checked."""

from penstock.cli.study_analyse import analyse
from penstock.cli.study_compare import compare
from penstock.cli.study_confirm import confirm
from penstock.cli.study_plan import plan
from penstock.cli.study_run import run
from penstock.cli.study_watch import watch
from penstock.cli.verb import group

app = group()
app.command("plan", short_help="Say how many runs a study has, and how long they take.")(plan)
app.command("run", short_help="Run every cell of a study, and record each run.")(run)
app.command("watch", short_help="Say how far a study is.")(watch)
app.command("analyse", short_help="Say what to set, what that brings, and how sure it is.")(analyse)
app.command("compare", short_help="Say in what two studies differ by more than noise.")(compare)
app.command("confirm", short_help="Run what a study recommends anew, and say what it gains.")(
    confirm
)


@app.callback()
def study() -> None:
    """Run factorial studies, and say what to set."""
