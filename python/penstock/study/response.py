"""Response of a study: a figure of a result, by its name in the JSON.

`bw_bytes` is a figure of a class, `lat_ns.p99` one of its distributions, `writers.iops` that of one
class among several, `device_busy` one of the whole run. Rates and counts of several classes add up.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints, is_typeddict

from penstock.errors import wrong
from penstock.results import json_types

SUMS = ("bw_bytes", "iops", "requests", "bytes")
"""Figures that add up over classes."""

PERCENTILES = ("p50", "p95", "p99", "p99.9")
"""Percentiles that distributions have."""

_PERCENTILE = re.compile(r"p(\d+(?:\.\d+)?)$")


def check(response: str, classes: Sequence[str]) -> None:
    """Raise a `PenstockError` unless results of jobs with these classes may have it."""
    of_class = list(_figures(json_types.Class))
    owner, _, rest = response.partition(".")
    name = rest if owner in classes else response
    if name in of_class:
        if owner not in classes and len(classes) > 1 and name not in SUMS:
            raise wrong(
                f"the response `{response}` is of one class, and the job has {', '.join(classes)}",
                f"name the class, as `{classes[0]}.{response}`",
            )
        return
    of_run = [name for name in _figures(json_types.Run) if name not in of_class]
    if response in of_run:
        return
    known = [*of_class, *of_run]
    if len(classes) > 1:
        known += [f"{class_}.{figure}" for class_ in classes for figure in of_class]
    near = get_close_matches(response, known, 1)
    hint = f"did you mean `{near[0]}`?" if near else "as bw_bytes, iops, lat_ns.p99, device_busy"
    raise wrong(f"no result has the response `{response}`", hint)


def value(response: str, run: json_types.Run) -> float | None:
    """The figure of a run; none if this result has it not."""
    classes = run["classes"]
    for class_ in classes:
        if response.startswith(f"{class_['name']}."):
            return _number(class_, response.removeprefix(f"{class_['name']}."))
    of_classes = [_number(class_, response) for class_ in classes]
    numbers = [value for value in of_classes if value is not None]
    if not numbers or len(numbers) < len(classes):
        return _number(run, response)
    return numbers[0] if len(numbers) == 1 else sum(numbers)


def _number(table: Mapping[str, Any], path: str) -> float | None:
    """The number at `path`, if there is one."""
    at: Any = table
    if percentile := _PERCENTILE.search(path):
        path = f"{path[: percentile.start()]}percentile"
    for step in path.split("."):
        if not isinstance(at, Mapping) or step not in at:
            return None
        at = at[step]
    if percentile is not None and isinstance(at, Mapping):
        at = at.get(f"{float(percentile[1]):.6f}")
    return float(at) if isinstance(at, int | float) and not isinstance(at, bool) else None


def _figures(table: type) -> Iterator[str]:
    """The names of all numbers in a table of results."""
    for name, kind in get_type_hints(table).items():
        kinds = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
        for type_ in kinds:
            if type_ in (int, float):
                yield name
            elif name == "percentile":
                yield from PERCENTILES
            elif is_typeddict(type_) and name != "detail":
                yield from (f"{name}.{below}" for below in _figures(type_))
