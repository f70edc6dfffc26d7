"""Settings of a policy that are worth a try: its defaults, and each parameter set otherwise."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from penstock import _native
from penstock.sweeps.vary import Setting

SIZES = ("16KiB", "64KiB", "256KiB", "1MiB")
"""Sizes tried for a parameter that is a size and by default a word."""

FACTORS = (0.125, 0.5, 2, 8)
"""Multiples of its default that are tried for a parameter that is a number."""

_WORD = re.compile(r"[a-z]+")
_NO_WORDS = {"size", "time", "count", "table", "device", "or", "more", "to", "above", "zero"}
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)(\D*)")


def every(policies: Sequence[str]) -> Iterator[Setting]:
    """Each policy with its defaults, and with one parameter set otherwise."""
    for policy in policies:
        yield Setting(policy=policy, changes={})
        for param in _params(policy):
            for level in _levels(param):
                yield Setting(policy=policy, changes={f"{policy}.{param['name']}": level})


def around(setting: Setting) -> Iterator[Setting]:
    """The settings next to one: its numbers halved and doubled, one parameter set otherwise."""
    policy = setting.policy
    for key, value in setting.changes.items():
        rest = {name: level for name, level in setting.changes.items() if name != key}
        yield Setting(policy=policy, changes=rest)
        for factor in (0.5, 2):
            if (level := _times(value, factor)) is not None:
                yield Setting(policy=policy, changes={**setting.changes, key: level})
    for near in every([policy]):
        for key, level in near.changes.items():
            yield Setting(policy=policy, changes=_set(setting.changes, key, level))


def _set(changes: Mapping[str, str], key: str, level: str) -> Mapping[str, str]:
    """Returns the changes with one more; a table and the word in its place are never both set."""
    kept = {
        name: value
        for name, value in changes.items()
        if not name.startswith(f"{key}.") and not key.startswith(f"{name}.")
    }
    return {**kept, key: level}


@cache
def _policies() -> Mapping[str, Sequence[Mapping[str, Any]]]:
    return {policy["name"]: policy["params"] for policy in json.loads(_native.policies())}


def _params(policy: str) -> Sequence[Mapping[str, Any]]:
    return _policies().get(policy, ())


def _levels(param: Mapping[str, Any]) -> Iterator[str]:
    """Other values than the default; none of a parameter that each class has a value of."""
    default = param["default"]
    default = str(default).lower() if isinstance(default, bool) else str(default)
    kinds = param["kind"]
    if kinds.endswith("| list"):
        return
    for word in _WORD.findall(kinds):
        if word not in _NO_WORDS and word != default:
            yield word
    if _NUMBER.fullmatch(default):
        for factor in FACTORS:
            if (level := _times(default, factor)) is not None:
                yield level
    elif "size" in kinds:
        yield from SIZES


def _times(value: str, factor: float) -> str | None:
    """A number in its unit, so many times as great; nothing where it is no number, or none left."""
    match = _NUMBER.fullmatch(value)
    if match is None:
        return None
    number, unit = float(match[1]) * factor, match[2]
    if unit in _FINER and number < 1:
        smaller, many = _FINER[unit]
        number, unit = number * many, smaller
    whole = round(number)
    return f"{whole}{unit}" if whole >= 1 and f"{whole}{unit}" != value else None


_FINER = {"s": ("ms", 1000), "ms": ("us", 1000), "MiB": ("KiB", 1024), "KiB": ("B", 1024)}
