"""The verdict in words: every policy against the first that serves all classes, one line each.

A class is judged by its 99th percentile of latency. One that asks as fast as it is served is judged
by its throughput too: that is what a batch job is there for. An open loop gets the throughput that
it asks for, unless requests are left unfinished.
What is said of a class follows from its figures alone, so equal results give equal words.

Of a class that ran alone as well it is said how far it is from that. Where there are several rounds
a claim is made only if no round of one side is as any of the other; else noise hides it, and that
is said.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from penstock.results import rounds
from penstock.results.json_types import Class, Comparison
from penstock.results.percentile import percentile
from penstock.results.rounds import ALONE, Rounds, Spread
from penstock.text import failures, ranges, schedule
from penstock.text.units import count, digits

NOTABLE = 1.2
"""A ratio below this is not worth a word: it may be the noise of one run."""

KEPT = 0.05
"""A throughput is reported when it changed by more than this."""

FEW = 20
"""Of fewer requests no latency is reported: their 99th percentile is the slowest of them."""


def verdict(comparison: Comparison) -> list[str]:
    """Lines that say how each policy differs from the first that serves all classes.

    First stands where most requests failed: figures of the rest are compared with nothing. Last
    what else went wrong.
    """
    policies = rounds.by_policy(comparison)
    shared = [policy for policy in policies if not policy.label.startswith(ALONE)]
    lone = {policy.label.removeprefix(ALONE): policy for policy in policies if policy not in shared}
    lines = list(failures.most_failed(comparison["runs"]))
    for policy in policies:
        parts: list[str] = []
        if policy in shared[:1]:
            parts = [line for line in [", ".join(_against_alone(policy, lone))] if line]
        elif policy in shared:
            parts = list(_against(shared[0], policy, lone))
        parts += _troubles(policy)
        if parts:
            lines.append(f"{_name(policy)}: {'; '.join(parts)}")
    return lines


class Sides(NamedTuple):
    """What a class got under the policy that others are compared with, and under another."""

    before: list[Class]
    after: list[Class]

    def counts(self) -> tuple[int, int]:
        """Requests in the round that finished the fewest, and in the one that finished the most."""
        requests = [one["requests"] for side in self for one in side]
        return min(requests), max(requests)

    def single(self) -> bool:
        """Whether there is but one run of each: nothing is known of noise."""
        return len(self.before) == len(self.after) == 1

    def better(self) -> float:
        """How many times better the 99th percentile became."""
        # A modelled request may take no time at all; a nanosecond is the least that is reported.
        return max(_p99(self.before).median, 1) / max(_p99(self.after).median, 1)

    def latency_differs(self) -> bool:
        """Whether no round of one is as any of the other."""
        return self.single() or not _p99(self.before).overlaps(_p99(self.after))

    def kept(self) -> Spread:
        """The throughput that is left, as a ratio, round by round."""
        pairs = zip(self.before, self.after, strict=False)
        return Spread.of(b["bw_bytes"] / a["bw_bytes"] if a["bw_bytes"] else 1.0 for a, b in pairs)

    def throughput_differs(self) -> bool:
        """Whether no round of one is as any of the other."""
        before, after = (Spread.of(one["bw_bytes"] for one in side) for side in self)
        return self.single() or not before.overlaps(after)

    def throughput_counts(self) -> bool:
        """Whether its throughput is a result: an open loop that is served gets what it asks for."""
        return any(not one["open_loop"] or one["unfinished"] for side in self for one in side)


def _against(baseline: Rounds, policy: Rounds, lone: Mapping[str, Rounds]) -> Iterator[str]:
    """One policy in words: its latencies, then its throughputs."""
    if any(run.get("interrupted") for run in (*baseline.whole(), *policy.whole())):
        yield "only a part of the run: nothing is compared"
        return
    than = baseline.label
    names = rounds.class_names(baseline.whole())
    classes = {name: Sides(baseline.of(name), policy.of(name)) for name in names}
    pairs = {
        name: sides
        for name, sides in classes.items()
        if sides.after
        and all(one["requests"] for one in sides.before)
        and not any(failures.mostly(*side) for side in sides)
    }
    latencies: list[str] = []
    throughputs: list[str] = []
    for name, sides in pairs.items():
        empty = sum(one["requests"] == 0 for one in sides.after)
        if empty:
            some = "" if empty == len(sides.after) else f" in {empty} of {len(sides.after)} rounds"
            throughputs.append(f"{name} finishes nothing{some}")
            continue
        better, kept = sides.better(), sides.kept().median
        report_kept = sides.throughput_counts() and abs(kept - 1) > KEPT
        fewest, most = sides.counts()
        if most < FEW or (fewest < FEW and not report_kept):
            throughputs.append(f"of {name} too few finish to compare")
            continue
        if report_kept:
            throughputs.append(_throughput(name, sides))
        if fewest < FEW:
            continue
        # Less throughput and more latency are one fact, and so are more and less: reported once.
        reported = report_kept and (better < 1) == (kept < 1)
        clauses = [*_from_alone(name, sides.after, lone)]
        # If a throughput is reported, a latency within the noise adds nothing.
        if not _alike(better) and not reported and (sides.latency_differs() or not report_kept):
            clauses.append(_latency(sides, than, first=not any(than in of for of in latencies)))
        if clauses:
            latencies.append(_p99_words(name, sides.after, clauses, first=not latencies))
    if throughputs and not any(than in of for of in latencies):
        throughputs[-1] += f", against {than}"
    parts = [", ".join(part) for part in (latencies, throughputs) if part]
    if not parts and pairs:
        parts = [f"no class differs by more than 20 % from {than}"]
    why = f"{than} finished no request"
    if any(failures.mostly(*side) for sides in classes.values() for side in sides):
        why = "most requests failed"
    yield from parts or [f"nothing to compare: {why}"]


def _against_alone(policy: Rounds, lone: Mapping[str, Rounds]) -> Iterator[str]:
    """The first policy: nothing but how far its classes are from being alone."""
    first = True
    for name in rounds.class_names(policy.whole()):
        classes = policy.of(name)
        clauses = list(_from_alone(name, classes, lone))
        if clauses:
            yield _p99_words(name, classes, clauses, first=first)
            first = False


def _from_alone(name: str, classes: list[Class], lone: Mapping[str, Rounds]) -> Iterator[str]:
    """How far a class is from having the device to itself, if that ran."""
    alone = lone[name].of(name) if name in lone else []
    failed = failures.mostly(*alone) or failures.mostly(*classes)
    if failed or not all(one["requests"] for one in (*alone, *classes)) or not alone:
        return
    sides = Sides(alone, classes)
    if min(sides.counts()) < FEW:
        yield "too few to compare with what it is alone"
    elif sides.latency_differs():
        yield f"{digits(1 / sides.better(), 2)}× what it is alone"
    elif _alike(sides.better()):
        yield "as it is alone but for noise"
    else:
        yield "noise hides how far it is from being alone"


def _latency(sides: Sides, than: str, *, first: bool) -> str:
    if not sides.latency_differs():
        return f"noise hides how it differs from {than}"
    better = sides.better()
    word = "better" if better > 1 else "worse"
    times = f"{digits(max(better, 1 / better), 2)}× {word}"
    return f"{times} than {than}" if first else times


def _p99_words(name: str, classes: list[Class], clauses: list[str], *, first: bool) -> str:
    if len(classes) == 1:
        return f"{_of(name)} p99 {', '.join(clauses)}"
    among = f" in {len(classes)} rounds" if first else ""
    return f"{_of(name)} p99 {ranges.latency(_p99(classes))}{among}, {', '.join(clauses)}"


def _throughput(name: str, sides: Sides) -> str:
    """What is kept or gained, in percent."""
    if not sides.throughput_differs():
        return f"noise hides what {name} keeps"
    kept = sides.kept()
    if kept.median >= 1:
        gains = ranges.figure(kept, lambda ratio: f"{count(round(100 * (ratio - 1)))} %")
        return f"{name} gains {gains}"
    if kept.median < 0.01:
        return f"{name} keeps less than 1 %"
    return f"{name} keeps {ranges.figure(kept, lambda ratio: f'{round(100 * ratio)} %')}"


def _p99(classes: list[Class]) -> Spread:
    return Spread.of(percentile(one["lat_ns"], 99) for one in classes)


def _alike(ratio: float) -> bool:
    return 1 / NOTABLE < ratio < NOTABLE


def _of(name: str) -> str:
    return f"{name}'" if name.endswith("s") else f"{name}'s"


def _name(policy: Rounds) -> str:
    partial = policy.whole()[-1].get("interrupted")
    return f"{policy.label} (partial)" if partial else policy.label


def _troubles(policy: Rounds) -> Iterator[str]:
    """What ended it, a schedule that was not held, and requests that failed or never finished.

    Of all its rounds. An interrupted run always has some of these.
    """
    runs = policy.whole()
    for run in policy.runs:
        if "failure" in run:
            yield run["failure"].splitlines()[0]
    late = schedule.troubles_over_rounds(runs)
    if late is not None:
        yield late
    by_name: dict[str, list[Class]] = {}
    for one in (one for run in runs for one in run["classes"]):
        by_name.setdefault(one["name"], []).append(one)
    failed = [
        f"{count(sum(one['errors'] for one in ones))} of {name} ({failures.errors(*ones)})"
        for name, ones in by_name.items()
        if any(one["errors"] for one in ones)
    ]
    if failed:
        yield f"failed: {', '.join(failed)}"
    left = {name: sum(one["unfinished"] for one in ones) for name, ones in by_name.items()}
    if any(left.values()) and not runs[-1].get("interrupted"):
        yield "unfinished: " + ", ".join(f"{count(n)} of {name}" for name, n in left.items() if n)
