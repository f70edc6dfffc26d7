"""Trade-offs as text: a row for each setting, and which setting to choose."""

from collections.abc import Iterator, Sequence

from penstock.answer.table import NONE, Table
from penstock.answer.value import Line, headline
from penstock.results import judge, rounds
from penstock.results.figure import Figure
from penstock.results.json_types import Comparison, Run
from penstock.results.rounds import Spread
from penstock.results.tradeoff import Tradeoff, TradeoffPoint
from penstock.text import failures, prose, ranges, schedule, units
from penstock.text.verdict import WIDTH

KEPT = 0.95
"""Share of another setting's throughput above which a setting keeps it."""


def figure(measure: Figure, spread: Spread | None) -> str:
    """Format a figure with its unit and its range over rounds."""
    if spread is None:
        return NONE
    if measure.is_latency:
        return ranges.latency(spread)
    if measure.what == "bw":
        return ranges.figure(spread, lambda value: f"{units.megabytes(value)} MB/s")
    return ranges.figure(spread, lambda value: f"{units.rate(value)}/s")


def table(tradeoff: Tradeoff) -> Table:
    """Make a table of the settings with their figures and the setting that beats each."""
    rows = []
    for point in tradeoff.points:
        beaten = f"beaten by {point.beaten_by}" if point.beaten_by else ""
        standing = "frontier" if point.on_frontier else beaten
        rows.append(
            [point.label, figure(tradeoff.x, point.x), figure(tradeoff.y, point.y), standing]
        )
    return Table(
        ["setting", str(tradeoff.x), str(tradeoff.y), ""],
        rows,
        name="settings",
        title="Every setting",
    )


def lines(comparison: Comparison, tradeoff: Tradeoff) -> list[str]:
    """Return the answer: the ends of the frontier, good settings between, and caveats."""
    answer = [
        *failures.most_failed(comparison["runs"]),
        *_overload(comparison, tradeoff),
        *_answer(tradeoff),
        *few(comparison["runs"], tradeoff[:2], "take a longer run, or rounds (--repeat)"),
        *schedule.caveats(rounds.by_policy(comparison)),
    ]
    return [part for line in answer for part in prose.fold(line, WIDTH)]


def _answer(tradeoff: Tradeoff) -> Iterator[str]:
    frontier = tradeoff.frontier()
    if not frontier:
        yield "no setting has both figures: a class finished nothing"
        return
    first, last = frontier[0], frontier[-1]
    if len(frontier) == 1:
        yield f"best in both: {_both(tradeoff, first)}"
    else:
        yield f"best {tradeoff.x}: {_both(tradeoff, first)}"
        yield f"best {tradeoff.y}: {_both(tradeoff, last)}"
        yield from _keeping(tradeoff, frontier)
    placed = len(tradeoff.placed())
    if placed > len(frontier):
        yield (
            f"{len(frontier)} of {placed} settings are on the frontier; each of the rest "
            "is beaten by another one that is as good in both figures and better in one"
        )


def _keeping(tradeoff: Tradeoff, frontier: list[TradeoffPoint]) -> Iterator[str]:
    """Yield the best settings in `x` that keep the first setting's `y`, and the best `y`."""
    if not tradeoff.y.kind.more_is_better:
        return
    placed = {point.label: point.y.median for point in tradeoff.placed() if point.y}
    known = [frontier[0], frontier[-1]]
    for label in dict.fromkeys((tradeoff.points[0].label, frontier[-1].label)):
        enough = KEPT * placed.get(label, 0)
        keeps = next(point for point in frontier if placed[point.label] >= enough)
        if keeps.label != label and keeps not in known:
            known.append(keeps)
            condition = f"{tradeoff.y} is at least {100 * KEPT:.0f} % of that of {label}"
            yield f"best {tradeoff.x} where {condition}: {_both(tradeoff, keeps)}"


def _both(tradeoff: Tradeoff, point: TradeoffPoint) -> str:
    x, y = figure(tradeoff.x, point.x), figure(tradeoff.y, point.y)
    return f"{point.label} ({tradeoff.x} {x}, {tradeoff.y} {y})"


def _overload(comparison: Comparison, tradeoff: Tradeoff) -> Iterator[str]:
    """Report the settings in which the device cannot keep up with one of the two classes."""
    over = judge.overload(rounds.by_policy(comparison))
    labels = list(
        dict.fromkeys(
            entry["policy"] for entry in over if entry["name"] in (tradeoff.x.of, tradeoff.y.of)
        )
    )
    if labels:
        every = len(labels) == len(tradeoff.points)
        where = "every setting" if every else f"{len(labels)} of {len(tradeoff.points)} settings"
        names = ", ".join(dict.fromkeys(entry["name"] for entry in over))
        yield (
            f"OVERLOAD: the device cannot keep up with {names} in {where}: latencies there "
            "grow for as long as requests come"
        )


def few(runs: Sequence[Run], figures: Sequence[Figure], hint: str) -> Iterator[str]:
    """Report the classes of which too few requests finished for a p99, with what to do."""
    for name in dict.fromkeys(figure.of for figure in figures):
        finished = [
            class_["requests"]
            for run in runs
            for class_ in run["classes"]
            if class_["name"] == name
        ]
        tail = any(figure.of == name and figure.what in ("p99", "p99.9") for figure in figures)
        if tail and finished and min(finished) < 100:
            yield (
                f"of {name} as few as {min(finished)} requests finished: a p99 of fewer than 100 "
                f"is the slowest of them; {hint}"
            )


def title(comparison: Comparison, tradeoff: Tradeoff) -> Line:
    """Return the heading: the job, the device and the number of settings."""
    job, device = comparison["job"]["file"], comparison["device"]
    return headline(comparison["world"], f"{job} on {device}, {len(tradeoff.points)} settings")
