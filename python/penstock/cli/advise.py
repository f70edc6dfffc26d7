"""`penstock advise`: how to set what a policy needs to know."""

import json
from collections.abc import Mapping
from typing import Annotated

import typer

from penstock.advise import Curve, NoiseHidesAnswer, Split
from penstock.advise.measure import TURNS
from penstock.advise.split import BLOCK, FEWEST_ROUNDS, LONG, ROUNDS, TOLERANCE, split_on
from penstock.answer.table import NONE, Table
from penstock.answer.value import Answer, Blocks, headline
from penstock.cli.advise_capacity import run as capacity
from penstock.cli.advise_cycle import run as cycle
from penstock.cli.advise_goal import goal
from penstock.cli.advise_guard import guard
from penstock.cli.advise_merge import run as merge
from penstock.cli.advise_shares import run as shares
from penstock.cli.answering import answer
from penstock.cli.options import Json
from penstock.cli.progress import Progress
from penstock.cli.target import device_or_path, targeted
from penstock.cli.verb import group, or_else
from penstock.errors import PenstockError
from penstock.target import Target
from penstock.text import places, units

GOAL = "goal"
"""The verb that is meant if no other is named."""


app = group(cls=or_else(GOAL))
app.command(GOAL, short_help="Which policy and parameters meet a goal (`penstock advise JOB`).")(
    goal
)
app.command("capacity", short_help="Find how much of a class fits while goals hold.")(capacity)
app.command("cycle", short_help="Find how long a cycle of fairio should be.")(cycle)
app.command("guard", short_help="Which of the kernel's means protects programs from a batch.")(
    guard
)
app.command("merge", short_help="Where merges should put their runs, and how to run them.")(merge)
app.command("shares", short_help="Measure how well shares by weight hold.")(shares)

Block = Annotated[
    str, typer.Option("--block", metavar="SIZE", help="A short write; pieces are multiples of it.")
]

Long = Annotated[
    str, typer.Option("--long", metavar="SIZE", help="The long request that is to be split.")
]

Tolerance = Annotated[
    float,
    typer.Option(
        "--tolerance",
        metavar="SHARE",
        help="By how much a piece may take longer than a block. The paper's is 0.37.",
    ),
]

AllowDelay = Annotated[
    str | None,
    typer.Option(
        "--allow-delay",
        metavar="TIME",
        help="Also name the largest piece of which 95 of 100 take no longer than this.",
        show_default=False,
    ),
]

Rounds = Annotated[
    int,
    typer.Option(
        "--rounds",
        metavar="N",
        min=2,
        max=1000,
        help=f"Rounds of each pattern, each length {TURNS} times in one. "
        f"An interval needs {FEWEST_ROUNDS}.",
    ),
]

Seed = Annotated[int, typer.Option("--seed", metavar="N", min=0, help="Of the order of writes.")]


@app.command("split", short_help="How long a piece of a long request may be.")
@targeted(on=device_or_path("Where it writes"), without=["read_only"])
def run(
    *,
    target: Target,
    block: Block = BLOCK,
    long: Long = LONG,
    tolerance: Tolerance = TOLERANCE,
    allow_delay: AllowDelay = None,
    rounds: Rounds = ROUNDS,
    seed: Seed = 1,
    as_json: Json = False,
) -> None:
    """Find how long a piece of a long request may be, for `size-priority.split`.

    Durable writes of many lengths are timed one at a time, in an order that is random, anywhere and
    one behind the other. The answer is the largest length that takes hardly longer than a block, as
    all shorter ones do: the rule of the online-batch paper. The price stands with it: how much
    longer the long request takes in such pieces.
    """

    def measured(progress: Progress) -> Answer:
        try:
            split = split_on(
                target,
                block=block,
                long=long,
                tolerance=tolerance,
                allow_delay=allow_delay,
                rounds=rounds,
                seed=seed,
                progress=progress,
            )
        except NoiseHidesAnswer as noise:
            return _answer(noise.measured, noise)
        return _answer(split)

    answer(measured, as_json=as_json)


def _answer(split: Split, error: PenstockError | None = None) -> Answer:
    return Answer(
        data=lambda: json.dumps(_plain(split), indent=2),
        blocks=_blocks(split),
        messages=[] if error is None else [str(error)],
        exit_code=0 if error is None else error.exit_code,
    )


