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
import schedulers_live
from command import ROOT
from command import penstock as command
from penstock.answer.table import Table, markdown
from penstock.charts import arm
from penstock.report import pictures
from penstock.text import units

PAGE = ROOT / "docs/linux-schedulers.md"

FOLDER = PAGE.with_suffix("")
"""Of its pictures."""

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


def cylinders(run: penstock.Run) -> float:
    """How far the arm went for a request in the mean."""
    assert run.device_stats is not None
    assert run.device_stats.travel is not None
    return run.device_stats.travel.per_request


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
        least("cylinders crossed a request", cylinders, lambda mean: f"{mean:,.0f}"),
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
    """A column of the table: a scheduler, with the mode in which `cfq` runs next to it."""

    scheduler: str
    mode: str

    @property
    def by(self) -> str:
        """What tells it from the other column of its scheduler."""
        return f" by {self.mode}" if self.scheduler == "cfq" else ""


NOOP = Column("noop", MODES[0])

COLUMNS = tuple(
    Column(name, mode) for name in SCHEDULERS for mode in (MODES if name == "cfq" else MODES[:1])
)


def compared(job: str, arm_for: str | None = None) -> dict[str, penstock.Comparison]:
    """A job under every scheduler, and under `cfq` in its other mode, by that mode.

    With `arm_for` each has the way of the arm for so long.
    """
    return {
        mode: penstock.compare(
            ROOT / linux_examples.read(job).path,
            policies=[one.scheduler for one in COLUMNS if one.mode == mode],
            set={"cfq.mode": mode},
            detail=arm_for is not None,
            arm_for=arm_for,
        )
        for mode in MODES
    }


def cells(figure: Figure, runs: dict[Column, penstock.Run]) -> Iterator[str]:
    """The figure under each scheduler: the best bold, runs that are as under `noop` in italics."""
    values = [figure.of(run) for run in runs.values()]
    best = figure.best(values)
    good = [abs(value - best) <= ALIKE * best for value in values]
    for (column, run), is_good in zip(runs.items(), good, strict=True):
        text = figure.shown(run)
        if column != NOOP and run.classes == runs[NOOP].classes:
            text = f"_{text}_"
        yield f"__{text}__" if is_good and not all(good) else text


def table() -> str:
    """All jobs under all schedulers."""
    rows = []
    for name, figures in JOBS.items():
        found = compared(name)
        runs = {column: found[column.mode][column.scheduler] for column in COLUMNS}
        for number, figure in enumerate(figures):
            job = "" if number else f"[{name}](../{linux_examples.read(name).path})"
            rows.append([job, figure.what, *cells(figure, runs)])
    headings = [f"`{column.scheduler}`{column.by}" for column in COLUMNS]
    return markdown(Table(["job", "figure", *headings], rows, words=2))


BURST, IDLENESS = "burst", "deceptive-idleness"

STRETCHES = {BURST: "4 s", IDLENESS: "500 ms"}
"""The jobs whose pictures stand on the page, and how much of each is shown."""


class Picture(NamedTuple):
    """Where the arm was under a scheduler."""

    scheduler: str
    caption: str
    file: str
    svg: bytes


def drawn() -> Iterator[Picture]:
    """The arm on the burst, and below its way under `noop` where a scheduler lets it stay."""
    for job, stretch in STRETCHES.items():
        found = compared(job, stretch.replace(" ", ""))
        every = {mode: comparison.raw for mode, comparison in found.items()}
        runs = {
            column: next(
                run for run in every[column.mode]["runs"] if run["policy"] == column.scheduler
            )
            for column in COLUMNS
        }
        for column, run in runs.items():
            if job != BURST and not run["detail"]["arm"]["held"]:
                continue
            shown, below = (
                ([run], "") if job == BURST else ([runs[NOOP], run], ", and above it under `noop`")
            )
            chart = arm.arm({**every[column.mode], "runs": shown})
            assert chart is not None
            yield Picture(
                column.scheduler,
                f"The arm in the first {stretch} of `{job}`{column.by}{below}",
                f"{job}-{column.scheduler}{column.by.replace(' by ', '-')}.svg",
                pictures.drawing(chart),
            )


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


def section(said: Words, of: list[Picture]) -> str:
    """What the page has of a scheduler."""
    shown = (
        f"{one.caption}:\n\n![{one.caption.replace('`', '')}]({PAGE.stem}/{one.file})" for one in of
    )
    return SECTION.format(**said._asdict(), pictures="\n\n".join(shown))


