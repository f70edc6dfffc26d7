"""`penstock list`: what there is to choose from."""

import json

import typer
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from penstock import _native
from penstock.cli import output
from penstock.cli.options import Json
from penstock.schema import Device, Param, Policy

app = typer.Typer(help="Show what there is to choose from.", no_args_is_help=True)

INDENT = 2


@app.command(short_help="Show every policy with its parameters.")
def policies(*, as_json: Json = False) -> None:
    """Show every policy with its parameters: default, kind, meaning and source."""
    text = _native.policies()
    if as_json:
        output.data(f"{text}\n")
        return
    entries: list[Policy] = json.loads(text)

    def draw(console: Console) -> None:
        for number, entry in enumerate(entries):
            if number:
                console.print()
            _title(console, entry["name"], entry["summary"])
            if entry["params"]:
                console.print(Padding(_params(entry["params"]), (0, 0, 0, INDENT), expand=False))

    output.drawn(draw)


@app.command()
def devices(*, as_json: Json = False) -> None:
    """Show every named device."""
    text = _native.devices()
    if as_json:
        output.data(f"{text}\n")
        return
    entries: list[Device] = json.loads(text)

    def draw(console: Console) -> None:
        for entry in entries:
            _title(console, entry["name"], entry["summary"])

    output.drawn(draw)


def _title(console: Console, name: str, summary: str) -> None:
    console.print(Text.assemble((name, "bold"), f": {summary}"), soft_wrap=True)


def _params(params: list[Param]) -> Table:
    """A row for each parameter; long sentences go on below."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for heading in ("parameter", "default", "kind"):
        table.add_column(heading, no_wrap=True)
    table.add_column("meaning", overflow="fold", ratio=3)
    table.add_column("source", overflow="fold", ratio=2)
    for param in params:
        default = param["default"]
        shown = str(default).lower() if isinstance(default, bool) else str(default)
        texts = (param["name"], shown, param["kind"], param["doc"], param["source"])
        table.add_row(*(Text(text) for text in texts))
    return table
