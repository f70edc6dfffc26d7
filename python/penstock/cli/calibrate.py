"""`penstock calibrate`: what a file or a disk is like, as a device to predict with."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from penstock.answer.table import Table
from penstock.answer.value import Answer, Blocks, headline
from penstock.calibrate import (
    MARK,
    NOT_WRITTEN,
    ROUNDS,
    WITHIN,
    Calibration,
    Compared,
    calibrate_on,
)
from penstock.cli.answering import answer
from penstock.cli.options import Json
from penstock.cli.progress import Progress
from penstock.cli.target import targeted
from penstock.cli.verb import verb
from penstock.report import files
from penstock.target import Target
from penstock.text import units
from penstock.text.names import shown

app = verb()

Measured: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="What is measured, as --on of `compare` takes it.",
        show_default=False,
    ),
]

Rounds: TypeAlias = Annotated[
    int, typer.Option("--rounds", metavar="N", min=1, max=100, help="How often every job runs.")
]

Output: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="DEVICE.toml",
        help="Write the device file. An earlier one of ours is replaced, any other file is not.",
    ),
]


@app.command("calibrate")
@targeted(on=Measured, without=["read_only"])
def run(
    *,
    out: Output = None,
    target: Target,
    rounds: Rounds = ROUNDS,
    as_json: Json = False,
) -> None:
    """Measure a file or a disk, and find the simplest model that explains it.

    Reads and writes, random and sequential, short and long, one and many at a time, here and there,
    in five rounds: two minutes on a fast disk. Then `penstock compare JOB --on DEVICE.toml`
    predicts. The fit is judged by jobs that it has not seen.
    """
    if out is not None:
        files.check(Path(out), is_ours=_is_ours, kind="device file")

    def measured(progress: Progress) -> Answer:
        calibration = calibrate_on(target, rounds=rounds, progress=progress)
        return Answer(
            data=lambda: json.dumps(_plain(calibration), indent=2, ensure_ascii=False),
            blocks=blocks(calibration),
            files=_write(calibration, out),
        )

    answer(measured, as_json=as_json)


def _write(calibration: Calibration, out: str | None) -> Iterator[str]:
    if out is not None:
        files.write(Path(out), shown(calibration.to_toml()).encode())
        yield out


def _is_ours(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(MARK)) == MARK.encode()


def blocks(calibration: Calibration) -> Blocks:
    """Yield the model, how far it is off, and what it predicts, for a person."""
    about = [f"  model {calibration.model.name}: {calibration.model.needs}"]
    if len(calibration.errors) > 1:
        tried = ", ".join(
            f"{name} {100 * error:.0f} %" for name, error in calibration.errors.items()
        )
        about.append(f"  off by (root mean square): {tried}")
    if calibration.read_only:
        about.append(f"  {NOT_WRITTEN}")
    yield [
        headline("measured", calibration.target),
        *about,
        *(f"  {note}" for note in calibration.notes),
    ]
    yield [_table("fitted on", calibration.fitted)]
    yield [_table("not seen by the fit", calibration.unseen)]
    good = sum(job.good for job in calibration.unseen)
    lines = [
        f"The fit is off by {100 * calibration.error:.0f} % (root mean square). Of "
        f"{len(calibration.unseen)} jobs that it has not seen it predicts {good} within "
        f"{WITHIN:.0f} %."
    ]
    if 100 * (calibration.restless - 1) > WITHIN:
        said = f"Rounds of the same job differ by a factor of {calibration.restless:.1f}"
        lines.append(f"{said}: something else is at work here. Measure again when idle.")
    lines += [
        f"{job.measured.probe}: {calibration.why(job)}"
        for job in calibration.unseen
        if not job.good
    ]
    yield lines


def _table(title: str, compared: Sequence[Compared]) -> Table:
    rows = []
    for job in compared:
        figures = job.measured.middle
        rows.append(
            [
                str(job.measured.probe),
                units.rate(figures.iops),
                units.rate(job.predicted.iops),
                f"{job.iops_off:+.0f} %",
                units.latency(figures.p50_ns),
                units.latency(job.predicted.p50_ns),
                f"{job.p50_off:+.0f} %",
                f"±{100 * (job.measured.spread - 1):.0f} %",
            ]
        )
    return Table([title, "IOPS", "model", "off", "p50", "model", "off", "rounds"], rows)


def _plain(calibration: Calibration) -> object:
    def row(compared: Compared) -> object:
        probe, figures = compared.measured.probe, compared.measured.middle
        return {
            "op": probe.op,
            "pattern": probe.pattern,
            "size": probe.size,
            "depth": probe.depth,
            "region": probe.region,
            "iops": figures.iops,
            "p50_ns": figures.p50_ns,
            "spread": compared.measured.spread,
            "predicted": {"iops": compared.predicted.iops, "p50_ns": compared.predicted.p50_ns},
            "iops_off_percent": compared.iops_off,
            "p50_off_percent": compared.p50_off,
            **({} if compared.good else {"why": calibration.why(compared)}),
        }

    return {
        "target": calibration.target,
        "model": calibration.model.name,
        "device": calibration.device,
        "restless": calibration.restless,
        "read_only": calibration.read_only,
        "schedulers": dict(calibration.schedulers),
        "remarks": list(calibration.remarks),
        "error": calibration.error,
        "errors": calibration.errors,
        "fitted": [row(compared) for compared in calibration.fitted],
        "unseen": [row(compared) for compared in calibration.unseen],
    }
