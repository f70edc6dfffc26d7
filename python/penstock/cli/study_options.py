"""What the verbs of a study are asked with."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer

from penstock import _native
from penstock.cli.lane_devices import JOB, divided, of_files
from penstock.errors import PenstockError, translated, wrong
from penstock.study.definition import Definition
from penstock.target import Target

FILE = "file"
"""Begins the key of a change that says where a file of the job is."""

StudyFile = Annotated[
    str,
    typer.Argument(metavar="STUDY.toml", help="The study file (TOML).", show_default=False),
]

Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        metavar="N",
        min=1,
        max=1024,
        help="Run modelled cells on N processors. If not given, on all.",
    ),
]

Folder = Annotated[
    str, typer.Argument(metavar="DIR", help="The folder of the study.", show_default=False)
]


def budget_s(text: str) -> float:
    """Returns the seconds of `--budget`."""
    try:
        with translated():
            length = _native.duration(text.strip()) / 1e9
    except PenstockError:
        length = 0.0
    if length <= 0:
        raise wrong(f"--budget: found {text!r}; expected a time above 0, with its unit", "as 10min")
    return length


def placed(study: Definition, target: Target, sets: Sequence[str]) -> tuple[Target, list[str]]:
    """Where the study runs: where --on says, or else as its file does."""
    names_files = any(change.startswith(f"{FILE}.") for change in sets)
    if target.on is not None or names_files or not study.on:
        return target, list(sets)
    on, files = divided(study.on, JOB)
    return replace(target, on=on), [*of_files(files), *sets]
