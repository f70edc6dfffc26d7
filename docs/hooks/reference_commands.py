"""The page of the commands: read from the command line itself."""

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from markdown_parts import cell, code, page, table
from penstock.cli.app import app
from penstock.cli.verb import commands

INTRODUCTION = (
    "`penstock COMMAND --help` prints the same in the terminal. Results go to stdout, everything "
    "else to stderr, and `--json` prints one JSON object alone."
)


def commands_page() -> str:
    """Every command with its arguments and options, and the exit codes."""
    root = typer.main.get_command(app)
    named_commands = list(commands(root, "penstock"))
    codes = str(root.epilog).removeprefix("Exit codes: ").replace("; ", "\n- ")
    return page(
        "# Commands",
        INTRODUCTION,
        table(
            ("command", "what it does"),
            (
                (f"[`{name}`](#{name.replace(' ', '-')})", _short(command))
                for name, command in named_commands
            ),
        ),
        *(_section(name, command) for name, command in named_commands),
        "## Exit codes",
        f"- {codes}",
    )


def _short(command: TyperCommand | TyperGroup) -> str:
    return cell(command.short_help or (command.help or "").partition("\n\n")[0])


def _section(name: str, command: TyperCommand | TyperGroup) -> str:
    arguments = [param for param in command.params if isinstance(param, TyperArgument)]
    options = [
        param for param in command.params if isinstance(param, TyperOption) and not param.hidden
    ]
    usage = " ".join([name, "[OPTIONS]", *(_argument(argument) for argument in arguments)])
    return page(
        f"## {name}",
        command.help or "",
        f"```text\n{usage}\n```",
        table(
            ("argument", "what it is"),
            ((code(_argument(argument)), _help(argument)) for argument in arguments),
        ),
        table(("option", "what it does"), ((_option(option), _help(option)) for option in options)),
    )


def _argument(argument: TyperArgument) -> str:
    name = argument.metavar or str(argument.name).upper()
    return name if argument.required or name.startswith("[") else f"[{name}]"


def _option(option: TyperOption) -> str:
    names = ", ".join(code(name) for name in (*option.opts, *option.secondary_opts))
    return (
        names if option.is_flag else f"{names} {code(option.metavar or str(option.name).upper())}"
    )


def _help(param: TyperArgument | TyperOption) -> str:
    parts = [cell(param.help or "")]
    if isinstance(param, TyperOption) and param.required:
        parts.append("Required.")
    # A range of numbers; other kinds have no bounds.
    least, most = (getattr(param.type, bound, None) for bound in ("min", "max"))
    if least is not None:
        parts.append(f"At least {least}." if most is None else f"{least} to {most}.")
    if param.default not in (None, False, True) and param.show_default:
        parts.append(f"Default: {code(param.default)}.")
    return " ".join(parts)
