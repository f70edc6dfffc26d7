"""A capacity in words: how much fits, what fails beyond it, and how sure that is."""

from collections.abc import Iterator

from penstock.advise.capacity import Capacity, LoadPoint, PolicyCapacity
from penstock.advise.capacity_search import WITHIN
from penstock.advise.goal import misses
from penstock.answer.table import NONE, Table
from penstock.results.figure import Figure
from penstock.text import prose, ranges, units
from penstock.text.tradeoff import few
from penstock.text.tradeoff import figure as figure_text
from penstock.text.verdict import WIDTH


def title(capacity: Capacity) -> str:
    """Returns what the answer is about."""
    load = capacity.load
    return f"{capacity.job} on {capacity.device}, {load.class_} by {load.by}"


def goal_texts(capacity: Capacity) -> str:
    """Returns all goals."""
    return " and ".join(goal.text for goal in capacity.goals)


def table(capacity: Capacity) -> Table:
    """Returns a row for each policy, the one that takes most first."""
    rows = []
    for policy in capacity.ranked:
        at, beyond = policy.at, policy.beyond
        rows.append(
            [
                policy.policy,
                _most(capacity, policy),
                *(_figure(at, figure) for figure in capacity.figures),
                NONE if at is None else f"{at.met} of {len(at.rounds.runs)}",
                *((NONE,) * 3 if beyond is None else _broken(capacity, beyond)),
            ]
        )
    headings = [
        "policy",
        capacity.load.title,
        *(f"{figure} there" for figure in capacity.figures),
        "goals met",
        "fails at",
        "there",
        "disk busy",
    ]
    return Table(headings, rows)


def curve(capacity: Capacity, policy: PolicyCapacity) -> Table:
    """Returns a row for each load that ran under a policy."""
    rows = [
        [
            capacity.load.bare(point.steps),
            *(_figure(point, figure) for figure in capacity.figures),
            f"{point.met} of {len(point.rounds.runs)}",
            units.percent(point.disk.utilisation),
        ]
        for point in policy.points
    ]
    headings = [capacity.load.title, *map(str, capacity.figures), "goals met", "busiest disk"]
    return Table(headings, rows, words=0, name=policy.policy, title=policy.policy)


def lines(capacity: Capacity) -> list[str]:
    """Returns the statements in lines."""
    return [part for line in statements(capacity) for part in prose.fold(line, WIDTH)]


def statements(capacity: Capacity) -> list[str]:
    """Returns the answer, what fails beyond it, and how it was found."""
    return [
        *_answer(capacity),
        *_none(capacity),
        *_never(capacity),
        *_knees(capacity),
        *_contradictions(capacity),
        *_few(capacity),
        _how(capacity),
    ]


def _most(capacity: Capacity, policy: PolicyCapacity) -> str:
    """Returns the largest load that holds, with its range over seeds."""
    if not policy.steps.high:
        return "none"
    text = ranges.figure(policy.steps, lambda steps: capacity.load.bare(int(steps)))
    return f"{text} or more" if policy.never_fails else text


def _figure(point: LoadPoint | None, figure: Figure) -> str:
    return NONE if point is None else figure_text(figure, figure.over(point.rounds))


def _broken(capacity: Capacity, point: LoadPoint) -> tuple[str, str, str]:
    """Returns the cells of a load that fails."""
    disk = point.disk.name
    busy = _busy(point) if disk is None else f"{disk}: {_busy(point)}"
    return capacity.load.bare(point.steps), _missed(point), busy


def _failure(point: LoadPoint) -> str:
    """Returns the goal that is missed by most, and how busy the busiest disk is."""
    disk = point.disk.name or "the disk"
    return f"{_missed(point)}, {disk} busy {_busy(point)} of the time"


def _missed(point: LoadPoint) -> str:
    """Returns the figure of the goal that is missed by most."""
    figure = point.worst.figure
    value = _figure(point, figure)
    return f"{figure.of} finishes nothing" if value == NONE else f"{figure} {value}"


def _busy(point: LoadPoint) -> str:
    """Returns how busy the busiest disk is."""
    return units.percent(point.disk.utilisation)


