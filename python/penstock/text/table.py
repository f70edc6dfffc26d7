"""Runs of policies as text: what ran, and a table per policy with a row per class.

Columns are as wide as their contents and nothing is cut off: if the lines would be too long, the
table is printed in two parts, throughput and latency. With rounds each figure is the median with
its range, which is wide, so the table of a policy has a row per figure and a column per class.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from itertools import accumulate
from typing import NamedTuple

from rich.cells import cell_len

from penstock.answer.table import NONE, Table
from penstock.answer.terminal import GAP
from penstock.answer.value import Blocks, Line, Part, headline
from penstock.results import rounds, shares
from penstock.results.json_types import Class, Comparison, Params, Run, Value
from penstock.results.percentile import percentile
from penstock.results.rounds import Rounds, Spread
from penstock.text import (
    counters,
    disks,
    failures,
    files,
    merges,
    places,
    programs,
    ranges,
    schedule,
    units,
    verified,
)
from penstock.text import shares as shares_text


class Half(Enum):
    """The two parts of a table that is too wide for one."""

    THROUGHPUT = "throughput"
    LATENCY = "latency"


class Column(NamedTuple):
    """A figure of a class: its heading, how it is rendered, and its part of the table."""

    heading: str
    figure: Callable[[Class], float | None]
    render: Callable[[Spread], str]
    part: Half = Half.THROUGHPUT

    def cell(self, class_: Class) -> str:
        """Return the figure of one run."""
        return self._cell([class_])

    def of(self, policy: Rounds, name: str) -> str:
        """Return the figure of the class `name` over rounds; a dash if it took no part."""
        return self._cell(policy.of(name))

    def _cell(self, classes: list[Class]) -> str:
        # A latency without a finished request is a dash: zero would be wrong.
        known = all(class_["requests"] for class_ in classes) or self.part is Half.THROUGHPUT
        figures = [figure for figure in map(self.figure, classes) if figure is not None]
        whole = known and figures and len(figures) == len(classes)
        return self.render(Spread.of(figures)) if whole else NONE


def _latency(heading: str, figure: Callable[[Class], float | None]) -> Column:
    return Column(heading, figure, ranges.latency, Half.LATENCY)


def _percentile(percent: float) -> Column:
    return _latency(f"p{percent:g}", lambda class_: percentile(class_["lat_ns"], percent))


def _in_range(render: Callable[[float], str]) -> Callable[[Spread], str]:
    return lambda spread: ranges.figure(spread, render)


_COUNT = _in_range(lambda n: units.count(int(n)))

COLUMNS = (
    Column("requests", lambda class_: class_["requests"], _COUNT),
    Column("IOPS", lambda class_: class_["iops"], _in_range(units.rate)),
    Column("MB/s", lambda class_: class_["bw_bytes"], _in_range(units.megabytes)),
    _latency("mean", lambda class_: class_["lat_ns"]["mean"]),
    _percentile(50),
    _percentile(95),
    _percentile(99),
    _percentile(99.9),
    _latency("wait", lambda class_: class_["wait_ns"]["mean"]),
    Column("share", lambda class_: class_["share"], _in_range(units.percent)),
    Column("errors", lambda class_: class_["errors"], _COUNT),
    Column("unfinished", lambda class_: class_["unfinished"], _COUNT),
)

BY_WEIGHT = Column(
    "by weight", lambda class_: class_["ideal_share"] or 0.0, _in_range(units.percent)
)
"""Column after the share, if weights matter."""

DISCARDED = Column(
    "discarded", lambda class_: class_["discarded_bytes"], _in_range(units.size), Half.THROUGHPUT
)
"""Column after the throughput, which does not count discards, if there were any."""

ADDED = _latency("added", lambda class_: class_.get("added_ns"))
"""Column after the median, if a served policy has run in this process too."""

_MS = 1_000_000
"""Nanoseconds of a millisecond."""

_LATENCIES = "latencies count from the intended arrival"

_RATES = (
    "IOPS and MB/s are of the time in which the job asks, and on to the last completion of the "
    "class if that is later"
)

_EXPLAINED = {
    "added": "added is how much longer the median of a served policy is than in this process: the "
    "price of the way through the kernel",
    "wait": "wait is the mean time until the first piece was sent",
    "IOPS": _RATES,
    "MB/s": _RATES,
    "share": "share is of the time in which the device was busy, divided equally among the "
    "requests that it serves at once",
    "by weight": shares_text.LEGEND,
}
"""Explanations of figures by their headings."""


def columns(comparison: Comparison) -> tuple[Column, ...]:
    """Return the columns that apply to these runs."""
    behind: dict[str, Column] = {}
    if any(class_["discarded_bytes"] for run in comparison["runs"] for class_ in run["classes"]):
        behind["MB/s"] = DISCARDED
    if any("added_ns" in class_ for run in comparison["runs"] for class_ in run["classes"]):
        behind["p50"] = ADDED
    if shares.at_stake(comparison):
        behind["share"] = BY_WEIGHT
    pairs = ((column, behind.get(column.heading)) for column in COLUMNS)
    return tuple(column for pair in pairs for column in pair if column is not None)


def legend(shown: Iterable[Column]) -> str:
    """Explain the figures of these columns."""
    headings = {column.heading for column in shown}
    explained = [words for heading, words in _EXPLAINED.items() if heading in headings]
    megabytes = ["MB are millions of bytes"] if "MB/s" in headings else []
    legend = "; ".join(dict.fromkeys([_LATENCIES, *explained, *megabytes]))
    return f"{legend[0].upper()}{legend[1:]}."


def of_rounds(comparison: Comparison) -> str | None:
    """Explain the figures of rounds; `None` without rounds."""
    if not rounds.repeated(comparison):
        return None
    many = rounds.count(comparison)
    description = "the median [least–greatest] of the rounds" if many > 1 else "as it came out"
    even = ", of an even number the lower of the two in the middle" if many % 2 == 0 else ""
    return (
        f"{ranges.seeds(comparison)}: each figure is {description}{even}. "
        "Percentiles are of one round each and never averaged."
    )


def blocks(comparison: Comparison, width: int, *, detail: bool = False) -> Blocks:
    """Render what ran, and then the runs of each policy.

    Tables are at most `width` characters wide, if possible. `detail` adds the counters of each
    policy and the figures of each disk.
    """
    failed = failures.most_failed(comparison["runs"])
    yield [*heading(comparison), *(Line(f"  {line}", style="bold") for line in failed)]
    if (explanation := of_rounds(comparison)) is not None:
        yield [Line(explanation, style="dim")]
    yield from of_policies(comparison, width, detail=detail)
    yield [Line(legend(columns(comparison)), style="dim")]


def of_policies(comparison: Comparison, width: int, *, detail: bool = True) -> Blocks:
    """Render the runs of each policy: its parameters, facts and tables."""
    repeated, shown = rounds.repeated(comparison), columns(comparison)
    parts = _parts(comparison["runs"], shown, width)
    for policy in rounds.by_policy(comparison):
        yield list(_title(comparison, policy))
        for table in _of_rounds(policy, shown, width) if repeated else _of_run(policy, parts):
            yield [table]
        if of_files := list(files.rows(policy)):
            yield [Table(files.HEADINGS, of_files)]
        for table in _details(policy) if detail else ():
            yield [table]


def heading(comparison: Comparison) -> Iterator[Part]:
    """Yield the job, the device, the machine and the seed."""
    job, machine = comparison["job"], comparison["machine"]
    yield headline(comparison["world"], f"{job['file']} on {comparison['device']}")
    for line in places.explained(comparison):
        yield f"  {line}"
    for change in job["set"]:
        yield f"  set {change}"
    if comparison["world"] != "simulated":
        engine = f", engine {machine['engine']}" if "engine" in machine else ""
        yield f"  {machine['cpu']}, {machine['cpus']} CPUs, {machine['kernel']}{engine}"
    if (schedulers := places.schedulers(comparison["runs"])) is not None:
        yield f"  {schedulers}"
    seeds = f"seed {comparison['seed']}"
    if rounds.repeated(comparison):
        seeds = ranges.seeds(comparison)
    yield f"  {seeds}, penstock {comparison['penstock']}"


def _title(comparison: Comparison, policy: Rounds) -> Iterator[Part]:
    """Yield the policy with its parameters, and the facts about all its classes."""
    run, *_ = policy.runs
    settings = f"  {params(run['params'])}" if run["params"] else ""
    yield Line((policy.label, "bold"), settings)
    for line in facts(comparison, policy):
        # A partial run must stand out.
        yield Line(f"  {line}", style="bold" if line.startswith("PARTIAL") else "")


def facts(comparison: Comparison, policy: Rounds) -> Iterator[str]:
    """Yield facts about all classes under a policy."""
    yield from parts_only(policy)
    runs = policy.whole()
    lasted = ranges.figure(Spread.of(run["duration_s"] for run in runs), units.seconds)
    model = " of model time" if comparison["world"] == "simulated" else ""
    busy = ranges.figure(Spread.of(run["device_busy"] for run in runs), units.percent)
    many = f"{ranges.seeds({**comparison, 'runs': runs})}: " if "round" in runs[0] else ""
    yield f"{many}{lasted}{model}, device busy {busy}"
    for line in (
        against_measured(runs),
        merges.line(runs),
        disks.line(runs),
        schedule.over_rounds(comparison, runs),
        places.emulation(runs),
    ):
        if line is not None:
            yield line
    yield from places.kernel(runs)
    if places.schedulers(comparison["runs"]) is None:
        # Schedulers that all runs have in common are in the heading.
        for line in dict.fromkeys(places.schedulers([run]) for run in runs):
            if line is not None:
                yield line
    yield from programs.lines(runs)
    yield from verified.lines(runs)
    yield from remarks(policy)


def parts_only(policy: Rounds) -> Iterator[str]:
    """Say so if a policy ran only in part."""
    runs = policy.whole()
    early = [run for run in runs if run.get("interrupted")]
    if early:
        yield f"PARTIAL: {failures.why_partial(early[-1])}; the figures are of the part that ran"
    elif len(runs) < len(policy.runs):
        yield "PARTIAL: its last round was interrupted and is left out"


def remarks(policy: Rounds) -> Iterator[str]:
    """Yield the remarks on the runs of a policy, each once."""
    every = (remark for run in policy.whole() for remark in run.get("remarks", []))
    for remark in dict.fromkeys(every):
        yield f"note: {remark}"


def against_measured(runs: Sequence[Run]) -> str | None:
    """Compare a run with measured response times; `None` if there are none."""
    apart = [(run["rms_ms"], run["rms_relative"]) for run in runs if "rms_ms" in run]
    if not apart:
        return None
    rms, share = (Spread.of(values) for values in zip(*apart, strict=True))
    here = Spread.of(run["mean_ms"] for run in runs)
    measured = units.latency(runs[0]["measured_mean_ms"] * _MS)
    return (
        f"rms {ranges.latency(rms.map(_nanoseconds))} from what was measured "
        f"({ranges.figure(share, units.percent)} of its mean): mean "
        f"{ranges.latency(here.map(_nanoseconds))}, measured {measured}"
    )


def _nanoseconds(ms: float) -> float:
    return ms * _MS


def _of_rounds(policy: Rounds, shown: Sequence[Column], width: int) -> Iterator[Table]:
    """Yield tables with a row for each figure and as many columns for classes as fit."""
    names = rounds.class_names(policy.whole())
    while names:
        rows = [[column.heading, *(column.of(policy, n) for n in names)] for column in shown]
        columns = zip(["", *names], *rows, strict=True)
        ends = accumulate(max(map(cell_len, column)) + GAP for column in columns)
        fit = max(sum(end - GAP <= width for end in ends) - 1, 1)
        yield Table(["", *names[:fit]], [row[: fit + 1] for row in rows])
        names = names[fit:]


def _details(policy: Rounds) -> Iterator[Table]:
    """Yield tables of the policy's counters and of its disks, if there are any."""
    if counted := list(counters.rows(policy.whole())):
        yield Table(["counter", "value"], counted)
    if did := [[disks_of, *cells] for disks_of, cells in disks.rows(policy)]:
        yield Table(["", *disks.HEADINGS], did)


