"""`penstock replay`: a recorded trace under policies, on a model or on a real file."""

from dataclasses import replace
from typing import Annotated

import typer

from penstock.cli.lane_devices import TRACE, divided, step
from penstock.cli.options import (
    Baseline,
    Dark,
    Json,
    NamedPolicies,
    Plots,
    Repeat,
    Report,
    Requests,
    Sets,
    Xlsx,
    named,
)
from penstock.cli.running import work
from penstock.cli.target import targeted
from penstock.cli.verb import verb
from penstock.report.outputs import Outputs
from penstock.target import Target

app = verb()

ALL_ONE_CLASS = """\
[trace]
file = "-"

[class.all]

[[rule]]
class = "all"
"""
"""The job of a trace that is not divided into classes; the file is set separately."""

Trace = Annotated[
    str, typer.Argument(metavar="TRACE", help="The trace, packed or not.", show_default=False)
]

Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="Its format (`penstock trace formats`). If not given, found from its first lines.",
    ),
]

On = Annotated[
    list[str] | None,
    typer.Option(
        "--on",
        metavar="DEVICE|PATH|NAME=DEVICE",
        help="Where it is played: a named device, a device file (.toml), a file that penstock "
        "owns, the same behind a loop device as loop:./data.img, or a block device, with "
        "--i-will-lose-data. Given as NAME=DEVICE for each device of the trace, each is played "
        "on a model of its own. If not given, the device of --classes.",
    ),
]

Classes = Annotated[
    str | None,
    typer.Option(
        "--classes",
        metavar="JOB.toml",
        help="A job whose rules say which request is of which class; without it all are of one.",
    ),
]

Stop = Annotated[
    str | None,
    typer.Option(
        "--stop",
        metavar="drained|last-arrival|TIME",
        help="When it ends. If not given, when all is done.",
    ),
]

Fit = Annotated[
    str | None,
    typer.Option(
        "--fit",
        metavar="wrap|scale",
        help="What becomes of requests past the device's end. If not given, they are an error.",
    ),
]


Device = Annotated[
    list[str] | None,
    typer.Option(
        "--device",
        metavar="NAME",
        help="Play only what this device of the trace was asked for (`penstock trace info` names "
        "them). May be given several times.",
    ),
]

Layout = Annotated[
    str | None,
    typer.Option(
        "--layout",
        metavar="each|side-by-side",
        help="Where the devices of a trace of several lie: each on a device of its own, with its "
        "own queue, or behind each other on one. If not given, several are an error.",
    ),
]


@app.command("replay")
@targeted(on=On)
def replay(
    trace: Trace,
    *,
    file_format: Format = None,
    on: On = None,
    target: Target,
    policies: NamedPolicies = "noop",
    classes: Classes = None,
    stop: Stop = None,
    fit: Fit = None,
    device: Device = None,
    layout: Layout = None,
    repeat: Repeat = None,
    baseline: Baseline = None,
    sets: Sets = None,
    report: Report = None,
    plots: Plots = None,
    dark: Dark = False,
    xlsx: Xlsx = None,
    requests: Requests = None,
    as_json: Json = False,
) -> None:
    """Play a recorded trace under policies and show what each class of it gets.

    At its own pace if not set otherwise: --set trace.timing.speed=2 is twice as fast, --set
    trace.timing=closed lets each process wait for its answers and think as long as it did, --set
    trace.timing.depth=32 is as fast as the device serves 32 requests outstanding.
    """
    place, devices = divided(on or [], TRACE)
    options = {
        "trace.file": trace,
        "trace.format": file_format,
        "trace.device": ",".join(f'"{name}"' for name in device) if device else None,
        "trace.layout": layout,
        "trace.fit": fit,
        **{f"trace.on.{step(name)}": model for name, model in devices.items()},
        "stop": stop,
    }
    work(
        classes or "trace",
        policies=named(policies),
        target=replace(target, on=place),
        sets=[f"{key}={value}" for key, value in options.items() if value is not None]
        + (sets or []),
        record=None,
        outputs=Outputs(report=report, plots=plots, dark=dark, xlsx=xlsx, requests=requests),
        as_json=as_json,
        repeat=repeat,
        baseline=baseline,
        text=None if classes else ALL_ONE_CLASS,
    )
