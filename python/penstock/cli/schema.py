"""`penstock schema`: what programs check files and results with."""

from typing import Annotated

import typer

from penstock import _native
from penstock.cli import output
from penstock.cli.verb import verb

app = verb()

Kind = Annotated[
    str,
    typer.Argument(
        metavar="[job|device|machine|study|result|merge|file-test]", help="Schema of which kind."
    ),
]


@app.command("schema")
def schema(kind: Kind = "job") -> None:
    """Print the JSON Schema (draft 2020-12) of job, device, machine or study files, or of results.

    Editors that know TOML take it from the first line of a file: `#:schema ./job.schema.json`.
    A result is what `run` and `compare` print with `--json`; `merge` is what `merge` prints,
    and `file-test` each test that `iozone` prints.
    """
    output.data(f"{_native.schema(kind)}\n")
