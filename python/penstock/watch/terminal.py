"""The terminal of the screen, which may disappear while a run continues.

After the connection is lost, a write would be an error that ends a thread of the driver, and the
screen would wait for that thread.
"""

from contextlib import suppress
from typing import IO, Any

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver


class Output:
    """A stream that discards its output if the reader is gone."""

    def __init__(self, stream: IO[str]) -> None:
        """Wrap `stream`."""
        self._stream = stream

    def write(self, text: str) -> None:
        """Write `text`, if the terminal is still there."""
        with suppress(OSError):
            self._stream.write(text)

    def flush(self) -> None:
        """Flush the stream, if the terminal is still there."""
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the stream has
        """Return any other attribute of the stream."""
        return getattr(self._stream, name)


class Driver(LinuxDriver):
    """Textual's terminal driver on an `Output`."""

    def __init__(
        self,
        app: App[Any],
        *,
        debug: bool = False,
        mouse: bool = True,
        size: tuple[int, int] | None = None,
    ) -> None:
        """Create the driver with the arguments of Textual's."""
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._file: Any = Output(self._file)
