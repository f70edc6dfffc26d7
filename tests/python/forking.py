"""Runs commands, each in a process of its own that has read all modules already.

Starting an interpreter and reading modules takes longer than most commands. A server reads them
once and forks for each command: a real process with its own streams, folder and environment, which
ends as the command ends.
"""

import atexit
import json
import os
import resource
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from drawing import LIBRARY, Drawer, Drawing

LIBRARIES = ("altair", "numpy", "scipy.optimize", "scipy.stats", "xlsxwriter")
"""Libraries that only some commands read: half a second and more each."""

PATIENCE_S = 5
"""Seconds from Ctrl-C to the end of a command."""


class Ended(NamedTuple):
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str


class Server:
    """The process that forks; it ends with this one, whose pipe it reads."""

    def __init__(self, libraries: Sequence[str] = (), *, draws: bool = True) -> None:
        """Start it. `libraries` are read with the modules; they take address space.

        Unless it `draws`, each command has the library that draws for itself.
        """
        self._drawing = Drawing() if draws else None
        self._libraries = libraries
        self._process = self._started()

    def _started(self) -> subprocess.Popen[str]:
        drawer = self._drawing.address if self._drawing else ""
        return subprocess.Popen(
            [sys.executable, __file__, drawer, *self._libraries],
            # Threads of its own would not be in a fork.
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )

    def run(
        self,
        words: Sequence[str],
        cwd: Path | None,
        env: Mapping[str, str],
        limits: Mapping[str, int] | None = None,
    ) -> Ended:
        """Run the command to its end.

        `limits` may have bytes of `memory`, and `seconds` after which Ctrl-C is pressed.
        """
        with TemporaryDirectory() as folder:
            streams = [str(Path(folder) / name) for name in ("out", "err")]
            asked = {
                "words": words,
                "cwd": str(cwd or Path.cwd()),
                "env": dict(env),
                "streams": [os.devnull, *streams],
                "limits": dict(limits or {}),
            }
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            try:
                print(json.dumps(asked), file=self._process.stdin, flush=True)
                code = int(self._process.stdout.readline())
            except BaseException:
                # A test at its time limit: the answer to come is not that of the next command.
                self._process.kill()
                self._process = self._started()
                raise
            out, err = (Path(stream).read_bytes().decode() for stream in streams)
        return Ended(code, out, err)


def main() -> None:
    """Read modules, then run what is asked for, one command after another."""
    from penstock.cli.app import VERBS

    for name in [*(f"penstock.cli.{verb.replace('-', '_')}" for verb in VERBS), *sys.argv[2:]]:
        import_module(name)
    # A fork has only the thread that forks: what starts threads is read by each command itself.
    assert len(os.listdir("/proc/self/task")) == 1
    drawer = sys.argv[1]
    for line in sys.stdin:
        asked = json.loads(line)
        child = os.fork()
        if not child:
            if drawer:
                sys.modules[LIBRARY] = Drawer(drawer)  # type: ignore[assignment]
            _become(**asked)
            return
        status = _awaited(child, asked["limits"].get("seconds"))
        print(os.waitstatus_to_exitcode(status), flush=True)


def _awaited(child: int, seconds: int | None) -> int:
    """Wait for a child, which is interrupted after `seconds` and killed some seconds later."""
    handle = os.pidfd_open(child)
    try:
        for number in (signal.SIGINT, signal.SIGKILL):
            if seconds is not None and not select.select([handle], [], [], seconds)[0]:
                signal.pidfd_send_signal(handle, number)
                seconds = PATIENCE_S
    finally:
        os.close(handle)
    return os.waitpid(child, 0)[1]


def _become(
    *,
    words: list[str],
    cwd: str,
    env: dict[str, str],
    streams: list[str],
    limits: dict[str, int],
) -> None:
    os.chdir(cwd)
    if memory := limits.get("memory"):
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
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

    try:
        command.main()
        code: object = 0
    except SystemExit as ended:
        code = 0 if ended.code is None else ended.code
    # Taking apart all that was read takes longer than most commands.
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    main()
