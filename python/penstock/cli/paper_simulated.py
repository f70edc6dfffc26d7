"""The command of a paper's simulation, made of what the paper says of itself."""

import json
from collections.abc import Callable, Container
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand
from typer.main import get_command

from penstock.answer.value import Answer
from penstock.cli import output
from penstock.cli.answering import NO_RESULT, answer
from penstock.cli.options import Json
from penstock.cli.progress import Progress
from penstock.cli.verb import verb
from penstock.errors import wrong
from penstock.papers import page, result
from penstock.papers.study import Study
from penstock.report.outputs import Outputs

if TYPE_CHECKING:
    # Types of Typer's methods, which it does not export.
    from typer._click.core import Command, Context

Sets = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE")]

Report = Annotated[str | None, typer.Option("--report", metavar="FILE")]

Data = Annotated[str | None, typer.Option("--data", metavar="DIR")]

Vary = Annotated[bool, typer.Option("--sensitivity")]

Live = Annotated[bool, typer.Option("--live", hidden=True)]


class Simulated(TyperCommand):
    """The command of a simulation; with `--live` it hands over to the programs in real time.

    It has their options too, hidden: so that `--live` takes them, and that one without `--live` is
    refused with a hint.
    """

    live: "Command | None" = None

    def with_live(self, live: "Command") -> None:
        """Take the options of the command of the programs too."""
        self.live = live
        own = {param.name for param in self.params}
        for param in live.params:
            if param.name not in own:
                hidden: Any = copy(param)
                hidden.hidden = True
                # The simulation does without.
                hidden.required = False
                self.params.append(hidden)

    def invoke(self, ctx: "Context") -> Any:  # noqa: ANN401 - as Typer has it
        """Run the simulation, or the programs with `--live`."""
        if self.live is None:
            return super().invoke(ctx)
        programs = {param.name for param in self.live.params}
        simulation = {param.name for param in self.params if not getattr(param, "hidden", False)}
        if not ctx.params["live"]:
            self._refuse(
                ctx,
                programs - simulation,
                "the programs in real time",
                f"`penstock paper {self.live.name}` runs them",
            )
            ctx.params = {name: ctx.params[name] for name in ctx.params if name in simulation}
            return super().invoke(ctx)
        hint = "leave out --live, or leave this out"
        self._refuse(ctx, simulation - programs, "the simulation", hint)
        for param in self.live.params:
            if param.required and ctx.params[str(param.name)] is None:
                raise wrong(
                    f"{param.opts[0]} is missing",
                    f"see `penstock paper {self.live.name} --help`",
                )
        run = self.live.callback
        assert run is not None
        return ctx.invoke(
            run, **{name: ctx.params[name] for name in ctx.params if name in programs}
        )

    def _refuse(self, ctx: "Context", names: Container[str | None], what: str, hint: str) -> None:
        """Refuse an option of the other command."""
        for param in self.params:
            source = ctx.get_parameter_source(str(param.name))
            if param.name in names and source is not None and source.name == "COMMANDLINE":
                raise wrong(f"{param.opts[0]} belongs to {what}", hint)


def simulated(paper: Study, live: "Command | None") -> TyperCommand:
    """The command of a paper's simulation, which knows the one of its programs if it has some."""
    app = verb()
    app.command(paper.name, cls=Simulated, help=paper.help)(_run(paper))
    command = get_command(app)
    assert isinstance(command, Simulated)
    of = paper.sensitivity
    helps = {
        "sets": f"Change the model, as {' or '.join(paper.settings.examples)}. Keys: "
        f"{', '.join(paper.settings.names)}.",
        "report": f"Write a page of HTML with pictures{' and the sensitivity' if of else ''}. An "
        "earlier one is replaced, any other file is not.",
        "sensitivity": of.help if of else None,
        "data": "Write every run into a new folder, as a study: `penstock study analyse` reads it.",
    }
    has = {"sensitivity": of, "live": live, "data": paper.keep}
    lacks = {name for name, part in has.items() if part is None}
    command.params = [param for param in command.params if param.name not in lacks]
    for param in command.params:
        if param.name in helps:
            param.help = helps[param.name]  # type: ignore[attr-defined]
    if live is not None:
        command.with_live(live)
    return command


def _run(paper: Study) -> Callable[..., None]:
    def run(
        *,
        sets: Sets = None,
        report: Report = None,
        data: Data = None,
        sensitivity: Vary = False,
        live: Live = False,
        as_json: Json = False,
    ) -> None:
        given = paper.settings.read(sets or [])
        outputs = Outputs(report=report)
        outputs.check()
        if data is not None:
            from penstock.report.files import check_new

            check_new(Path(data))
        vary = bool(sensitivity) or report is not None

        def simulated(_: Progress) -> Answer:
            found = result.simulated(paper, given, vary=vary, say=output.talk)
            if data is not None and paper.keep is not None:
                paper.keep(found.ours, data)
            return Answer(
                data=lambda: json.dumps(found.json(), indent=2),
                blocks=result.blocks(found),
                files=outputs.write(page.contents(found)),
            )

        answer(simulated, as_json=as_json, interrupted=NO_RESULT)

    return run
