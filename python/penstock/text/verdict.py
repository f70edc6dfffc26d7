"""The verdict as text, from the results of `results.judge`.

It begins with the answer: the best policies, or that most requests failed or that there is nothing
to decide. What limits it follows: a device that cannot keep up, a queue that no policy orders. Then
every policy against the baseline, and what went wrong. Merges are
compared by the end of the last one, not by their requests. Equal results give equal text. A class
that also ran alone is compared with that run too.
"""

import json
from collections.abc import Iterable, Iterator, Mapping

from penstock import _native
from penstock.results import judge, rounds
from penstock.results.below import waits_below
from penstock.results.json_types import Class, Comparison, Overload, Verdict
from penstock.results.judge import FEW, KEPT, NOTABLE, Candidates, Ranking, Sides, alike
from penstock.results.rounds import ALONE, Rounds, Spread
from penstock.text import below, failures, merges, prose, ranges, schedule, shares, units
from penstock.text.units import count, digits

WIDTH = 160
"""Most characters in a line of the verdict."""

MANIFOLD = 3
"""Ratio of throughputs from which it is no longer given in percent."""

_NAMES = 3
"""Most policies that are named as equally best; of more, their number is given."""


def verdict(comparison: Comparison, baseline: str | None = None) -> list[str]:
    """Return lines that say which policy is best, and how each differs from the baseline."""
    return judged(comparison, baseline)["lines"]


def judged(comparison: Comparison, baseline: str | None = None) -> Verdict:
    """Return the verdict as data and as lines of text.

    The `baseline` is the policy that others are compared with: by default that of the comparison's
    own verdict, or the first policy that serves all classes.
    """
    own_verdict = comparison.get("verdict")
    if baseline is None and own_verdict is not None:
        baseline = own_verdict["baseline"]
    candidates = Candidates.of(comparison, baseline)
    overload = judge.overload(candidates.shared)
    nothing = judge.nothing_to_decide(candidates)
    ranking = judge.ranking(candidates, overload)
    merged = merges.verdict(candidates.shared, candidates.baseline)
    waiting = waits_below(comparison, candidates.shared, ranking.by_throughput)
    lines = [
        *failures.most_failed(comparison["runs"]),
        *(merged or _on_classes(candidates, ranking, nothing=nothing)),
        *_overload(comparison, candidates, overload),
        *below.lines(waiting, len(candidates.shared)),
        *shares.lines(comparison, candidates.shared),
        *_policies(comparison, candidates, overload, nothing=nothing, merged=bool(merged)),
        *schedule.caveats(rounds.by_policy(comparison)),
    ]
    return {
        "baseline": None if candidates.baseline is None else candidates.baseline.label,
        "overload": overload,
        "nothing_to_decide": nothing,
        "best": ranking.best,
        "dominated": ranking.dominated,
        "changes": judge.changes(candidates),
        "lines": [part for line in lines for part in prose.fold(line, WIDTH)],
    }


def no_baseline(name: str, policies: Iterable[str]) -> tuple[str, str]:
    """Return the error for a baseline that is not one of the policies, and a hint."""
    known = ", ".join(dict.fromkeys(policy for policy in policies if not policy.startswith(ALONE)))
    return f"no policy `{name}` runs that others could be compared with", f"one of {known}"


def to_json(comparison: Comparison, text: str) -> str:
    """Return the engine's JSON `text` of a comparison with its verdict and without detail."""
    verdict = json.dumps(judged(comparison), ensure_ascii=False, indent=2)
    return _native.without_detail(text, verdict.replace("\n", "\n  "))


_NOTHING = (
    "nothing to decide: requests hardly wait above the device, so these policies are alike; "
    f"more load, or a shorter queue of the drive ({below.SHORTER}), would make them wait there"
)

_SLOWER = (
    "play it slower (--set trace.timing.speed=0.5), let its processes wait for answers "
    "(--set trace.timing=closed)"
)
"""Advice on a trace that asks for too much."""


