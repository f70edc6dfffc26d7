"""`penstock job`: what a job is before it runs."""

import json

from rich.console import Console
from rich.text import Text

from penstock import _native
from penstock.cli import output
from penstock.cli.console import drawn
from penstock.cli.options import JobFile, Json, ModelOn, Sets
from penstock.cli.verb import group
from penstock.text import job as job_text
from penstock.text import prose
from penstock.text.table import Grid, show_grid

app = group()
app.callback()(lambda: None)  # Without it a group of one verb would be that verb.


@app.command("show", short_help="Say how much a job asks for, and for how long.")
def show(job: JobFile, *, on: ModelOn = None, sets: Sets = None, as_json: Json = False) -> None:
    """Say what a job amounts to before it runs.

    By class: its agents, the requests that they have in flight at most, how many requests and
    bytes they ask for, and how long that takes, as far as it does not depend on the device.
    """
    text = _native.job_amounts(job, sets=sets or [], on=on)
    if as_json:
        output.data(f"{text}\n")
        return
    found: job_text.Amounts = json.loads(text)
    drawn(lambda console: _show(found, console))


def _show(found: job_text.Amounts, console: Console) -> None:
    for line in job_text.lines(found):
        prose.line(console, Text(line))
    console.print()
    show_grid(console, Grid.of(job_text.HEADINGS, job_text.rows(found)))
