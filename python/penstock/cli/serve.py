"""`penstock serve`: a modelled disk, or a real one behind a policy, as a block device."""

import json
import os
import select
import sys
from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeAlias

import typer

from penstock.answer.value import Answer
from penstock.cli import output
from penstock.cli.answering import answer
from penstock.cli.options import Json, Metrics
from penstock.cli.progress import Progress
from penstock.cli.target import targeted
from penstock.cli.verb import verb
from penstock.errors import needs, wrong
from penstock.served.model import ServedModel
from penstock.served.target import IN_FLIGHT, ServedTarget
from penstock.served.window import ServedWindow
from penstock.signals import StopSignal
from penstock.target import Target

app = verb()

BEAT_S = 0.2
"""How often it is looked whether the device still answers."""

Show: TypeAlias = Callable[[ServedWindow], None]
"""Shows a window on the screen."""

On = Annotated[
    str,
    typer.Argument(
        metavar="DEVICE|TARGET",
        help="A model, by name or file, at its own speed or as hdd-7200@10; or, with --policy, a "
        "file that penstock owns, or a block device.",
        show_default=False,
    ),
]


@app.command("serve")
@targeted(on=On, without={"read_only"})
def serve(
    on: On,
    *,
    target: Target,
    size: Annotated[
        str | None, typer.Option(help="A model's size, as 64GiB; its own if not given.")
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option(
            min=4,
            help="Most requests that the kernel gives a device at once. The fewer, the more its "
            "scheduler has to decide; the kernel's own number is 128.",
        ),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Keep a model's data in this file. If not given, it is in memory."
        ),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The policy before a real target (`penstock list policies`): all requests of the "
            "programs that use the device go through it.",
        ),
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="POLICY.KEY=VALUE",
            help="A parameter of the policy, as size-priority.split=64KiB. May be given again.",
        ),
    ] = None,
    volumes: Annotated[
        list[str] | None,
        typer.Option(
            "--volume",
            metavar="NAME=SIZE[,prio=N][,weight=N]",
            help="A part of the target with a device of its own, whose requests are a class of the "
            "policy. May be given again; without any, the target is one device.",
        ),
    ] = None,
    keep_data: Annotated[
        bool,
        typer.Option(help="Serve the target with the data that it has, whatever that is."),
    ] = False,
    in_flight: Annotated[
        int | None,
        typer.Option(min=1, help="Most commands at the target at once; 32 if not given."),
    ] = None,
    timeout: Annotated[
        str | None,
        typer.Option(
            metavar="TIME|off",
            help="How long a command may take at the target, as 30s, before the devices fail.",
        ),
    ] = None,
    record: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Record what happens and every decision, for `penstock replay-decisions`.",
        ),
    ] = None,
    metrics: Metrics = None,
    lent: Annotated[str | None, typer.Option(hidden=True)] = None,
    until_stdin_ends: Annotated[bool, typer.Option(hidden=True)] = False,
    as_json: Json = False,
) -> None:
    """Serve a disk as a block device: a modelled one, or a real one behind a policy.

    A model answers in its own time. With --policy, TARGET is a real file or block device, and the
    requests of all programs to it go through the policy. Any program, file system and scheduler of
    the kernel can be used on the device. Its node is printed first; Ctrl-C takes it down, and says
    how it fared. Only root may. With --json the nodes, and at the end the figures, are an object on
    a line each.
    """
    of_a_target: dict[str, object] = {
        "--set": sets,
        "--volume": volumes,
        "--keep-data": keep_data,
        "--in-flight": in_flight,
        "--timeout": timeout,
        "--record": record,
        "--metrics": metrics,
        **{f"--{name.replace('_', '-')}": value for name, value in target.options.items()},
    }
    served: ServedModel | ServedTarget
    if policy is None:
        _check_left_out(of_a_target, "a model", "a real target is served with --policy")
        served = ServedModel(on, size=size, depth=depth, keep=keep)
    else:
        _check_left_out({"--size": size, "--keep": keep}, "--policy", "it is about a model")
        served = ServedTarget(
            target,
            policy,
            keep_data=keep_data,
            sets=sets or (),
            volumes=volumes or (),
            depth=depth,
            in_flight=in_flight or IN_FLIGHT,
            timeout=timeout,
            record=record,
            metrics=metrics,
            lent=None if lent is None else _lent(lent),
        )
    _serve(served, until_stdin_ends=until_stdin_ends, as_json=as_json)


def _lent(text: str) -> tuple[str, int, int]:
    """Return the open file of another process, its first byte and number of bytes."""
    file, start, length = text.rsplit(",", 2)
    return file, int(start), int(length)


def _check_left_out(options: Mapping[str, object], besides: str, hint: str) -> None:
    """Raise an error if an option is given that does not go with `besides`."""
    for option, value in options.items():
        if value:
            raise wrong(f"{option} does not go with {besides}", f"{hint}: leave it out")


def _serve(served: ServedModel | ServedTarget, *, until_stdin_ends: bool, as_json: bool) -> None:
    """Serve until it is interrupted or standard input ends, and give the answer."""
    stop_signal = StopSignal()
    stdin = sys.stdin.fileno() if until_stdin_ends else None

    def work(show: Show, say: Callable[[str], None]) -> dict[str, Any]:
        try:
            while not _ended(stdin):
                if (window := served.window()) is not None:
                    show(window)
        except KeyboardInterrupt:
            served.await_users(say)
        return served.report()

    def serving(_: Progress) -> Answer:
        with served:
            if isinstance(served, ServedTarget) and output.on_a_terminal() and not as_json:
                report = _watched(served, work, stop_signal)
            else:
                _introduce(served, as_json=as_json)
                report = work(lambda _: None, output.talk)
        return Answer(
            data=lambda: json.dumps(report),
            blocks=served.blocks(report),
            messages=served.messages(),
            partial=not until_stdin_ends,
        )

    answer(serving, as_json=as_json, stop_signal=stop_signal)


def _introduce(served: ServedModel | ServedTarget, *, as_json: bool) -> None:
    if as_json:
        output.data(json.dumps(served.begun()) + "\n")
    else:
        output.data("".join(f"{line}\n" for line in served.nodes()))
        output.talk(served.introduction())
        for remark in served.remarks():
            output.talk(f"note: {remark}")
    sys.stdout.flush()


def _watched(
    served: ServedTarget,
    work: Callable[[Show, Callable[[str], None]], dict[str, Any]],
    stop_signal: StopSignal,
) -> dict[str, Any]:
    """Serve on a screen."""
    needs("textual", feature="the live view")
    from penstock.watch.served_screen import ServedScreen

    title = "\n".join([served.introduction(), *served.remarks()])

    def watched(show: Show) -> dict[str, Any]:
        return work(show, screen.say)

    screen = ServedScreen(title, watched, stop_signal=stop_signal)
    return screen.to_its_end()


def _ended(stdin: int | None) -> bool:
    """Wait a moment, and return whether the process at the other end of `stdin` is gone."""
    readable, _, _ = select.select([] if stdin is None else [stdin], [], [], BEAT_S)
    return stdin is not None and bool(readable) and not os.read(stdin, 1)
