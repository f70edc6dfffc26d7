"""`penstock.compare`: the command of that name, for programs and notebooks."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Unpack

from penstock import session
from penstock.comparison import Comparison
from penstock.errors import wrong
from penstock.job import Job, Plain, plain
from penstock.policy import Policy, made
from penstock.report import outputs
from penstock.results.requests import Requests
from penstock.results.rounds import ROUNDS_MOST
from penstock.target import Target, TargetOptions, path, with_options


@with_options
def compare(
    job: Job | str | PathLike[str],
    *,
    policies: str | Sequence[str | Callable[[], Policy]] | None = None,
    on: str | PathLike[str] | None = None,
    set: Mapping[str, Plain] | None = None,
    repeat: int | None = None,
    detail: bool = True,
    requests: str | PathLike[str] | None = None,
    arm_from: str | None = None,
    arm_for: str | None = None,
    **options: Unpack[TargetOptions],
) -> Comparison:
    """Run one workload under several policies and compare what each class gets.

    `job` is a job file's path, or a `penstock.Job`. A policy is a name, or a class of
    `penstock.Policy` or another callable that makes one without arguments; a string has names with
    commas between them, as on the command line. Without `policies` a few very different ones run,
    with `"all"` every policy. `on` and the `options` of a target, such as `create` and `read_only`,
    are as on the command line; `set` changes the job, as
    `{"duration": "15s", "size-priority.split": "64KiB"}`. It also puts the files of a job on real
    targets: `{"file.data.path": ["/disk0/a", "/disk1/a"]}`.
    `repeat` is the number of rounds: each runs every policy, with the next seed.
    Without `detail` there are no distributions and no time series, and so no charts.
    The chart of a disk's arm shows the run from `arm_from` on for `arm_for`, such as `"500ms"`; by
    default the first two seconds.
    `requests` is a file, `FILE.parquet`, that gets a row for every request.

    Ctrl-C ends the run and returns the results so far, if there are any: then the last run has
    `interrupted` set. Errors are `penstock.PenstockError` with the command's message.
    """
    if repeat is not None and not (isinstance(repeat, int) and 1 <= repeat <= ROUNDS_MOST):
        hint = "leave it out to run every policy once"
        raise wrong(f"found repeat={repeat!r}; expected a number from 1 to {ROUNDS_MOST}", hint)
    target = Target(on=path(on), options=options)
    kept = None
    if requests is not None:
        outputs.check_table(requests)
        kept = Requests(Path(requests).parent)
    variant = session.Variant(
        name=job.name if isinstance(job, Job) else str(job),
        text=job.text if isinstance(job, Job) else None,
        sets=[f"{key}={_written(value)}" for key, value in (set or {}).items()],
        policies=made(policies or ()),
    )
    text = session.compare(
        variant,
        target,
        detail=detail,
        arm_from=arm_from,
        arm_for=arm_for,
        repeat=repeat,
        requests=None if kept is None else kept.take,
    )
    comparison = Comparison.from_json(text)
    if kept is not None and requests is not None:
        outputs.save_table(kept.frame(comparison.raw), requests)
    return comparison


def _written(value: Plain) -> str:
    """Return a value as `--set` takes it: strings unchanged, all others as TOML."""
    return value if isinstance(value, str) else plain(value)