def _overload(
    comparison: Comparison, candidates: Candidates, overload: list[Overload]
) -> Iterator[str]:
    """Report the classes with which the device cannot keep up, and advise what to do."""
    classes: dict[str, list[Overload]] = {}
    for entry in overload:
        classes.setdefault(entry["name"], []).append(entry)
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, over in classes.items():
        worst = max(over, key=lambda entry: entry["behind_s"])
        groups.setdefault(tuple(entry["policy"] for entry in over), []).append(
            f"{name} asked for {units.rate(worst['asked_iops'])}/s, was served "
            f"{units.rate(worst['served_iops'])}/s, and its backlog grew to "
            f"{units.seconds(worst['behind_s'])}"
        )
    for policies, clauses in groups.items():
        every = len(policies) == len(candidates.shared)
        under = "any policy" if every and len(policies) > 1 else ", ".join(policies)
        worst_of = ", at worst" if len(policies) > 1 else ""
        yield f"OVERLOAD: the device cannot keep up under {under}: {'; '.join(clauses)}{worst_of}"
    if classes:
        trace = "[trace]" in comparison["job"]["text"].splitlines()
        less = _SLOWER if trace else "ask for less"
        yield (
            f"the latencies of {', '.join(classes)} grow for as long as requests come, and say "
            f"little about the device: {less}, or take a faster device"
        )


def _on_classes(candidates: Candidates, ranking: Ranking, *, nothing: bool) -> Iterator[str]:
    """Report which policy is best for which class, if there is anything to decide."""
    if nothing:
        yield _NOTHING
    yield from _ranking(candidates, ranking)


def _ranking(candidates: Candidates, ranking: Ranking) -> Iterator[str]:
    """Report the best policies for each class, if there are more than two, and the useless ones."""
    policies = {policy.label: policy for policy in candidates.shared}
    if len(policies) < 3:
        return
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, best in ranking.best.items():
        if len(best) < len(policies):
            groups.setdefault(tuple(best), []).append(name)
    if not groups:
        return
    parts = []
    for (first, *rest), names in groups.items():
        classes = [f"{name} ({_figure(policies[first], name, ranking)})" for name in names]
        whom = f"{', '.join([first, *rest[:-1]])} or {rest[-1]}" if rest else first
        if len(rest) >= _NAMES:
            whom = f"{first} and {len(rest)} more"
        parts.append(f"for {', '.join(classes)}: {whom}")
    line = f"best {'; '.join(parts)}"
    if not set.intersection(*(set(best) for best in groups)):
        line += "; no policy is best for all"
    yield line
    if ranking.dominated:
        worse = ", ".join(f"{policy} ({by})" for policy, by in ranking.dominated.items())
        yield f"worse for some class than another policy and better for none: {worse}"


def _figure(policy: Rounds, name: str, ranking: Ranking) -> str:
    """Return the figure in which a policy is best for a class."""
    classes = policy.of(name)
    if ranking.by_throughput[name]:
        throughput = Spread.of(class_["bw_bytes"] for class_ in classes)
        return f"{ranges.figure(throughput, units.megabytes)} MB/s"
    return f"p99 {ranges.latency(judge.latency(classes, 99))}"


def _policies(
    comparison: Comparison,
    candidates: Candidates,
    overload: list[Overload],
    *,
    nothing: bool,
    merged: bool,
) -> Iterator[str]:
    """Compare each policy with the baseline, unless merges have been, and report its problems."""
    for policy in rounds.by_policy(comparison):
        parts: list[str] = []
        if policy == candidates.baseline:
            parts = [line for line in [", ".join(_against_alone(policy, candidates.alone))] if line]
        elif policy in candidates.shared and not merged:
            over = {entry["name"] for entry in overload if entry["policy"] == policy.label}
            parts = list(_against(candidates, policy, over, nothing=nothing))
        parts += _troubles(policy)
        if parts:
            yield f"{_name(policy)}: {'; '.join(parts)}"


