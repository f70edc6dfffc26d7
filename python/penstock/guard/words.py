"""A guard in words: how the last window stood, and the answer at its end."""

from collections.abc import Iterator, Sequence

from penstock.answer.table import NONE, Table
from penstock.answer.value import Blocks, headline
from penstock.guard.dry_run import PlannedWrite
from penstock.guard.search import MeansStanding
from penstock.guard.session import OTHERS, GoalState, Guarded, GuardStatus
from penstock.guard.steps import GuardStep
from penstock.guard.who import BATCH, ONLINE
from penstock.text import units

OF_THE_CACHE = 0.1
"""Share of all bytes from which writes of neither class are worth a word."""

STOLEN = 0.005
"""Share of the processors' time from which what the host takes is worth a word."""

STEPS = 20
"""Most changes in an answer."""


def writes(planned: Sequence[PlannedWrite]) -> Table:
    """Return the table of what a guard might write."""
    rows = [[write.means, write.subject, write.has or NONE, write.gets] for write in planned]
    return Table(["means", "what", "has", "gets"], rows, words=4, sentences=1, grouped=True)


def seen(status: GuardStatus) -> str:
    """Return how the last window stood, in a line."""
    window = status.window
    if window is not None:
        batch = f"{window.batch / 1e6:.0f} MB/s"
        return (
            f"goals {met(window.missed_by)}, {window.online:.0f} requests/s online, batch {batch}"
        )
    if not status.scan.threads[ONLINE]:
        waiting = ", ".join(selector.text for selector in status.scan.waiting)
        return f"no online process runs: waiting for {waiting}"
    return "; ".join(["nothing was asked for online", *_used(status.so_far)])


def met(missed_by: float) -> str:
    """Return whether goals are met, and the ratio by which they are missed."""
    return "met" if missed_by <= 1 else f"missed by {units.ratio(missed_by)} times"


def figure(state: GoalState) -> str:
    """Return the figure that a goal is about, in its unit."""
    if state.goal.figure.what == "bw":
        return f"{units.megabytes(state.value)} MB/s"
    if state.goal.figure.what == "iops":
        return f"{units.rate(state.value)}/s"
    return units.latency(state.value)


def blocks(result: Guarded) -> Blocks:
    """Return the answer of a guard."""
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
            result.unfair.get(name, _missed(standing)),
            f"{standing.online:.0f}/s",
            f"{units.megabytes(standing.batch)} MB/s",
            units.percent(standing.batch / nothing.batch) if nothing.batch else NONE,
        ]


def _missed(standing: MeansStanding) -> str:
    return NONE if standing.missed_by <= 1 else f"{units.ratio(standing.missed_by)} ×"


def _lines(result: Guarded) -> Iterator[str]:
    if result.note is not None:
        yield result.note
    if not result.standings or result.windows == result.idle_windows:
        yield (
            f"the online programs asked for nothing in {units.many(result.windows, 'window')}, so "
            "there was nothing to protect"
        )
        yield from _used(result)
        yield from _unmatched(result)
        return
    if result.remembered:
        yield "the figures of nothing are those of the plan's file"
    if not result.decided:
        yield "it ended before anything was decided"
    elif result.met:
        yield f"{result.kept} meets the goals"
    else:
        yield f"no means meets the goals; {result.kept} comes nearest"
    left_out = len(result.steps) - STEPS
    if left_out > 0:
        yield f"  … {units.many(left_out, 'change')} before these: --json has the latest thousand"
    for step in result.steps[-STEPS:]:
        yield f"  {change(step)}"
    for why in dict.fromkeys(result.left_out.values()):
        names = [name for name, reason in result.left_out.items() if reason == why]
        yield f"not tried: {'; '.join(names)}: {why}"
    if result.decided and not result.met:
        yield "a lane of its own for the batch may do: penstock guard lane make --help"
        yield from _flushes(result)
        if result.stolen > STOLEN:
            yield (
                f"the host of this virtual machine took {units.percent(result.stolen)} of the "
                "processors' time (steal): requests wait meanwhile, whatever the guard sets"
            )
    yield from _remarks(result)


def change(step: GuardStep) -> str:
    """Return a change with its reason and, if it is known, its effect: medians before and after."""
    line = f"{step.at_s:6.1f} s  {step.means}: {step.reason}"
    medians = [standing for standing in (step.before, step.after) if standing is not None]
    if step.after is None:
        return line
    missed = " → ".join(units.ratio(standing.missed_by) for standing in medians)
    batch = " → ".join(units.megabytes(standing.batch) for standing in medians)
    return f"{line} ({missed} × the limit, batch {batch} MB/s)"


def _flushes(result: Guarded) -> Iterator[str]:
    """Yield the goals that the flushes rule out on a disk that answers nothing meanwhile."""
    flushing = result.flushing
    if flushing is not None and flushing.rules_out:
        yield (
            f"flushes of the disk's cache took {units.latency(flushing.flush_ns)} each and "
            f"{units.percent(flushing.share)} of the time: if it answers nothing meanwhile, "
            f"{' and '.join(flushing.rules_out)} can only be met by a batch that writes less"
        )


def _remarks(result: Guarded) -> Iterator[str]:
    others, batch = (result.written.get(name, 0) / 1e9 for name in (OTHERS, BATCH))
    if others > batch and others > OF_THE_CACHE * (result.bytes / 1e9):
        yield (
            f"{others:.3g} GB were written by neither class, and {batch:.3g} GB by the batch: what "
            "is written to the page cache is queued by the kernel, and no I/O class holds it back; "
            "--dirty-bytes, a lane or direct I/O does"
        )
    yield from _used(result)
    yield from _unmatched(result)
    if result.lost:
        yield f"the kernel dropped {result.lost} events, so counts are too low"


def _used(result: Guarded) -> Iterator[str]:
    """Yield which disks the online programs use, if they ask the guarded one for nothing."""
    selectors = dict.fromkeys(used.selector for used in result.used)
    for selector in selectors:
        used = [disk for disk in result.used if disk.selector == selector]
        if any(disk.disk == result.disk for disk in used):
            yield (
                f"{selector} has files open on {result.disk} and asks it for nothing: reads that "
                "the page cache answers do not reach the disk"
            )
        else:
            places = ", ".join(f"{disk.disk} ({disk.at})" for disk in used)
            yield f"{selector} works on {places}, not on {result.disk}"


def _unmatched(result: Guarded) -> Iterator[str]:
    for text in result.unmatched:
        yield f"{text} matched no process"
    if result.unreadable:
        yield f"processes of other users that could not be looked at: {result.unreadable}"
