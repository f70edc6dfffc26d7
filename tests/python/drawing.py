"""Draws pictures for the commands of tests, in a process that has read the library once.

The library takes nearly half a second for its first picture, and every command is a process of its
own. A command that `forking` runs finds a `Drawer` in the library's place.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

LIBRARY = "vl_convert"


class Drawer:
    """The library for a command: the process at `address` draws."""

    def __init__(self, address: str) -> None:
        """Connect with the first picture."""
        self._address = address
        self._connection: Connection[Any, Any] | None = None

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return the library's function of this name."""

        def draw(*args: object, **options: object) -> object:
            if self._connection is None:
                self._connection = Client(self._address)
            self._connection.send((name, args, options))
            drawn = self._connection.recv()
            if isinstance(drawn, Exception):
                raise drawn
            return drawn

        return draw


class Drawing:
    """The process that draws; it ends with this one, whose pipe it reads."""

    def __init__(self) -> None:
        """Start it."""
        self._folder = TemporaryDirectory()
        self.address = str(Path(self._folder.name) / "drawing")
        words = [sys.executable, __file__, self.address]
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        self._process.stdout.readline()


def main(address: str) -> None:
    """Draw what the commands at `address` ask for, one command after another."""
    from threading import Thread

    import vl_convert

    with Listener(address) as listener:
        print(flush=True)

        def listen() -> None:
            while True:
                with listener.accept() as connection:
                    serve(connection)

        def serve(connection: "Connection[Any, Any]") -> None:
            while True:
                try:
                    name, args, options = connection.recv()
                except (EOFError, OSError):
                    return
                try:
                    drawn = getattr(vl_convert, name)(*args, **options)
                except Exception as error:
                    drawn = error
                connection.send(drawn)

        Thread(target=listen, daemon=True).start()
        sys.stdin.read()
        os._exit(0)  # The folder may be gone, and the listener would look for it.


if __name__ == "__main__":
    main(sys.argv[1])
