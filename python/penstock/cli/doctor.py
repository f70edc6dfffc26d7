"""`penstock doctor`: what this machine can do, and why not."""

import json
import re
from collections.abc import Iterator
from importlib import metadata
from itertools import groupby
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock import _native
from penstock.answer.value import Answer
from penstock.cli.answering import give
from penstock.cli.options import Json
from penstock.cli.verb import verb
from penstock.errors import CANNOT_HERE
from penstock.results.answers import Check, Diagnosis
from penstock.text import prose

app = verb()

Path = Annotated[
    str,
    typer.Argument(metavar="[PATH]", help="Where live runs would be: a folder, a file, a disk."),
]

Clean = Annotated[
    bool,
    typer.Option("--clean", help="Remove what runs that were killed have left behind."),
]

STYLES = {"ok": "green", "limited": "yellow", "no": "red"}
"""How each state is drawn on a terminal."""

REQUIREMENT = re.compile(r"([\w.-]+).*;\s*extra\s*==\s*['\"]([\w.-]+)['\"]")
"""A package that an extra needs, as the metadata of a package has it."""


@app.command("doctor")
def doctor(path: Path = ".", *, clean: Clean = False, as_json: Json = False) -> None:
    """Say what this machine can do, and why not.

    Everything is tried and nothing stays behind. What cannot be seen, as in a container, is
    reported and is no error. What killed runs have left behind is reported too; --clean removes it.
    """
    diagnosis: Diagnosis = json.loads(_native.doctor(path, clean=clean))
    diagnosis["checks"] += extras()
    give(
        Answer(
            data=lambda: json.dumps(diagnosis, indent=2, ensure_ascii=False),
            show=lambda console: _draw(diagnosis, console),
            exit_code=0 if diagnosis["able"] else CANNOT_HERE,
        ),
        as_json=as_json,
    )


def extras() -> Iterator[Check]:
    """Each optional part of the package, as its own metadata names them."""
    try:
        requirements = metadata.requires("penstock") or []
    except metadata.PackageNotFoundError:
        return
    needs = [found.groups() for one in requirements if (found := REQUIREMENT.match(one))]
    for extra, packages in groupby(sorted(needs, key=lambda need: need[1]), lambda need: need[1]):
        lacking = [name for name, _ in packages if not _installed(name)]
        yield {
            "group": "extras",
            "name": extra,
            "state": "no" if lacking else "ok",
            "found": f"not installed: {', '.join(lacking)}" if lacking else "installed",
            "advice": f"install it with `pip install {' '.join(lacking)}`" if lacking else None,
            "facts": {"lacking": lacking},
        }


def _installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _draw(diagnosis: Diagnosis, console: Console) -> None:
    prose.line(console, Text.assemble(("MEASURED", "bold"), "  what this machine can do"))
    prose.line(console, Text(f"  path {diagnosis['path']}, penstock {diagnosis['penstock']}"))
    names = max(len(check["name"]) for check in diagnosis["checks"])
    for group, checks in groupby(diagnosis["checks"], lambda check: check["group"]):
        console.print()
        console.print(Text(group, style="bold"))
        table = Table.grid(padding=(0, 2))
        table.add_column(width=max(map(len, STYLES)), no_wrap=True)
        table.add_column(width=names, no_wrap=True)
        table.add_column(overflow="fold")
        for check in checks:
            state = Text(check["state"], style=STYLES[check["state"]])
            table.add_row(state, Text(check["name"]), Text(check["found"]))
            if check["advice"]:
                table.add_row("", "", Text(f"→ {check['advice']}", style="dim"))
        console.print(table)
