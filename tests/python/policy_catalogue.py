"""Writes docs/policies.md: every policy, when to use it, and what it makes of seven jobs.

`make policies` calls it. What the page says of a policy is what its module says, as `penstock list
policies NAME` prints it. All runs are simulated, so the page is the same on every machine.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import penstock
from command import ROOT
from command import penstock as command
from penstock.answer.table import Table, markdown
from penstock.text import units
from schedulers import ALIKE, Figure, least, most, p99, throughput, wrapped

PAGE = ROOT / "docs/policies.md"


@dataclass(frozen=True)
class Job:
    """A job of the page: whom it is about, and what each side got."""

    path: str
    about: str
    waiting: Figure
    """Of those that somebody waits for."""
    behind: Figure
    """Of those that work behind them."""
    sets: Mapping[str, str] = field(default_factory=dict)
    """Figures for each class, of policies that need them."""


def unfairness(run: penstock.Run) -> float:
    """Return the largest error of a class's share of device time, in percentage points."""
    return max(abs(result.share_error_pct or 0) for result in run.classes)


def rate(name: str) -> Figure:
    """Return the requests a second of a class."""
    return most(f"IOPS of {name}", lambda run: run[name].iops, units.rate)


JOBS = (
    Job(
        "examples/bank-day.toml",
        "tellers, beside a batch that writes megabytes, on a disk with an arm",
        p99("tellers", "tellers"),
        throughput("the batch", "batch"),
        {
            "token-bucket.bps": "off,off,15MB,1MB",
            "latency-target.target": "50ms,50ms,off,off",
            "mclock.reservation": "25,15,0,0",
        },
    ),
    Job(
        "examples/boot-storm.toml",
        "forty machines that boot during a backup, on a SATA SSD",
        rate("boot"),
        throughput("the backup", "backup"),
        {
            "token-bucket.bps": "off,270MB",
            "latency-target.target": "5ms,off",
            "mclock.reservation": "10000,0",
        },
    ),
    Job(
        "examples/log-compaction.toml",
        "commits to a log, beside its compaction, on a SATA SSD",
        p99("the log", "log"),
        throughput("the compaction", "compaction"),
        {
            "token-bucket.bps": "off,270MB",
            "latency-target.target": "2ms,off",
            "mclock.reservation": "600,0",
        },
    ),
    Job(
        "examples/shares.toml",
        "two services and a nightly job by weights, on a disk with an arm",
        least("largest error of a share", unfairness, lambda points: f"{points:.1f} points"),
        rate("orders"),
    ),
    Job(
        "examples/tenants-scan.toml",
        "two tenants that look up records beside a scan, on a disk with an arm",
        p99("the small tenant", "small"),
        throughput("the scan", "scan"),
        {
            "token-bucket.bps": "off,off,20MB",
            "latency-target.target": "50ms,50ms,off",
            "mclock.reservation": "20,10,0",
        },
    ),
    Job(
        "examples/linux/starved-writer.toml",
        "one writer beside a stream of reads, on a disk with an arm",
        p99("the writer", "writer"),
        throughput("the stream", "stream"),
        {
            "token-bucket.bps": "37MB,off",
            "latency-target.target": "off,50ms",
            "mclock.reservation": "0,5",
        },
    ),
    Job(
        "examples/linux/deceptive-idleness.toml",
        "two readers that each ask for one block after another, far apart on a disk",
        p99("the outer reader", "outer"),
        throughput("both"),
    ),
)


class Entry(NamedTuple):
    """What the module of a policy says."""

    name: str
    summary: str
    use: str
    source: str


def entries() -> list[Entry]:
    """Return all policies, in the order of `penstock list policies`."""
    return [_entry(policy) for policy in json.loads(command("list", "policies", "--json").out)]


def _entry(policy: Mapping[str, Any]) -> Entry:
    paragraphs = [" ".join(text.split()) for text in policy["text"].split("\n\n")]
    (use,) = (text for text in paragraphs if text.startswith(USE))
    sources = [text.removeprefix(SOURCE) for text in paragraphs if text.startswith(SOURCE)]
    first = use.removeprefix(USE).split(". ")[0].split(": ")[0]
    return Entry(policy["name"], policy["summary"], first.rstrip("."), " ".join(sources) or "–")


USE, SOURCE = "Use it ", "Source: "
"""How the paragraphs begin that say when, and from where."""


def compared(job: Job) -> penstock.Comparison:
    """Run a job under every policy."""
    return penstock.compare(ROOT / job.path, policies="all", set=job.sets, detail=False)


def cells(job: Job, runs: Sequence[penstock.Run]) -> list[str]:
    """Return what both sides got under each policy, the best of each side in bold."""
    sides = []
    for figure in (job.waiting, job.behind):
        values = [figure.of(run) for run in runs]
        best = figure.best(values)
        good = [abs(value - best) <= ALIKE * best for value in values]
        shown = [figure.shown(run) for run in runs]
        sides.append(
            [f"__{text}__" if is_good else text for text, is_good in zip(shown, good, strict=True)]
        )
    return [" / ".join(both) for both in zip(*sides, strict=True)]


def figures(names: Sequence[str]) -> Table:
    """Return the table of all jobs, a row for each policy."""
    columns = []
    for job in JOBS:
        comparison = compared(job)
        columns.append(cells(job, [comparison[name] for name in names]))
    headings = [job.path.rsplit("/")[-1].removesuffix(".toml") for job in JOBS]
    rows = [[f"`{name}`", *row] for name, *row in zip(names, *columns, strict=True)]
    return Table(["policy", *headings], rows)


def described(job: Job) -> str:
    """Return the line about a job."""
    name = job.path.rsplit("/")[-1].removesuffix(".toml")
    sets = ", ".join(f"`{key}={value}`" for key, value in job.sets.items())
    text = f"{job.about}: {job.waiting.what} / {job.behind.what}{sets and f'; {sets}'}"
    return wrapped(f"- [`{name}`](../{job.path}): {text}.", below="  ")


TEXT = """\
# The policies

All policies of Penstock, with when to use each and where it is from. The figures below are
simulated, and so the same on every machine; `make policies` writes this page. The whole text of a
policy and its parameters are in the [reference](reference/policies.md), and `penstock list policies
NAME` prints them.

| policy | what it does | use it | from |
| --- | --- | --- | --- |
{words}

## Seven jobs under every policy

{figures}

Each cell has what those got that somebody waits for, and what those got that work behind them. A
figure in __bold__ is within {alike:.0f} % of the best of its side. Parameters have their defaults,
unless the job says otherwise: limits are half of what the background gets under `noop`, and
reservations a little more than the others request.

{jobs}

`penstock compare JOB --policies all` repeats a column, with all classes and the verdict.
"""


def page() -> str:
    """Return the whole page."""
    every = entries()
    words = (f"| `{entry.name}` | {' | '.join(entry[1:])} |" for entry in every)
    return TEXT.format(
        words="\n".join(words),
        figures=markdown(figures([entry.name for entry in every])),
        alike=100 * ALIKE,
        jobs="\n".join(map(described, JOBS)),
    )


def main() -> None:
    """Write the page."""
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
