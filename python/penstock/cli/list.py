"""`penstock list`: what there is to choose from."""

import json
import re
import textwrap
from typing import Annotated

import typer

from penstock import _native
from penstock.answer.table import Table
from penstock.answer.value import Answer, Blocks, Line
from penstock.cli.answering import give
from penstock.cli.options import Json
from penstock.cli.verb import group
from penstock.results.answers import Device, ListedPolicy, Param

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
    (
        "served:NAME",
        "each class by itself on a block device over the target, whose requests that policy gets: "
        "what unmodified programs would get; on a real file, as root",
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
    entries: list[ListedPolicy] = json.loads(text)

    blocks = [[_title(entry["name"], entry["summary"]) for entry in entries]]
    blocks[0] += [_title(policy, summary) for policy, summary in MORE_POLICIES]
    give(Answer(data=lambda: text, blocks=blocks), as_json=as_json)


def _one(name: str, *, as_json: bool) -> None:
    """Show the policy called `name`."""
    text = _native.policy_named(name)
    entry: ListedPolicy = json.loads(text)

    give(Answer(data=lambda: text, blocks=_blocks(entry)), as_json=as_json)


def _blocks(entry: ListedPolicy) -> Blocks:
    linux = [Line(f"{' ' * INDENT}Linux {entry['linux']}", style="dim")] if entry["linux"] else []
    yield [_title(entry["name"], entry["summary"]), *linux]
    for paragraph in entry["text"].split("\n\n"):
        yield [line for item in ITEM.split(paragraph) for line in _filled(item)]
    if entry["params"]:
        yield [_params(entry["params"])]


@app.command()
def devices(*, as_json: Json = False) -> None:
    """Show every named device, and the named machines, on which files lie."""
    text = _native.devices()
    entries: list[Device] = json.loads(text)

    blocks = [[_title(entry["name"], entry["summary"]) for entry in entries]]
    blocks[0] += [_title(name, summary) for name, summary in MORE_DEVICES]
    give(Answer(data=lambda: text, blocks=blocks), as_json=as_json)


def _filled(text: str) -> list[str]:
    from penstock.cli.console import columns

    return textwrap.wrap(" ".join(text.split()), columns(), break_on_hyphens=False)


def _title(name: str, summary: str) -> Line:
    return Line((name, "bold"), f": {summary}")


def _params(params: list[Param]) -> Table:
    """A row for each parameter; long sentences go on below."""
    rows = []
    for param in params:
        default = param["default"]
        shown = str(default).lower() if isinstance(default, bool) else str(default)
        rows.append([param["name"], shown, param["kind"], param["doc"], param["source"]])
    headings = ["parameter", "default", "kind", "meaning", "source"]
    return Table(headings, rows, words=3, sentences=2)
