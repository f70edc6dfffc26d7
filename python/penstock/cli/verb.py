"""What the application of every verb has in common."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

import typer
from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    # Types of Typer's methods, which it does not export.
    from typer._click.core import Command, Context
    from typer._click.formatting import HelpFormatter

verb = partial(typer.Typer, add_completion=False, rich_markup_mode=None)
"""Makes the application of a verb."""

group = partial(verb, no_args_is_help=True)
"""Makes the application of a verb that has verbs of its own."""


def or_else(usual: str) -> type[TyperGroup]:
    """Returns a kind of group in which words that begin with no verb are those of `usual`."""

    class OrElse(TyperGroup):
        def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:
            """Put the usual verb before the words if they name none."""
            if args and args[0] not in {*self.commands, *ctx.help_option_names}:
                args = [usual, *args]
            return super().parse_args(ctx, args)

    return OrElse


def commands(command: object, name: str) -> Iterator[tuple[str, TyperCommand | TyperGroup]]:
    """The commands below `command`, and itself if it does something by itself."""
    if isinstance(command, TyperGroup):
        if command.invoke_without_command:
            yield name, command
        context = typer.Context(command)
        for word in command.list_commands(context):
            yield from commands(command.get_command(context, word), f"{name} {word}")
    elif isinstance(command, TyperCommand):
        yield name, command


class Lazy(TyperGroup):
    """Commands with a line of help each. One is imported when it is called: all start sooner."""

    def lines(self) -> Mapping[str, str]:
        """Each command and its line of help."""
        raise NotImplementedError

    def load(self, name: str) -> "Command":
        """The command called `name`."""
        raise NotImplementedError

    def list_commands(self, ctx: "Context") -> list[str]:
        """The names of all commands."""
        return list(self.lines())

    def get_command(self, ctx: "Context", cmd_name: str) -> "Command | None":
        """The command called `cmd_name`."""
        lines = self.lines()
        if cmd_name not in lines:
            return None
        command = self.load(cmd_name)
        command.name = cmd_name
        command.help = command.help or lines[cmd_name]
        return command

    def format_commands(self, ctx: "Context", formatter: "HelpFormatter") -> None:
        """The commands with their lines."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.lines().items()))
