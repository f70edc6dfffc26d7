"""`penstock guard lane`: volumes for work in the background, with a short queue of their own."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from penstock import _native
from penstock.answer.table import NONE, Table
from penstock.answer.value import Answer, Part
from penstock.cli.answering import answer, give
from penstock.cli.options import Json
from penstock.cli.progress import Progress
from penstock.cli.verb import group
from penstock.guard import lane_unit, lanes
from penstock.guard.lanes import Lane, NewLane
from penstock.text import units

app = group()

HEADINGS = ("lane", "mounted at", "file", "device", "size", "in flight", "pieces", "read-ahead")


@app.command("make", short_help="Make a lane and mount it.")
def make(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]",
            help="A new file, with --size, or that of a lane that there was; if not given, a new "
            "one next to the mount point.",
            show_default=False,
        ),
    ] = None,
    *,
    at: Annotated[
        str,
        typer.Option(
            metavar="MOUNTPOINT", help="An empty folder, or a new one.", show_default=False
        ),
    ],
    size: Annotated[str | None, typer.Option(help="Size of a new file, as 100GiB.")] = None,
    depth: Annotated[int, typer.Option(min=4, help="Most requests in flight.")] = 4,
    piece: Annotated[
        str, typer.Option(metavar="SIZE", help="Longest request; longer ones are split.")
    ] = "128KiB",
    user: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Owner of its topmost folder; if not given, root."),
    ] = None,
    unit: Annotated[
        bool,
        typer.Option("--unit", help="Write a unit of systemd that makes it at every start."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Make a lane: a volume whose work does not flood the disk below.

    It is for backups, spill files, compaction and the like. Its file is behind a loop device with
    few and short requests in flight, and has a file system of its own, which discards nothing. If a
    step fails, those before it are undone. Only root may.
    """
    new = NewLane(
        at=Path(at),
        file=None if file is None else Path(file),
        size=None if size is None else _native.size(size),
        depth=depth,
        piece=_native.size(piece),
        user=user,
        unit=unit,
    )

    def work(_: Progress) -> Answer:
        lane = lanes.make(new)
        name = lane_unit.name_of(lane.name)
        enable = f"to have it at every start: `systemctl enable {name}`"
        return Answer(
            data=lambda: _json(lane),
            blocks=_blocks([lane]),
            messages=[f"wrote {lane.unit}", enable] if unit else [],
        )

    answer(work, as_json=as_json)


@app.command("list", short_help="Show all lanes.")
def list_(*, as_json: Json = False) -> None:
    """Show all lanes, with what the kernel has set for each."""
    known = list(lanes.lanes())
    give(
        Answer(
            data=lambda: json.dumps({"lanes": [asdict(lane) for lane in known]}, indent=2),
            blocks=_blocks(known),
        ),
        as_json=as_json,
    )


@app.command("remove", short_help="Unmount a lane and remove its device.")
def remove(
    which: Annotated[
        str,
        typer.Argument(metavar="NAME|MOUNTPOINT", help="The lane.", show_default=False),
    ],
    *,
    data: Annotated[
        bool, typer.Option("--data", help="Remove its file too, with all that is in it.")
    ] = False,
    keep_unit: Annotated[bool, typer.Option("--keep-unit", hidden=True)] = False,
    as_json: Json = False,
) -> None:
    """Unmount a lane and remove its device; its file stays, and can be made a lane again.

    The loop device gets its own settings back, which would stay for its next file. A unit that
    makes the lane is removed too. A lane that a process uses is not removed.
    """

    def work(_: Progress) -> Answer:
        lane = lanes.remove(which, data=data, keep_unit=keep_unit)
        rest = [] if data or not Path(lane.file).exists() else [f"its data stays in {lane.file}"]
        if lane.unit is not None and not keep_unit:
            rest.append(f"removed {lane.unit}; `systemctl daemon-reload` tells systemd")
        removed = f"removed lane {lane.name} from {lane.at}"
        return Answer(data=lambda: _json(lane), blocks=[[removed, *rest]])

    answer(work, as_json=as_json)


def _json(lane: Lane) -> str:
    return json.dumps(asdict(lane), indent=2)


def _blocks(known: Sequence[Lane]) -> Iterator[Sequence[Part]]:
    if not known:
        yield ["there is no lane; `penstock guard lane make` makes one"]
        return
    yield [Table(HEADINGS, [_row(lane) for lane in known], words=4)]


def _row(lane: Lane) -> Sequence[str]:
    def kib(count: int | None) -> str:
        return NONE if count is None else f"{units.count(count >> 10)} KiB"

    return (
        lane.name,
        lane.at if lane.mounted else f"{lane.at} (not mounted)",
        lane.file,
        lane.node,
        NONE if lane.size is None else units.size(lane.size),
        NONE if lane.depth is None else units.count(lane.depth),
        kib(lane.piece),
        kib(lane.read_ahead),
    )
