"""The command of a paper's simulation, made of what the paper says of itself."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.main import get_command

from penstock.answer.value import Answer
from penstock.cli import output
from penstock.cli.answering import answer
from penstock.cli.options import Json
from penstock.cli.progress import Progress
from penstock.cli.verb import verb
from penstock.errors import wrong
from penstock.papers import page, result
from penstock.papers.study import Study
from penstock.report.outputs import Outputs

if TYPE_CHECKING:
    # A type of Typer's methods, which it does not export.
    from typer._click.core import Command

LIVE = "live"
"""The sub-command of a paper's programs in real time."""

Sets = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE")]

Report = Annotated[str | None, typer.Option("--report", metavar="FILE")]

Data = Annotated[str | None, typer.Option("--data", metavar="DIR")]

Vary = Annotated[bool, typer.Option("--sensitivity")]

WithoutRoot = Annotated[
    bool,
    typer.Option(
        "--without-root",
        help="Leave out what takes root: the same under the kernel of this machine.",
    ),
]


def simulated(paper: Study, live: "Callable[..., None] | None") -> "Command":
    """Returns the command of a paper's simulation, with its programs in real time as `live`."""
    app = verb()
    if live is None:
        app.command(paper.name, help=paper.help)(_run(paper))
    else:
        app.callback(invoke_without_command=True, help=paper.help)(_run(paper))
        app.command(LIVE, short_help="The paper's programs on a disk, in real time.")(live)
    command = get_command(app)
    sensitivity = paper.sensitivity
    also = " and the sensitivity" if sensitivity else ""
    helps = {
        "sets": f"Change the model, as {' or '.join(paper.settings.examples)}. Keys: "
        f"{', '.join(paper.settings.names)}.",
        "report": f"Write a page of HTML with pictures{also}. An earlier one is replaced, any "
        "other file is not.",
        "sensitivity": sensitivity.help if sensitivity else None,
        "data": "Write every run into a new folder, as a study: `penstock study analyse` reads it.",
    }
    has = {
        "sensitivity": sensitivity,
        "data": paper.keep,
        "without_root": paper.under_kernel,
    }
    command.params = [
        param for param in command.params if has.get(str(param.name), True) is not None
    ]
    for param in command.params:
        if param.name in helps:
            param.help = helps[param.name]  # type: ignore[attr-defined]
    return command


def _run(paper: Study) -> Callable[..., None]:
    def run(
        context: typer.Context,
        *,
        sets: Sets = None,
        report: Report = None,
        data: Data = None,
        sensitivity: Vary = False,
        without_root: WithoutRoot = False,
        as_json: Json = False,
    ) -> None:
        if context.invoked_subcommand is not None:
            _refuse(context)
            return
        settings = paper.settings.read(sets or [])
        outputs = Outputs(report=report)
        outputs.check()
        if data is not None:
            from penstock.report.files import check_new

            check_new(Path(data))
        vary = bool(sensitivity) or report is not None

        def simulated(_: Progress) -> Answer:
            simulation = result.simulated(
                paper, settings, vary=vary, kernel=not without_root, say=output.talk
            )
            if data is not None and paper.keep is not None:
                paper.keep(simulation.ours, data)
            return Answer(
                data=lambda: json.dumps(simulation.json(), indent=2),
                blocks=result.blocks(simulation),
                files=outputs.write(page.contents(simulation)),
            )

        answer(simulated, as_json=as_json)

    return run


def _refuse(context: typer.Context) -> None:
    """Raise a `PenstockError` if an option of the simulation stands before `live`."""
    for param in context.command.params:
        source = context.get_parameter_source(str(param.name))
        if source is not None and source.name == "COMMANDLINE":
            hint = f"leave it out, or write it after `{LIVE}` if that has it"
            raise wrong(f"{param.opts[0]} before `{LIVE}` belongs to the simulation", hint)
