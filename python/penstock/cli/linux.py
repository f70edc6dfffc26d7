"""`penstock linux`: the schedulers of the kernel."""

import json
from typing import Annotated

import typer

from penstock import _native, agreement
from penstock.answer.value import Answer
from penstock.cli.answering import answer, give
from penstock.cli.options import (
    Detail,
    Job,
    Json,
    Plots,
    Repeat,
    Report,
    Requests,
    Sets,
    Xlsx,
    named,
)
from penstock.cli.progress import Progress
from penstock.cli.running import work
from penstock.cli.target import targeted
from penstock.cli.verb import group
from penstock.report.outputs import Outputs
from penstock.results.rounds import KERNEL
from penstock.target import Target
from penstock.text import agreement as agreement_text
from penstock.text import linux as linux_text

app = group()

Device = Annotated[
    str | None,
    typer.Argument(metavar="[DEVICE]", help="This one, as sda or /dev/sda; if not given, all."),
]


@app.command("show", short_help="Show block devices, their schedulers and their tunables.")
def show(device: Device = None, *, as_json: Json = False) -> None:
    """Show block devices, their schedulers and the tunables of those.

    The scheduler in use is in brackets, and all values are as /sys/block has them. --json has all
    attributes of a device's queue.
    """
    text = _native.disks(device)
    disks: linux_text.Disks = json.loads(text)
    give(Answer(data=lambda: text, blocks=linux_text.blocks(disks)), as_json=as_json)


@app.command("set", short_help="Switch the kernel's scheduler of a disk, and set its tunables.")
def set_(
    device: Annotated[str, typer.Argument(metavar="DEVICE", help="The disk, as sda.")],
    scheduler: Annotated[str, typer.Argument(metavar="SCHEDULER", help="As mq-deadline.")],
    settings: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KEY=VALUE]…",
            help="Tunables of the scheduler, or attributes of the queue, as read_expire=50 or "
            "nr_requests=64. The values are those of /sys/block.",
        ),
    ] = None,
    *,
    as_json: Json = False,
) -> None:
    """Switch the kernel's scheduler of a disk, and set its tunables.

    They stay until they are changed again, or until the machine starts anew. What was set is read
    back, and the command that restores the old settings is printed. Only root may. A run that
    holds the disk's settings is not disturbed. For the time of a run: --policies kernel:SCHEDULER.
    """
    text = _native.set_disk(device, scheduler, settings or [])
    give(Answer(data=lambda: text, blocks=linux_text.change(json.loads(text))), as_json=as_json)


@app.command("compare", short_help="Compare the kernel's schedulers on a file or a disk.")
@targeted()
def compare(
    job: Job,
    *,
    schedulers: Annotated[
        str,
        typer.Option(
            "--schedulers",
            metavar="A,B,…",
            help="Schedulers of the kernel in the order in which they run, as none,mq-deadline; "
            "as-is is the one that the disk has.",
            show_default=False,
        ),
    ],
    target: Target,
    repeat: Repeat = None,
    drop_caches: Annotated[
        bool,
        typer.Option(
            "--drop-caches",
            help="Drop the page cache, dentries and inodes of the whole machine before each run, "
            "not only the pages of the file.",
        ),
    ] = False,
    sets: Sets = None,
    report: Report = None,
    plots: Plots = None,
    xlsx: Xlsx = None,
    requests: Requests = None,
    detail: Detail = False,
    as_json: Json = False,
) -> None:
    """Compare the kernel's schedulers on a file or a disk.

    It is `compare` with the policies kernel:NAME, each run on fresh ground: the disk is switched,
    and a file that penstock made is filled anew, made durable and dropped from the page cache. Of a
    block device only the pages are dropped. Only root may; afterwards the disk has its own
    scheduler again.
    """
    ground = ["live.lay_out=true", *(["live.page_cache=drop-all"] if drop_caches else [])]
    work(
        job,
        policies=[f"{KERNEL}{name}" for name in named(schedulers)],
        target=target,
        sets=[*ground, *(sets or [])],
        record=None,
        outputs=Outputs(report=report, plots=plots, xlsx=xlsx, requests=requests),
        detail=detail,
        as_json=as_json,
        repeat=repeat,
    )


@app.command("agree", short_help="Compare the model of a scheduler with the kernel's own.")
def agree(
    scheduler: Annotated[str, typer.Argument(metavar="SCHEDULER", help="As mq-deadline or none.")],
    job: Job,
    *,
    on: Annotated[
        str,
        typer.Option(
            metavar="TARGET", help="A served model, as block:hdd-7200, or a block device."
        ),
    ],
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The policy; if not given, that of the scheduler's name."
        ),
    ] = None,
    depth: Annotated[
        int, typer.Option(min=4, help="Most commands at once that a served model gets.")
    ] = 4,
    sets: Sets = None,
    i_will_lose_data: Annotated[
        str | None,
        typer.Option(
            metavar="SERIAL|PATH",
            help="The block device of --on once more: what is on it is written over.",
        ),
    ] = None,
    buffer: Annotated[
        str, typer.Option(metavar="SIZE", help="Room for events that are not read yet.")
    ] = "8MiB",
    as_json: Json = False,
) -> None:
    """Run a job under a scheduler of the kernel, and say how often its model decides alike.

    The kernel's block events are captured meanwhile. The model then follows the kernel's decisions:
    before each both stand at the same place. What the order of arrival and a choice at random would
    agree in stands next to it. The job also runs under the model, and the classes are compared.
    Schedulers that decide by times that they measure, such as kyber and bfq, are compared by the
    classes alone. Only root may.
    """
    agreement.check(scheduler, on)
    question = agreement.AgreementQuestion(
        scheduler=scheduler,
        job=job,
        on=on,
        model=model or agreement.ARRIVAL.get(scheduler, scheduler),
        depth=depth,
        sets=sets or [],
        lose=i_will_lose_data,
        buffer_kb=_native.size(buffer) // 1024,
    )

    def work(_: Progress) -> Answer:
        result = agreement.compare(question)
        return Answer(data=lambda: json.dumps(result), blocks=agreement_text.blocks(result))

    answer(work, as_json=as_json)
