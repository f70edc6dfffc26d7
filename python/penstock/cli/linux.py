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
app.callback()(lambda: None)  # Without it a group of one verb would be that verb.

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
