"""Lines and rows of races: which class stalled for the writes of which class, and how long."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from penstock.answer.table import NONE
from penstock.text import units

Report: TypeAlias = Mapping[str, Any]
"""Report of the engine on a trace or a record."""

HEADINGS = ("stalled", "behind", "disk", "from", "to", "lost", "writes", "growth")

MOST = 20
"""Most rows; the JSON has all."""


def lines(report: Report) -> Iterator[str]:
    """The verdict."""
    races: Sequence[Mapping[str, Any]] = report["races"]
    if races:
        lost = sum(race["lost_s"] for race in races)
        blocked = sorted({race["blocked"] for race in races})
        many = "1 race" if len(races) == 1 else f"{units.count(len(races))} races"
        yield (
            f"{many}, in {units.percent(report['races_share'])} of the time: {', '.join(blocked)} "
            f"stalled for {units.seconds(lost)} in total."
        )
        if len(races) > MOST:
            yield f"The first {MOST} are shown."
        return
    yield "No race."
    if not report["stalls"]:
        yield "No read waited for writes of another class."
        return
    most = report["stalls"][0]
    yield (
        f"Largest loss: {most['blocked']} waited {units.seconds(most['lost_s'])} in total for "
        f"writes of {most['by']} on {most['disk']}, at most {units.seconds(most['longest_s'])} at "
        f"a time; at most {units.many(most['queued_writes_max'], 'write')} queued."
    )
    yield _why_not(most)


def _why_not(most: Mapping[str, Any]) -> str:
    """Explain why these stalls are not a race."""
    outstanding, meanwhile = most["reads_outstanding_max"], most["reads_meanwhile"]
    if not outstanding:
        return f"{most['by']} does not read, so its writes do not come from reads during a stall."
    return (
        f"{most['by']} did not run ahead: during a stall it completed at most "
        f"{units.many(meanwhile, 'new read')}, and it has up to {units.count(outstanding)} "
        "outstanding."
    )


def rows(report: Report) -> list[list[str]]:
    """A row for each race."""
    return [
        [
            race["blocked"],
            race["by"],
            race["disk"],
            units.seconds(race["from_s"]),
            units.seconds(race["to_s"]),
            units.seconds(race["lost_s"]),
            units.count(race["queued_writes_max"]),
            NONE if race["growth"] is None else f"{race['growth']:.2f}",
        ]
        for race in report["races"][:MOST]
    ]
