"""The command as a person runs it: in a process of its own."""

import os
import pty
import signal
import subprocess
import sys
import termios
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
"""Where the repository lies."""

NOBODY = 65534

COMMAND = (sys.executable, "-m", "penstock")

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


class Ended(NamedTuple):
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str


def penstock(*words: str | Path, cwd: Path | None = None) -> Ended:
    """Run the command to its end."""
    done = subprocess.run(
        [*COMMAND, *map(str, words)],
        cwd=cwd,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


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
    """Run the command with its stderr on a terminal and press Ctrl-C once `when` stands there."""
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
            if not pressed and when.encode() in err:
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
