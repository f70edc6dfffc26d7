"""The report: one page of HTML that needs nothing else, not even a script.

Pictures stand in it as SVG, in light colours; the style sheet puts dark ones in their place where
the reader prefers that. All figures stand in it once more as JSON, under the id `penstock-data`.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.charts import palette
from penstock.report.files import PAGE_MARK
from penstock.report.slides import TITLES, date
from penstock.results import rounds
from penstock.results.json_types import ClassDetail, Comparison
from penstock.results.tradeoff import Tradeoff, weigh
from penstock.text import disks, failures, places, ranges, table, tradeoff
from penstock.text.verdict import judged, verdict

if TYPE_CHECKING:
    import altair as alt
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
"""The columns of the table that are seen without scrolling on a phone."""

_FIRST_OF_ROUNDS = ("p50", "p99", "p99.9", "MB/s")
"""The same of rounds, whose figures are wide."""

SECTIONS = (
    (
        "rounds",
        "The 99th percentile of every round: a dot each, a line from the least to the greatest, a "
        "stroke at the median. Where the lines of two policies overlap, noise may be all that is "
        "between them. Further left is better.",
    ),
    (
        "latency",
        "Each curve tells for every latency which share of the requests was faster. Latency and "
        "rarity both grow by factors: the upper half of a picture is the slowest request in a "
        "hundred and fewer. Further left is better. Marks: the median, 95, 99 and 99.9 %.",
    ),
    (
        "percentiles",
        "The 99th percentile and the median of the requests that completed in each window of time. "
        "A gap: none completed; a dot: a window between two gaps. Lower is better.",
    ),
    (
        "throughput",
        "Millions of bytes a second that completed in each window. Higher is better.",
    ),
    (
        "queue",
        "Requests that had arrived and were not finished, in the mean of each window.",
    ),
    (
        "share",
        "The part of the device's busy time that went to the class, in each window. The dashed "
        "line is what its weight promises.",
    ),
)

ARM = (
    "The cylinder under the heads over time: a line for the way, a mark where each access ended. "
    "The ground is shaded while the policy held the disk idle although requests were queued. Of "
    "several disks, the first."
)

COUNTED = (
    "policy",
    "What policies count of themselves: what was added in each window, or the value at its end. Of "
    "many classes the first eight are drawn.",
)
"""The pictures of policies, which come last."""


def columns_of(comparison: Comparison) -> list[table.Column]:
    """Those of the table in the terminal, in the order of the page."""
    first = _FIRST_OF_ROUNDS if rounds.repeated(comparison) else _FIRST
    place = {heading: at for at, heading in enumerate(first)}
    return sorted(
        table.columns(comparison), key=lambda column: place.get(column.heading, len(first))
    )


def page(comparison: Comparison, *, command: str | None = None) -> str:
    """The whole page. The comparison must have its detail; `command` is what was asked for."""
    return (
        environment()
        .get_template("report.html.jinja")
        .render(
            **_summary(comparison),
            **dress(f"{comparison['world'].upper()}: {_title(comparison)}"),
            facts=list(_facts(comparison, command)),
            sections=list(_sections(comparison)),
            disks=disks.table(comparison),
            disk_headings=disks.HEADINGS,
            runs=[_about(comparison, policy) for policy in rounds.by_policy(comparison)],
            job=comparison["job"],
            data=as_data(_data(comparison)),
        )
    )


def sweep(comparison: Comparison, of: Tradeoff, *, command: str | None = None) -> str:
    """The page of a sweep: the answer, the picture, and the table."""
    return (
        environment()
        .get_template("sweep.html.jinja")
        .render(
            **dress(f"{comparison['world'].upper()}: {_title(comparison)}"),
            world=comparison["world"].upper(),
            title=_title(comparison),
            facts=list(_facts(comparison, command)),
            lines=tradeoff.lines(comparison, of),
            sections=[_tradeoff(of)],
            headings=tradeoff.table(of).headings,
            rows=tradeoff.table(of).rows,
            job=comparison["job"],
            data=as_data(comparison),
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


def _title(comparison: Comparison) -> str:
    return f"{comparison['job']['file']} on {comparison['device']}"


def _summary(comparison: Comparison) -> dict[str, Any]:
    """What the page and the fragment have in common."""
    columns = columns_of(comparison)
    legend = table.legend(columns)
    return {
        "world": comparison["world"].upper(),
        "title": _title(comparison),
        "explained": list(places.explained(comparison)),
        "partial": [
            failures.why_partial(run) for run in comparison["runs"] if run.get("interrupted")
        ],
        "verdict": verdict(comparison),
        "columns": [column.heading for column in columns],
        "groups": list(_groups(comparison)),
        "legend": " ".join(filter(None, (table.of_rounds(comparison), legend))),
    }


def _groups(comparison: Comparison) -> Iterator[tuple[str, list[tuple[str, list[str]]]]]:
    """For each class a row for each policy, so that what is to be compared stands together."""
    policies, columns = rounds.by_policy(comparison), columns_of(comparison)
    for name in rounds.class_names(comparison["runs"]):
        took_part = [policy for policy in policies if policy.of(name)]
        yield (
            name,
            [(one.label, [column.of(one, name) for column in columns]) for one in took_part],
        )


def _facts(comparison: Comparison, command: str | None) -> Iterator[tuple[str, str]]:
    """What ran, where, and from which seed."""
    job, machine = comparison["job"], comparison["machine"]
    yield "Job", job["file"]
    for change in job["set"]:
        yield "Changed", change
    yield "Device", f"{comparison['device']} ({places.kind(comparison)})"
    if rounds.repeated(comparison):
        yield "Rounds", ranges.seeds(comparison)
    else:
        yield "Seed", str(comparison["seed"])
    yield "Machine", f"{machine['cpu']}, {machine['cpus']} CPUs, {machine['kernel']}"
    if "engine" in machine:
        yield "Engine", machine["engine"]
    if (said := places.schedulers(comparison["runs"])) is not None:
        yield "Disks", said
    if "began_unix_s" in machine:
        began = datetime.fromtimestamp(machine["began_unix_s"], UTC)
        yield "Began", f"{began:%Y-%m-%d %H:%M:%S} UTC"
    else:
        yield "Date", date(comparison)
    if command is not None:
        yield "Command", command
    yield "Penstock", comparison["penstock"]
    for remark in comparison.get("remarks", []):
        yield "Note", remark


def _about(comparison: Comparison, policy: rounds.Rounds) -> dict[str, Any]:
    """A policy: its parameters, and what holds for all classes."""
    return {
        "policy": policy.label,
        "params": table.params(policy.runs[0]["params"]),
        "facts": list(table.facts(comparison, policy)),
    }


def _tradeoff(of: Tradeoff) -> Section:
    from penstock.charts import tradeoff as charts
    from penstock.report import pictures

    title = TITLES["tradeoff"]
    words = (
        "Each point is a policy or a setting. Along the line nothing is better in both figures; "
        "what is grey is beaten by another point in both, or in one and as good in the other."
    )
    said = escape(f"{title}: {of.x} against {of.y}; the figures are in the page's data")
    drawn = pictures.svg(charts.tradeoff(of), name="tradeoff", title=said)
    return Section("tradeoff", title, words, [Figure("tradeoff", "", drawn)])


def _sections(comparison: Comparison) -> Iterator[Section]:
    from penstock.charts import comparison as charts
    from penstock.report import pictures

    if (weighed := weigh(comparison)) is not None:
        yield _tradeoff(weighed)

    drawn = charts.all_of(comparison)
    note = _drawn_rounds(comparison)
    for kind, words in SECTIONS:
        if figures := list(_figures(drawn, kind, "class")):
            # The rounds themselves need no note, and after the first all know.
            words = f"{words} {note}" if kind == "latency" else words
            yield Section(kind, TITLES[kind], words, figures)
    if "shares" in drawn:
        title = TITLES["shares"]
        said = f"{title}; the figures are in the table"
        bars = Figure("shares", "", pictures.svg(drawn["shares"], name="shares", title=said))
        words = "Device time of each class, as a share of the time in which the device was busy."
        yield Section("shares", title, words, [bars])
    if "arm" in drawn:
        title = TITLES["arm"]
        said = f"{title}; the figures are in the page's data"
        of = Figure("arm", "", pictures.svg(drawn["arm"], name="arm", title=said))
        yield Section("arm", title, ARM, [of])
    kind, words = COUNTED
    if figures := list(_figures(drawn, kind, "policy")):
        yield Section(kind, TITLES[kind], words, figures)


def _figures(drawn: "Mapping[str, alt.TopLevelMixin]", kind: str, what: str) -> Iterator[Figure]:
    """The pictures of one kind, each of one of `what`."""
    from penstock.report import pictures

    for name, chart in drawn.items():
        of, _, one = name.partition("-")
        if of == kind:
            said = escape(f"{TITLES[kind]}, {what} {one}; the figures are in the page's data")
            yield Figure(name, one, pictures.svg(chart, name=name, title=said))


def _drawn_rounds(comparison: Comparison) -> str:
    """Which round of each policy the pictures are of."""
    if not rounds.repeated(comparison):
        return ""
    drawn = [(one.label, one.middle()["seed"]) for one in rounds.by_policy(comparison)]
    seeds = ", ".join(f"{label} seed {seed}" for label, seed in drawn)
    return (
        "This and all pictures below are of one round of each policy, the one in the middle by the "
        f"p99 of its first class: {seeds}."
    )


def _data(comparison: Comparison) -> dict[str, Any]:
    """All figures: the comparison, and by columns the detail of what is drawn."""
    runs = [{k: v for k, v in run.items() if k != "detail"} for run in comparison["runs"]]
    drawn = [policy.middle() for policy in rounds.by_policy(comparison)]
    detail = [
        {
            "policy": run["policy"],
            **({"round": run["round"]} if "round" in run else {}),
            "window_s": run["detail"]["window_s"],
            "classes": [_columns(one) for one in run["detail"]["classes"]],
            **({"policy_series": run["detail"]["policy"]} if "policy" in run["detail"] else {}),
            **({"arm": run["detail"]["arm"]} if "arm" in run["detail"] else {}),
        }
        for run in drawn
    ]
    whole = {**comparison, "runs": runs, "verdict": judged(comparison)}
    return {"comparison": whole, "detail": detail}


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
