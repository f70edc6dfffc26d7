"""`penstock advise cycle`: how long a cycle of `fairio` should be."""

import json
from collections.abc import Mapping
from typing import Annotated

import typer

from penstock import _native
from penstock.advise import cycle_words
from penstock.advise.cycle import Cycle, Share, cycle
from penstock.advise.cycle_inputs import Found, measured
from penstock.answer.table import Table
from penstock.answer.value import Answer, Blocks, headline
from penstock.cli.answering import answer, give
from penstock.cli.job_input import STDIN, read
from penstock.cli.lists import positive
from penstock.cli.options import Json, Sets
from penstock.cli.progress import Progress
from penstock.cli.replay import ALL_ONE_CLASS, Classes, Format
from penstock.cli.target import targeted
from penstock.errors import PenstockError, translated, wrong
from penstock.target import Target
from penstock.text import units

Source = Annotated[
    str | None,
    typer.Argument(
        metavar="JOB|TRACE",
        help="A job (.toml, or - for standard input), or a recorded trace. Without it, "
        "--service, --requests, --weights and --disks have to be given.",
        show_default=False,
    ),
]

Services = Annotated[
    str | None,
    typer.Option(
        "--service",
        metavar="TIME,…",
        help="Mean device time of a request of each class, as 62ms,64ms.",
    ),
]

Requests = Annotated[
    str | None,
    typer.Option(
        "--requests",
        metavar="N,…",
        help="Requests of each class that a cycle should hold: 17 if it is unstable, 85 if not.",
    ),
]

Weights = Annotated[
    str | None, typer.Option("--weights", metavar="N,…", help="Weight of each class, as 1,2.")
]

Disks = Annotated[
    int | None,
    typer.Option("--disks", metavar="N", min=1, help="Disks that work in parallel."),
]

Load = Annotated[
    int | None,
    typer.Option(
        "--load",
        metavar="N",
        min=1,
        max=65536,
        help="With fewer requests at the disks they count as under-loaded; a job is measured with "
        "at most so many. If not given, 2 for each disk.",
    ),
]

Busy = Annotated[
    float | None,
    typer.Option(
        "--busy",
        metavar="SHARE",
        help="Fraction of the time that the disks are busy, as 0.915. The queue floor needs it.",
    ),
]

Points = Annotated[
    float,
    typer.Option(
        "--target",
        metavar="POINTS",
        min=0,
        max=100,
        help="By how much the share of the class with the least weight may be off.",
    ),
]


@targeted()
def run(
    source: Source = None,
    *,
    services: Services = None,
    requests: Requests = None,
    weights: Weights = None,
    disks: Disks = None,
    load: Load = None,
    busy: Busy = None,
    points: Points = 1.0,
    file_format: Format = None,
    classes: Classes = None,
    target: Target,
    sets: Sets = None,
    as_json: Json = False,
) -> None:
    """Find how long a cycle of the policy fairio should be, by the heuristic of its report.

    A job or a trace runs once under fcfs. That measures what a request of each class costs, how
    stable the class is, and how busy the disks are. Without a run, --service, --requests, --weights
    and --disks give these figures. The answer is the longer of two lengths: equation (3) of the
    report, which makes a cycle hold enough requests of each class, and the queue floor, from which
    on requests at the disks hardly distort shares.
    """
    known = {
        "--service": services,
        "--requests": requests,
        "--weights": weights,
        "--disks": disks,
    }
    if source is None:
        give(_answer(_of_lists(known, load=load, busy=busy, points=points)), as_json=as_json)
        return
    _none_given({**known, "--busy": busy}, source)
    name, text, changes = _input(source, file_format, classes, sets or [])

    def run(progress: Progress) -> Answer:
        inputs = measured(
            name,
            target,
            text=text,
            sets=changes,
            load=load,
            points=points,
            progress=progress.step,
            name=source if source != STDIN else name,
        )
        return _answer(inputs.cycle, inputs)

    answer(run, as_json=as_json)


def _answer(cycle: Cycle, inputs: Found | None = None) -> Answer:
    lines = cycle_words.lines(cycle, inputs)
    return Answer(
        data=lambda: json.dumps(_plain(cycle, inputs, lines), indent=2),
        blocks=_blocks(inputs, lines),
    )


def _none_given(options: Mapping[str, object], source: str) -> None:
    """Raise an error if an option gives what a run measures."""
    for option, value in options.items():
        if value is not None:
            raise wrong(
                f"found {option} with {source}; expected one of the two, as a run measures it",
                f"leave out {option}, or the job",
            )


