"""`penstock guard`: protects programs that know nothing of it from others on their disk."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Annotated, Any

import typer

from penstock import _native
from penstock.advise.goal import Goal
from penstock.answer.table import NONE, Table
from penstock.answer.value import Answer, Blocks, headline
from penstock.cli import output
from penstock.cli.answering import answer, command_line, give
from penstock.cli.guard_lane import app as lanes
from penstock.cli.lists import share
from penstock.cli.options import Json
from penstock.cli.progress import Progress
from penstock.cli.verb import group, or_else
from penstock.errors import GOAL_MISSED
from penstock.guard import session
from penstock.guard.dry_run import planned
from penstock.guard.selectors import selectors
from penstock.guard.session import OTHERS, Guarded, GuardPlan, GuardStatus, guard
from penstock.guard.who import BATCH
from penstock.text import units

DISK = "disk"
"""The verb that is meant if no other is named."""

OF_THE_CACHE = 0.1
"""Share of all bytes from which writes of neither class are worth a word."""

app = group(cls=or_else(DISK))
app.add_typer(lanes, name="lane")

Disk = Annotated[
    str, typer.Argument(metavar="DISK", help="The disk that the programs share, as sda.")
]

WHO = (
    "Programs, as pid:N, command:NAME, unit:NAME, cgroup:PATH, user:NAME, path:DIR or "
    "volume:/dev/X."
)

Online = Annotated[
    list[str],
    typer.Option("--online", metavar="WHO", help=f"{WHO} They are to be fast.", show_default=False),
]

Batch = Annotated[
    list[str],
    typer.Option("--batch", metavar="WHO", help=f"{WHO} They may wait.", show_default=False),
]

Goals = Annotated[
    list[str],
    typer.Option(
        "--goal",
        metavar="'online.FIGURE <= LIMIT'",
        help="What the online programs must keep, as 'online.p99 <= 2ms'. May be given again.",
        show_default=False,
    ),
]

GoalFrom = Annotated[
    str | None,
    typer.Option(
        "--goal-from",
        metavar="COMMAND",
        help="A command that prints a time a line, as 3.2ms, for as long as it runs: the online "
        "programs' own p99, say. The goals are then about these times.",
    ),
]

Keep = Annotated[
    str, typer.Option("--keep", metavar="SHARE", help="What the batch keeps of its throughput.")
]

For = Annotated[
    str | None,
    typer.Option("--for", metavar="TIME", help="How long; until it is interrupted if not given."),
]

Strict = Annotated[
    bool, typer.Option("--strict", help="Keep nothing that does not meet the goals, and end.")
]

DirtyBytes = Annotated[
    str | None,
    typer.Option(
        "--dirty-bytes",
        metavar="SIZE",
        help="Most dirty pages of the whole machine meanwhile, as 64MiB; half starts writing them.",
    ),
]

DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print every write that it might make, and make none.")
]


@app.command(DISK, short_help="Protect the online programs of a disk (`penstock guard DISK`).")
def run(
    disk: Disk,
    *,
    online: Online,
    batch: Batch,
    goals: Goals,
    goal_from: GoalFrom = None,
    keep: Keep = "0%",
    seconds: For = None,
    strict: Strict = False,
    dirty_bytes: DirtyBytes = None,
    dry_run: DryRun = False,
    as_json: Json = False,
) -> None:
    """Protect programs from others on their disk, with what the kernel has.

    First nothing is set, to see what the batch does and what the online programs suffer. Then one
    means after another is tried, from the least intrusive on, and the first that meets the goals is
    kept for as long as the guard runs. At its end, after an error and on a signal everything is put
    back; after kill -9 `penstock doctor --clean` does it. Latencies are those of block requests,
    from the moment at which a program queued them: waits above the disk are not seen. Only root
    may. The exit code is 3 if the goals were missed.
    """
    plan = GuardPlan(
        disk=disk.removeprefix("/dev/"),
        online=selectors("--online", online),
        batch=selectors("--batch", batch),
        goals=[Goal.parse(goal) for goal in goals],
        goal_from=goal_from,
        keep=share("--keep", keep),
        seconds=None if seconds is None else _native.duration(seconds) / 1e9,
        strict=strict,
        dirty_bytes=None if dirty_bytes is None else _native.size(dirty_bytes),
    )
    session.check(plan.goals)
    if dry_run:
        give(_planned(plan), as_json=as_json)
        return

    def guarded(progress: Progress) -> Answer:
        if plan.seconds is None and not as_json:
            output.talk("guarding; Ctrl-C ends it and puts everything back")

        def show(status: GuardStatus) -> None:
            _show(status, plan, progress)

        result = guard(plan, command=command_line(), show=show)
        return Answer(
            data=lambda: json.dumps(_plain(result), indent=2),
            blocks=_blocks(result),
            exit_code=0 if result.met else GOAL_MISSED,
            partial=result.interrupted,
        )

    answer(guarded, as_json=as_json)


def _planned(plan: GuardPlan) -> Answer:
    """Return what a guard might write."""
    writes = planned(plan)
    rows = [[write.means, write.subject, write.has or NONE, write.gets] for write in writes]
    table = Table(["means", "what", "has", "gets"], rows, words=4, sentences=1, grouped=True)
    return Answer(
        data=lambda: json.dumps([asdict(write) for write in writes], indent=2), blocks=[[table]]
    )


def _show(status: GuardStatus, plan: GuardPlan, progress: Progress) -> None:
    """Show the last window in the line of the progress bar."""
    window = status.window
    if window is None:
        seen = "nothing was asked for online"
    else:
        met = "met" if window.missed_by <= 1 else f"missed by {window.missed_by:.3g} times"
        batch = f"{window.batch / 1e6:.0f} MB/s"
        seen = f"goals {met}, {window.online:.0f} requests/s online, batch {batch}"
    done = 0.0 if plan.seconds is None else status.at_s / plan.seconds
    progress(f"{status.means}: {seen}", min(done, 1.0))


def _blocks(result: Guarded) -> Blocks:
    yield [headline("measured", f"{result.disk}: {', '.join(result.goals)}")]
    yield [Table(["means", "misses by", "online", "batch", "of nothing"], list(_rows(result)))]
    yield list(_lines(result))


def _rows(result: Guarded) -> Iterator[list[str]]:
    nothing = next(iter(result.standings.values()), None)
    for name in result.means:
        standing = result.standings.get(name)
        if standing is None or nothing is None:
            continue
        yield [
            name,
            "–" if standing.missed_by <= 1 else f"{standing.missed_by:.3g} ×",
            f"{standing.online:.0f}/s",
            f"{units.megabytes(standing.batch)} MB/s",
            units.percent(standing.batch / nothing.batch) if nothing.batch else NONE,
        ]


def _lines(result: Guarded) -> Iterator[str]:
    if not result.standings:
        yield (
            f"the online programs asked for nothing in {result.windows} windows, so there was "
            "nothing to protect"
        )
        return
    if not result.decided:
        yield "it ended before anything was decided"
    elif result.met:
        yield f"{result.kept} meets the goals"
    else:
        yield f"no means meets the goals; {result.kept} comes nearest"
    for step in result.steps:
        yield f"  {step.at_s:6.1f} s  {step.means}: {step.reason}"
    for why in dict.fromkeys(result.left_out.values()):
        names = [name for name, reason in result.left_out.items() if reason == why]
        yield f"not tried: {'; '.join(names)}: {why}"
    if result.decided and not result.met:
        yield "a lane of its own for the batch may do: penstock guard lane make --help"
    others, batch = (result.written.get(name, 0) / 1e9 for name in (OTHERS, BATCH))
    if others > batch and others > OF_THE_CACHE * (result.bytes / 1e9):
        yield (
            f"{others:.3g} GB were written by neither class, and {batch:.3g} GB by the batch: what "
            "is written to the page cache is queued by the kernel, and no I/O class holds it back; "
            "--dirty-bytes, a lane or direct I/O does"
        )
    for text in result.unmatched:
        yield f"{text} matched no process"
    if result.unreadable:
        yield f"processes of other users that could not be looked at: {result.unreadable}"
    if result.lost:
        yield f"the kernel dropped {result.lost} events, so counts are too low"


def _plain(result: Guarded) -> Mapping[str, Any]:
    return asdict(result)
