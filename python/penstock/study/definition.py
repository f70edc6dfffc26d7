"""Definition of a study, read from its file: job, factors with their levels, response."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from typing import TypeAlias

from penstock import _native
from penstock.errors import translated

Shown: TypeAlias = "str | int | float | bool"
"""A level as the table of a study has it."""


@dataclass(frozen=True, kw_only=True)
class Level:
    """Level of a factor."""

    shown: Shown
    """Its name; without one a number, a text, true or false as it is, anything else as its TOML."""
    sets: Sequence[str]
    """The arguments of `--set` that make it."""


@dataclass(frozen=True, kw_only=True)
class Factor:
    """Factor of a study: the keys of the job that it sets, and its levels."""

    name: str
    paths: Sequence[str]
    levels: Sequence[Level]

    def column(self) -> list[Shown]:
        """Its levels as a column holds them: all of one type."""
        kinds = {type(level.shown) for level in self.levels}
        if len(kinds) == 1:
            return [level.shown for level in self.levels]
        if kinds == {int, float}:
            return [float(level.shown) for level in self.levels]
        return [
            level.shown if isinstance(level.shown, str) else json.dumps(level.shown)
            for level in self.levels
        ]


@dataclass(frozen=True, kw_only=True)
class Definition:
    """A study, as its file says it."""

    name: str
    """The path of its file."""
    job: str
    """The path of the job."""
    policy: str
    on: Sequence[str]
    """Targets, as `--on` has them; empty: the job's own device."""
    set: Sequence[str]
    seed: int
    repeat: int
    responses: Sequence[str]
    design: str
    """`full`, `fraction` or `2k`."""
    runs: int | None
    """Cells of a fraction."""
    reference: int | None
    """After so many live runs the reference cell runs again."""
    factors: Sequence[Factor]
    excluded: Sequence[Mapping[str, Sequence[int]]]
    """Levels by factor that do not go with each other."""

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "Definition":
        """The study of a file; what is wrong with it is raised."""
        with translated():
            facts = json.loads(_native.study(path))
        factors = [
            Factor(
                name=factor["name"],
                paths=factor["paths"],
                levels=[Level(**level) for level in factor["levels"]],
            )
            for factor in facts.pop("factors")
        ]
        excluded = [
            {pairs["factor"]: pairs["levels"] for pairs in group} for group in facts.pop("except")
        ]
        return cls(name=fspath(path), factors=factors, excluded=excluded, **facts)

    def job_text(self) -> str:
        """The job as it is written."""
        hint = "`job` of a study is a path that begins in the folder of the study file"
        with translated():
            return _native.text_file(self.job, f"job of the study {self.name},", hint)