def _answer(capacity: Capacity) -> Iterator[str]:
    load, goals = capacity.load, goal_texts(capacity)
    fitting = [policy for policy in capacity.ranked if policy.answer]
    if not fitting:
        nearest = min(capacity.policies, key=lambda policy: _missed_by(capacity, policy))
        where = "any policy" if len(capacity.policies) > 1 else nearest.policy
        yield f"not even {load.least()} holds {goals} under {where}"
        if nearest.beyond is not None:
            failure = _failure(nearest.beyond)
            yield f"nearest is {nearest.policy} at {load.text(1)}: {failure}"
        return
    best, *others = fitting
    over_seeds = ""
    if best.steps.low != best.steps.high:
        low, high = (load.bare(int(steps)) for steps in best.steps[1:])
        over_seeds = f" ({low}–{high} over {capacity.seeds} seeds)"
    least = "at least " if best.never_fails else ""
    sets = " ".join(f"--set {change}" for change in load.sets(best.answer))
    takes = "takes the most: " if len(capacity.policies) > 1 else "takes "
    amount = f"{least}{load.amount(best.answer)}{over_seeds}"
    yield f"{best.policy} {takes}{amount} with {goals}; as {sets}"
    if best.beyond is not None:
        failure = _failure(best.beyond)
        yield f"at {load.text(best.beyond.steps)} the first goal is missed: {failure}"
    if others:
        listed = ", ".join(f"{policy.policy} {_most(capacity, policy)}" for policy in others)
        yield f"under other policies: {listed}"


def _none(capacity: Capacity) -> Iterator[str]:
    """Yields the policies under which not even the least load holds, and those without any load."""
    load = capacity.load
    none = [policy for policy in capacity.policies if not policy.answer]
    if none and capacity.fits:
        yield f"not even {load.least()} under {', '.join(policy.policy for policy in none)}"
    for policy in none:
        if policy.without is not None and not policy.without.holds:
            failure = _failure(policy.without)
            yield f"a goal is missed under {policy.policy} with no {load.class_} at all: {failure}"


def _never(capacity: Capacity) -> Iterator[str]:
    never = [policy.policy for policy in capacity.policies if policy.never_fails]
    if never:
        limit = capacity.load.text(capacity.load.most)
        yield f"no goal fails up to {limit} under {', '.join(never)}: --up-to sets another limit"


def _knees(capacity: Capacity) -> Iterator[str]:
    for figure in capacity.figures:
        knees = {policy.policy: policy.knee(figure) for policy in capacity.ranked}
        listed = [
            f"{policy} {capacity.load.bare(knee)}"
            for policy, knee in knees.items()
            if knee is not None
        ]
        if listed:
            yield (
                f"knee of {figure}, beyond which it grows faster than the load, at about: "
                f"{', '.join(listed)}"
            )


def _contradictions(capacity: Capacity) -> Iterator[str]:
    """Yields the loads that show that goals do not simply fail from some load on."""
    for policy in capacity.policies:
        below = [point for point in policy.contradictions if not point.holds]
        above = [point for point in policy.contradictions if point.holds]
        for points, also in ((below, "fail at {}, below"), (above, "hold at {}, above")):
            if points:
                loads = ", ".join(capacity.load.bare(point.steps) for point in points)
                yield (
                    f"NOT MONOTONE under {policy.policy}: goals also {also.format(loads)} that "
                    "answer; look at the curve before you rely on it"
                )


def _few(capacity: Capacity) -> Iterator[str]:
    points = [policy.at for policy in capacity.policies if policy.at is not None]
    runs = [run for point in points for run in point.rounds.runs]
    yield from few(runs, capacity.figures, "take a longer run (--set duration=…)")


def _how(capacity: Capacity) -> str:
    first, seeds = capacity.first_seed, capacity.seeds
    of_seeds = f"seeds {first}–{first + seeds - 1}, the same" if seeds > 1 else f"seed {first}"
    exact = capacity.load.text(1)
    if max(policy.answer for policy in capacity.policies) >= 2 * WITHIN:
        exact = f"{100 // WITHIN} %"
    sure = "" if seeds > 1 else "; how much other seeds differ is not known"
    return (
        f"{units.count(capacity.runs)} runs, with {of_seeds} at every load; "
        f"the answer of a seed is exact to {exact}{sure}"
    )


def _missed_by(capacity: Capacity, policy: PolicyCapacity) -> float:
    """Returns the ratio by which a policy misses the goals at the least load."""
    point = policy.beyond
    return float("inf") if point is None else max(misses(point.rounds, capacity.goals).values())
