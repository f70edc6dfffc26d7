"""Makes and takes back changes in a folder of notes, and kills itself at a step.

The arguments are the folder, the number of the step (0 for none), the file of a control group or
`-`, and the processes whose threads get the idle class. Each call of the system that changes
something is two steps: before and after it.
"""

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.guard.change import GroupSetting
from penstock.guard.changes import Changes
from penstock.guard.processes import Process

DEADLY = ("open", "write", "fsync", "replace", "unlink", "ftruncate", "mkdir", "rmdir")


class Ionice:
    """I/O priorities by the command `ionice`."""

    CLASSES = ("none", "rt", "be", "idle")

    def io_priority(self, tid: int, /) -> str:
        said = self._run("-p", str(tid)).strip()
        name, _, level = said.partition(": prio ")
        name = {"realtime": "rt", "best-effort": "be"}.get(name, name)
        return f"{name}:{level}" if name in ("rt", "be") else name

    def set_io_priority(self, tid: int, priority: str, /) -> None:
        name, _, level = priority.partition(":")
        levels = ["-n", level] if level else []
        self._run("-c", str(self.CLASSES.index(name)), *levels, "-p", str(tid))

    def _run(self, *words: str) -> str:
        done = subprocess.run(["ionice", *words], capture_output=True, text=True, check=False)
        if done.returncode:
            raise OSError(done.returncode, done.stderr.strip())
        return done.stdout


class Steps:
    """Counts steps, and kills this process at one."""

    def __init__(self, last: int) -> None:
        """Count from 0, up to `last`."""
        self.taken, self.last = 0, last

    def step(self) -> None:
        self.taken += 1
        if self.taken == self.last:
            os.kill(os.getpid(), signal.SIGKILL)

    def deadly(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arguments: Any, **more: Any) -> Any:  # noqa: ANN401 - as the call has them
            self.step()
            try:
                return call(*arguments, **more)
            finally:
                self.step()

        return called


class DeadlyIonice(Ionice):
    """I/O priorities; setting one is two steps."""

    def __init__(self, steps: Steps) -> None:
        """Take these steps."""
        self.steps = steps

    def set_io_priority(self, tid: int, priority: str, /) -> None:
        self.steps.deadly(super().set_io_priority)(tid, priority)


def make_deadly(steps: Steps) -> None:
    """Make every call of the system that changes something two steps."""
    for name in DEADLY:
        setattr(os, name, steps.deadly(getattr(os, name)))
    fcntl.flock = steps.deadly(fcntl.flock)


def main(folder: Path, last: int, file: str, pids: list[int]) -> None:
    """Change everything, take a part back, change that again, and take all back."""
    steps = Steps(last)
    make_deadly(steps)
    threads = [thread for pid in pids for thread in Process(pid).threads()]
    with Changes.of_disk("sdx", "test", priorities=DeadlyIonice(steps), folder=folder) as changes:
        changes.set_priority(threads[:1], "be:7")
        mark = changes.mark()
        changes.set_priority(threads, "idle")
        if file != "-":
            for text in ("300", "400"):
                steps.step()
                changes.make(GroupSetting.of(Path(file), text))
                steps.step()
        changes.undo(mark)
        changes.set_priority(threads, "idle")
    print(steps.taken)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], list(map(int, sys.argv[4:])))
