"""The border between what a command asks for and what runs it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from penstock.iozone.phases import IozoneTest
from penstock.results.merge_types import World

Report: TypeAlias = Callable[[float], None]
"""Takes the share of a test that is done, from 0 to 1."""


@dataclass(frozen=True)
class IozonePoint:
    """The sizes at which a test runs."""

    threads: int
    record: int
    """Bytes of a record."""
    size: int
    """Bytes of the file of each worker, as they were asked for."""

    @property
    def records(self) -> int:
        """Records of a file; what is left behind the last whole one is not used."""
        return self.size // self.record


@dataclass(frozen=True)
class Worker:
    """The part of a test that one thread did, until it ended or was stopped."""

    bytes: int
    calls: int
    """Records that it read or wrote."""
    ns: int
    """Time from the common start to its end, by its own clock."""


@dataclass(frozen=True)
class MeasuredTest:
    """The result of a test at a point."""

    test: IozoneTest
    point: IozonePoint
    parent_ns: int
    """Time from the common start until all workers had ended, as the parent sees it."""
    workers: tuple[Worker, ...]


class Runner(Protocol):
    """Runs tests on files, on a served model, or on a model in virtual time.

    It is made for the options of a command, which also name its files. What is wrong is raised as
    `PenstockError`; data that differs has the exit code of that.
    """

    world: World

    def run(self, test: IozoneTest, point: IozonePoint, progress: Report) -> MeasuredTest:
        """Run a test on files that the tests before it left."""
        ...

    def remark(self) -> str | None:
        """Return what has to be known of the tests that ran, if anything."""
        ...

    def close(self) -> None:
        """Remove the files that it made, unless they are to be kept; called once, in the end."""
        ...
