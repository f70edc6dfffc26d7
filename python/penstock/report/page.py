"""The report: one page of HTML that needs nothing else, not even a script.

Pictures stand in it as SVG, in light colours; the style sheet puts dark ones in their place where
the reader prefers that. All figures stand in it once more as JSON, under the id `penstock-data`.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock import failures, frames, palette, schedule, table, units
from penstock.report.files import PAGE_MARK
from penstock.schema import ClassDetail, Comparison
from penstock.verdict import verdict

if TYPE_CHECKING:
    from jinja2 import Environment


class Figure(NamedTuple):
    """A picture with its caption."""

    name: str
    caption: str
    svg: str


class Section(NamedTuple):
    """Pictures that answer one question."""

    kind: str
    title: str
    words: str
    figures: list[Figure]


_FIRST = ("p50", "p95", "p99", "p99.9", "mean", "wait", "share")
COLUMNS = sorted(
    table.COLUMNS[1:],
    key=lambda column: _FIRST.index(column.heading) if column.heading in _FIRST else len(_FIRST),
)
"""Those of the table in the terminal, but on a phone the first are seen without scrolling."""

SECTIONS = (
    (
        "latency",
        "How long requests take",
        "Each curve tells for every latency which share of the requests was faster. Latency and "
        "rarity both grow by factors: the upper half of a picture is the slowest request in a "
        "hundred and fewer. Further left is better. Marks: the median, 95, 99 and 99.9 %.",
    ),
    (
        "percentiles",
        "Latency over time",
        "The 99th percentile and the median of the requests that completed in each window of time. "
        "A gap: none completed; a dot: a window between two gaps. Lower is better.",
    ),
    (
        "throughput",
        "Throughput over time",
        "Millions of bytes a second that completed in each window. Higher is better.",
    ),
    (
        "queue",
        "Queue over time",
        "Requests that had arrived and were not finished, in the mean of each window.",
    ),
)


def page(comparison: Comparison) -> str:
    """The whole page. The comparison must have its detail."""
    return (
        environment()
        .get_template("report.html.jinja")
        .render(
            **_summary(comparison),
            **dress(f"{comparison['world'].upper()}: {_title(comparison)}"),
            facts=list(_facts(comparison)),
            sections=list(_sections(comparison)),
            runs=[_about(comparison, label, run) for label, run in _labelled(comparison)],
            job=comparison["job"],
            data=as_data(_data(comparison)),
        )
    )


def dress(headline: str) -> dict[str, Any]:
    """What the head of every page needs."""
    return {
        "headline": headline,
        "mark": PAGE_MARK.decode(),
        "dark": palette.dark("svg.chart"),
        "ground": palette.GROUND,
        "ink": palette.INK,
        "faint": palette.FAINT,
        "grid": palette.GRID,
        "link": palette.POLICIES[0],
    }


def as_data(data: object) -> str:
    """Figures as JSON that may stand in a page."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    # No text of a job may end the element.
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def fragment(comparison: Comparison) -> str:
    """The verdict and the table, for a notebook."""
    return environment().get_template("fragment.html.jinja").render(**_summary(comparison))


