"""`penstock iozone`: the tests of IOzone, on files or on a model."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperOption

from penstock.answer.value import Answer
from penstock.cli import output
from penstock.cli.answering import NO_ANSWER, answer, command_line
from penstock.cli.options import Json
from penstock.cli.progress import Progress
from penstock.cli.verb import verb
from penstock.errors import wrong
from penstock.iozone import measure
from penstock.iozone.flags import FLAGS
from penstock.iozone.measured import FileRunner
from penstock.iozone.modelled import ModelledRunner
from penstock.iozone.options import IozoneOptions, options
from penstock.iozone.plan import plan
from penstock.iozone.runner import Runner
from penstock.target import BLOCK

if TYPE_CHECKING:
    # A type of Typer's methods, which it does not export.
    from typer._click.core import Context, Parameter

app = verb()

HELP = ("-h", "--help")


class IozoneCommand(TyperCommand):
    """A command with options of IOzone, which are shown as its own and read in IOzone's manner."""

    def __init__(self, *args: Any, params: "list[Parameter] | None" = None, **kwargs: Any) -> None:  # noqa: ANN401 - Typer's own signature has no types
        """Show the options of IOzone before the others."""
        documented = [
            TyperOption(
                param_decls=[f"iozone{number}", flag.name],
                is_flag=flag.metavar is None,
                metavar=flag.metavar,
                multiple=flag.several,
                help=flag.help,
                expose_value=False,
            )
            for number, flag in enumerate(FLAGS)
        ]
        super().__init__(*args, params=[*documented, *(params or [])], **kwargs)

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        """Parse the options of two dashes, and leave the words of IOzone in `ctx.args`."""
        valued = {
            name
            for param in self.params
            if isinstance(param, TyperOption) and not param.is_flag
            for name in param.opts
        }
        ours: list[str] = []
        rest: list[str] = []
        for word in args:
            value = bool(ours) and ours[-1] in valued
            (ours if value or word in HELP or word.startswith("--") else rest).append(word)
        super().parse_args(ctx, ours)
        ctx.args = rest
        return rest


On = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="DEVICE|block:DEVICE",
        help="Run on a modelled disk in virtual time, as hdd-7200, or on one that is served as a "
        "block device. If not given, on real files.",
    ),
]

Scheduler = Annotated[
    str | None,
    typer.Option("--scheduler", metavar="NAME", help="The scheduler of the modelled disk."),
]

ModelSets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change the modelled disk or its scheduler. May be given again.",
    ),
]

Seed = Annotated[
    int,
    typer.Option(
        "--seed", metavar="N", min=0, help="Where random records lie, and the data of files."
    ),
]


@app.command("iozone", cls=IozoneCommand)
def run(
    context: typer.Context,
    *,
    on: On = None,
    scheduler: Scheduler = None,
    sets: ModelSets = None,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Run the tests of IOzone 3, with its options, lines and report.

    Options are written as for IOzone: -i 0 -i 1, -r512k, -Rb out.xlsx. A size without a letter is
    in KiB. The files are made, and removed at the end unless -w is given. With --on the tests run
    on a modelled disk.
    """
    words: Sequence[str] = context.args
    if not words:
        raise wrong(
            "nothing says what to test",
            "as `penstock iozone -i 0 -i 1 -r 64k -s 64m -I`, or -a for many sizes",
        )
    chosen = options(words, on=on, scheduler=scheduler, sets=sets or (), seed=seed)
    measure.check(chosen)

    def measured(progress: Progress) -> Answer:
        result = measure.measure(
            chosen,
            runner_for(chosen),
            command=command_line(),
            write=(lambda _: None) if as_json else output.data,
            say=(lambda _: None) if as_json else lambda remark: output.talk(f"note: {remark}"),
            # A bar would be drawn across the lines, which show the progress themselves.
            progress=progress if as_json or not sys.stdout.isatty() else lambda _part, _share: None,
        )
        return Answer(data=result.json, files=result.write())

    interrupted = NO_ANSWER if as_json else "interrupted: only the tests above have ended"
    answer(measured, as_json=as_json, interrupted=interrupted)


def runner_for(chosen: IozoneOptions) -> Runner:
    """Return what runs the tests: on files, on a served model, or on a model in virtual time."""
    steps = plan(chosen)
    if chosen.on is None or chosen.on.startswith(BLOCK):
        return FileRunner(chosen, steps)
    return ModelledRunner(chosen, steps)
