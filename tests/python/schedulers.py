"""Writes docs/linux-schedulers.md and its pictures, from runs: `make schedulers`.

What the page says of a scheduler is what its module says, as `penstock list policies NAME` prints
it; what it says of a job stands in the job's comment.
"""

import json
from collections.abc import Callable, Iterator
from textwrap import fill
from typing import NamedTuple

import linux_examples
import penstock
from command import ROOT
from command import penstock as command
from penstock.papers.table import Table, markdown
from penstock.text import units

PAGE = ROOT / "docs/linux-schedulers.md"

SCHEDULERS = (
    "noop",
    "elevator",
    "deadline",
    "anticipatory",
    "cfq",
    "mq-deadline",
    "kyber",
    "bfq",
)
"""The older ones first, and behind them those of today's kernels."""

MODES = ("requests", "slices")
"""The two schedulers that were called `cfq`."""

ALIKE = 0.05
"""Figures that differ from the best by no more of it are as good."""


class Figure(NamedTuple):
    """A row of the table: one figure of a job under each scheduler."""

    what: str
    of: Callable[[penstock.Run], float]
    best: Callable[..., float]
    """`max` or `min`."""
    shown: Callable[[penstock.Run], str]


def most(what: str, of: Callable[[penstock.Run], float], written: Callable[[float], str]) -> Figure:
    """A figure of which more is better."""
    return Figure(what, of, max, lambda run: written(of(run)))


def least(
    what: str, of: Callable[[penstock.Run], float], written: Callable[[float], str]
) -> Figure:
    """A figure of which less is better."""
    return Figure(what, of, min, lambda run: written(of(run)))


def throughput(what: str, *names: str) -> Figure:
    """Bytes a second of these classes together; of all if none is named."""

    def of(run: penstock.Run) -> float:
        return sum(one.bw_bytes for one in run.classes if not names or one.name in names)

    return most(f"MB/s of {what}", of, units.megabytes)


def p99(what: str, *names: str) -> Figure:
    """The latency that one of a hundred requests exceeds, of the class where it is longest."""

    def of(run: penstock.Run) -> float:
        return max(run[name].lat_ns.p99 for name in names)

    return least(f"p99 of {what}", of, units.latency)


def mean(what: str, part: Callable[[penstock.DiskStats], penstock.Milliseconds | None]) -> Figure:
    """How long the disk took in the mean for a part of serving a request."""

    def of(run: penstock.Run) -> float:
        found = None if run.device_stats is None else part(run.device_stats)
        assert found is not None
        return 1e6 * found.mean

    return least(f"mean {what}", of, units.latency)


def fairness(what: str, got: Callable[[penstock.ClassResult], float]) -> Figure:
    """Jain's index of what `n` classes got: 1 if all got the same, 1/n if one got all of it."""

    def of(run: penstock.Run) -> float:
        each = [got(one) for one in run.classes]
        return sum(each) ** 2 / (len(each) * sum(one**2 for one in each))

    return most(f"Jain's index of their {what}", of, lambda index: f"{index:.3f}")


WEIGHED = ("w100", "w200", "w400")
"""The programs of `weights` that read in sequence."""


def by_weight(run: penstock.Run) -> list[float]:
    """What each of them got of their bytes, as weights: with the sum of the true ones."""
    weights = sum(run[name].weight for name in WEIGHED)
    got = [run[name].bytes for name in WEIGHED]
    return [weights * one / sum(got) for one in got]


def nearness(run: penstock.Run) -> float:
    """1 if bytes are by weight, less by the largest error of a share."""
    pairs = zip(by_weight(run), WEIGHED, strict=True)
    weights = sum(run[name].weight for name in WEIGHED)
    return 1 - max(abs(got - run[name].weight) for got, name in pairs) / weights


JOBS = {
    "burst": (
        least("until the last is served", lambda run: run["burst"].lat_ns.max, units.latency),
        mean("seek", lambda disk: disk.seek_ms),
        mean("turn", lambda disk: disk.rotation_ms),
    ),
    "starved-writer": (p99("a write", "writer"), throughput("the stream", "stream")),
    "deceptive-idleness": (throughput("both"), p99("a read, of the worse one", "outer", "inner")),
    "fair-readers": (
        throughput("all four"),
        fairness("disk time", lambda one: one.device_time_s),
        fairness("bytes", lambda one: one.bytes),
    ),
    "weights": (
        Figure(
            "bytes of 100 : 200 : 400",
            nearness,
            max,
            lambda run: " : ".join(f"{share:.0f}" for share in by_weight(run)),
        ),
        throughput("all four"),
    ),
    "write-flood": (p99("a read", "reads"), throughput("the flood", "flood")),
    "flash-needs-no-sorting": (
        most("IOPS of all", lambda run: sum(one.iops for one in run.classes), units.rate),
        p99("a read that is waited for", "thinkers"),
    ),
}
"""The jobs of the table, and what each is about."""


class Column(NamedTuple):
    """What a column of the table has: a scheduler, `cfq` in one of its modes."""

    heading: str
    run: penstock.Run


