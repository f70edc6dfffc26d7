"""`penstock merge`: merges sorted files, several merges side by side."""

import json
from collections.abc import Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperCommand

from penstock.answer.table import Table
from penstock.answer.value import Answer, Blocks, Line
from penstock.cli import output
from penstock.cli.answering import answer
from penstock.cli.options import Json
from penstock.cli.progress import Progress
from penstock.cli.target import option
from penstock.cli.verb import verb
from penstock.errors import wrong
from penstock.merging import SORT, Files, merge
from penstock.results.merge_types import Merges, Models
from penstock.results.rounds import ROUNDS_MOST
from penstock.text import places, units

if TYPE_CHECKING:
    # A type of Typer's methods, which it does not export.
    from typer._click.core import Context

app = verb()

RECORD_MOST = (1 << 32) - 1
"""Most bytes of a record."""


class SeveralDisks(TyperCommand):
    """A command whose `--to` may have several values."""

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        """Repeat `--to` before each of its values."""
        repeated: list[str] = []
        values = False
        for word in args:
            first = values and repeated[-1] == "--to"
            if word.startswith("-"):
                values = word == "--to"
            elif values and not first:
                repeated.append("--to")
            repeated.append(word)
        return super().parse_args(ctx, repeated)


Runs = Annotated[
    list[str] | None,
    typer.Argument(metavar="RUN…", help="Sorted files to be merged into one.", show_default=False),
]

To = Annotated[
    list[str] | None,
    typer.Option(
        "--to",
        metavar="DISK…",
        help="A folder on each disk: merge 0 writes to the first, merge 1 to the second. All words "
        "behind it are disks, up to the next option.",
    ),
]

Jobs = Annotated[
    str | None,
    typer.Option(
        "--jobs",
        metavar="FILE",
        help="Merge several times side by side: a file with a section `[[merge]]` for each, with "
        '`runs = ["a", "b"]` and `output = "name"`.',
    ),
]

On = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="emulated:DEVICE[@SPEED][:FOLDER]",
        help="Let a model answer in real time for the disk of each folder. With a FOLDER, those of "
        "--to lie in it and are made.",
    ),
]

Policy = Annotated[
    str,
    typer.Option(
        "--policy", metavar="NAME", help="The policy before each disk; classes are merges."
    ),
]

Placement = Annotated[
    str | None,
    typer.Option(
        "--placement",
        metavar="dedicated|separate|shared|all",
        help="Where runs and outputs lie. Runs that are there stay where they are and must lie so, "
        "except on emulated disks. If not given, any place is right; `--make` takes separate.",
    ),
]

Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="unlimited|partition=N|pool=N|writes=N",
        help="Blocks in memory: of each merge, of all together, or only of each output.",
    ),
]

Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a setting, as merge.read=12 or policy.deadline.read_expire=100ms.",
    ),
]

Record = Annotated[
    int | None,
    typer.Option(
        "--record",
        metavar="BYTES",
        min=1,
        max=RECORD_MOST,
        help="Records of this length, not lines.",
    ),
]

Key = Annotated[
    str | None,
    typer.Option(
        "--key",
        metavar="OFFSET:BYTES",
        help="Where the key of a record is. All of it if not given.",
    ),
]

Make = Annotated[
    bool,
    typer.Option(
        "--make",
        help="Make the runs first, as the settings say: merge.jobs, merge.runs, merge.run and "
        "merge.depletion.",
    ),
]


class SortProgram(StrEnum):
    """Programs that can merge the same files."""

    SORT = SORT


Beside = Annotated[
    SortProgram | None,
    typer.Option(
        "--beside",
        metavar="sort",
        help="Then merge the same files with GNU sort, a process for each merge.",
        show_default=False,
    ),
]

Rounds = Annotated[
    int,
    typer.Option("--rounds", metavar="N", min=1, max=ROUNDS_MOST, help="Do all of it N times."),
]


@app.command("merge", cls=SeveralDisks)
def run(
    *,
    runs: Runs = None,
    to: To = None,
    jobs: Jobs = None,
    on: On = None,
    policy: Policy = "fcfs",
    placement: Placement = None,
    memory: Memory = None,
    sets: Sets = None,
    record: Record = None,
    key: Key = None,
    make: Make = False,
    engine: Annotated[str | None, option("engine")] = None,
    beside: Beside = None,
    rounds: Rounds = 1,
    as_json: Json = False,
) -> None:
    """Merge sorted files, as `sort -m` does, several merges side by side.

    Each disk has a queue with a policy, each merge reads and writes in groups of blocks, past the
    page cache where that is possible. Runs are only read; outputs are new files, and have their
    names when they are whole.
    """
    files = Files(
        runs=runs or [],
        to=to or [],
        jobs=jobs,
        on=on,
        policy=policy,
        sets=[*(sets or []), *_memory(memory)],
        placement=placement,
        record=_record(record, key),
        make=make,
        engine=engine,
    )

    def merged(_: Progress) -> Answer:
        result = merge(
            files,
            rounds=rounds,
            beside_sort=beside is not None,
            say=lambda remark: output.talk(f"note: {remark}"),
        )
        return Answer(
            data=lambda: json.dumps(result, indent=2, ensure_ascii=False),
            blocks=_blocks(result),
        )

    answer(merged, as_json=as_json, interrupted="interrupted: no output is complete")


