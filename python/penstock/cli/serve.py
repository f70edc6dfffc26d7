"""`penstock serve`: a modelled disk as a block device."""

import json
import os
import select
import sys
from contextlib import closing
from typing import Annotated

import typer

from penstock import _native
from penstock.answer.value import Answer, headline
from penstock.cli import output
from penstock.cli.answering import answer
from penstock.cli.options import Json
from penstock.cli.progress import Progress
from penstock.cli.verb import verb
from penstock.signals import StopSignal
from penstock.text import places

app = verb()

BEAT_S = 0.2
"""How often it is looked whether the device still answers."""


@app.command("serve")
def serve(
    device: Annotated[
        str,
        typer.Argument(
            metavar="DEVICE", help="A model, by name or file, at its own speed or as hdd-7200@10."
        ),
    ],
    *,
    size: Annotated[
        str | None, typer.Option(help="Its size, as 64GiB; that of the model if not given.")
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option(
            min=4,
            help="Most requests that the kernel gives it at once. The fewer, the more its "
            "scheduler has to decide; the kernel's own number is 128.",
        ),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Keep the data in this file. If not given, it is in memory."
        ),
    ] = None,
    until_stdin_ends: Annotated[bool, typer.Option(hidden=True)] = False,
    as_json: Json = False,
) -> None:
    """Serve a modelled disk as a block device, which answers in the model's time.

    Any program, file system and scheduler of the kernel can be used on it. Its node is printed
    first; Ctrl-C takes it down, and says how late it answered. Only root may. With --json the
    node, and at the end the lateness, are an object on a line each.
    """
    stop_signal = StopSignal()

    def work(_: Progress) -> Answer:
        with closing(_native.Served(device, size=size, depth=depth, keep=keep)) as served:
            node, report = map(os.fspath, served.places)
            if as_json:
                output.data(json.dumps({"node": node, "report": report}) + "\n")
            else:
                output.data(f"{node}\n")
                output.talk(f"serving {device} as {node}; Ctrl-C takes it down")
            sys.stdout.flush()
            try:
                while not _ended(sys.stdin.fileno() if until_stdin_ends else None):
                    served.report()  # Raises what ended the model.
            except KeyboardInterrupt:
                if served.is_in_use():
                    output.talk(
                        f"{node} is mounted or held: whoever uses it gets errors from now on"
                    )
            answered = json.loads(served.report())
        return Answer(
            data=lambda: json.dumps(answered),
            blocks=[[headline("emulated", device), places.served(answered)]],
            partial=not until_stdin_ends,
        )

    answer(work, as_json=as_json, stop_signal=stop_signal)


def _ended(stdin: int | None) -> bool:
    """Wait a moment, and return whether the process at the other end of `stdin` is gone."""
    readable, _, _ = select.select([] if stdin is None else [stdin], [], [], BEAT_S)
    return stdin is not None and bool(readable) and not os.read(stdin, 1)
