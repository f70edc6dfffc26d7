"""The command as a person runs it: in a process of its own."""

import os
import pty
import re
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

from forking import LIBRARIES, Ended, Server

ROOT = Path(__file__).parents[2]
"""Where the repository lies."""

NOBODY = 65534

COMMAND = (sys.executable, "-m", "penstock")

LIMIT_S = 60
"""No command takes as long; one that does has hung."""

JOB = """\
seed = 7
duration = "5s"
device = "hdd-7200"

[class.tellers]
[class.batch]

[[agent]]
class = "tellers"
op = "write"
sync = true
size = "4KiB"
pattern = "random"
region = ["0%", "10%"]
arrivals = { kind = "poisson", rate = "20/s" }

[[agent]]
class = "batch"
op = "write"
size = "256KiB"
pattern = "sequential"
region = ["40%", "60%"]
arrivals = { kind = "closed", depth = 2 }
"""

WRITES = """\
duration = "1h"

[class.all]

[[agent]]
class = "all"
op = "write"
size = "4KiB"
pattern = "random"
arrivals = { kind = "poisson", rate = "200/s" }
"""
"""Writes all over its target for an hour."""


@cache
def _server() -> Server:
    return Server(LIBRARIES)


@cache
def _lean_server() -> Server:
    """The server whose commands read what they need themselves, and so take no more memory."""
    return Server(draws=False)


def without_estimates(err: str) -> str:
    """What was said on stderr but for how long it still takes: on a busy machine it may be long."""
    lines = err.splitlines(keepends=True)
    return "".join(line for line in lines if " % done" not in line)


def penstock(
    *words: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Ended:
    """Run the command to its end, with `env` added to the usual environment."""
    return _server().run([str(word) for word in words], cwd, _environment() | dict(env or {}))


def limited(*words: str | Path, cwd: Path, seconds: int, memory: int = 0) -> Ended:
    """Run the command for at most so many `seconds`, in at most so many bytes of `memory`."""
    limits = {"seconds": seconds, "memory": memory}
    return _lean_server().run([str(word) for word in words], cwd, _environment(), limits)


def as_nobody(*words: str) -> Ended:
    """Run the command without root's rights, once all modules are read: nobody may not see them."""
    script = (
        "import os, sys\n"
        "from penstock.cli.app import app, main\n"
        "from typer.testing import CliRunner\n"
        "CliRunner().invoke(app, [*sys.argv[1:], '--frob'])\n"
        "CliRunner().invoke(app, sys.argv[1:-2])\n"
        f"if os.geteuid() == 0: os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *words], capture_output=True, encoding="utf-8", check=False
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def interrupted(*words: str | Path, when: str) -> Ended:
    """Run the command, its stderr a terminal, and press Ctrl-C once it has the pattern `when`."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, *map(str, words)],
        env=_environment() | {"COLUMNS": "100"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=theirs,
        encoding="utf-8",
    ) as running:
        os.close(theirs)
        err = b""
        pressed = False
        while read := _read(ours):
            err += read
            if not pressed and re.search(when.encode(), err):
                running.send_signal(signal.SIGINT)
                pressed = True
        out, _ = running.communicate()
    os.close(ours)
    assert pressed, err
    return Ended(running.returncode, out, err.decode())


def on_a_terminal(
    *words: str | Path, press: Sequence[tuple[str, str]] = (), lacking: str | None = None
) -> Ended:
    """Run the command in a terminal of its own and press keys, each once some text has come.

    All that it writes is `out`, and `err` is empty. With `lacking` as where this package is not
    installed.
    """
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(ours, (40, 140))
    hide = f"import sys; sys.modules[{lacking!r}] = None; " if lacking else ""
    start = f"{hide}from penstock.command import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", start, *map(str, words)],
        env=_environment(),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    ) as running:
        os.close(theirs)
        out, seen = b"", 0
        waiting = list(press)
        while read := _read(ours):
            out += read
            if waiting and waiting[0][0].encode() in out[seen:]:
                seen = len(out)
                os.write(ours, waiting.pop(0)[1].encode())
        running.wait()
    os.close(ours)
    assert not waiting, out
    return Ended(running.returncode, out.decode().replace("\r\n", "\n"), "")


class Running(NamedTuple):
    """A command that runs, its output in files."""

    process: subprocess.Popen[bytes]
    out: Path
    err: Path

    def until(self, text: str) -> None:
        """Wait until it has said so on stderr."""
        self.wait_for(lambda: text in self.err.read_text())

    def wait_for(self, happened: Callable[[], object]) -> None:
        """Wait until something has come about."""
        end = time.monotonic() + LIMIT_S
        over = False
        while not happened():
            assert not over, self.err.read_text()
            over = self.process.poll() is not None or time.monotonic() > end
            time.sleep(0.02)

    def end(self, number: signal.Signals | None = None) -> Ended:
        """Send it a signal, if one is given, and wait for its end."""
        if number is not None:
            self.process.send_signal(number)
        code = self.process.wait(LIMIT_S)
        return Ended(code, self.out.read_text(), self.err.read_text())


@contextmanager
def running(
    folder: Path, *words: str | Path, script: str | None = None, cwd: Path | None = None
) -> Iterator[Running]:
    """A command, or a script with arguments, that is killed if the test does not end it."""
    start = COMMAND if script is None else (sys.executable, "-c", script)
    out, err = folder / "out", folder / "err"
    with out.open("wb") as to, err.open("wb") as talk:
        process = subprocess.Popen(
            [*start, *map(str, words)], cwd=cwd, stdin=subprocess.DEVNULL, stdout=to, stderr=talk
        )
    try:
        yield Running(process, out, err)
    finally:
        process.kill()
        process.wait()


def _read(terminal: int) -> bytes:
    """What came, and nothing once the other side is closed."""
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        return b""


def _environment() -> dict[str, str]:
    """Ours, without what would make output differ from place to place."""
    ours = {"NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS", "TERM"}
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    return kept | {"PYTHONUTF8": "1", "TERM": "xterm"}
