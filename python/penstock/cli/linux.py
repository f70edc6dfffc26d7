"""`penstock linux`: the schedulers of the kernel."""

import json
from typing import Annotated

import typer

from penstock import _native
from penstock.answer.value import Answer
from penstock.cli.answering import give
from penstock.cli.options import Json
from penstock.cli.verb import group
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
