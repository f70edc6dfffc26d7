"""A job from its options to its output: progress, interrupts, the table and the verdict."""

import json
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import typer

from penstock import _native
from penstock.cli import output
from penstock.cli.estimate import Estimate
from penstock.errors import DIFFERS, RUN_FAILED, PenstockError, wrong
from penstock.report import Outputs
from penstock.results.json_types import Comparison
from penstock.results.requests import Requests
from penstock.results.rounds import ALONE
from penstock.results.steps import Step
from penstock.signals import Asked
from penstock.target import Target
from penstock.text import failures
from penstock.text.verdict import judged, no_baseline, to_json, verdict
from penstock.watch.progress import which

if TYPE_CHECKING:
    from rich.console import Console

OnStep: TypeAlias = Callable[[Step], None]
"""Is called with each step."""

Engine: TypeAlias = Callable[[OnStep | None], str]
"""The engine with all that it is asked: runs, reports its steps, and returns the result."""

LetRun: TypeAlias = Callable[[Engine, Asked], str]
"""Has the engine run and shows how far it has come; says which signal asked for its end."""


ALL = "all"
"""Names every policy."""

STDIN = "-"
"""A job that is read from there."""

BYTES = 4 << 20
"""A longer one is no job."""


def work(
    job: str,
    *,
    policies: Sequence[str],
    target: Target,
    sets: Sequence[str],
    record: str | None,
    outputs: Outputs,
    as_json: bool,
    detail: bool = False,
    text: str | None = None,
    pace: _native.Pace | None = None,
    speed: str | None = None,
    repeat: int | None = None,
    baseline: str | None = None,
    let_run: LetRun | None = None,
) -> None:
    """Run a job under each policy, show the result, and write what is asked for.

    With `text` that is the job, and `job` only what it is called; `-` is a job on stdin.
    The verdict compares with the policy `baseline`, or with the first.
    `let_run` has the engine run and shows how far it has come, by a bar if not given; with `pace`
    at `speed`, as one who watches.
    """
    with errors_end():
        outputs.check()
        if baseline is not None:
            _check(baseline, policies)
        if job == STDIN:
            job, text = "stdin", job_on_stdin()

    kept = None if outputs.requests is None else Requests()

    def run(progress: OnStep | None) -> str:
        return _native.compare(
            job,
            policies=policies,
            target=target,
            sets=sets,
            record=record,
            detail=outputs.need_detail,
            arm_from=outputs.arm_from,
            arm_for=outputs.arm_for,
            text=text,
            progress=progress,
            watch=pace,
            speed=speed,
            repeat=repeat,
            requests=None if kept is None else kept.take,
        )

    asked = Asked()
    try:
        result = (let_run or _with_a_bar)(run, asked)
    except KeyboardInterrupt as interrupt:
        cause = interrupt.__cause__
        output.talk(str(cause or "interrupted: there is no result yet"))
        if isinstance(cause, _native.Failure) and cause.stuck:
            output.exit_at_once(asked.exit_code)
        raise typer.Exit(asked.exit_code) from interrupt
    comparison: Comparison = json.loads(result)
    comparison["verdict"] = judged(comparison, baseline)
    if as_json:
        output.data(f"{to_json(comparison, result)}\n")
    else:
        _show(comparison, detail=detail)
        for remark in comparison.get("remarks", []):
            output.talk(f"note: {remark}")
    table = None if kept is None else partial(kept.frame, comparison)
    say_written(replace(outputs, command=command_line()).write(comparison, table))
    of = len(_chosen(policies)) * (repeat or 1)
    code = _judged(comparison, of=of, asked=asked)
    early = any(run.get("interrupted") for run in comparison["runs"])
    if early and comparison["world"] == "measured":
        output.exit_at_once(code)
    if code:
        raise typer.Exit(code)


def command_line() -> str:
    """The words of the command, as a shell takes them."""
    return shlex.join(["penstock", *sys.argv[1:]])


