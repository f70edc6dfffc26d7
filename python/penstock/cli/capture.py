"""`penstock capture`: the requests of programs to a disk, as a trace."""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from penstock import _native, capturing, tracing
from penstock.answer.value import Answer
from penstock.capturing import Captured
from penstock.cli import output
from penstock.cli.answering import give
from penstock.cli.options import Json
from penstock.cli.verb import verb
from penstock.errors import RUN_FAILED
from penstock.text import units

app = verb()


@app.command("capture", short_help="Capture the requests of programs to a disk.")
def capture(
    device: Annotated[
        str, typer.Argument(metavar="DEV", help="The disk, as /dev/sdb.", show_default=False)
    ],
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[-- COMMAND…]",
            help="A program to run meanwhile: the capture lasts as long as it does.",
        ),
    ] = None,
    *,
    out: Annotated[
        str,
        typer.Option(
            "-o",
            "--out",
            metavar="FILE",
            help="The file to make, as day.ptrace; it may not exist.",
        ),
    ],
    lasts: Annotated[
        str | None,
        typer.Option("--for", metavar="TIME", help="How long. If not given, until Ctrl-C."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Capture the requests of programs to a disk. Needs root.

    The kernel's block events are switched on for this disk, and off again at the end. Nothing is
    written to the disk, unless the file lies there. No package is needed, and other tracing is not
    disturbed. The file has each step of each request, with its process and I/O priority; `penstock
    trace convert` makes other formats of it.
    """
    path, disk = Path(out), tracing.disk(Path(device))
    seconds = None if lasts is None else _native.duration(lasts) / 1e9
    capturing.check_out(path)

    def begun() -> None:
        output.talk(f"capturing {device}; Ctrl-C ends it, with what there is")
        sys.stderr.flush()

    with tracing.mounted() as tracefs:
        captured = capturing.capture(
            disk, path, seconds=seconds, tracefs=tracefs, command=command or (), begun=begun
        )
    figures = {key: value for key, value in asdict(captured).items() if key != "asked_by"}
    early = captured.asked_by is not None and (lasts is not None or command)
    code = RUN_FAILED if captured.command else 0
    give(
        Answer(
            data=lambda: json.dumps({"file": out, **figures}),
            blocks=[[_counts(captured)]],
            messages=[*_warnings(captured, command or []), f"wrote {out}"],
            exit_code=128 + (captured.asked_by or 0) if early else code,
        ),
        as_json=as_json,
    )


def _counts(captured: Captured) -> str:
    merged = f", {units.count(captured.merges)} of them merged" if captured.merges else ""
    return (
        f"{units.count(captured.requests)} requests in {captured.seconds:.1f} s{merged}; the disk "
        f"completed {units.count(captured.completions)} commands of "
        f"{units.size(captured.completed_bytes)}"
    )


def _warnings(captured: Captured, command: list[str]) -> Iterator[str]:
    if captured.lost:
        yield (
            f"warning: the kernel lost {units.count(captured.lost)} events, as they came faster "
            "than they were read"
        )
    if captured.counted is None or captured.counted_bytes is None:
        yield "the disk went away: the capture ended there, and its own counters are gone"
    elif captured.counted_bytes != captured.completed_bytes:
        yield (
            f"the kernel counted {units.count(captured.counted)} commands of "
            f"{units.size(captured.counted_bytes)} on the disk: some began before the capture or "
            "ended after it, or were lost, or were of this process"
        )
    if captured.command:
        yield f"{command[0]} ended with exit code {captured.command}"
