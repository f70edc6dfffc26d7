"""What the Python interface raises."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from penstock._native import Failure

RUN_FAILED = 1
"""Exit code of a run that could not go on, or came to nothing."""

WRONG_INPUT = 2
"""Exit code of wrong use and wrong input."""

GOAL_MISSED = 3
"""Exit code where a stated goal was missed."""

DIFFERS = 4
"""Exit code where decisions differ, or data is not what was written."""

CANNOT_HERE = 77
"""Exit code where this machine cannot do it."""


class PenstockError(ValueError):
    """Something could not be done; the message says why, as the command would.

    `exit_code` is what the command exits with: 1 the run failed, 2 wrong use or input, 4 data is
    not what was written, 5 an unsafe target was refused, 77 this machine cannot run it.
    """

    def __init__(self, message: str, *, exit_code: int = WRONG_INPUT, stuck: bool = False) -> None:
        """An error with the whole message, `error: ` before it.

        `stuck`: a thread was left in a system call, and the process ends when that returns.
        """
        super().__init__(message)
        self.exit_code = exit_code
        self.stuck = stuck


def wrong(message: str, hint: str) -> PenstockError:
    """An error of use: what was found, and what would be right."""
    return PenstockError(f"error: {message}\nhint: {hint}")


def needs(package: str, *, feature: str) -> None:
    """Raise an error unless a package is there that only `feature` needs."""
    if find_spec(package) is None:
        message = f"error: {feature} needs the package {package}, which is not installed"
        hint = f"hint: install it with `pip install {package}`"
        raise PenstockError(f"{message}\n{hint}", exit_code=CANNOT_HERE)


@contextmanager
def translated() -> Iterator[None]:
    """Within this, a failure of the engine is raised as a `PenstockError`, with its cause."""
    try:
        yield
    except Failure as failure:
        raise PenstockError(
            str(failure), exit_code=failure.exit_code, stuck=failure.stuck
        ) from failure.__cause__
