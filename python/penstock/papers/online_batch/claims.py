"""What section V.E of the online-batch paper says of its figures, held to ours."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypedDict

from penstock.papers.online_batch.simulation import CONTROLS, Control, Row


class Claim(TypedDict):
    """A sentence of the paper, whether it holds here, and the three cases that decide it."""

    id: str
    text: str
    holds: bool
    numbers: dict[str, list[float]]


class _Rule(NamedTuple):
    id: str
    text: str
    figure: Callable[[Row], float]
    controls: Sequence[Control]
    holds: Callable[[Mapping[str, list[float]]], bool]


WITHIN = 0.10
"""Times that are nearer to one another, as a share of the longer, are called alike."""

FLAT_MS = 0.1
"""Waits that are nearer to one another are called flat."""


def _grows(cases: Sequence[float]) -> bool:
    return cases[0] < cases[1] < cases[2]


def _alike(one: float, other: float) -> bool:
    return abs(one - other) <= WITHIN * max(one, other)


def _spread(cases: Sequence[float]) -> float:
    return max(cases) - min(cases)


_RULES = (
    _Rule(
        "1A-none",
        "without priority, transactions take longer from case to case",
        lambda row: row["online_ms"],
        ("none",),
        lambda of: _grows(of["none"]),
    ),
    _Rule(
        "1A-cpu",
        "with priority on the processors only, they do too",
        lambda row: row["online_ms"],
        ("cpu",),
        lambda of: _grows(of["cpu"]),
    ),
    _Rule(
        "1A-cpu+io",
        "with priority on processors and disk they take nearly as long in case 3 as in case 1",
        lambda row: row["online_ms"],
        ("cpu+io",),
        lambda of: _alike(of["cpu+io"][2], of["cpu+io"][0]),
    ),
    _Rule(
        "1B-longer",
        "batch jobs take longer under both priorities than without, in all cases",
        lambda row: row["batch_s"],
        CONTROLS,
        lambda of: all(
            cpu > none and io > none
            for none, cpu, io in zip(of["none"], of["cpu"], of["cpu+io"], strict=True)
        ),
    ),
    _Rule(
        "1B-alike",
        "batch jobs take about as long under both priorities, in all cases",
        lambda row: row["batch_s"],
        ("cpu", "cpu+io"),
        lambda of: all(map(_alike, of["cpu"], of["cpu+io"])),
    ),
    _Rule(
        "2A-flat",
        "with priority on processors and disk the wait of transactions does not grow",
        lambda row: row["online_wait_ms"],
        ("cpu+io",),
        lambda of: _spread(of["cpu+io"]) < FLAT_MS,
    ),
    _Rule(
        "2A-grows",
        "under the other two controls it grows from case to case",
        lambda row: row["online_wait_ms"],
        ("none", "cpu"),
        lambda of: _grows(of["none"]) and _grows(of["cpu"]),
    ),
    _Rule(
        "2B-flat",
        "the wait of batch jobs does not differ between the cases",
        lambda row: row["batch_wait_ms"],
        CONTROLS,
        lambda of: all(_alike(min(cases), max(cases)) for cases in of.values()),
    ),
    _Rule(
        "2B-shorter",
        "it is shorter with priority on the disk too than with it on the processors only, but for "
        "one case",
        lambda row: row["batch_wait_ms"],
        ("cpu", "cpu+io"),
        lambda of: sum(io < cpu for cpu, io in zip(of["cpu"], of["cpu+io"], strict=True)) >= 2,
    ),
)

IDS = tuple(rule.id for rule in _RULES)


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Each claim, held to these nine rows."""
    found: list[Claim] = []
    for rule in _RULES:
        numbers: dict[str, list[float]] = {
            control: [rule.figure(row) for row in rows if row["control"] == control]
            for control in rule.controls
        }
        holds = rule.holds(numbers)
        found.append({"id": rule.id, "text": rule.text, "holds": holds, "numbers": numbers})
    return found
