"""Conclusions from a comparison, as data: overload, the best policies, gains and losses.

A class is judged by its latencies. A closed loop is also judged by its throughput, which is the
purpose of a batch job. An open loop gets the throughput that it asks for, unless requests are left
unfinished. The conclusions about a class depend only on its own figures.

With several rounds, two sides differ only if their ranges do not overlap; else noise hides the
difference.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from penstock.results import rounds
from penstock.results.json_types import Change, Class, Comparison, Overload, Run
from penstock.results.percentile import percentile
from penstock.results.rounds import ALONE, Rounds, Spread

NOTABLE = 1.2
"""Least ratio of latencies that is reported: less may be the noise of one run."""

KEPT = 0.05
"""Largest relative change of throughput that is not reported; a policy this near to the best
is as good."""

FEW = 20
"""Fewest requests for comparing latency: with fewer, the 99th percentile is the slowest."""

PERCENTS = (50, 95, 99)
"""The percentiles of latency that are compared."""

_BEHIND, _GROWTH, _BUSY = 0.05, 1.5, 0.95
"""Thresholds of overload: the least backlog, as a share of the time in which a class asked; the
least growth of latency from the first half of that time to the second; the least busy share."""

_WAITED = 0.05
"""Largest share of latency spent waiting above the device that counts as hardly waiting."""


def mostly_failed(*rounds: Class) -> bool:
    """Return whether a class had more errors than answers, over all its rounds."""
    return sum(class_["errors"] for class_ in rounds) > sum(class_["requests"] for class_ in rounds)


def latency(classes: Sequence[Class], percent: float) -> Spread:
    """Return a percentile of latency over rounds."""
    return Spread.of(percentile(class_["lat_ns"], percent) for class_ in classes)


def alike(ratio: float) -> bool:
    """Return whether a ratio of latencies is too small to report."""
    return 1 / NOTABLE < ratio < NOTABLE


class Sides(NamedTuple):
    """Results of a class under the baseline and under another policy."""

    before: list[Class]
    after: list[Class]

    def counts(self) -> tuple[int, int]:
        """Return the fewest and the most requests that finished in a round."""
        requests = [class_["requests"] for side in self for class_ in side]
        return min(requests), max(requests)

    def better(self, percent: float = 99) -> float:
        """Return how many times better a percentile of latency became."""
        # A modelled request may take no time at all; the least that is reported is a nanosecond.
        before, after = (max(latency(side, percent).median, 1) for side in self)
        return before / after

    def latency_differs(self, percent: float = 99) -> bool:
        """Whether no round of one is as any of the other."""
        before, after = (latency(side, percent) for side in self)
        return self._single() or not before.overlaps(after)

    def kept(self) -> Spread:
        """Return the ratio of throughputs, after to before, over rounds."""
        pairs = zip(self.before, self.after, strict=False)
        return Spread.of(b["bw_bytes"] / a["bw_bytes"] if a["bw_bytes"] else 1.0 for a, b in pairs)

    def throughput_differs(self) -> bool:
        """Whether no round of one is as any of the other."""
        before, after = (Spread.of(class_["bw_bytes"] for class_ in side) for side in self)
        return self._single() or not before.overlaps(after)

    def throughput_counts(self) -> bool:
        """Return whether throughput is a result: a fully served open loop gets what it asks for."""
        return any(
            not class_["open_loop"] or class_["unfinished"] for side in self for class_ in side
        )

    def mostly_failed(self) -> bool:
        """Return whether most of its requests failed on either side."""
        return any(mostly_failed(*side) for side in self)

    def _single(self) -> bool:
        """Return whether there is only one run of each, so that noise is unknown."""
        return len(self.before) == len(self.after) == 1


class Candidates(NamedTuple):
    """The policies of a comparison."""

    shared: list[Rounds]
    """Policies that serve all classes."""
    alone: dict[str, Rounds]
    """Runs of one class alone, by its name."""
    baseline: Rounds | None
    """The policy that others are compared with."""

    @classmethod
    def of(cls, comparison: Comparison, baseline: str | None) -> "Candidates":
        """Take the policies of a comparison; the baseline is the named one, or the first."""
        policies = rounds.by_policy(comparison)
        shared = [policy for policy in policies if not policy.label.startswith(ALONE)]
        named = [policy for policy in shared if policy.label == baseline]
        alone = {
            policy.label.removeprefix(ALONE): policy for policy in policies if policy not in shared
        }
        return cls(shared, alone, next(iter(named or shared), None))

    def others(self) -> list[Rounds]:
        """Return the policies that are compared with the baseline."""
        return [policy for policy in self.shared if policy is not self.baseline]

    def sides(self, policy: Rounds) -> dict[str, Sides]:
        """Return each class under the baseline and `policy`; empty without a baseline."""
        if self.baseline is None:
            return {}
        names = rounds.class_names(self.baseline.whole())
        sides = {name: Sides(self.baseline.of(name), policy.of(name)) for name in names}
        return {name: pair for name, pair in sides.items() if pair.after}


def partial(policy: Rounds) -> bool:
    """Return whether all runs of a policy were interrupted."""
    return any(run.get("interrupted") for run in policy.whole())


def overload(policies: Sequence[Rounds]) -> list[Overload]:
    """Return the classes that asked for more than was served, by policy.

    With several rounds, it must hold in most of them; the worst is returned.
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
        # The growth is unknown if no request of a half was served.
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
    """Return the busy share of the busiest disk, where requests may wait while others idle."""
    disks = run["device_stats"].get("disks", []) if "device_stats" in run else []
    targets = [file["device_busy"] for file in run["files"] if "device_busy" in file]
    return max([run["device_busy"], *targets, *(disk["utilisation"] for disk in disks)])


def changes(candidates: Candidates) -> list[Change]:
    """Compare each policy with the baseline, class by class."""
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
    """Return whether requests hardly waited above the device, and no policy changed anything."""
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
    # Lateness of the load generator is not waiting for a policy.
    late = class_["schedule"]["lateness_ns"]["mean"] if class_["schedule"] is not None else 0
    return class_["wait_ns"]["mean"] - late <= _WAITED * class_["lat_ns"]["mean"]


class Ranking(NamedTuple):
    """The best policies for each class."""

    best: dict[str, list[str]]
    """Policies that serve a class best or equally well, by class."""
    by_throughput: dict[str, bool]
    """Whether a class is judged by its throughput or by its 99th percentile, by class."""
    dominated: dict[str, str]
    """Policies with another that is better for some class and as good for all; and that one."""


def ranking(candidates: Candidates, overloaded: Sequence[Overload]) -> Ranking:
    """Rank the policies that ran to their end for each class.

    Classes that are `overloaded` under all policies are left out.
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
    """Return whether to judge a class by throughput: if it is a result, and decides.

    If throughputs are alike, a closed loop with think time is judged by its latency. One without
    has a constant number of requests outstanding, so its latency repeats its throughput.
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
    """Return the score of a class under a policy; more is better."""
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
