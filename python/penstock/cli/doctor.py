"""`penstock doctor`: what this machine can do, and why not."""

import json
import re
from collections.abc import Iterator
from importlib import metadata
from itertools import groupby
from typing import Annotated

import typer

from penstock import _native
from penstock.answer.table import Table
from penstock.answer.value import Answer, Blocks, headline
from penstock.cli.answering import give
from penstock.cli.options import Json
from penstock.cli.verb import verb
from penstock.errors import CANNOT_HERE
from penstock.guard import leftovers
from penstock.results.answers import Diagnosis, DoctorCheck

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
    _add_leftovers(diagnosis, list(leftovers.checks(clean=clean)))
    diagnosis["checks"] += extras()
    give(
        Answer(
            data=lambda: json.dumps(diagnosis, indent=2, ensure_ascii=False),
            blocks=_blocks(diagnosis),
            exit_code=0 if diagnosis["able"] else CANNOT_HERE,
        ),
        as_json=as_json,
    )


def _add_leftovers(diagnosis: Diagnosis, guards: list[DoctorCheck]) -> None:
    """Add what guards have left behind; then no check says that nothing was."""
    if guards:
        checks = diagnosis["checks"]
        diagnosis["checks"] = [check for check in checks if check["name"] != "leftovers"] + guards


def extras() -> Iterator[DoctorCheck]:
    """Each optional part of the package, as its own metadata names them."""
    try:
        requirements = metadata.requires("penstock") or []
    except metadata.PackageNotFoundError:
        return
    needs = [
        match.groups() for requirement in requirements if (match := REQUIREMENT.match(requirement))
    ]
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


def _blocks(diagnosis: Diagnosis) -> Blocks:
    about = f"  path {diagnosis['path']}, penstock {diagnosis['penstock']}"
    yield [headline("measured", "what this machine can do"), about]
    names = max(len(check["name"]) for check in diagnosis["checks"])
    widths = [max(map(len, STYLES)), names, 0]
    for group, checks in groupby(diagnosis["checks"], lambda check: check["group"]):
        rows = []
        for check in checks:
            rows.append([check["state"], check["name"], check["found"]])
            if check["advice"]:
                rows.append(["", "", f"→ {check['advice']}"])
        table = Table([], rows, words=2, sentences=1, title=group, widths=widths, styles=STYLES)
        yield [table]
