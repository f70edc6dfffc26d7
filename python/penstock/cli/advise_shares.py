"""`penstock advise shares`: how well shares by weight hold on a target, and at what price."""

import json
from collections.abc import Iterator, Mapping
from typing import Annotated

import typer

from penstock.advise import shares_words
from penstock.advise.shares import Shares
from penstock.advise.shares_runs import CYCLE, ROUNDS, classes_of, classes_with, shares_on
from penstock.answer.table import NONE, Table
from penstock.answer.value import Answer, Blocks, Line, headline
from penstock.cli.answering import answer
from penstock.cli.lists import positive
from penstock.cli.options import Json
from penstock.cli.progress import Progress
from penstock.cli.target import device_or_path, targeted
from penstock.errors import wrong
from penstock.target import Target
from penstock.text import units

JobWithWeights = Annotated[
    str | None,
    typer.Argument(
        metavar="[JOB.toml]",
        help="A job whose classes have the weights, in place of --weights; what it asks for does "
        "not matter.",
        show_default=False,
    ),
]

Weights = Annotated[
    str | None,
    typer.Option("--weights", metavar="N,N,…", help="A weight for each class, as 1,2."),
]

Rounds = Annotated[
    int,
    typer.Option("--rounds", metavar="N", min=1, max=1000, help="Rounds of all runs."),
]


@targeted(on=device_or_path("Where it reads"))
def run(
    job: JobWithWeights = None,
    *,
    target: Target,
    weights: Weights = None,
    rounds: Rounds = ROUNDS,
    as_json: Json = False,
) -> None:
    """Measure how well shares by weight hold, and what commands cost.

    Classes read at random, alternately 4 KiB and 64 KiB, with 32 requests outstanding each. First
    each class runs alone, which gives the law of costs. Then all run together, in interleaved
    rounds: in order of arrival, with shares of device time, and with shares by the law. As root, on
    a block device, loop:PATH or block:DEVICE, they also run under the kernel's none, mq-deadline
    and bfq, with the weights of control groups where the kernel has them. Nothing is written except
    the file that --create makes.
    """
    if job is not None and weights is None:
        classes = classes_of(job)
    elif weights is not None and job is None:
        classes = classes_with(positive("--weights", weights))
    else:
        options = "neither a job nor --weights" if job is None else "a job and --weights"
        raise wrong(f"found {options}; expected one of the two", "as --weights 1,2, or job.toml")

    def measured(progress: Progress) -> Answer:
        shares = shares_on(target, classes, rounds=rounds, progress=progress)
        lines = shares_words.lines(shares)
        return Answer(
            data=lambda: json.dumps(_plain(shares, lines), indent=2),
            blocks=_blocks(shares, lines),
            notes=[f"note: {remark}" for remark in shares.remarks],
        )

    answer(measured, as_json=as_json)


def _blocks(shares: Shares, lines: list[str]) -> Blocks:
    many = shares.rows[0].rounds
    origin = f"the median of {many} rounds" if many > 1 else "of one round"
    about = f"  each figure is {origin}; fairio's cycles are {CYCLE} long"
    yield [headline(shares.world, f"{shares.target}, random reads"), Line(about, style="dim")]
    headings = ["policy", "weight", "share", "by weight", "of alone", "felt", "MB/s", "p99"]
    yield [Table(headings, list(_cells(shares)))]
    yield lines


def _cells(shares: Shares) -> Iterator[list[str]]:
    """A row for each policy and class."""
    for row in shares.rows:
        whole, felt = sum(row.weights), sum(row.of_alone) or 1.0
        for n, weight in enumerate(row.weights):
            yield [
                row.policy if n == 0 else "",
                str(weight),
                NONE if row.share is None else units.percent(row.share[n]),
                units.percent(weight / whole),
                f"{row.of_alone[n]:.2f}",
                units.percent(row.of_alone[n] / felt),
                units.megabytes(row.bw_bytes[n]),
                units.latency(row.p99_ms[n] * 1e6),
            ]


def _plain(shares: Shares, verdict: list[str]) -> Mapping[str, object]:
    """The answer as JSON has it."""
    return {
        "world": shares.world,
        "target": shares.target,
        "rows": [vars(row) for row in shares.rows],
        "law": {"read": {"base_ns": shares.law.base_ns, "per_mb_ns": shares.law.per_mb_ns}},
        "remarks": shares.remarks,
        "verdict": verdict,
    }
