"""`penstock show`: one of what there is to choose from, whole."""

from typing import Annotated

import typer

from penstock import _native
from penstock.cli import output
from penstock.cli.verb import group

app = group()
app.callback()(lambda: None)  # Without it a group of one verb would be that verb.


@app.command(short_help="Print a device as a device file.")
def device(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE.toml",
            help="A device or machine (`penstock list devices`), or its file.",
            show_default=False,
        ),
    ],
) -> None:
    """Print a device or a machine as a file, with every default in place.

    Saved and changed, it goes where devices go: `--on mine.toml`.
    """
    output.data(_native.device(name))
