"""`penstock man`: the manual page, made from what the commands say of themselves."""

from collections.abc import Iterator

import typer
from typer.core import TyperGroup, TyperOption

from penstock import __version__
from penstock.cli import output
from penstock.cli.verb import commands, verb

app = verb()


@app.command("man")
def man(context: typer.Context) -> None:
    """Print the manual page: penstock man | man -l -.

    Save it as penstock.1 in a folder of MANPATH, and `man penstock` shows it.
    """
    root = context.find_root().command
    assert isinstance(root, TyperGroup)
    output.data("\n".join(_page(root)) + "\n")


def _page(root: TyperGroup) -> Iterator[str]:
    yield f'.TH PENSTOCK 1 "" "penstock {__version__}" "User commands"'
    yield from (".SH NAME", rf"penstock \- {_text(root.help or '').rstrip('.').lower()}")
    yield from (".SH SYNOPSIS", r".B penstock", r"\fICOMMAND\fR [\fIOPTIONS\fR] [\fIARGS\fR]")
    yield ".SH COMMANDS"
    for name, command in commands(root, "penstock"):
        usage = [
            f"\\fI{_text(param.human_readable_name)}\\fR"
            for param in command.params
            if not isinstance(param, TyperOption)
        ]
        yield f".SS {' '.join([_text(name), *usage])}"
        for paragraph in (command.help or "").split("\n\n"):
            yield from (".PP", _text(" ".join(paragraph.split())))
        for option in command.params:
            if isinstance(option, TyperOption) and not option.hidden and option.name != "help":
                yield from _option(option)
    codes = str(root.epilog).removeprefix("Exit codes: ").split("; ")
    yield ".SH EXIT STATUS"
    for code in codes:
        number, _, meaning = code.partition(" ")
        yield from (".TP", f".B {number}", _text(meaning))


def _option(option: TyperOption) -> Iterator[str]:
    names = ", ".join(rf"\fB{_text(name)}\fR" for name in option.opts)
    takes = "" if option.is_flag else rf" \fI{_text(option.metavar or 'VALUE')}\fR"
    yield from (".TP", f"{names}{takes}", _text(option.help or ""))


def _text(text: str) -> str:
    """Words that troff does not take for its own."""
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{text}" if text.startswith((".", "'")) else text