def _memory(memory: str | None) -> list[str]:
    """Return the setting that `--memory` stands for."""
    if memory is None:
        return []
    kind, equals, blocks = memory.partition("=")
    return [f"merge.memory.{kind}={blocks}" if equals else f"merge.memory={memory}"]


def _record(length: int | None, key: str | None) -> tuple[int, int, int] | None:
    """Return the length of a record, the first byte of its key, and the length of the key."""
    if length is None:
        if key is not None:
            raise wrong(
                "--key does not go without --record",
                "lines are compared as a whole; `LC_ALL=C sort -m` merges them by a field "
                "or a number, as with -k 2 -n",
            )
        return None
    if key is None:
        return length, 0, length
    offset, colon, size = key.partition(":")
    if not (colon and offset.isdecimal() and size.isdecimal()):
        raise wrong(f"--key {key} is no place in a record", "as 0:10: ten bytes from byte 0 on")
    place = length, int(offset), int(size)
    if max(place) > RECORD_MOST:
        raise wrong(f"--key {key} is no place in a record", "no record is so long")
    return place


def _blocks(result: Merges) -> Blocks:
    """Yield the answer first, then the details."""
    count = len(result["disks"])
    disks = f"{units.count(count)} disk{'s' if count > 1 else ''}"
    model = result["model"]
    where = disks if model is None else f"{model} for each of {disks}"
    yield [
        Line(
            (result["world"].upper(), "bold"),
            f"  {where}, {result['policy']}: all merged in ",
            (units.seconds(result["makespan_s"]), "bold"),
        ),
        _merges(result),
        *(f"  {line}" for line in _lines(result)),
    ]


def _merges(result: Merges) -> Table:
    """Return the table with a row for each merge."""
    rows = [
        [
            f"  {merged['output']}",
            units.count(len(merged["inputs"])),
            units.size(merged["bytes"]),
            units.seconds(merged["finish_s"]),
            units.seconds(merged["blocked_s"]["read"]),
            units.seconds(merged["blocked_s"]["memory"]),
            units.seconds(merged["cpu_s"]),
        ]
        for merged in result["merges"]
    ]
    figures = ("runs", "size", "finished", "waited for reads", "for memory", "processor")
    return Table(["  output", *figures], rows)


def _lines(result: Merges) -> Iterator[str]:
    """Yield the lines below the table."""
    rounds = result["rounds"]
    if len(rounds) > 1:
        spans = [round_["makespan_s"] for round_ in rounds]
        yield (
            f"the median of {len(spans)} rounds, from {units.seconds(min(spans))} to "
            f"{units.seconds(max(spans))}"
        )
    several = len(result["merges"]) > 1
    apart = f"up to {units.percent(result['divergence_max'])} apart, " if several else "up to "
    yield (
        f"{apart}{units.many(result['max_queued_writes'], 'write')} at one disk; "
        f"processors worked {units.seconds(result['cpu_s'])}"
    )
    for number, program in enumerate(result["beside"]):
        same = all(round_["beside"][number]["identical"] for round_ in rounds)
        yield (
            f"for comparison: {program['command']} took {units.seconds(program['makespan_s'])}, "
            f"processors {units.seconds(program['cpu_s'])}; "
            f"{'the same bytes' if same else 'OTHER BYTES'}"
        )
    if emulation := result.get("emulation"):
        yield from _on_time(emulation)
    if below := places.below(result.get("schedulers", {})):
        yield f"below: {below}"
    if result["world"] == "measured" and not result["direct"]:
        yield "not every file went past the page cache: its file system does not allow that"
    yield from (f"note: {remark}" for remark in result["remarks"])


def _on_time(models: Models) -> Iterator[str]:
    """Yield lines on how well models kept their schedules."""
    late, waits = models["lateness"], models["file_waits"]
    yield (
        f"the models answered late by p50 {units.latency(late['p50_ns'])}, "
        f"p99 {units.latency(late['p99_ns'])} of real time, which the merges make up for"
    )
    if waits["completions"]:
        yield (
            f"{units.count(waits['completions'])} of {units.count(late['completions'])} requests "
            f"took longer in their files than on a model, p99 {units.latency(waits['p99_ns'])}, "
            "which counts: a lower speed hides it"
        )