@cache
def environment() -> "Environment":
    """The templates."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("penstock.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _labelled(comparison: Comparison) -> Iterator[tuple[str, Any]]:
    return zip(frames.labels(comparison["runs"]), comparison["runs"], strict=True)


def _title(comparison: Comparison) -> str:
    return f"{comparison['job']['file']} on {comparison['device']}"


def _summary(comparison: Comparison) -> dict[str, Any]:
    """What the page and the fragment have in common."""
    return {
        "world": comparison["world"].upper(),
        "title": _title(comparison),
        "partial": [
            failures.why_partial(run) for run in comparison["runs"] if run.get("interrupted")
        ],
        "verdict": verdict(comparison),
        "columns": [column.heading for column in COLUMNS],
        "groups": list(_groups(comparison)),
        "legend": table.LEGEND,
    }


def _groups(comparison: Comparison) -> Iterator[tuple[str, list[tuple[str, list[str]]]]]:
    """For each class a row for each policy, so that what is to be compared stands together."""
    runs = comparison["runs"]
    for name in [one["name"] for one in runs[0]["classes"]] if runs else []:
        rows = []
        for label, run in _labelled(comparison):
            known = (one for one in run["classes"] if one["name"] == name)
            rows += [(label, [column.cell(one) for column in COLUMNS]) for one in known]
        yield name, rows


def _facts(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """What ran, where, and from which seed."""
    job, machine = comparison["job"], comparison["machine"]
    yield "Job", job["file"]
    for change in job["set"]:
        yield "Changed", change
    model = comparison["world"] == "simulated"
    yield "Device", f"{comparison['device']} ({'a model' if model else 'a real file'})"
    yield "Seed", str(comparison["seed"])
    yield "Machine", f"{machine['cpu']}, {machine['cpus']} CPUs, {machine['kernel']}"
    if "engine" in machine:
        yield "Engine", machine["engine"]
    if "began_unix_s" in machine:
        began = datetime.fromtimestamp(machine["began_unix_s"], UTC)
        yield "Began", f"{began:%Y-%m-%d %H:%M:%S} UTC"
    yield "Penstock", comparison["penstock"]


def _about(
    comparison: Comparison,
    label: str,
    run: Any,  # noqa: ANN401 - a template's view of a run
) -> dict[str, Any]:
    """A policy: its parameters, and what holds for all classes."""
    return {
        "policy": label,
        "params": table.params(run["params"]),
        "duration": units.seconds(run["duration_s"]),
        "busy": units.percent(run["device_busy"]),
        "schedule": schedule.sentence(comparison, run),
        "remarks": run.get("remarks", []),
        "partial": run.get("interrupted", False),
    }


def _sections(comparison: Comparison) -> Iterator[Section]:
    from penstock import charts
    from penstock.report import pictures

    drawn = charts.all_of(comparison)
    for kind, title, words in SECTIONS:
        figures = []
        for name, chart in drawn.items():
            of, _, one = name.partition("-")
            if of == kind:
                said = escape(f"{title}, class {one}; the figures are in the page's data")
                figures.append(Figure(name, one, pictures.svg(chart, name=name, title=said)))
        yield Section(kind, title, words, figures)
    if "shares" in drawn:
        title = "Who had the device"
        said = f"{title}; the figures are in the table"
        bars = Figure("shares", "", pictures.svg(drawn["shares"], name="shares", title=said))
        words = "Device time of each class, as a share of the device time of all."
        yield Section("shares", title, words, [bars])


def _data(comparison: Comparison) -> dict[str, Any]:
    """All figures: the comparison, and its detail by columns."""
    runs = [{k: v for k, v in run.items() if k != "detail"} for run in comparison["runs"]]
    detail = [
        {
            "policy": run["policy"],
            "window_s": run["detail"]["window_s"],
            "classes": [_columns(one) for one in run["detail"]["classes"]],
        }
        for run in comparison["runs"]
    ]
    return {"comparison": {**comparison, "runs": runs}, "detail": detail}


def _columns(one: ClassDetail) -> dict[str, Any]:
    """A class's detail with each name said once: a third of the bytes."""
    row = ("at_s", "requests", "bytes", "p50_ns", "p99_ns", "outstanding", "device_time_s")
    rows: Any = one["series"]
    return {
        "name": one["name"],
        "lat_ns": _pairs(one["lat_ns"]),
        "wait_ns": _pairs(one["wait_ns"]),
        "series": {key: [each[key] for each in rows] for key in row},
    }


def _pairs(pairs: list[tuple[int, int]]) -> dict[str, list[int]]:
    return {"upper_ns": [upper for upper, _ in pairs], "count": [count for _, count in pairs]}
