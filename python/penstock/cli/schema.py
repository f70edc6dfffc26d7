"""`penstock schema`: what editors and other programs check job files and device files with."""

from typing import Annotated

import typer

from penstock import _native
from penstock.cli import output
from penstock.cli.verb import verb

app = verb()

Kind = Annotated[str, typer.Argument(metavar="[job|device]", help="Files of which kind.")]


@app.command("schema")
def schema(kind: Kind = "job") -> None:
    """Print the JSON Schema (draft 2020-12) of job files or of device files.

    Editors that know TOML take it from the first line of a file: `#:schema ./job.schema.json`.
    """
    output.data(f"{_native.schema(kind)}\n")
