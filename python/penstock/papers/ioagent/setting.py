"""The paper's design, and what `--set` changes of it and of the machine."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from penstock.errors import wrong
from penstock.job import plain
from penstock.papers.settings import Settings, listed, seeds

NAME = "ioagent"
"""The paper's name."""

T = TypeVar("T")

PATTERNS = ("sequential-read", "sequential-write", "random-read", "random-write")

FACTORS: Mapping[str, Sequence[Any]] = {
    "O": ("buffered", "direct"),
    "D": (1, 2, 4),
    "A": (1, 2, 4, 8, 16, 32),
    "B": (1, 2, 4, 8, 16, 32),
    "S": (8, 32, 128),
}
"""Table 2: the use of the page cache, disks, agents on a disk, buffers of an agent, KiB of one."""

EXECUTIONS = 4
"""Runs of each cell."""

SCHEDULER = "cfq"
"""That of Red Hat Enterprise Linux 4, if nothing is set."""

OF_MACHINE = {
    "write_back": ("devices", "device", "write_back"),
    "dirty_background_ratio": ("page_cache", "dirty_background_ratio"),
    "dirty_ratio": ("page_cache", "dirty_ratio"),
}
"""Keys of the machine, and where each stands in its file."""

SETTINGS = Settings(
    keys={
        "patterns": (),
        **dict.fromkeys(FACTORS, ()),
        "seeds": (),
        "policy": (),
        "stop": ("stop",),
        "queue": (),
        **dict.fromkeys(OF_MACHINE, ()),
    },
    examples=("A=1,32", "policy=deadline", "queue=64"),
)


LIVE_KEYS = ("patterns", *FACTORS)
"""Those that are of the design; the others are of the modelled machine, or of its seeds."""


@dataclass(frozen=True, kw_only=True)
class IoagentSetting:
    """All of it, read."""

    patterns: Sequence[str]
    factors: Mapping[str, Sequence[Any]]
    seeds: Sequence[int]
    policy: str
    """Before each disk."""
    of_job: Sequence[str]
    of_machine: Mapping[str, str]


def read(arguments: Mapping[str, str]) -> IoagentSetting:
    """Returns the setting of the simulation."""
    machine = ("queue", *OF_MACHINE)
    return IoagentSetting(
        patterns=_some(arguments, "patterns", PATTERNS),
        factors={name: _some(arguments, name, levels) for name, levels in FACTORS.items()},
        seeds=seeds(arguments, EXECUTIONS),
        policy=arguments.get("policy", SCHEDULER),
        of_job=tuple(SETTINGS.of_job(arguments)),
        of_machine={key: arguments[key] for key in machine if key in arguments},
    )


def live(sets: Sequence[str]) -> dict[str, str]:
    """Returns the values of `--set` for real time; refuses other keys than `LIVE_KEYS`."""
    arguments = SETTINGS.read_live(sets, LIVE_KEYS)
    read(arguments)
    return arguments


def _some(arguments: Mapping[str, str], key: str, levels: Sequence[T]) -> list[T]:
    """Returns the levels that are named, in their order; all if none is."""
    if key not in arguments:
        return list(levels)
    named = listed(arguments[key])
    for level in named:
        if level not in map(str, levels):
            known = ", ".join(map(str, levels))
            raise wrong(
                f"--set {key}: found {level}; expected some of {known}", "Table 2 has these"
            )
    return [level for level in levels if str(level) in named]


def machine(changes: Mapping[str, str], text: str) -> str:
    """The file of a machine, changed: `queue` is the depth of the drives' own, or `off`."""
    document = tomllib.loads(text)["machine"]
    for key, value in changes.items():
        for table, name in _places(document, key):
            table[name] = _changed(table[name], key, value)
    return f"machine = {plain(document)}\n"


def _places(document: dict[str, Any], key: str) -> Iterator[tuple[dict[str, Any], str]]:
    *way, name = OF_MACHINE.get(key, ("devices", "device", key))
    tables: list[dict[str, Any]] = [document]
    for part in way:
        inner = [table[part] for table in tables]
        tables = [
            inner_table
            for some in inner
            for inner_table in (some if isinstance(some, list) else [some])
        ]
    yield from ((table, name) for table in tables)


def _changed(before: Any, key: str, value: str) -> Any:  # noqa: ANN401 - as TOML has it
    if key == "queue":
        return "off" if value == "off" else {**before, "depth": _whole(key, value)}
    if isinstance(before, bool):
        if value not in ("true", "false"):
            raise wrong(f"--set {key}: found {value}; expected true or false", f"{key}=true")
        return value == "true"
    return value


def _whole(key: str, value: str) -> int:
    if not value.isdecimal():
        raise wrong(f"--set {key}: found {value}; expected a number or off", f"{key}=16")
    return int(value)
