"""Factors of a sweep with their levels, as `size-priority.split=16KiB..1MiB,off`."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import count

from penstock import _native
from penstock.errors import wrong
from penstock.experiment import plan
from penstock.experiment.plan import Cell
from penstock.session import Variant

POLICY = "policy"
"""The factor whose levels are policies."""

ALL = "all"
"""Names every policy."""

DOUBLINGS = 6
"""A range that ends with a word, as `16KiB..off`, doubles so often before it."""

_BINARY = ("KiB", "MiB", "GiB", "TiB")

_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)\s*(\D*)")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A policy, and how the job is changed for it."""

    policy: str
    changes: Mapping[str, str]
    """Paths in the job or parameters of policies, with their values, as `--set` has them."""

    @property
    def label(self) -> str:
        """Name of the setting in results."""
        prefix = f"{self.policy}."
        changes = [f"{key.removeprefix(prefix)}={value}" for key, value in self.changes.items()]
        return " ".join([self.policy, *changes])

    def of(self, job: Variant) -> Variant:
        """`job` in this setting."""
        sets = [*job.sets, *(f"{key}={value}" for key, value in self.changes.items())]
        return Variant(name=job.name, text=job.text, sets=sets, policies=[self.policy])


@cache
def known_policies() -> tuple[str, ...]:
    """Every policy there is."""
    return tuple(policy["name"] for policy in json.loads(_native.policies()))


def settings(vary: Mapping[str, Sequence[str]]) -> list[Setting]:
    """Every combination of levels, each once: a parameter varies under its own policy only.

    Without a factor `policy` these are the policies whose parameters vary.
    """
    owners = {key: _owner(key) for key in vary if key != POLICY}
    named = [known_policies() if name == ALL else [name] for name in vary.get(POLICY, ())]
    policies = list(
        dict.fromkeys(value for some in named for value in some)
        or dict.fromkeys(filter(None, owners.values()))
    )
    if not policies:
        hint = "add --vary policy=noop,size-priority"
        raise wrong("nothing says which policies the settings are tried under", hint)
    for key, owner in owners.items():
        if owner is not None and owner not in policies:
            hint = f"add it: --vary policy={','.join([*policies, owner])}"
            raise wrong(f"`{key}` varies, and {owner} is none of the policies", hint)

    def is_cell(cell: Cell) -> bool:
        owned_by_others = [
            key for key, owner in owners.items() if owner not in (None, cell[POLICY])
        ]
        return all(cell[key] == vary[key][0] for key in owned_by_others)

    factors = {POLICY: policies, **{key: vary[key] for key in owners}}
    return [
        Setting(
            policy=cell[POLICY],
            changes={
                key: cell[key] for key, owner in owners.items() if owner in (None, cell[POLICY])
            },
        )
        for cell in plan.every(factors, is_cell)
    ]


def _owner(key: str) -> str | None:
    """The policy whose parameter it is, if it is one."""
    first, _, rest = key.partition(".")
    return first if rest and first in known_policies() else None


def factors(words: Sequence[str]) -> dict[str, list[str]]:
    """Factors with their levels, from words as `KEY=LEVELS`."""
    by_key: dict[str, list[str]] = {}
    for word in words:
        key, equals, levels = word.partition("=")
        key = POLICY if key.strip() in (POLICY, "policies") else key.strip()
        if not equals or not key or not levels.strip():
            hint = "as in --vary size-priority.split=16KiB..1MiB,off"
            raise wrong(f"found `{word}`; expected KEY=LEVELS", hint)
        if key in by_key:
            raise wrong(f"`{key}` varies twice", "name all its levels at once")
        parts = [part.strip() for part in _split(levels)]
        by_key[key] = list(dict.fromkeys(level for part in parts for level in _levels(part)))
    return by_key


def _split(levels: str) -> list[str]:
    """At commas, but not within brackets: a level may be a table."""
    parts, depth = [""], 0
    for letter in levels:
        depth += (letter in "{[") - (letter in "}]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _levels(part: str) -> list[str]:
    """A level, or the doublings of a range `A..B`, which always has its ends."""
    if not part:
        raise wrong("found an empty level", "write levels as A,B,C or A..B")
    first, dots, last = part.partition("..")
    if not dots or part.startswith(("{", "[")):
        return [part]
    start = _QUANTITY.fullmatch(first.strip())
    if start is None or float(start[1]) <= 0:
        hint = "a range begins with a quantity and doubles, as 16KiB..1MiB or 16KiB..off"
        raise wrong(f"found the range `{part}`", hint)
    number, unit = float(start[1]), start[2].strip()
    doublings = (_written(number * 2**n, unit) for n in count())
    last = last.strip()
    if not last[:1].isdigit():
        return [*(next(doublings) for _ in range(DOUBLINGS + 1)), *([last] if last else [])]
    end = _measure(last)
    if end is None or (begin := _measure(first.strip())) is None or begin[0] != end[0]:
        raise wrong(f"found the range `{part}`", "both ends have units of one kind, as 16KiB..1MiB")
    if begin[1] >= end[1]:
        raise wrong(f"found the range `{part}`", "the greater end comes last")
    levels: list[str] = []
    for level in doublings:
        at = _measure(level)
        assert at is not None
        if at[1] >= end[1]:
            return [*levels, last]
        levels.append(level)
    raise AssertionError


def _written(number: float, unit: str) -> str:
    """Returns the number in the greatest unit that keeps it whole."""
    while unit in _BINARY[:-1] and number % 1024 == 0:
        number, unit = number / 1024, _BINARY[_BINARY.index(unit) + 1]
    return f"{int(number) if number.is_integer() else number}{unit}"


def _measure(text: str) -> tuple[str, float] | None:
    """Returns the kind of the quantity and its value."""
    for ending in ("/s", "%", ""):
        bare = text.removesuffix(ending)
        if (not ending or bare != text) and re.fullmatch(r"\d+(\.\d+)?", bare):
            return ending, float(bare)
    for kind, read in (("size", _native.size), ("time", _native.duration)):
        try:
            return kind, float(read(text))
        except _native.Failure:
            continue
    return None
