"""A trade-off in words: a row for each setting, and what to take."""

from collections.abc import Iterator

from penstock.answer.table import NONE, Table
from penstock.answer.value import Line, headline
from penstock.results import judge, rounds
from penstock.results.figure import Figure
from penstock.results.json_types import Comparison
from penstock.results.rounds import Spread
from penstock.results.tradeoff import Point, Tradeoff
from penstock.text import failures, prose, ranges, schedule, units
from penstock.text.verdict import WIDTH

KEPT = 0.95
"""A setting that has so much of another one's throughput keeps it."""


def figure(of: Figure, spread: Spread | None) -> str:
    """A figure with its unit, and its range over rounds."""
    if spread is None:
        return NONE
    if of.is_latency:
        return ranges.latency(spread)
    if of.what == "bw":
        return ranges.figure(spread, lambda value: f"{units.megabytes(value)} MB/s")
    return ranges.figure(spread, lambda value: f"{units.rate(value)}/s")


def table(of: Tradeoff) -> Table:
    """Each setting with its figures, and which one beats it."""
    rows = []
    for point in of.points:
        beaten = f"beaten by {point.beaten_by}" if point.beaten_by else ""
        said = "frontier" if point.on_frontier else beaten
        rows.append([point.label, figure(of.x, point.x), figure(of.y, point.y), said])
    return Table(
        ["setting", str(of.x), str(of.y), ""], rows, name="settings", title="Every setting"
    )


def lines(comparison: Comparison, of: Tradeoff) -> list[str]:
    """The answer: the ends of the frontier, what lies well between, and what makes it doubtful."""
    said = [
        *failures.most_failed(comparison["runs"]),
        *_overload(comparison, of),
        *_answer(of),
        *_few(comparison, of),
        *schedule.caveats(rounds.by_policy(comparison)),
    ]
    return [part for line in said for part in prose.fold(line, WIDTH)]


def _answer(of: Tradeoff) -> Iterator[str]:
    frontier = of.frontier()
    if not frontier:
        yield "no setting has both figures: a class finished nothing"
        return
    first, last = frontier[0], frontier[-1]
    if len(frontier) == 1:
        yield f"best in both: {_both(of, first)}"
    else:
        yield f"best {of.x}: {_both(of, first)}"
        yield f"best {of.y}: {_both(of, last)}"
        yield from _keeping(of, frontier)
    beaten = len(of.placed()) - len(frontier)
    if beaten:
        yield (
            f"{len(frontier)} of {len(of.placed())} settings are on the frontier; each of the rest "
            "is beaten by another one that is as good in both figures and better in one"
        )


def _keeping(of: Tradeoff, frontier: list[Point]) -> Iterator[str]:
    """The best of `x` among those that keep the first setting's throughput, and the best one."""
    if not of.y.kind.more_is_better:
        return
    placed = {point.label: point.y.median for point in of.placed() if point.y}
    known = [frontier[0], frontier[-1]]
    for label in dict.fromkeys((of.points[0].label, frontier[-1].label)):
        enough = KEPT * placed.get(label, 0)
        keeps = next(point for point in frontier if placed[point.label] >= enough)
        if keeps.label != label and keeps not in known:
            known.append(keeps)
            share = f"{100 * KEPT:.0f} % of that of {label}"
            yield f"best {of.x} where {of.y} is at least {share}: {_both(of, keeps)}"


def _both(of: Tradeoff, point: Point) -> str:
    x, y = figure(of.x, point.x), figure(of.y, point.y)
    return f"{point.label} ({of.x} {x}, {of.y} {y})"


def _overload(comparison: Comparison, of: Tradeoff) -> Iterator[str]:
    """In which settings the device cannot keep up with one of the two classes."""
    over = judge.overload(rounds.by_policy(comparison))
    labels = list(dict.fromkeys(one["policy"] for one in over if one["name"] in (of.x.of, of.y.of)))
    if labels:
        every = len(labels) == len(of.points)
        where = "every setting" if every else f"{len(labels)} of {len(of.points)} settings"
        names = ", ".join(dict.fromkeys(one["name"] for one in over))
        yield (
            f"OVERLOAD: the device cannot keep up with {names} in {where}: latencies there "
            "grow for as long as requests come"
        )


def _few(comparison: Comparison, of: Tradeoff) -> Iterator[str]:
    for name in dict.fromkeys((of.x.of, of.y.of)):
        finished = [
            one["requests"]
            for run in comparison["runs"]
            for one in run["classes"]
            if one["name"] == name
        ]
        tail = any(figure.of == name and figure.what in ("p99", "p99.9") for figure in of[:2])
        if tail and finished and min(finished) < 100:
            yield (
                f"of {name} as few as {min(finished)} requests finished: a p99 of fewer than 100 "
                "is the slowest of them; take a longer run, or rounds (--repeat)"
            )


def title(comparison: Comparison, of: Tradeoff) -> Line:
    """What was swept, where."""
    job, device = comparison["job"]["file"], comparison["device"]
    return headline(comparison["world"], f"{job} on {device}, {len(of.points)} settings")