def runs(name: str) -> Iterator[Column]:
    """A job under every scheduler."""
    path = ROOT / linux_examples.read(name).path
    modes = {
        mode: penstock.compare(
            path,
            policies=SCHEDULERS if mode == MODES[0] else ["cfq"],
            set={"cfq.mode": mode},
            detail=False,
        )
        for mode in MODES
    }
    for scheduler in SCHEDULERS:
        if scheduler != "cfq":
            yield Column(f"`{scheduler}`", modes[MODES[0]][scheduler])
            continue
        for mode, found in modes.items():
            yield Column(f"`cfq` by {mode}", found[scheduler])


def cells(figure: Figure, columns: list[Column]) -> Iterator[str]:
    """The figure under each scheduler: the best bold, what `noop` does as well in italics."""
    values = [figure.of(column.run) for column in columns]
    best = figure.best(values)
    good = [abs(value - best) <= ALIKE * best for value in values]
    noop = columns[0].run
    for column, is_good in zip(columns, good, strict=True):
        text = figure.shown(column.run)
        if column.run is not noop and column.run.classes == noop.classes:
            text = f"_{text}_"
        yield f"__{text}__" if is_good and not all(good) else text


def table() -> str:
    """All jobs under all schedulers."""
    headings: list[str] = []
    rows = []
    for name, figures in JOBS.items():
        columns = list(runs(name))
        headings = [column.heading for column in columns]
        for number, figure in enumerate(figures):
            job = "" if number else f"[{name}](../{linux_examples.read(name).path})"
            rows.append([job, figure.what, *cells(figure, columns)])
    return markdown(Table(["job", "figure", *headings], rows, words=2))


LEAVES_OUT = "What it leaves out: "
"""How the paragraph on that begins."""

WIDTH = 150
"""Columns of the page's text."""


def wrapped(text: str, *, below: str = "") -> str:
    """A paragraph in lines of the page; those below the first begin so."""
    return fill(
        " ".join(text.split()),
        WIDTH,
        subsequent_indent=below,
        break_long_words=False,
        break_on_hyphens=False,
    )


class Words(NamedTuple):
    """What is said of a scheduler: parts of its module's text."""

    name: str
    linux: str
    summary: str
    rule: str
    use: str
    leaves_out: str


def words(name: str) -> Words:
    """What `penstock list policies NAME` says."""
    entry = json.loads(command("list", "policies", name, "--json").out)
    paragraphs = entry["text"].split("\n\n")
    leaves_out = next(one for one in paragraphs if one.startswith(LEAVES_OUT))
    return Words(
        name=name,
        linux=entry["linux"],
        summary=entry["summary"],
        rule=wrapped(paragraphs[1]),
        use=wrapped(paragraphs[2]),
        leaves_out=wrapped(f"What the model leaves out: {leaves_out.removeprefix(LEAVES_OUT)}"),
    )


def described(job: str) -> str:
    """A job, its device, and what it is."""
    example = linux_examples.read(job)
    keys = example.device
    on = f"`{keys}`" if isinstance(keys, str) else " ".join(f"`{key}={keys[key]}`" for key in keys)
    return wrapped(f"- [`{job}`](../{example.path}), on {on}. {example.about}", below="  ")


def section(said: Words) -> str:
    """What the page has of a scheduler."""
    return SECTION.format(**said._asdict())


SECTION = """\
## {name}

In Linux {linux}.

{rule}

{use}

{leaves_out}

[Parameters, promise and source](reference/policies.md#{name})
"""

TEXT = """\
# The schedulers of Linux

The I/O schedulers that Linux has or had, as models. Everything on this page is simulated, on
modelled devices in virtual time, and so the same on every machine. The models are written from
papers and documentation and are not the kernel's code ([limits](explanation/limits.md#policies));
`penstock list policies NAME` shows all that is said of one. `make schedulers` writes this page
anew.

{schedulers}

## Seven jobs under each

{table}

A figure in __bold__ is within {alike:.0f} % of the best of its row; none is bold where all are. One
in _italics_ is of a run with all the figures of that under `noop`: there was nothing to choose, or
the same was chosen. `cfq` runs in both of its modes; all else is as the job sets it. Jain's index
is 1 where all get the same, and 0.25 where one of four gets all.

To repeat the rows of a job, call these two commands with it; here with the first:

```console
$ penstock compare {job} --policies {policies} --set cfq.mode={modes[0]}
$ penstock compare {job} --policies cfq --set cfq.mode={modes[1]}
```

### The jobs

{jobs}

{sections}"""


def page() -> str:
    """The whole page."""
    every = [words(name) for name in SCHEDULERS]
    rows = [[f"[`{one.name}`](#{one.name})", one.linux, one.summary] for one in every]
    return TEXT.format(
        schedulers=markdown(Table(["scheduler", "in Linux", "what it is"], rows)),
        table=table(),
        alike=100 * ALIKE,
        job=linux_examples.read(next(iter(JOBS))).path,
        policies=",".join(SCHEDULERS),
        modes=MODES,
        jobs="\n".join(described(job) for job in JOBS),
        sections="\n".join(section(one) for one in every),
    )


def main() -> None:
    """Write the page."""
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
