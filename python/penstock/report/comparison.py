"""Files about a comparison or a sweep: a page, pictures, a workbook, tables."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from penstock.answer.picture import Picture
from penstock.answer.table import Table
from penstock.report.outputs import Contents
from penstock.report.page import (
    Bullets,
    Page,
    Paragraph,
    Part,
    Section,
    Source,
    Titled,
    date,
    of_pictures,
)
from penstock.results import rounds
from penstock.results.json_types import ClassDetail, Comparison
from penstock.results.tradeoff import Tradeoff
from penstock.text import disks, failures, places, ranges, table, tradeoff
from penstock.text.verdict import judged, verdict

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

TITLES = {
    "tradeoff": "What one gains and another one pays",
    "rounds": "How far rounds lie apart",
    "latency": "How long requests take",
    "percentiles": "Latency over time",
    "throughput": "Throughput over time",
    "queue": "Queue over time",
    "share": "Share of the device over time",
    "shares": "Who had the device",
    "arm": "Where the arm was",
    "policy": "What the policy counts",
}
"""Titles of the kinds of pictures, in the order of a page."""

_FIRST = ("p50", "p95", "p99", "p99.9", "mean", "wait", "share")
"""The columns of the table that are seen without scrolling on a phone."""

_FIRST_OF_ROUNDS = ("p50", "p99", "p99.9", "MB/s")
"""Those columns where figures are of rounds, and wide."""

ABOUT = {
    "tradeoff": (
        "Each point is a policy or a setting. Along the line nothing is better in both figures; "
        "what is grey is beaten by another point in both, or in one and as good in the other."
    ),
    "rounds": (
        "The 99th percentile of every round: a dot each, a line from the least to the greatest, a "
        "stroke at the median. Where the lines of two policies overlap, noise may be all that is "
        "between them. Further left is better."
    ),
    "latency": (
        "Each curve tells for every latency which share of the requests was faster. Latency and "
        "rarity both grow by factors: the upper half of a picture is the slowest request in a "
        "hundred and fewer. Further left is better. Marks: the median, 95, 99 and 99.9 %."
    ),
    "percentiles": (
        "The 99th percentile and the median of the requests that completed in each window of time. "
        "A gap: none completed; a dot: a window between two gaps. Lower is better."
    ),
    "throughput": "Millions of bytes a second that completed in each window. Higher is better.",
    "queue": "Requests that had arrived and were not finished, in the mean of each window.",
    "share": (
        "The part of the device's busy time that went to the class, in each window. The dashed "
        "line is what its weight promises."
    ),
    "shares": "Device time of each class, as a share of the time in which the device was busy.",
    "arm": (
        "The cylinder under the heads over time: a line for the way, a mark where each access "
        "ended. The ground is shaded while the policy held the disk idle although requests were "
        "queued. Of several disks, the first."
    ),
    "policy": (
        "What policies count of themselves: what was added in each window, or the value at its "
        "end. Of many classes the first eight are drawn."
    ),
}
"""Explanations of the kinds of pictures."""


def contents(
    comparison: Comparison,
    requests: "Callable[[], pl.LazyFrame] | None" = None,
    *,
    drawn: bool = True,
) -> Contents:
    """Returns what can be written of a comparison; `requests` makes the table of every request.

    Without pictures, which take seconds, if they are not to be `drawn`.
    """

    def workbook() -> bytes:
        from penstock.report import workbook

        return workbook.workbook(comparison)

    return Contents(
        page=lambda command: page(comparison, command=command, drawn=drawn),
        pictures=lambda: pictures(comparison) if drawn else [],
        workbook=workbook,
        requests=requests,
    )


def page(comparison: Comparison, *, command: str | None = None, drawn: bool = True) -> Page:
    """Returns the page of a comparison with its detail; `command` is what was asked for."""
    note = _drawn_rounds(comparison)
    # The rounds themselves need no note, and after the first all know.
    about = {**ABOUT, "latency": f"{ABOUT['latency']} {note}".rstrip()}
    every = pictures(comparison) if drawn else []
    return Page(
        world=comparison["world"].upper(),
        title=_title(comparison),
        facts=list(_facts(comparison, command)),
        sections=[
            Section("summary", "What came of it", list(_summary(comparison))),
            *of_pictures(every, _kinds(about)),
            *_disks(comparison),
            Section("policies", "Policies", list(_policies(comparison))),
            _job(comparison, "As it ran, with every default in place."),
        ],
        data=_data(comparison),
    )


def sweep_page(
    comparison: Comparison,
    candidates: Tradeoff,
    *,
    command: str | None = None,
    drawn: bool = True,
) -> Page:
    """Returns the page of a sweep: the answer, the picture, and the table."""
    settings = tradeoff.table(candidates)
    every = [_tradeoff(comparison, candidates)] if drawn else []
    return Page(
        world=comparison["world"].upper(),
        title=_title(comparison),
        facts=list(_facts(comparison, command)),
        sections=[
            Section(
                "summary",
                "What came of it",
                [Bullets(tradeoff.lines(comparison, candidates), "verdict")],
            ),
            *of_pictures(every, _kinds(ABOUT)),
            Section(settings.name, settings.title, [settings]),
            _job(comparison, "As it ran in the first setting, with every default in place."),
        ],
        data=comparison,
    )


def sweep_contents(
    comparison: Comparison,
    candidates: Tradeoff,
    frame: "Callable[[], pl.DataFrame] | None" = None,
    *,
    drawn: bool = True,
) -> Contents:
    """Returns what can be written of a sweep; `frame` makes the table of every figure."""
    return Contents(
        page=lambda command: sweep_page(comparison, candidates, command=command, drawn=drawn),
        pictures=lambda: [_tradeoff(comparison, candidates)] if drawn else [],
        parquet=frame,
    )


def summary(comparison: Comparison) -> list[Part]:
    """Returns the verdict and the table, for a notebook."""
    world, title = comparison["world"].upper(), _title(comparison)
    return [Paragraph(f" {title}", lead=world), *_summary(comparison)]


def pictures(comparison: Comparison) -> list[Picture]:
    """Returns every picture of a comparison, in the order of a page."""
    from penstock.charts import comparison as charts

    drawn, about = charts.all_of(comparison), _about(comparison)
    return [_picture(name, chart, about) for name, chart in drawn.items()]


def _tradeoff(comparison: Comparison, candidates: Tradeoff) -> Picture:
    from penstock.charts import tradeoff as charts

    return _picture("tradeoff", charts.tradeoff(candidates), _about(comparison))


def _picture(name: str, chart: "alt.TopLevelMixin", about: Sequence[str]) -> Picture:
    kind, _, subject = name.partition("-")
    title = f"{TITLES[kind]}: {subject}" if subject else TITLES[kind]
    return Picture(name=name, title=title, chart=chart, kind=kind, caption=subject, about=about)


def _kinds(about: dict[str, str]) -> list[tuple[str, str, str]]:
    return [(kind, title, about[kind]) for kind, title in TITLES.items()]


def _title(comparison: Comparison) -> str:
    return f"{comparison['job']['file']} on {comparison['device']}"


def _summary(comparison: Comparison) -> Iterator[Part]:
    """Yields what came of a comparison: what readers have to know, the verdict, the table."""
    for line in places.explained(comparison):
        yield Paragraph(f"{line[0].upper()}{line[1:]}.")
    early = [failures.why_partial(run) for run in comparison["runs"] if run.get("interrupted")]
    if early:
        said = f": {'; '.join(early)}; the figures are of the part that ran."
        yield Paragraph(said, "partial", lead="PARTIAL")
    if lines := verdict(comparison):
        yield Bullets(lines, "verdict")
    columns, policies = _columns_of(comparison), rounds.by_policy(comparison)
    legend = " ".join(filter(None, (table.of_rounds(comparison), table.legend(columns))))
    yield Table(
        ["class", "policy", *(column.heading for column in columns)],
        [
            [name, policy.label, *(column.of(policy, name) for column in columns)]
            for name in rounds.class_names(comparison["runs"])
            for policy in policies
            if policy.of(name)
        ],
        words=2,
        grouped=True,
        notes=[legend],
    )


def _disks(comparison: Comparison) -> Iterator[Section]:
    rows = [
        [policy, row.disks, *row.cells] for policy, rows in disks.table(comparison) for row in rows
    ]
    if rows:
        disk_table = Table(["policy", "disk", *disks.HEADINGS], rows, words=2, grouped=True)
        about = (
            "Requests that each disk served, accesses of its arm, means, and the 99th percentile "
            "of the service."
        )
        yield Section("disks", "What the disks did", [disk_table], about)


def _policies(comparison: Comparison) -> Iterator[Titled]:
    for policy in rounds.by_policy(comparison):
        params = table.params(policy.runs[0]["params"])
        facts = table.facts(comparison, policy)
        yield Titled(policy.label, [*([params] if params else []), *facts])


def _job(comparison: Comparison, about: str) -> Section:
    return Section("job", "The job", [Source(comparison["job"]["text"])], about)


def _columns_of(comparison: Comparison) -> list[table.Column]:
    """Returns the columns of the table in the terminal, in the order of the page."""
    first = _FIRST_OF_ROUNDS if rounds.repeated(comparison) else _FIRST
    place = {heading: at for at, heading in enumerate(first)}
    return sorted(
        table.columns(comparison), key=lambda column: place.get(column.heading, len(first))
    )


def _facts(comparison: Comparison, command: str | None) -> Iterator[tuple[str, str]]:
    """Yields the job, the place, the seed and the machine of a comparison."""
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
        yield "Date", date()
    if command is not None:
        yield "Command", command
    yield "Penstock", comparison["penstock"]
    for remark in comparison.get("remarks", []):
        yield "Note", remark


def _about(comparison: Comparison) -> Sequence[str]:
    """Returns what ran where, and when, for a picture that stands alone."""
    seeds = f"seed {comparison['seed']}"
    if rounds.repeated(comparison):
        seeds = ranges.seeds(comparison)
    when = date(comparison["machine"].get("began_unix_s"))
    lines = [f"{comparison['world'].upper()}: {_title(comparison)}, {seeds}, {when}"]
    if comparison["job"]["set"]:
        lines.append(", ".join(comparison["job"]["set"]))
    return lines


def _drawn_rounds(comparison: Comparison) -> str:
    """Which round of each policy the pictures are of."""
    if not rounds.repeated(comparison):
        return ""
    drawn = [(policy.label, policy.middle()["seed"]) for policy in rounds.by_policy(comparison)]
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
            "classes": [_columns(class_) for class_ in run["detail"]["classes"]],
            **({"policy_series": run["detail"]["policy"]} if "policy" in run["detail"] else {}),
            **({"agents": run["detail"]["agents"]} if "agents" in run["detail"] else {}),
            **({"arm": run["detail"]["arm"]} if "arm" in run["detail"] else {}),
        }
        for run in drawn
    ]
    whole = {**comparison, "runs": runs, "verdict": judged(comparison)}
    return {"comparison": whole, "detail": detail}


def _columns(detail: ClassDetail) -> dict[str, Any]:
    """A class's detail with each name said once: a third of the bytes."""
    row = ("at_s", "requests", "bytes", "p50_ns", "p99_ns", "outstanding", "device_time_s")
    rows: Any = detail["series"]
    return {
        "name": detail["name"],
        "lat_ns": _pairs(detail["lat_ns"]),
        "wait_ns": _pairs(detail["wait_ns"]),
        "series": {key: [window[key] for window in rows] for key in row},
    }


def _pairs(pairs: list[tuple[int, int]]) -> dict[str, list[int]]:
    return {"upper_ns": [upper for upper, _ in pairs], "count": [count for _, count in pairs]}
