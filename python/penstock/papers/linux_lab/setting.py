"""What the lab runs: its sizes, its places, its schedulers, and what `--set` changes of them."""

from collections.abc import Mapping
from dataclasses import dataclass

from penstock import _native
from penstock.errors import wrong
from penstock.iozone.runner import IozonePoint
from penstock.papers.settings import Settings

NAME = "linux-lab"
"""The name of the lab among the papers."""

LECTURE = ("noop", "deadline", "anticipatory", "cfq", "elevator")
"""The schedulers of the lecture."""

PHASES = (0, 1, 2)
"""The phases of the exercise, as `-i` has them."""

DEVICE = "hdd-7200-cached"
"""The modelled disk."""

FLASH = "flash"
"""A device on which position costs nothing."""

THREADS = (1, 2, 8, 32)

PLACES = {"1 GiB": "0B,1GiB", "a tenth": "0%,10%", "the disk": "0%,100%"}
"""Parts of the disk in which readers read, and the region of each in a job."""

SETTINGS = Settings(
    keys={
        "exercise.size": (),
        "example.size": (),
        "duration": ("duration",),
        "seed": ("seed",),
    },
    examples=("duration=10s", "exercise.size=64MiB"),
)


@dataclass(frozen=True, kw_only=True)
class LabSetting:
    """Sizes and settings of a run of the lab."""

    exercise: IozonePoint
    """The exercise: records of 5 KiB."""
    example: IozonePoint
    """The example: records of 512 KiB."""
    of_job: tuple[str, ...]
    """What is set of the jobs."""
    seed: int


def read(arguments: Mapping[str, str]) -> LabSetting:
    """Return the run that these values of `--set` make."""
    seed = arguments.get("seed", "42")
    if not (seed.isdecimal() and seed.isascii()):
        raise wrong(f"--set seed={seed}: expected a whole number", "as --set seed=7")
    return LabSetting(
        exercise=_point(arguments, "exercise", 5 << 10, "1GiB"),
        example=_point(arguments, "example", 512 << 10, "512MiB"),
        of_job=tuple(SETTINGS.of_job(arguments)),
        seed=int(seed),
    )


def _point(arguments: Mapping[str, str], run: str, record: int, usual: str) -> IozonePoint:
    """Return the sizes of the exercise or the example."""
    text = arguments.get(f"{run}.size", usual)
    try:
        size = _native.size(text)
    except _native.Failure:
        size = 0
    if size < record:
        raise wrong(
            f"--set {run}.size={text}: expected a size from {record >> 10}KiB on",
            f"as --set {run}.size=64MiB",
        )
    return IozonePoint(1, record, size)
