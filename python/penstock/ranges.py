"""Ranges of files and devices, as other programs read and write them: through pipes.

A program cannot write beyond the end of a range through a pipe. Threads of our own move the bytes,
so nothing more is written once we have ended, whatever ended us.
"""

import hashlib
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

from penstock.errors import wrong

_CHUNK = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Range:
    """Some bytes of a file or device."""

    node: Path
    """The file or device."""
    start: int
    size: int

    def digest(self) -> bytes:
        """A digest of its bytes."""
        found = hashlib.blake2b()
        with self.node.open("rb") as file:
            file.seek(self.start)
            left = self.size
            while left and (some := file.read(min(left, _CHUNK))):
                found.update(some)
                left -= len(some)
        return found.digest()


class Carrier(Thread):
    """Moves the bytes of a range into a pipe, or those of a pipe into a range."""

    def __init__(self, range_: Range, pipe: int, *, writes: bool) -> None:
        """A thread that closes its end of the `pipe` when it ends; it `writes` the range or not."""
        super().__init__(daemon=True)
        self._range = range_
        self._pipe = pipe
        self._writes = writes
        self.moved = 0
        """Bytes so far."""
        self.processor_s = 0.0
        """What it took of a processor, once it has ended."""
        self.failed: OSError | None = None
        """Why it ended early, if not because the program did."""

    def run(self) -> None:
        """Move bytes until the range or the pipe ends."""
        try:
            flags = os.O_WRONLY if self._writes else os.O_RDONLY
            file = os.open(self._range.node, flags | os.O_CLOEXEC)
            try:
                while self.moved < self._range.size and (count := self._move(file)):
                    self.moved += count
            finally:
                os.close(file)
        except BrokenPipeError:
            pass
        except OSError as error:
            self.failed = error
        finally:
            os.close(self._pipe)
            self.processor_s = time.thread_time()

    def _move(self, file: int) -> int:
        at = self._range.start + self.moved
        left = min(self._range.size - self.moved, _CHUNK)
        if self._writes:
            return os.splice(self._pipe, file, left, offset_dst=at)
        return os.splice(file, self._pipe, left, offset_src=at)


@dataclass(frozen=True, kw_only=True)
class Pipes:
    """What another program opens in place of ranges."""

    ends: Sequence[int]
    """The program's ends of the pipes: of all inputs, then that of the output."""
    carriers: Sequence[Carrier]
    """What moves their bytes, in the same order."""

    @property
    def paths(self) -> list[str]:
        """The paths that the program opens if it has the ends."""
        return [f"/dev/fd/{end}" for end in self.ends]


@contextmanager
def pipes(inputs: Sequence[Range], output: Range) -> Iterator[Pipes]:
    """Pipes for a program that is started within this."""
    ends: list[int] = []
    carriers: list[Carrier] = []
    with ExitStack() as stack:
        for one in (*inputs, output):
            try:
                out, into = os.pipe()
            except OSError as error:
                message = f"no pipe can be made for {one.node}: {error.strerror}"
                raise wrong(message, "each run takes three open files: see `ulimit -n`") from None
            end, other = (into, out) if one is output else (out, into)
            stack.callback(os.close, end)
            ends.append(end)
            carriers.append(Carrier(one, other, writes=one is output))
            carriers[-1].start()
        yield Pipes(ends=ends, carriers=carriers)