def _of_lists(
    known: Mapping[str, object], *, load: int | None, busy: float | None, points: float
) -> Cycle:
    missing = [option for option, value in known.items() if value is None]
    if missing:
        raise wrong(
            f"found neither a job nor {missing[0]}; expected a job, a trace, or all of "
            f"{', '.join(known)}",
            "as --service 62ms,64ms --requests 85,85 --weights 1,2 --disks 8",
        )
    services, requests, weights, disks = known.values()
    times = [_time(text) for text in str(services).split(",")]
    counts = positive("--requests", str(requests))
    parts = positive("--weights", str(weights))
    if not len(times) == len(counts) == len(parts):
        raise wrong(
            f"found {len(times)} of --service, {len(counts)} of --requests and {len(parts)} of "
            "--weights; expected one of each for every class",
            "two classes are --service 62ms,64ms --requests 85,85 --weights 1,2",
        )
    if busy is not None and not 0 < busy <= 1:
        raise wrong(
            f"found --busy {busy:g}; expected a fraction of the time, above 0 and at most 1",
            "91.5 % of the time is --busy 0.915",
        )
    shares = [
        Share(str(number), weight, time, count)
        for number, (weight, time, count) in enumerate(zip(parts, times, counts, strict=True), 1)
    ]
    assert isinstance(disks, int)
    return cycle(shares, disks=disks, load=load, busy=busy, target=points)


def _time(text: str) -> int:
    hint = "as --service 62ms,64ms"
    try:
        with translated():
            time = _native.duration(text.strip())
    except PenstockError:
        time = 0
    if time <= 0:
        raise wrong(f"--service: found {text!r}; expected a time above 0, with its unit", hint)
    return time


def _input(
    source: str, file_format: str | None, classes: str | None, sets: list[str]
) -> tuple[str, str | None, list[str]]:
    """Returns the name, the text and the changes of a job, or of the job that plays a trace."""
    job, text = read(source)
    if source != STDIN and not source.endswith(".toml"):
        job, text = classes or "trace", None if classes else ALL_ONE_CLASS
        form = [] if file_format is None else [f"trace.format={file_format}"]
        sets = [f"trace.file={source}", *form, *sets]
    elif source != STDIN and (classes is not None or file_format is not None):
        option = "--format" if classes is None else "--classes"
        raise wrong(
            f"found {option} with the job {source}; expected a trace",
            f"leave {option} out: a job names its own classes",
        )
    return job, text, sets


def _blocks(inputs: Found | None, lines: list[str]) -> Blocks:
    if inputs is not None:
        yield [
            headline(inputs.world, f"{inputs.job} on {inputs.device}"),
            *(f"  note: {remark}" for remark in inputs.remarks),
        ]
        yield [_table(inputs)]
    yield lines


def _table(inputs: Found) -> Table:
    rows = [
        [
            class_.name,
            str(class_.weight),
            units.latency(class_.service_ns or 0),
            f"{class_.stability:.2f}",
            str(class_.requests),
            class_.reason,
        ]
        for class_ in inputs.classes
    ]
    headings = ["class", "weight", "service", "stability", "requests", "reason"]
    return Table(headings, rows, sentences=1)


def _plain(answer: Cycle, inputs: Found | None, lines: list[str]) -> Mapping[str, object]:
    plain: dict[str, object] = {
        "eq3_ms": float(answer.eq3_ns / 1_000_000),
        "eq3_rounded_ms": answer.eq3_rounded_ns // 1_000_000,
        "floor_ms": None if answer.floor_ns is None else float(answer.floor_ns / 1_000_000),
        "cycle_ms": answer.cycle_ns // 1_000_000,
        "plus_ms": answer.plus_rounded_ns // 1_000_000,
        "binds": "floor" if answer.floor_binds else "eq3",
        "class": answer.of.name,
        "disks": answer.disks,
        "load": answer.load,
        "busy": answer.busy,
        "target": answer.target,
        "lines": lines,
    }
    if inputs is None:
        return plain
    return {
        **plain,
        "world": inputs.world,
        "device": inputs.device,
        "classes": [
            {
                "name": class_.name,
                "weight": class_.weight,
                "service_ms": (class_.service_ns or 0) / 1e6,
                "stability": class_.stability,
                "requests": class_.requests,
                "type": class_.kind,
                "reason": class_.reason,
                "instability": {
                    characteristic.name: characteristic.instability
                    for characteristic in class_.characteristics
                },
                "limited_by_demand": class_.limited_by_demand,
            }
            for class_ in inputs.classes
        ],
    }
