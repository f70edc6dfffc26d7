"""Tables and styled lines on stdout."""

import sys
from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderableType, RenderHook
from rich.segment import Segment

from penstock.answer import terminal
from penstock.answer.value import Blocks
from penstock.cli.output import CONTROLS, write

PIPED_COLUMNS = 120
"""How wide a line may be where there is no terminal to ask."""


def show(blocks: Blocks) -> None:
    """Write blocks to stdout: styled on a terminal, plain text anywhere else."""
    console = _console()
    console.push_render_hook(_Visible())
    with console.capture() as capture:
        terminal.show(console, blocks)
    write(capture.get())


def columns() -> int:
    """Returns how many columns a line may take."""
    return _console().width


def _console() -> Console:
    width = None if sys.stdout.isatty() else PIPED_COLUMNS
    return Console(width=width, highlight=False, emoji=False, markup=False)


class _Visible(RenderHook):
    """Shows control characters in what is drawn, and lets the console's own styles be."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Each of them, with such characters shown."""
        return [_Shown(renderable) for renderable in renderables]


class _Shown:
    def __init__(self, drawn: RenderableType) -> None:
        self.drawn = drawn

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for text, style, control in console.render(self.drawn, options):
            yield Segment(text if control else text.translate(CONTROLS), style, control)
