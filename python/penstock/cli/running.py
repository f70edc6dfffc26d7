"""A job from its options to its answer: the table, the verdict, the files and the exit code."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from penstock import _native, session
from penstock.answer.value import Answer, Blocks
from penstock.cli.answering import answer, command_line
from penstock.cli.job_input import read
from penstock.cli.progress import Progress
from penstock.errors import DIFFERS, RUN_FAILED, wrong
from penstock.report.outputs import Outputs
from penstock.results.json_types import Comparison
from penstock.results.requests import Requests
from penstock.results.rounds import ALONE
from penstock.results.steps import Step
from penstock.signals import StopSignal
from penstock.target import Target
from penstock.text import failures
from penstock.text.verdict import judged, no_baseline, to_json, verdict

if TYPE_CHECKING:
    import polars as pl

OnStep: TypeAlias = Callable[[Step], None]
"""Is called with each step."""

Engine: TypeAlias = Callable[[OnStep | None], str]
"""The engine with all that it is asked: runs, reports its steps, and returns the result."""

Watcher: TypeAlias = Callable[[Engine], str]
"""Has the engine run, and shows how far it has come."""

ALL = "all"
"""Names every policy."""


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
    watcher: Watcher | None = None,
    failed_writes: Callable[[], list[str]] = list,
    stop_signal: StopSignal | None = None,
) -> None:
    """Run a job under each policy, show the result, and write what is asked for.

    With `text` that is the job, and `job` only what it is called; `-` is a job on stdin.
    The verdict compares with the policy `baseline`, or with the first.
    `watcher` has the engine run and shows how far it has come, by a bar if not given; with `pace`
    at `speed`, as one who watches. `failed_writes` has what could not be written meanwhile.
    """
    outputs.check()
    if baseline is not None:
        _check(baseline, policies)
    if text is None:
        job, text = read(job)
    kept = None if outputs.requests is None else Requests(Path(outputs.requests).parent)

    def run(progress: OnStep | None) -> str:
        return session.compare(
            session.Variant(name=job, text=text, sets=sets, policies=policies),
            target,
            progress=progress,
            record=record,
            detail=outputs.need_detail,
            arm_from=outputs.arm_from,
            arm_for=outputs.arm_for,
            watch=pace,
            speed=speed,
            repeat=repeat,
            requests=None if kept is None else kept.take,
        )

    def compared(progress: Progress) -> Answer:
        result = run(progress.step) if watcher is None else watcher(run)
        comparison: Comparison = json.loads(result)
        comparison["verdict"] = judged(comparison, baseline)
        table = None if kept is None else partial(kept.frame, comparison)
        failed = [why for ran in comparison["runs"] for why in failures.fatal(ran)]
        early = any(ran.get("interrupted") for ran in comparison["runs"])
        differs = any(map(failures.differs, comparison["runs"]))
        planned = len(_chosen(policies)) * (repeat or 1)
        return Answer(
            data=lambda: to_json(comparison, result),
            blocks=_blocks(comparison, detail=detail),
            notes=[f"note: {remark}" for remark in comparison.get("remarks", [])],
            files=_write(outputs, comparison, table, drawn=not early),
            messages=[
                *(f"error: {why}" for why in failed),
                *_early(comparison, planned),
                *(undrawn(outputs) if early else []),
                *failed_writes(),
            ],
            exit_code=DIFFERS if differs else RUN_FAILED if failed else 0,
            partial=any(ran.get("ended") == "asked" for ran in comparison["runs"]),
            stuck=early and comparison["world"] == "measured",
        )

    answer(compared, as_json=as_json, stop_signal=stop_signal)


def _chosen(policies: Sequence[str]) -> list[str]:
    """The policies that run: those that are named, or the usual ones; `all` is every one."""
    known = json.loads(_native.policies())
    if not policies:
        return [policy["name"] for policy in known if policy["usual"]]
    every = [policy["name"] for policy in known]
    return [policy for name in policies for policy in (every if name == ALL else [name])]


def _check(baseline: str, policies: Sequence[str]) -> None:
    """Raise a `PenstockError` unless the baseline is one of the policies that run."""
    run = _chosen(policies)
    if baseline not in run or baseline.startswith(ALONE):
        raise wrong(*no_baseline(baseline, run))


def _write(
    outputs: Outputs,
    comparison: Comparison,
    table: "Callable[[], pl.LazyFrame] | None",
    *,
    drawn: bool,
) -> Iterator[str]:
    if outputs.wanted:
        # What makes pages takes longer to import than a short run to finish.
        from penstock.report.comparison import contents

        outputs = replace(outputs, command=command_line(), plots=outputs.plots if drawn else None)
        yield from outputs.write(contents(comparison, table, drawn=drawn))


def undrawn(outputs: Outputs) -> list[str]:
    """Returns a line on the pictures that an interrupted run leaves out, if any are asked for."""
    if outputs.report is None and outputs.plots is None:
        return []
    return ["note: pictures take seconds to draw, and are left out as the run was interrupted"]


def _early(comparison: Comparison, planned: int) -> list[str]:
    """Returns a line for each run that ended early, with how many of those planned did not run."""
    ran = comparison["runs"]
    lines = []
    for run in ran:
        if run.get("interrupted"):
            left = planned - len(ran)
            unit = "policies" if "round" not in run else "runs"
            rest = f"; {left} of {planned} {unit} did not run" if left else ""
            lines.append(f"{failures.why_partial(run)}: the last run is partial{rest}")
    return lines


def _blocks(comparison: Comparison, *, detail: bool) -> Blocks:
    # What draws tables takes longer to import than a short run to finish.
    from penstock.cli.console import columns
    from penstock.text import overview

    yield from overview.blocks(comparison, verdict(comparison), columns(), detail=detail)
