"""Lines about how well a live run held its schedule.

A schedule has the requests that are planned ahead: those of an open loop, or of a trace at a pace.
Latency counts from the planned arrival, so a late generator hides nothing; but its requests were
then not quite the workload of the job, which must be reported.
"""

from collections.abc import Iterator, Sequence
from math import floor

from penstock.results.json_types import Comparison, Run, Schedule
from penstock.results.percentile import percentile
from penstock.results.rounds import Rounds
from penstock.text.units import count, latency, seconds

HELD = 0.99
"""A schedule is held if this share of its arrivals was at most a millisecond late."""


def sentence(comparison: Comparison, run: Run) -> str | None:
    """Describe how `run` held its schedule; `None` in virtual time, where nothing is late."""
    if comparison["world"] == "simulated":
        return None
    schedule, for_class = _schedule(run)
    if schedule is None:
        return "no schedule to hold: requests came as fast as they were served"
    missed = troubles(run)
    if missed is not None:
        return missed
    held = _within(schedule) if schedule["due"] else "nothing was due"
    return f"the schedule was held{for_class}: {held}{_played(run, schedule)}"


def over_rounds(comparison: Comparison, runs: list[Run]) -> str | None:
    """Describe how the rounds of one policy held their schedule, with details of the worst."""
    worst, missed = _worst(runs), _missed(runs)
    line = sentence(comparison, worst)
    if line is None or len(runs) == 1 or _schedule(worst)[0] is None:
        return line
    if not missed:
        return f"{line}, in the round that did worst"
    return f"{_of_all(missed, runs)} {line}"


def caveats(policies: Sequence[Rounds]) -> Iterator[str]:
    """Name the policies under which the schedule was not held, with details of the worst."""
    late = [policy for policy in policies if _missed(policy.whole())]
    if not late:
        return
    runs = _worst([_worst(_missed(policy.whole())) for policy in late])
    worst = next(policy for policy in late if any(run is runs for run in policy.runs))
    whole_runs = worst.whole()
    among = f" {_of_all(_missed(whole_runs), whole_runs)}" if len(whole_runs) > 1 else ""
    rest = [policy.label for policy in late if policy is not worst]
    yield f"under {worst.label}{among} {troubles(runs)}"
    if rest:
        yield f"it was not held under {', '.join(rest)} either"


def _of_all(missed: list[Run], runs: list[Run]) -> str:
    every = len(missed) == len(runs)
    return f"in all {len(runs)} rounds" if every else f"in {len(missed)} of {len(runs)} rounds"


def _missed(runs: list[Run]) -> list[Run]:
    return [run for run in runs if troubles(run) is not None]


def _worst(runs: list[Run]) -> Run:
    def held(run: Run) -> float:
        parts = [run["schedule"], *(class_["schedule"] for class_ in run["classes"])]
        known = [part["held"]["within_1ms"] for part in parts if part is not None and part["due"]]
        return min(known, default=1.0)

    return min(runs, key=held)


def _schedule(run: Run) -> tuple[Schedule | None, str]:
    """Return the schedule of a run, or else that of the class that held its own worst.

    The second value names that class.
    """
    if run["schedule"] is not None:
        return run["schedule"], ""
    of_classes = [
        (class_["schedule"], class_["name"])
        for class_ in run["classes"]
        if class_["schedule"] is not None
    ]
    if not of_classes:
        return None, ""
    worst, name = min(of_classes, key=lambda pair: pair[0]["held"]["within_1ms"])
    return worst, f" for {name}"


def troubles(run: Run) -> str | None:
    """Describe where the schedule was not held, and the likely reason; `None` if it was held."""
    schedule, _ = _schedule(run)
    if schedule is None:
        return None
    late = {
        class_["name"]: class_["schedule"]
        for class_ in run["classes"]
        if class_["schedule"] is not None and not _is_held(class_["schedule"])
    }
    all_held = _is_held(schedule)
    if all_held and not late:
        return None
    held = f"held but for {', '.join(late)}" if all_held else "not held"
    line = f"the schedule was {held}: {_within(schedule)}"
    if len(run["classes"]) > 1:
        shares = [f"{name} {_percent(part['held']['within_1ms'])}" for name, part in late.items()]
        line += f", of {', '.join(shares)}"
    # The class that was latest shows the reason best.
    worst = min([schedule, *late.values()], key=lambda part: part["held"]["within_1ms"])
    why = _why(run, schedule, worst)
    return f"{line}; likely because {why}{_played(run, schedule)}"


def _is_held(schedule: Schedule) -> bool:
    # In an interrupted run, possibly no arrival was due yet.
    return not schedule["due"] or schedule["held"]["within_1ms"] >= HELD


def _within(schedule: Schedule) -> str:
    late = schedule["lateness_ns"]
    spread = f"p99 {latency(percentile(late, 99))}, worst {latency(late['max'])}"
    return f"{_percent(schedule['held']['within_1ms'])} of arrivals within 1 ms ({spread})"


def _why(run: Run, schedule: Schedule, worst: Schedule) -> str:
    # The share of late arrivals is the share of time in which the generator stood still.
    late = 1 - worst["held"]["within_1ms"]
    waited = schedule.get("processor_wait_s", 0)
    if waited > run["duration_s"] * late / 2:
        return f"the machine was busy elsewhere: no processor for {seconds(waited)}"
    if 2 * worst["late_while_full"] > worst["due"] * late:
        return "the device's queue was full (live.depth) and held the generator up"
    return "the generator was late"


def _played(run: Run, schedule: Schedule) -> str:
    """Describe how much of the schedule was played, if it was not all."""
    made, scheduled = schedule["made"], schedule["scheduled"]
    if made == scheduled:
        return ""
    why = "interrupted" if run.get("interrupted") else "the run ended"
    return f"; {why} after {count(made)} of {count(scheduled)} arrivals"


def _percent(share: float) -> str:
    """Format a share to a hundredth of a percent, rounded down, so that only 1 is 100 %."""
    return f"{floor(share * 10_000) / 100:g} %"
