"""`penstock paper`: figures that a paper published, made again."""

import typer

from penstock.cli.paper_live import online_batch_live

app = typer.Typer(
    help="Make the figures of a paper again and hold its claims to them.", no_args_is_help=True
)


@app.callback()
def paper() -> None:
    """Make the figures of a paper again and hold its claims to them."""


app.command(
    "online-batch-live", short_help="The programs of online-batch on a disk, in real time."
)(online_batch_live)