def _against(
    candidates: Candidates, policy: Rounds, overloaded: set[str], *, nothing: bool
) -> Iterator[str]:
    """Compare one policy with the baseline: first latencies, then throughputs."""
    baseline = candidates.baseline
    if baseline is None:
        return
    if judge.partial(baseline) or judge.partial(policy):
        yield "only a part of the run: nothing is compared"
        return
    than = baseline.label
    every = candidates.sides(policy)
    classes = {
        name: sides
        for name, sides in every.items()
        if all(class_["requests"] for class_ in sides.before) and not sides.mostly_failed()
    }
    latencies: list[str] = []
    throughputs: list[str] = []
    helped: set[str] = set()
    for name, sides in classes.items():
        empty = sum(class_["requests"] == 0 for class_ in sides.after)
        if empty:
            some = "" if empty == len(sides.after) else f" in {empty} of {len(sides.after)} rounds"
            throughputs.append(f"{name} finishes nothing{some}")
            continue
        kept = sides.kept().median
        report_kept = sides.throughput_counts() and abs(kept - 1) > KEPT
        fewest, most = sides.counts()
        if most < FEW or (fewest < FEW and not report_kept):
            throughputs.append(f"of {name} {_only(fewest)}, too few to compare")
            continue
        if report_kept:
            throughputs.append(_throughput(name, sides))
        if fewest < FEW:
            continue
        clauses = [*_from_alone(name, sides.after, candidates.alone)]
        # A latency that grows for as long as requests come is not a figure of the policy.
        if name not in overloaded:
            known = any(than in latency for latency in latencies)
            clauses += _latency(sides, f" than {than}" if not known else "", kept=report_kept)
        if clauses:
            latencies.append(_latency_words(name, sides.after, clauses, first=not latencies))
        if any(" better" in clause for clause in clauses):
            helped.add(name)
    # Other closed-loop classes could have lost throughput for it.
    if (
        helped
        and not throughputs
        and any(sides.throughput_counts() for name, sides in classes.items() if name not in helped)
    ):
        throughputs.append("no throughput lost")
    elif throughputs and not any(than in latency for latency in latencies):
        throughputs[-1] += f", against {than}"
    parts = [", ".join(part) for part in (latencies, throughputs) if part]
    if classes and overloaded >= classes.keys() and not parts:
        parts = ["nothing to compare: the device cannot keep up"]
    if not parts and classes and not nothing:
        parts = [f"no class differs by more than 20 % from {than}"]
    why = f"{than} finished no request"
    if any(sides.mostly_failed() for sides in every.values()):
        why = "most requests failed"
    if parts or not nothing:
        yield from parts or [f"nothing to compare: {why}"]


def _only(requests: int) -> str:
    return "only one finishes" if requests == 1 else f"only {requests} finish"


def _against_alone(policy: Rounds, alone: Mapping[str, Rounds]) -> Iterator[str]:
    """Compare the classes of the baseline with their runs alone."""
    first = True
    for name in rounds.class_names(policy.whole()):
        classes = policy.of(name)
        clauses = list(_from_alone(name, classes, alone))
        if clauses:
            yield _latency_words(name, classes, clauses, first=first)
            first = False


def _from_alone(name: str, classes: list[Class], lone: Mapping[str, Rounds]) -> Iterator[str]:
    """Compare a class with its run alone, if there was one."""
    alone = lone[name].of(name) if name in lone else []
    sides = Sides(alone, classes)
    if not alone or sides.mostly_failed() or not sides.counts()[0]:
        return
    if sides.counts()[0] < FEW:
        yield "p99 of too few to compare with what it is alone"
    elif sides.latency_differs():
        yield f"p99 {digits(1 / sides.better(), 2)}× what it is alone"
    elif alike(sides.better()):
        yield "p99 as it is alone but for noise"
    else:
        yield "p99: noise hides how far it is from being alone"