def _chosen(policies: Sequence[str]) -> list[str]:
    """The policies that run: those that are named, or the usual ones; `all` is every one."""
    known = json.loads(_native.policies())
    if not policies:
        return [policy["name"] for policy in known if policy["usual"]]
    every = [policy["name"] for policy in known]
    return [one for name in policies for one in (every if name == ALL else [name])]


def _check(baseline: str, policies: Sequence[str]) -> None:
    """Raise a `PenstockError` unless the baseline is one of the policies that run."""
    run = _chosen(policies)
    if baseline not in run or baseline.startswith(ALONE):
        raise wrong(*no_baseline(baseline, run))


def job_on_stdin() -> str:
    """The job that comes on stdin; as long as a job's file may be."""
    written = b"" if sys.stdin is None else sys.stdin.buffer.read(BYTES + 1)
    hint = "a job is TOML, written by hand"
    if len(written) > BYTES:
        raise wrong("the job on stdin is larger than 4MiB", hint)
    try:
        return written.decode()
    except UnicodeDecodeError:
        raise wrong("the job on stdin is not UTF-8", hint) from None


def _judged(comparison: Comparison, *, of: int, asked: Asked) -> int:
    """Report what went wrong, and return the exit code."""
    ran = comparison["runs"]
    failed = [why for run in ran for why in failures.fatal(run)]
    for why in failed:
        output.talk(f"error: {why}")
    for run in ran:
        if run.get("interrupted"):
            left = of - len(ran)
            what = "policies" if "round" not in run else "runs"
            rest = f"; {left} of {of} {what} did not run" if left else ""
            output.talk(f"{failures.why_partial(run)}: the last run is partial{rest}")
    if any(run.get("ended") == "asked" for run in ran):
        return asked.exit_code
    if any(map(failures.differs, ran)):
        return DIFFERS
    return RUN_FAILED if failed else 0


def _show(comparison: Comparison, *, detail: bool) -> None:
    # What draws tables takes longer to import than a short run to finish.
    from rich.text import Text

    from penstock.cli.console import drawn
    from penstock.text import prose, table

    def draw(console: "Console") -> None:
        table.show(comparison, console, detail=detail)
        lines = verdict(comparison)
        if lines:
            console.print()
        for line in lines:
            prose.line(console, Text(line))

    drawn(draw)


@contextmanager
def errors_end() -> Iterator[None]:
    """Within this, what is wrong ends the command: a file that may not be written, say."""
    try:
        yield
    except PenstockError as error:
        output.talk(str(error))
        raise typer.Exit(error.exit_code) from None


def say_written(files: Iterable[str]) -> None:
    """Say what is written once it is; Ctrl-C leaves out the rest."""
    try:
        with errors_end():
            for file in files:
                output.talk(f"wrote {file}")
    except KeyboardInterrupt:
        output.talk("interrupted: not everything was written")
        raise typer.Exit(Asked().exit_code) from None


def _lines() -> OnStep:
    estimate = Estimate()

    def on_step(step: Step) -> None:
        # The run goes on even if its progress cannot be written.
        with suppress(OSError):
            for line in estimate.of(step):
                output.talk(line)

    return on_step


def _with_a_bar(engine: Engine, asked: Asked) -> str:
    with asked.first_stops(), steps_bar() as progress:
        return engine(progress)


@contextmanager
def steps_bar() -> Iterator[OnStep]:
    """A bar with the time left if a person is watching stderr, else lines if a model takes long."""
    if not sys.stderr.isatty():
        yield _lines()
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    with bar:
        creating = bar.add_task("", total=1, visible=False)
        running = bar.add_task("", total=1, visible=False)

        def on_step(step: Step) -> None:
            if step["step"] == "finished":
                return
            if step["step"] == "creating":
                what = f"writing {step['path']}"
                bar.update(creating, description=what, completed=step["fraction"], visible=True)
                return
            done = step["number"] + step["fraction"]
            bar.update(creating, visible=False)
            bar.update(
                running, description=which(step), completed=done, total=step["of"], visible=True
            )

        yield on_step
