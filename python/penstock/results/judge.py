"""What follows from the figures of a comparison, as data: overload, who is best, who gains.

A class is judged by its latencies. One whose requests wait for answers is judged by its throughput
too: that is what a batch job is there for. An open loop gets the throughput that it asks for,
unless requests are left unfinished. What is said of a class follows from its figures alone.

Where there are several rounds something differs only if no round of one side is as any of the
other; else noise hides it.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from penstock.results import rounds
from penstock.results.json_types import Change, Class, Comparison, Overload, Run
from penstock.results.percentile import percentile
from penstock.results.rounds import ALONE, Rounds, Spread

NOTABLE = 1.2
"""A ratio of latencies below this is not worth a word: it may be the noise of one run."""

KEPT = 0.05
"""A throughput is reported when it changed by more than this; who is as near to the best is as
good."""

FEW = 20
"""Of fewer requests no latency is compared: their 99th percentile is the slowest of them."""

PERCENTS = (50, 95, 99)
"""The percentiles of latency that are compared."""

_BEHIND, _GROWTH, _BUSY = 0.05, 1.5, 0.95
"""A device is overloaded that was always busy and ended behind by so much of the time in which a
class asked, while latencies grew so much from the first half of it to the second."""

_WAITED = 0.05
"""Of its latency so much at most is waited by a request that hardly waits above the device."""


def mostly_failed(*rounds: Class) -> bool:
    """Whether a class had more errors than answers, in all its rounds together."""
    return sum(class_["errors"] for class_ in rounds) > sum(class_["requests"] for class_ in rounds)


def latency(classes: Sequence[Class], percent: float) -> Spread:
    """A percentile of latency over rounds."""
    return Spread.of(percentile(class_["lat_ns"], percent) for class_ in classes)


def alike(ratio: float) -> bool:
    """Whether a ratio of latencies is not worth a word."""
    return 1 / NOTABLE < ratio < NOTABLE


class Sides(NamedTuple):
    """What a class got under the policy that others are compared with, and under another."""

    before: list[Class]
    after: list[Class]

    def counts(self) -> tuple[int, int]:
        """Requests in the round that finished the fewest, and in the one that finished the most."""
        requests = [class_["requests"] for side in self for class_ in side]
        return min(requests), max(requests)

    def better(self, percent: float = 99) -> float:
        """How many times better a percentile of latency became."""
        # A modelled request may take no time at all; a nanosecond is the least that is reported.
        before, after = (max(latency(side, percent).median, 1) for side in self)
        return before / after

    def latency_differs(self, percent: float = 99) -> bool:
        """Whether no round of one is as any of the other."""
        before, after = (latency(side, percent) for side in self)
        return self._single() or not before.overlaps(after)

    def kept(self) -> Spread:
        """The throughput that is left, as a ratio, round by round."""
        pairs = zip(self.before, self.after, strict=False)
        return Spread.of(b["bw_bytes"] / a["bw_bytes"] if a["bw_bytes"] else 1.0 for a, b in pairs)

    def throughput_differs(self) -> bool:
        """Whether no round of one is as any of the other."""
        before, after = (Spread.of(class_["bw_bytes"] for class_ in side) for side in self)
        return self._single() or not before.overlaps(after)

    def throughput_counts(self) -> bool:
        """Whether its throughput is a result: an open loop that is served gets what it asks for."""
        return any(
            not class_["open_loop"] or class_["unfinished"] for side in self for class_ in side
        )

    def mostly_failed(self) -> bool:
        """Whether most of its requests failed on either side."""
        return any(mostly_failed(*side) for side in self)

    def _single(self) -> bool:
        """Whether there is but one run of each: nothing is known of noise."""
        return len(self.before) == len(self.after) == 1


class Candidates(NamedTuple):
    """The policies of a comparison."""

    shared: list[Rounds]
    """Those that serve all classes."""
    alone: dict[str, Rounds]
    """Classes that had the device to themselves, by their names."""
    baseline: Rounds | None
    """The one that others are compared with."""

    @classmethod
    def of(cls, comparison: Comparison, baseline: str | None) -> "Candidates":
        """Compared with the policy called `baseline`; if there is none, with the first."""
        policies = rounds.by_policy(comparison)
        shared = [policy for policy in policies if not policy.label.startswith(ALONE)]
        named = [policy for policy in shared if policy.label == baseline]
        alone = {
            policy.label.removeprefix(ALONE): policy for policy in policies if policy not in shared
        }
        return cls(shared, alone, next(iter(named or shared), None))

    def others(self) -> list[Rounds]:
        """Those that are compared with the baseline."""
        return [policy for policy in self.shared if policy is not self.baseline]

    def sides(self, policy: Rounds) -> dict[str, Sides]:
        """Each class under the baseline and under `policy`; none if there is no baseline."""
        if self.baseline is None:
            return {}
        names = rounds.class_names(self.baseline.whole())
        sides = {name: Sides(self.baseline.of(name), policy.of(name)) for name in names}
        return {name: pair for name, pair in sides.items() if pair.after}


def partial(policy: Rounds) -> bool:
    """Whether nothing but a part of a run is there."""
    return any(run.get("interrupted") for run in policy.whole())


def overload(policies: Sequence[Rounds]) -> list[Overload]:
    """Classes that asked for more than they were served: under which policy, and by how much.

    Of several rounds in most of them; told of the one that did worst.
    """
    overloads: list[Overload] = []
    for policy in policies:
        runs = [run for run in policy.whole() if not run.get("interrupted")]
        for name in rounds.class_names(runs):
            over = [entry for run in runs for entry in _overloaded(policy.label, run, name)]
            if 2 * len(over) > len(runs):
                overloads.append(max(over, key=lambda entry: entry["behind_s"]))
    return overloads


def _overloaded(policy: str, run: Run, name: str) -> Iterator[Overload]:
    for class_ in run["classes"]:
        demand = class_["demand"]
        if (
            class_["name"] != name
            or demand is None
            or class_["requests"] + class_["unfinished"] < FEW
        ):
            continue
        behind = demand["behind_s"]
        if class_["iops"]:
            behind = max(behind, class_["unfinished"] / class_["iops"])
        late = behind > _BEHIND * demand["lasted_s"]
        growth = demand["growth"]
        # Where no request of a half was served there is no growth to know.
        grew = growth > _GROWTH if growth is not None else class_["unfinished"] > class_["requests"]
        if late and grew and _busiest(run) > _BUSY:
            yield {
                "policy": policy,
                "name": name,
                "asked_iops": demand["iops"],
                "served_iops": class_["iops"],
                "behind_s": behind,
            }


def _busiest(run: Run) -> float:
    """How busy the busiest disk was: one of several may be where everything waits."""
    disks = run["device_stats"].get("disks", []) if "device_stats" in run else []
    targets = [file["device_busy"] for file in run["files"] if "device_busy" in file]
    return max([run["device_busy"], *targets, *(disk["utilisation"] for disk in disks)])


def changes(candidates: Candidates) -> list[Change]:
    """Each policy against the baseline, class by class."""
    entries: list[Change] = []
    for policy in candidates.others():
        if partial(policy) or candidates.baseline is None or partial(candidates.baseline):
            continue
        for name, sides in candidates.sides(policy).items():
            p50, p95, p99 = (_ratio(sides, percent) for percent in PERCENTS)
            counts = sides.throughput_counts() and sides.throughput_differs()
            some = any(class_["bw_bytes"] for class_ in sides.before) and not sides.mostly_failed()
            entries.append(
                {
                    "policy": policy.label,
                    "name": name,
                    "p50": p50,
                    "p95": p95,
                    "p99": p99,
                    "throughput": sides.kept().median if counts and some else None,
                }
            )
    return entries


def _ratio(sides: Sides, percent: float) -> float | None:
    if sides.mostly_failed() or sides.counts()[0] < FEW or not sides.latency_differs(percent):
        return None
    return sides.better(percent)


def nothing_to_decide(candidates: Candidates) -> bool:
    """Whether requests hardly waited above the device, and no policy changed anything."""
    runs = [run for policy in candidates.shared for run in policy.whole()]
    if len(candidates.shared) < 2 or any(map(partial, candidates.shared)):
        return False
    if not any(class_["requests"] >= FEW for run in runs for class_ in run["classes"]):
        return False
    for change in changes(candidates):
        ratios = (change["p50"], change["p95"], change["p99"])
        kept = change["throughput"]
        if any(ratio is not None and not alike(ratio) for ratio in ratios):
            return False
        if kept is not None and abs(kept - 1) > KEPT:
            return False
    return all(_hardly_waits(class_) for run in runs for class_ in run["classes"])


def _hardly_waits(class_: Class) -> bool:
    # What the load generator was late is no wait for a policy.
    late = class_["schedule"]["lateness_ns"]["mean"] if class_["schedule"] is not None else 0
    return class_["wait_ns"]["mean"] - late <= _WAITED * class_["lat_ns"]["mean"]


class Ranking(NamedTuple):
    """Who is best for whom."""

    best: dict[str, list[str]]
    """For each class the policies that serve it best, and as well as the best."""
    by_throughput: dict[str, bool]
    """Whether a class is judged by its throughput; if not, by its 99th percentile."""
    dominated: dict[str, str]
    """Policies for which another one is better for some class and as good for all; and which."""


def ranking(candidates: Candidates, overloaded: Sequence[Overload]) -> Ranking:
    """Who is best for whom, of the policies that ran to their end.

    A class that is `overloaded` under each of them is left out.
    """
    policies = [policy for policy in candidates.shared if not partial(policy)]
    hopeless = Counter(entry["name"] for entry in overloaded)
    scores: dict[str, dict[str, Spread]] = {}
    by_throughput: dict[str, bool] = {}
    for name in rounds.class_names([run for policy in policies for run in policy.whole()]):
        classes = {policy.label: policy.of(name) for policy in policies}
        everyone = [class_ for side in classes.values() for class_ in side]
        requests = [class_["requests"] for class_ in everyone]
        if not all(classes.values()) or mostly_failed(*everyone) or max(requests) < FEW:
            continue
        if hopeless[name] == len(candidates.shared):
            continue
        by_throughput[name] = _by_throughput(classes)
        scores[name] = {
            label: _score(side, throughput=by_throughput[name]) for label, side in classes.items()
        }
    best: dict[str, list[str]] = {}
    for name, known in scores.items():
        order = sorted(known, key=lambda label: -known[label].median)
        top = known[order[0]].median
        best[name] = [label for label in order if known[label].median >= top * (1 - KEPT)]
    return Ranking(best, by_throughput, _dominated(scores, by_throughput))


def _by_throughput(classes: Mapping[str, Sequence[Class]]) -> bool:
    """By throughput if it is a result, and says what there is to say.

    Where it is alike, a loop that thinks is judged by its latency. One that does not has always as
    many requests outstanding: its latency is its throughput once more.
    """
    everyone = [class_ for side in classes.values() for class_ in side]
    if all(class_["open_loop"] and not class_["unfinished"] for class_ in everyone):
        return False
    figures: tuple[Callable[[Class], float], ...] = (
        lambda class_: class_["bw_bytes"],
        lambda class_: class_["iops"] * class_["lat_ns"]["mean"],
    )
    throughputs, outstanding = (
        [Spread.of(map(figure, side)).median for side in classes.values()] for figure in figures
    )
    thinks = max(outstanding) > (1 + KEPT) * min(outstanding)
    return max(throughputs) > (1 + KEPT) * min(throughputs) or not thinks


def _score(classes: Sequence[Class], *, throughput: bool) -> Spread:
    """More is better."""
    if throughput:
        return Spread.of(class_["bw_bytes"] for class_ in classes)
    return Spread.of(
        1e9 / max(percentile(class_["lat_ns"], 99), 1) if class_["requests"] else 0.0
        for class_ in classes
    )


def _dominated(
    scores: Mapping[str, Mapping[str, Spread]], by_throughput: Mapping[str, bool]
) -> dict[str, str]:
    labels = list(next(iter(scores.values()), {}))

    def beats(label: str, rival: str) -> bool:
        some = False
        for name, known in scores.items():
            ours, theirs = known[label], known[rival]
            notable = 1 + KEPT if by_throughput[name] else NOTABLE
            apart = ours == theirs or not ours.overlaps(theirs)
            if ours.median < theirs.median * (1 - KEPT) and apart:
                return False
            some |= ours.median > theirs.median * notable and apart
        return some

    over = {label: [rival for rival in labels if beats(rival, label)] for label in labels}
    free = [label for label in labels if not over[label]]
    by = {label: [rival for rival in free if rival in over[label]] for label in labels}
    return {label: better[0] for label, better in by.items() if better}
