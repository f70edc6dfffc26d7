"""The terminal below the screen, which may go away while a run goes on.

The connection is lost, and what is written meanwhile is an error on a thread of the driver, which
would end, and the screen would wait for it.
"""

from contextlib import suppress
from typing import IO, Any

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver


class Output:
    """A stream whose reader may be gone: then what is written goes nowhere."""

    def __init__(self, stream: IO[str]) -> None:
        """Over this stream."""
        self._stream = stream

    def write(self, text: str) -> None:
        """Write, if the terminal is still there."""
        with suppress(OSError):
            self._stream.write(text)

    def flush(self) -> None:
        """Hand on what was written, if the terminal is still there."""
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the stream has
        """All else is the stream's."""
        return getattr(self._stream, name)


class Driver(LinuxDriver):
    """Textual's driver of a terminal, over such a stream."""

    def __init__(
        self,
        app: App[Any],
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        """As Textual makes it."""
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._file: Any = Output(self._file)
