"""The verdict in words: every run against the first, one line each.

A class is judged by its 99th percentile of latency. One that carries much of the work, or that asks
as fast as it is served, is judged by its throughput too: that is what a batch job is there for.
What is said of a class follows from its figures alone, so equal results give equal words.
"""

from collections.abc import Iterator

from penstock import failures, schedule
from penstock.schema import Class, Comparison, Run, percentile
from penstock.units import count, digits

NOTABLE = 1.2
"""A ratio below this is not worth a word: it may be the noise of one run."""

HEAVY = 0.1
"""A class with this share of the baseline's bytes is there for its throughput."""

KEPT = 0.05
"""A throughput is told when it changed by more than this."""


def verdict(comparison: Comparison) -> list[str]:
    """Lines that say how each run differs from the first, and what went wrong in any."""
    if not comparison["runs"]:
        return []
    baseline, *others = comparison["runs"]
    lines = [_against(baseline, run) for run in others]
    troubles = "; ".join(_troubles(baseline))
    return [f"{_name(baseline)}: {troubles}", *lines] if troubles else lines


def _against(baseline: Run, run: Run) -> str:
    """One run in words."""
    than = baseline["policy"]
    partial = bool(baseline.get("interrupted") or run.get("interrupted"))
    known = {one["name"]: one for one in run["classes"]}
    pairs = [
        (before, known[before["name"]])
        for before in baseline["classes"]
        if before["name"] in known and before["requests"] > 0
    ]
    total = sum(before["bytes"] for before, _ in pairs)
    latencies: list[str] = []
    throughputs: list[str] = []
    for before, after in pairs:
        name = after["name"]
        if after["requests"] == 0:
            throughputs.append(f"{name} finishes nothing")
            continue
        faster = _latency_ratio(before, after)
        kept = after["bw_bytes"] / before["bw_bytes"] if before["bw_bytes"] else 1.0
        heavy = before["bytes"] >= HEAVY * total or (not partial and _closed_loop(before, after))
        tell_kept = abs(kept - 1) > KEPT if heavy else not _alike(kept) and _alike(faster)
        # Less throughput and more latency are one fact, and so are more and less: told once.
        told = tell_kept and (faster < 1) == (kept < 1)
        if tell_kept:
            throughputs.append(f"{name} {_kept(kept)}")
        if not _alike(faster) and not told:
            latencies.append(f"{_of(name)} p99 {_times(faster)}")
    if latencies:
        latencies[0] += f" than {than}"
    elif throughputs:
        throughputs[-1] += f", against {than}"
    parts = [", ".join(part) for part in (latencies, throughputs) if part]
    if not parts and pairs:
        parts = [f"no class differs by more than 20 % from {than}"]
    elif not parts:
        parts = [f"nothing to compare: {than} finished no request"]
    return f"{_name(run)}: {'; '.join([*parts, *_troubles(run)])}"


def _closed_loop(before: Class, after: Class) -> bool:
    """Whether it asked for more or less than before: an open loop always asks for the same."""
    arrivals = [one["requests"] + one["unfinished"] + one["errors"] for one in (before, after)]
    return abs(arrivals[1] / arrivals[0] - 1) > KEPT


def _latency_ratio(before: Class, after: Class) -> float:
    """How many times better the 99th percentile became."""
    # A modelled request may take no time at all; a nanosecond is the least that is told.
    return max(percentile(before["lat_ns"], 99), 1) / max(percentile(after["lat_ns"], 99), 1)


def _alike(ratio: float) -> bool:
    return 1 / NOTABLE < ratio < NOTABLE


def _times(better: float) -> str:
    word = "better" if better > 1 else "worse"
    return f"{digits(max(better, 1 / better), 2)}× {word}"


def _kept(ratio: float) -> str:
    if ratio >= 1:
        return f"gains {count(round(100 * (ratio - 1)))} %"
    return f"keeps {round(100 * ratio)} %" if ratio >= 0.01 else "keeps less than 1 %"


def _of(name: str) -> str:
    return f"{name}'" if name.endswith("s") else f"{name}'s"


def _name(run: Run) -> str:
    return f"{run['policy']} (partial)" if run.get("interrupted") else run["policy"]


def _troubles(run: Run) -> Iterator[str]:
    """What ended it, a schedule that was not held, and requests that failed or never finished.

    An interrupted run always leaves some of these.
    """
    if "failure" in run:
        yield run["failure"].splitlines()[0]
    late = schedule.troubles(run)
    if late is not None:
        yield late
    failed = [one for one in run["classes"] if one["errors"]]
    if failed:
        told = (
            f"{count(one['errors'])} of {one['name']} ({failures.errors(one)})" for one in failed
        )
        yield f"failed: {', '.join(told)}"
    left = [(one["name"], one["unfinished"]) for one in run["classes"] if one["unfinished"]]
    if left and not run.get("interrupted"):
        yield "unfinished: " + ", ".join(f"{count(n)} of {name}" for name, n in left)