def _blocks(split: Split) -> Blocks:
    remarks = (places.below(split.schedulers), *(f"note: {remark}" for remark in split.remarks))
    yield [
        headline(split.world, f"{split.target}, durable writes"),
        *(f"  {line}" for line in remarks if line is not None),
    ]
    for curve in split.curves.values():
        yield [_table(curve, split)]
    if not split.hidden:
        yield _lines(split)


def _table(curve: Curve, split: Split) -> Table:
    rows = []
    for point in curve.points:
        chosen = point.size == split.size and not split.hidden
        rows.append(
            [
                f"{_bytes(point.size)}{' ←' if chosen else ''}",
                units.latency(point.median_ns),
                units.latency(point.p95_ns),
                f"{point.ratio:.2f}",
                NONE if point.interval is None else "{:.2f}–{:.2f}".format(*point.interval),
                units.megabytes(point.bytes_per_s),
                f"{curve.price(point.size):.2f} ×",
            ]
        )
    figures = ("median", "p95", "× a block", "95 % interval", "MB/s", "price")
    return Table([curve.pattern, *figures], rows)


def _lines(split: Split) -> list[str]:
    between = split.between
    sure = ""
    if between is not None and between[0] != between[1]:
        sure = f"; noise leaves {_bytes(between[0])} to {_bytes(between[1])}"
    percent = f"{100 * split.tolerance:.0f} %"
    lines = [
        f"split = {_bytes(split.size)}: the largest piece that takes at most {percent} longer than "
        f"{_bytes(split.block)}, as all shorter ones do{sure}.",
        f"Price: {_bytes(split.long)} in such pieces, one behind the other, take {split.price:.2f} "
        "times as long as whole.",
    ]
    if between is None:
        lines.insert(
            1,
            "How certain that is, is not known: a 95 % interval needs "
            f"--rounds {FEWEST_ROUNDS} or more.",
        )
    others = ", ".join(
        f"{100 * tolerance:.0f} % {_bytes(size)}"
        for tolerance, size in split.by_tolerance.items()
        if tolerance != split.tolerance
    )
    lines.append(f"Of other tolerances: {others}.")
    if law := split.law:
        lines.append(
            f"Writes follow a law, {units.latency(law.base_ns)} and "
            f"{units.latency(law.byte_ns * 1e6)} for each megabyte, whose limit is "
            f"{_bytes(round(law.limit(split.block, split.tolerance)))}."
        )
    if split.allow_delay_ns is not None:
        allowed, size = units.latency(split.allow_delay_ns), split.within_delay
        lines.append(
            f"Not even {_bytes(split.block)} are done within {allowed}, 95 times of 100."
            if size is None
            else f"Within {allowed}, 95 times of 100: pieces of up to {_bytes(size)}."
        )
    lines.append(
        "The paper of the rule chose 10,000 bytes, for writes of 1,000, and names no price."
    )
    return lines


def _bytes(size: int) -> str:
    return f"{size:,} B"


def _plain(split: Split) -> Mapping[str, object]:
    law = split.law
    return {
        "target": split.target,
        "world": split.world,
        "schedulers": dict(split.schedulers),
        "remarks": list(split.remarks),
        "block": split.block,
        "long": split.long,
        "tolerance": split.tolerance,
        "split": None if split.hidden else split.size,
        "between": split.between,
        "price": split.price,
        "by_tolerance": {f"{key:g}": size for key, size in split.by_tolerance.items()},
        "law": law
        and {
            "base_ns": law.base_ns,
            "byte_ns": law.byte_ns,
            "limit": law.limit(split.block, split.tolerance),
        },
        "allow_delay_ns": split.allow_delay_ns,
        "within_delay": split.within_delay,
        "curves": {
            pattern: [
                {
                    "size": point.size,
                    "median_ns": point.median_ns,
                    "p95_ns": point.p95_ns,
                    "ratio": point.ratio,
                    "interval": point.interval,
                    "bytes_per_s": point.bytes_per_s,
                    "price": curve.price(point.size),
                }
                for point in curve.points
            ]
            for pattern, curve in split.curves.items()
        },
    }
