"""`penstock list`: what there is to choose from."""

import json

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from penstock import _native
from penstock.cli import output
from penstock.cli.console import drawn
from penstock.cli.options import Json
from penstock.cli.verb import group
from penstock.results.answers import Device, Param, Policy
from penstock.text import prose

app = group()

INDENT = 2

MORE_POLICIES = (
    (
        "alone:CLASS",
        "no policy: that class with the device to itself, which is the best that it can get",
    ),
    (
        "kernel:NAME",
        "no policy: each class by itself, as programs of their own, under that scheduler of the "
        "kernel (none, mq-deadline, bfq, kyber, as the disk has them); on a real file, as root",
    ),
)
"""What may stand in a policy's place."""

MORE_DEVICES = (
    (
        "emulated:DEVICE[@SPEED][:PATH]",
        "a device as above that answers in real time, SPEED times as fast, over a file that keeps "
        "the data or none",
    ),
    ("null", "does nothing, in real time: what is measured is the generator itself"),
)
"""What may stand in a device's place."""


@app.command(short_help="Show every policy with its parameters.")
def policies(*, as_json: Json = False) -> None:
    """Show every policy with its parameters: default, kind, meaning and source."""
    text = _native.policies()
    if as_json:
        output.data(f"{text}\n")
        return
    entries: list[Policy] = json.loads(text)

    def draw(console: Console) -> None:
        # What takes a policy's place is printed last: it has no parameters.
        for number, entry in enumerate(entries):
            if number:
                console.print()
            _title(console, entry["name"], entry["summary"])
            if entry["params"]:
                console.print(Padding(_params(entry["params"]), (0, 0, 0, INDENT), expand=False))
        for name, summary in MORE_POLICIES:
            console.print()
            _title(console, name, summary)

    drawn(draw)


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
        for name, summary in MORE_DEVICES:
            _title(console, name, summary)

    drawn(draw)


def _title(console: Console, name: str, summary: str) -> None:
    prose.line(console, Text.assemble((name, "bold"), f": {summary}"))


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
