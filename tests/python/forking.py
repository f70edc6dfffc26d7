"""Runs commands, each in a process of its own that has read all modules already.

Starting an interpreter and reading modules takes longer than most commands. A server reads them
once and forks for each command: a real process with its own streams, folder and environment, which
ends as the command ends.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple


class Ended(NamedTuple):
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str


class Server:
    """The process that forks; it ends with this one, whose pipe it reads."""

    def __init__(self) -> None:
        """Start it."""
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )

    def run(self, words: Sequence[str], cwd: Path | None, env: Mapping[str, str]) -> Ended:
        """Run the command to its end."""
        with TemporaryDirectory() as folder:
            streams = [str(Path(folder) / name) for name in ("out", "err")]
            asked = {
                "words": words,
                "cwd": str(cwd or Path.cwd()),
                "env": dict(env),
                "streams": [os.devnull, *streams],
            }
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            print(json.dumps(asked), file=self._process.stdin, flush=True)
            code = int(self._process.stdout.readline())
            out, err = (Path(stream).read_bytes().decode() for stream in streams)
        return Ended(code, out, err)


def main() -> None:
    """Read modules, then run what is asked for, one command after another."""
    from penstock.cli.app import VERBS

    for verb in VERBS:
        import_module(f"penstock.cli.{verb.replace('-', '_')}")
    # A fork has only the thread that forks: what starts threads is read by each command itself.
    assert len(os.listdir("/proc/self/task")) == 1
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _become(**json.loads(line))
            return
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _become(*, words: list[str], cwd: str, env: dict[str, str], streams: list[str]) -> None:
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    for number, stream in enumerate(streams):
        opened = os.open(stream, os.O_WRONLY | os.O_CREAT if number else os.O_RDONLY)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(number, "w" if number else "r", encoding="utf-8") for number in range(3)
    )
    sys.argv = ["penstock", *words]
    from penstock import command

    command.main()


if __name__ == "__main__":
    main()
