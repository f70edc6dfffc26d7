"""Holds the model of a scheduler against the kernel's own, decision by decision.

A job runs on a block device under the kernel's scheduler, and the kernel's block events are
captured meanwhile. The model then follows the decisions, and the engine counts those that it makes
alike. The job also runs under the model, on the same device.
"""

import json
import platform
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from penstock import _native, capturing, tracing
from penstock.errors import RUN_FAILED, PenstockError, translated, wrong
from penstock.served.process import OURS, served
from penstock.target import BLOCK

ARRIVAL = {"none": "noop"}
"""Models of schedulers that have another name."""


@dataclass(frozen=True, kw_only=True)
class AgreementQuestion:
    """The question: which scheduler, over which device, against which model."""

    scheduler: str
    job: str
    on: str
    """`block:DEVICE`, or the path of a block device."""
    model: str
    depth: int
    """Most commands at once of a model that is served."""
    sets: Sequence[str]
    lose: str | None
    """The block device once more, if what is on it may be lost."""
    buffer_kb: int


def compare(question: AgreementQuestion) -> dict[str, Any]:
    """Run the job under the kernel's scheduler and under the model, and compare.

    # Errors
    If the model cannot follow a scheduler, a run failed, or the kernel lost events.
    """
    follows = _follows(question)
    with TemporaryDirectory(prefix="penstock-agreement-") as folder:
        events = Path(folder, "events")
        with _device(question) as (node, options), tracing.mounted() as tracefs:
            kernel, lost = _captured(question, tracefs, node, options, events)
        if lost:
            message = (
                f"error: the kernel lost {lost} events of {node}, so its decisions are not known\n"
                f"hint: give them more room: --buffer {question.buffer_kb * 4}KiB"
            )
            raise PenstockError(message, exit_code=RUN_FAILED)
        with translated():
            agreed = json.loads(_agreed(question, events)) if follows else None
    return {
        "scheduler": question.scheduler,
        "model": question.model,
        "on": question.on,
        "kernel_version": platform.release(),
        "agreement": agreed,
        "kernel": kernel,
        "ours": _ours(question),
    }


def _follows(question: AgreementQuestion) -> bool:
    """Whether the model can follow the scheduler's decisions; one of the same name need not.

    # Errors
    If one of another name cannot, or a parameter is wrong.
    """
    with TemporaryDirectory(prefix="penstock-agreement-") as folder, translated():
        empty = Path(folder, "events")
        empty.touch()
        try:
            _native.scheduler_agreement(empty, question.scheduler, question.model, [])
        except _native.Failure:
            if question.model != question.scheduler:
                raise
            return False
        _agreed(question, empty)
    return True


def _agreed(question: AgreementQuestion, events: Path) -> str:
    prefix = f"{question.model}."
    sets = [text.removeprefix(prefix) for text in question.sets if text.startswith(prefix)]
    return _native.scheduler_agreement(events, question.scheduler, question.model, sets)


@contextmanager
def _device(question: AgreementQuestion) -> Iterator[tuple[str, list[str]]]:
    """Yield the node of the block device, and the options that allow to write to it."""
    if not question.on.startswith(BLOCK):
        lose = question.lose
        yield question.on, [] if lose is None else ["--i-will-lose-data", lose]
        return
    model = question.on.removeprefix(BLOCK)
    with served(model, "--depth", str(question.depth)) as (path, _):
        node = str(path)
        yield node, ["--i-will-lose-data", node, "--even-if-not-empty"]


def _captured(
    question: AgreementQuestion, tracefs: Path, node: str, options: Sequence[str], events: Path
) -> tuple[dict[str, Any], int]:
    """Run the job under the kernel's scheduler; return its result and the number of lost events."""
    output = events.with_name("kernel")
    words = ["run", question.job, "--policy", f"kernel:{question.scheduler}", "--on", node]
    with output.open("wb") as printed:
        captured = capturing.capture(
            tracing.disk(Path(node)),
            events,
            seconds=None,
            tracefs=tracefs,
            command=[*OURS, *words, *options, *_sets(question), "--json"],
            printed=printed,
            buffer_kb=question.buffer_kb,
        )
    if captured.asked_by is not None:
        raise KeyboardInterrupt
    if captured.command:
        message = f"error: the run under the kernel's {question.scheduler} failed, as said above"
        raise PenstockError(message, exit_code=captured.command)
    return _run(output.read_bytes()), captured.lost


def _ours(question: AgreementQuestion) -> dict[str, Any]:
    """Run the job under the model, on the same device."""
    words = [*OURS, "run", question.job, "--policy", question.model, "--on", question.on]
    if question.on.startswith(BLOCK):
        words += ["--set", f"block.depth={question.depth}"]
    elif question.lose is not None:
        words += ["--i-will-lose-data", question.lose, "--even-if-not-empty"]
    done = subprocess.run([*words, *_sets(question), "--json"], stdout=subprocess.PIPE, check=False)
    if done.returncode:
        message = f"error: the run under {question.model} failed, as said above"
        raise PenstockError(message, exit_code=done.returncode)
    return _run(done.stdout)


def _sets(question: AgreementQuestion) -> list[str]:
    return [word for text in question.sets for word in ("--set", text)]


def _run(text: bytes) -> dict[str, Any]:
    (run,) = json.loads(text)["runs"]
    return dict(run)


def check(scheduler: str, on: str) -> None:
    """Raise an error unless the job can run under the scheduler of a block device `on`."""
    if not on.startswith((BLOCK, "/dev/")):
        raise wrong(
            f"{on} is no block device", "name a served model, as block:hdd-7200, or a disk in /dev"
        )
    if not scheduler or "/" in scheduler or scheduler.startswith("kernel:"):
        raise wrong(
            f"{scheduler!r} is no scheduler of the kernel", "name one, as mq-deadline or none"
        )