def _latency(sides: Sides, than: str, *, kept: bool) -> Iterator[str]:
    """Report the change of the 99th percentile, or else of the 95th or the median.

    If a throughput is reported (`kept`), a latency that changed with it repeats the same fact, and
    one within the noise adds nothing.
    """
    better = sides.better()
    ratio = better / sides.kept().median if kept else 0.0
    if kept and 1 / NOTABLE**2 < ratio < NOTABLE**2 and (better < 1) == (sides.kept().median < 1):
        return
    if not alike(better):
        if sides.latency_differs():
            yield f"p99 {_times(better)}{than}{_opposite(sides)}"
        elif not kept:
            yield f"p99: noise hides how it differs{than.replace('than', 'from')}"
        return
    if kept:
        return
    for percent in (95, 50):
        ratio = sides.better(percent)
        if not alike(ratio) and sides.latency_differs(percent):
            yield f"p{percent} {_times(ratio)}{than} and p99 alike"
            return


def _opposite(sides: Sides) -> str:
    """Report the median if it changed in the other direction than the 99th percentile."""
    better, median = sides.better(), sides.better(50)
    moved = not alike(median) and sides.latency_differs(50)
    return f" but p50 {_times(median)}" if moved and (better > 1) != (median > 1) else ""


def _times(better: float) -> str:
    return f"{digits(max(better, 1 / better), 2)}× {'better' if better > 1 else 'worse'}"


def _latency_words(name: str, classes: list[Class], clauses: list[str], *, first: bool) -> str:
    """Join the clauses of a class; with rounds, a first clause on the p99 gets its figure."""
    possessive = f"{name}'" if name.endswith("s") else f"{name}'s"
    clauses = [
        clauses[0],
        *(clause.removeprefix("p99 ").removeprefix("p99: ") for clause in clauses[1:]),
    ]
    if len(classes) == 1 or not clauses[0].startswith("p99"):
        return f"{possessive} {', '.join(clauses)}"
    among = f" in {len(classes)} rounds" if first else ""
    p99 = ranges.latency(judge.latency(classes, 99))
    rest = clauses[0].removeprefix("p99").removeprefix(":").strip()
    return f"{possessive} p99 {p99}{among}, {', '.join([rest, *clauses[1:]])}"


def _throughput(name: str, sides: Sides) -> str:
    """Describe the throughput that is kept or gained, in percent."""
    if not sides.throughput_differs():
        return f"noise hides what {name} keeps"
    kept = sides.kept()
    if kept.median >= MANIFOLD:
        return (
            f"{name} has {ranges.figure(kept, lambda ratio: f'{digits(ratio, 2)}×')} its throughput"
        )
    if kept.median >= 1:
        gains = ranges.figure(kept, lambda ratio: f"{count(round(100 * (ratio - 1)))} %")
        return f"{name} gains {gains}"
    if kept.median < 0.01:
        return f"{name} keeps less than 1 %"
    return f"{name} keeps {ranges.figure(kept, lambda ratio: f'{round(100 * ratio)} %')}"


def _name(policy: Rounds) -> str:
    partial = policy.whole()[-1].get("interrupted")
    return f"{policy.label} (partial)" if partial else policy.label


def _troubles(policy: Rounds) -> Iterator[str]:
    """Report failures, failed requests and unfinished requests of a policy, over its rounds.

    An interrupted run always has unfinished requests, so they are not reported.
    """
    runs = policy.whole()
    for run in policy.runs:
        if "failure" in run:
            yield run["failure"].splitlines()[0]
    by_name: dict[str, list[Class]] = {}
    for class_ in (class_ for run in runs for class_ in run["classes"]):
        by_name.setdefault(class_["name"], []).append(class_)
    errors = {name: sum(class_["errors"] for class_ in by_name[name]) for name in by_name}
    failed = [
        f"{count(n)} of {name} ({failures.errors(*by_name[name])})"
        for name, n in errors.items()
        if n
    ]
    if failed:
        yield f"failed: {', '.join(failed)}"
    left = {
        name: sum(class_["unfinished"] for class_ in classes) for name, classes in by_name.items()
    }
    if any(left.values()) and not runs[-1].get("interrupted"):
        yield "unfinished: " + ", ".join(f"{count(n)} of {name}" for name, n in left.items() if n)
