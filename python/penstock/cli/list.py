"""`penstock list`: what there is to choose from."""

import json
import re
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock import _native
from penstock.answer.value import Answer
from penstock.cli.answering import give
from penstock.cli.options import Json
from penstock.cli.verb import group
from penstock.results.answers import Device, Param, Policy
from penstock.text import prose

app = group()

INDENT = 2

ITEM = re.compile(r"\n(?=- )")
"""Where an item of a list begins within a paragraph of a policy's text."""

MORE_POLICIES = (
    (
        "alone:CLASS",
        "no policy: that class with the device to itself, which is the best that it can get",
    ),
    (
        "kernel:NAME",
        "no policy: each class by itself under that scheduler of the kernel (none, mq-deadline, "
        "bfq, kyber, as the disk has them); on a real file, as root",
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


@app.command(short_help="Show every policy, or one with its parameters.")
def policies(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A policy, to see its rule, its use and its parameters; without one, all of them.",
            show_default=False,
        ),
    ] = None,
    *,
    as_json: Json = False,
) -> None:
    """Show every policy: its name and what it is for.

    With the name of a policy: its rule, its use, its promise and its parameters.
    """
    if name is not None:
        _one(name, as_json=as_json)
        return
    text = _native.policies()
    entries: list[Policy] = json.loads(text)

    def draw(console: Console) -> None:
        for entry in entries:
            _title(console, entry["name"], entry["summary"])
        for other, summary in MORE_POLICIES:
            _title(console, other, summary)

    give(Answer(data=lambda: text, show=draw), as_json=as_json)


def _one(name: str, *, as_json: bool) -> None:
    """Show the policy called `name`."""
    text = _native.policy_named(name)
    entry: Policy = json.loads(text)

    def draw(console: Console) -> None:
        _title(console, entry["name"], entry["summary"])
        if entry["linux"]:
            console.print(Text(f"{' ' * INDENT}Linux {entry['linux']}", style="dim"))
        for paragraph in entry["text"].split("\n\n"):
            console.print()
            for item in ITEM.split(paragraph):
                console.print(Text(" ".join(item.split())))
        if entry["params"]:
            console.print()
            console.print(_params(entry["params"]))

    give(Answer(data=lambda: text, show=draw), as_json=as_json)


@app.command()
def devices(*, as_json: Json = False) -> None:
    """Show every named device, and the named machines, on which files lie."""
    text = _native.devices()
    entries: list[Device] = json.loads(text)

    def draw(console: Console) -> None:
        for entry in entries:
            _title(console, entry["name"], entry["summary"])
        for name, summary in MORE_DEVICES:
            _title(console, name, summary)

    give(Answer(data=lambda: text, show=draw), as_json=as_json)


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
