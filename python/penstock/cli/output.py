r"""The two streams: data on stdout, messages on stderr.

Names in traces, files and devices may hold control characters, which a terminal would obey: what is
written here shows them as `\u001b`, which is also how JSON writes them.
"""

import os
import sys
from collections.abc import Callable, Iterator
from typing import NoReturn

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderableType, RenderHook
from rich.segment import Segment

CONTROLS = {
    code: f"\\u{code:04x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n"
}
"""Every control character that is not white space of ours, and how it is shown."""

PIPED_COLUMNS = 120
"""How wide a line may be where there is no terminal to ask."""


def data(text: str) -> None:
    """Write to stdout. A reader that went away has had enough: no error."""
    _write(text.translate(CONTROLS))


def _write(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        forget()


def forget() -> None:
    """Let what is still buffered for stdout go nowhere when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def drawn(draw: Callable[[Console], None]) -> None:
    """Write to stdout what `draw` prints: styled on a terminal, plain text anywhere else."""
    width = None if sys.stdout.isatty() else PIPED_COLUMNS
    console = Console(width=width, highlight=False, emoji=False, markup=False)
    console.push_render_hook(_Visible())
    with console.capture() as capture:
        draw(console)
    _write(capture.get())


class _Visible(RenderHook):
    """Shows control characters in what is drawn, and lets the console's own styles be."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """Each of them, with such characters shown."""
        return [_Shown(one) for one in renderables]


class _Shown:
    def __init__(self, drawn: RenderableType) -> None:
        self.drawn = drawn

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for text, style, control in console.render(self.drawn, options):
            yield Segment(text if control else text.translate(CONTROLS), style, control)


def talk(text: str) -> None:
    """Write a line to stderr."""
    print(text.translate(CONTROLS), file=sys.stderr, flush=True)


def leave(code: int) -> NoReturn:
    """End the process at once: a silent target may never give back what it was given.

    Both streams are closed first, so that a reader knows that there is no more, however long the
    kernel takes.
    """
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        os.dup2(nowhere, stream.fileno())
    os._exit(code)