SECTION = """\
## {name}

In Linux {linux}.

{rule}

{pictures}

{use}

{leaves_out}

[Parameters, promise and source](reference/policies.md#{name})
"""

TEXT = """\
# The schedulers of Linux

This page compares models of the I/O schedulers that Linux has or had. Everything is simulated on
modelled devices in virtual time, and so the same on every machine. The models follow papers and
documentation and are not the kernel's code ([limits](explanation/limits.md#policies));
`penstock list policies NAME` describes each of them. `make schedulers` writes this page.

{schedulers}

## What is synchronous

`bfq` and `cfq` by slices have a queue for each stream of synchronous requests, for which they may
keep the disk idle, and shared queues for all other requests. As in the kernel's block layer,
requests that a program waits for are synchronous: reads, flushes, writes that are durable when they
complete (`sync = true`), and all writes past the page cache (`cache = "direct"`), with every
engine. Discards are not, and neither are the writes by which the page cache writes back. On a real
target a policy stands above the machine's page cache, and sees the buffered writes that programs
wait for, which are synchronous too. Some traces say it of each request, as the letter `S` of
`blkparse` does; the writes of the others count as direct. The other schedulers make no difference.

## Seven jobs under each scheduler

{table}

A figure in __bold__ is within {alike:.0f} % of the best of its row; if all of them are, none is
bold. A figure in _italics_ is from a run with the same figures as under `noop`: there was nothing
to choose, or the choices were the same. `cfq` runs in both of its modes; everything else is as in
the job. Jain's index is 1 if all get the same, and 0.25 if one of four gets everything.

These two commands repeat the rows of a job, here of the first one:

```console
$ penstock compare {burst} --policies {policies} --set cfq.mode={modes[0]}
$ penstock compare {burst} --policies cfq --set cfq.mode={modes[1]}
```

### The jobs

{jobs}

## Next to the kernel's own

Three schedulers are in today's kernels, and `cfq` is not. `make schedulers-live`, as root, runs
three jobs ([direct](../tests/data/schedulers/direct.toml),
[buffered](../tests/data/schedulers/buffered.toml),
[priorities](../tests/data/schedulers/priorities.toml)) under each of the three and under its model,
in turn, on one loop device over one file. The model decides above a loop device without a
scheduler. The file is in memory. These are the medians of {rounds} rounds on a machine with
{machine} and two processors that did nothing else:

{measured}

Throughputs differ by {rates:.1f} times at most. The p99 of direct requests, with and without
priorities, differ by {direct:.1f} times at most. A model stands above the page cache and the
kernel's scheduler below it, so a buffered copy is ordered as it is written by the one, and as it is
written back by the other: there p99 differ by up to {buffered:.1f} times. On a machine with other
work equal runs differed by up to ten times.

## The pictures

Each scheduler below has a picture of the arm on `burst`. Those that keep the disk idle for a
program's next read also have one on `deceptive-idleness`. A picture shows the cylinder under the
heads over time, with a line for the path and a mark at the end of each access. It is shaded while
the disk was kept idle although requests were queued. `--report arm.html --for {stretch}` with the
commands above draws the pictures on `burst`.

{sections}"""


def page(every: list[Picture]) -> str:
    """The whole page."""
    said = [words(name) for name in SCHEDULERS]
    rows = [[f"[`{one.name}`](#{one.name})", one.linux, one.summary] for one in said]
    sections = (section(one, [it for it in every if it.scheduler == one.name]) for one in said)
    return TEXT.format(
        schedulers=markdown(Table(["scheduler", "in Linux", "what it is"], rows)),
        table=table(),
        alike=100 * ALIKE,
        burst=linux_examples.read(BURST).path,
        policies=",".join(SCHEDULERS),
        modes=MODES,
        stretch=STRETCHES[BURST].replace(" ", ""),
        rounds=schedulers_live.ROUNDS,
        machine=schedulers_live.machine(),
        measured=schedulers_live.table(),
        rates=schedulers_live.most(lambda row: (row.kernel_iops, row.model_iops)),
        direct=schedulers_live.most(schedulers_live.latencies, "direct", "priorities"),
        buffered=schedulers_live.most(schedulers_live.latencies, "buffered"),
        jobs="\n".join(described(job) for job in JOBS),
        sections="\n".join(sections),
    )


def main() -> None:
    """Write the page and its pictures."""
    every = list(drawn())
    PAGE.write_text(page(every))
    FOLDER.mkdir(exist_ok=True)
    for picture in every:
        (FOLDER / picture.file).write_bytes(picture.svg)


if __name__ == "__main__":
    main()