Widths = dict[Column, int]
"""Columns with the width of their widest cell in any run, so that tables align."""


def _parts(runs: list[Run], shown: Sequence[Column], width: int) -> list[Widths]:
    """Return all columns if they fit, else those of throughput and those of latency apart."""
    classes = [class_ for run in runs for class_ in run["classes"]]
    widths = {
        column: max([len(column.heading), *(cell_len(column.cell(class_)) for class_ in classes)])
        for column in shown
    }
    if _names(classes) + sum(widths.values()) + GAP * len(widths) <= width:
        return [widths]
    return [
        {column: wide for column, wide in widths.items() if column.part is part} for part in Half
    ]


def _names(classes: list[Class]) -> int:
    return max([len("class"), *(cell_len(class_["name"]) for class_ in classes)])


def _of_run(policy: Rounds, parts: list[Widths]) -> Iterator[Table]:
    """Yield a table for each of `parts`, with a row for each class."""
    (run,) = policy.runs
    for part in parts:
        rows = [
            [class_["name"], *(column.cell(class_) for column in part)] for class_ in run["classes"]
        ]
        headings = ["class", *(column.heading for column in part)]
        yield Table(headings, rows, widths=[_names(run["classes"]), *part.values()])


def params(params: Params) -> str:
    """Format parameters on one line."""
    return ", ".join(f"{name} = {_value(value)}" for name, value in params.items())


def _value(value: Value) -> str:
    """Format a value as in a job, without quotes."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{{ {params(value)} }}" if isinstance(value, dict) else str(value)
