"""`penstock guard`: protects programs that know nothing of it from others on their disk."""

import json
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from penstock import _native
from penstock.advise.goal import Goal
from penstock.answer.value import Answer
from penstock.cli import output
from penstock.cli.answering import answer, command_line, give
from penstock.cli.guard_lane import app as lanes
from penstock.cli.lists import share
from penstock.cli.options import Json, Metrics
from penstock.cli.progress import Progress
from penstock.cli.verb import group, or_else
from penstock.errors import GOAL_MISSED, needs
from penstock.guard import session, words
from penstock.guard.disks import guarded_disk
from penstock.guard.dry_run import planned
from penstock.guard.lines import GuardLines
from penstock.guard.metrics import GuardMetrics
from penstock.guard.plan_file import PlanFile
from penstock.guard.selectors import selectors
from penstock.guard.session import Guarded, GuardPlan, GuardStatus, guard
from penstock.metrics.outlet import outlet
from penstock.report.outputs import check_distinct
from penstock.signals import StopSignal

DISK = "disk"
"""The verb that is meant if no other is named."""

app = group(cls=or_else(DISK))
app.add_typer(lanes, name="lane")

Disk = Annotated[
    str,
    typer.Argument(
        metavar="DISK",
        help="The disk that the programs share, as sda; or a partition or mapped device on it.",
    ),
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

Plan = Annotated[
    str | None,
    typer.Option(
        "--plan",
        metavar="FILE.toml",
        help="A file that remembers the means that met the goals: the next guard begins with it.",
    ),
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
    plan_file: Plan = None,
    metrics: Metrics = None,
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
    name, note = guarded_disk(disk)
    check_distinct({"plan": plan_file, "metrics": metrics})
    saved = None if plan_file is None else PlanFile(Path(plan_file), name)
    plan = GuardPlan(
        disk=name,
        note=note,
        online=selectors("--online", online),
        batch=selectors("--batch", batch),
        goals=[Goal.parse(goal) for goal in goals],
        goal_from=goal_from,
        keep=share("--keep", keep),
        seconds=None if seconds is None else _native.duration(seconds) / 1e9,
        strict=strict,
        start=None if saved is None else saved.remembered,
        dirty_bytes=None if dirty_bytes is None else _native.size(dirty_bytes),
    )
    session.check(plan.goals)
    exposed = None if metrics is None else GuardMetrics(outlet(metrics), name)
    if dry_run:
        writes = planned(plan)
        data = json.dumps([asdict(write) for write in writes], indent=2)
        notes = [] if note is None else [note]
        give(
            Answer(data=lambda: data, blocks=[[words.writes(writes)]], notes=notes), as_json=as_json
        )
        return
    # Before a view opens, which would hide it.
    session.check_root()
    if exposed is not None:
        exposed.begin()
    _guard(plan, [file for file in (saved, exposed) if file is not None], as_json=as_json)


def _guard(plan: GuardPlan, files: Sequence[PlanFile | GuardMetrics], *, as_json: bool) -> None:
    """Guard a disk, and give the answer."""
    stop_signal = StopSignal()

    def guarded(progress: Progress) -> Answer:
        result = _watched(plan, files, progress, stop_signal)
        return Answer(
            data=lambda: json.dumps(asdict(result), indent=2),
            blocks=words.blocks(result),
            messages=[file.failure for file in files if file.failure is not None],
            exit_code=0 if result.met else GOAL_MISSED,
            partial=result.interrupted,
        )

    answer(guarded, as_json=as_json, stop_signal=stop_signal)


def _watched(
    plan: GuardPlan,
    files: Sequence[PlanFile | GuardMetrics],
    progress: Progress,
    stop_signal: StopSignal,
) -> Guarded:
    """Guard a disk, and show how it fares: on a screen if there is a terminal, else in lines."""

    def work(show: Callable[[GuardStatus], None]) -> Guarded:
        def take(status: GuardStatus) -> None:
            for file in files:
                file.take(status)
            show(status)

        try:
            return guard(plan, command=command_line(), show=take)
        finally:
            for file in files:
                file.end()

    lines = GuardLines(endless=plan.seconds is None)

    def say(status: GuardStatus) -> None:
        if not sys.stderr.isatty():
            with suppress(OSError):
                for line in lines.of(status):
                    output.talk(line)
        done = 0.0 if plan.seconds is None else status.at_s / plan.seconds
        progress(f"{status.means.name}: {words.seen(status)}", min(done, 1.0))

    if not output.on_a_terminal():
        return work(say)
    needs("textual", feature="the live view")
    from penstock.guard.screen import GuardScreen

    return GuardScreen(plan, work, stop_signal=stop_signal).to_its_end()
