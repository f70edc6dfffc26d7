"""The command line: its verbs, and how a failure ends it."""

import re
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import TYPE_CHECKING, Annotated

import typer
from typer.main import get_command

from penstock._native import Failure, exit_without_memory
from penstock.cli import output
from penstock.cli.answering import NO_ANSWER, until_stopped
from penstock.cli.verb import Lazy
from penstock.errors import RUN_FAILED, WRONG_INPUT, PenstockError, out_of_range, wrong
from penstock.signals import StopSignal
from penstock.text.names import shown

if TYPE_CHECKING:
    # Types of Typer's methods, which it does not export.
    from typer._click.core import Command, Context

VERBS = {
    "compare": "Run a workload under several policies.",
    "sweep": "Run a workload in many settings, and show what each gains and costs.",
    "watch": "Watch a workload run, class by class.",
    "run": "Run a workload under one policy.",
    "replay-decisions": "Prove that a recorded run decides alike again.",
    "replay": "Play a recorded trace under policies.",
    "calibrate": "Measure a disk and make a device of it.",
    "merge": "Merge sorted files side by side, each disk with a policy.",
    "iozone": "Run the tests of IOzone, with its options and its lines.",
    "doctor": "Say what this machine can do, and why not.",
    "linux": "Show and set the kernel's schedulers and their tunables.",
    "capture": "Capture the requests of programs to a disk.",
    "guard": "Protect programs from others on their disk.",
    "serve": "Serve a disk as a block device: modelled, or behind a policy.",
    "new": "Write a commented job, after three questions.",
    "job": "Say what a job amounts to before it runs.",
    "schema": "Print the JSON Schema of jobs, devices and results.",
    "advise": "Say which policy and parameters meet a goal.",
    "study": "Run factorial studies, and say what to set.",
    "diff": "Say what changed between two results, beyond noise.",
    "paper": "Make the figures of a paper again and check its claims.",
    "trace": "Describe traces, convert them, and make them of jobs.",
    "list": "Show what there is to choose from.",
    "show": "Print a device as a device file.",
    "man": "Print the manual page.",
}
"""Each verb and its line of help. What it does is `app` in the file of its name."""

EXIT_CODES = (
    "Exit codes: 0 all went well; 1 the run failed; 2 wrong use or wrong input; 3 a goal was "
    "missed; 4 decisions or data differ; 5 an unsafe target was refused; 77 this machine cannot "
    "run it; 130 ended by Ctrl-C, 143 by SIGTERM, 129 by a lost connection, 131 by SIGQUIT."
)


WORDS = "penstock.words"
"""Where a context keeps the words of its command line."""

_OPTION = re.compile(r"--?[a-z][a-z-]*")


class Verbs(Lazy):
    """The verbs, a file each."""

    def lines(self) -> Mapping[str, str]:
        """Each verb and its line of help."""
        return VERBS

    def load(self, name: str) -> "Command":
        """The verb called `name`."""
        return get_command(import_module(f"penstock.cli.{name.replace('-', '_')}").app)

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
        """Keep the words as they were written, for `invoke`."""
        ctx.meta[WORDS] = list(args)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: "Context") -> object:
        """Run a verb; whatever is wrong ends it with a message and an exit code."""
        try:
            _check_words(ctx.meta[WORDS])
            # What a verb does before and after its work ends tidily on a signal too.
            return until_stopped(lambda: super(Verbs, self).invoke(ctx), StopSignal(), NO_ANSWER)
        except PenstockError as error:
            output.talk(str(error))
            if error.stuck:
                output.exit_at_once(error.exit_code)
            raise typer.Exit(error.exit_code) from None
        except UnicodeEncodeError as error:
            name = shown(str(error.object))
            output.talk(f"error: {name} is not UTF-8\nhint: only paths may have other bytes")
            raise typer.Exit(WRONG_INPUT) from None
        except OverflowError as error:
            output.talk(str(out_of_range(error)))
            raise typer.Exit(WRONG_INPUT) from None
        except Failure as failure:
            output.talk(str(failure))
            if failure.stuck:
                output.exit_at_once(failure.exit_code)
            raise typer.Exit(failure.exit_code) from None


def _check_words(words: Sequence[str]) -> None:
    """Raise an error if a word is empty: as a path it would be the current folder."""
    for before, word in zip(["penstock", *words], words, strict=False):
        option = before if not word else word.removesuffix("=")
        if not word or (option != word and _OPTION.fullmatch(option)):
            raise wrong(
                f"the argument of {option} is empty"
                if _OPTION.fullmatch(option)
                else f"the argument behind `{option}` is empty",
                "a variable of the shell may not be set",
            )


app = typer.Typer(
    name="penstock",
    cls=Verbs,
    help="Show what happens when online and batch work share a disk, and control it.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(requested: bool) -> None:
    if requested:
        output.say_version()
        raise typer.Exit


@app.callback()
def penstock(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Show what happens when online and batch work share a disk, and control it."""


def main() -> None:
    """Run the command and exit."""
    for stream in (sys.stdout, sys.stderr):
        # A figure with `?` for `µ` is worth more than a traceback.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    hint = exit_without_memory()
    try:
        app(prog_name="penstock")
    except MemoryError:
        output.talk(f"error: out of memory\n{hint}")
        sys.exit(RUN_FAILED)
