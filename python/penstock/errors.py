"""Errors that the Python interface raises."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from penstock._native import Failure

RUN_FAILED = 1
"""Exit code of a run that could not continue or had no result."""

WRONG_INPUT = 2
"""Exit code of wrong use and wrong input."""

GOAL_MISSED = 3
"""Exit code if a goal was missed."""

DIFFERS = 4
"""Exit code if decisions differ, or data is not what was written."""

UNSAFE_TARGET = 5
"""Exit code if an unsafe target was refused."""

CANNOT_HERE = 77
"""Exit code if this machine lacks what the command needs."""


class PenstockError(ValueError):
    """An error with the message that the command would print.

    `exit_code` is the exit code of the command: 1 the run failed, 2 wrong use or input, 4 data is
    not what was written, 5 an unsafe target was refused, 77 this machine cannot run it.
    """

    def __init__(self, message: str, *, exit_code: int = WRONG_INPUT, stuck: bool = False) -> None:
        """Make an error with a complete message, which begins with `error: `.

        `stuck`: a thread was left in a system call, and the process ends when that returns.
        """
        super().__init__(message)
        self.exit_code = exit_code
        self.stuck = stuck


def wrong(message: str, hint: str) -> PenstockError:
    """Make an error of use or input, with a hint at what would be right."""
    return PenstockError(f"error: {message}\nhint: {hint}")


def needs(package: str, *, feature: str) -> None:
    """Raise an error unless `package`, which only `feature` needs, is installed."""
    if find_spec(package) is None:
        message = f"error: {feature} needs the package {package}, which is not installed"
        hint = f"hint: install it with `pip install {package}`"
        raise PenstockError(f"{message}\n{hint}", exit_code=CANNOT_HERE)


@contextmanager
def translated() -> Iterator[None]:
    """Raise failures of the engine within the block as `PenstockError`, with their cause."""
    try:
        yield
    except Failure as failure:
        raise PenstockError(
            str(failure), exit_code=failure.exit_code, stuck=failure.stuck
        ) from failure.__cause__
    except OverflowError as error:
        raise out_of_range(error) from None


def out_of_range(error: OverflowError) -> PenstockError:
    """Make the error of a number that the engine does not take."""
    return wrong(f"a number is out of range: {error}", "give a number from 0 on, of usual size")
