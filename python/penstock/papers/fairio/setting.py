"""What `--set` changes of the FAIRIO report's experiments."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from penstock.errors import wrong
from penstock.papers import files
from penstock.papers.settings import Settings, listed, milliseconds, seeds

NAME = "fairio"
"""The paper's name."""

SETTINGS = Settings(
    keys={
        "mode": ("fairio.mode",),
        "weights": (),
        "cycles": ("fairio.cycle",),
        "load": ("fairio.load",),
        "cap": ("fairio.cap",),
        "window": ("fairio.window",),
        "disks": ("device.array.disks",),
        "turnaround": ("device.turnaround",),
        "max_extent": ("device.array.max_extent",),
        "horizon": ("duration", "stop"),
        "seeds": (),
    },
    choices={"disk": ("fairio-18es", "ibm18es")},
    examples=("cycles=250ms,700ms", "horizon=100s", "weights=1,3"),
)

POLICY = ("mode", "load", "cap", "window")
"""Keys that are parameters of the policy; `cycles` is one a row."""

DEVICE = ("disks", "turnaround", "max_extent")

MODES = ("paper", "plus")

UNLIMITED = "unlimited"

DEPTH, DEPTH_MOST = 16, 65_536
"""Requests that the array takes, and at most."""

SENT = "sent"
"""A horizon: until the class with more weight has sent its last request."""

ALL_ARRIVE = "100s"
"""In this time all 10,000 requests of a class arrive."""

SEEDS = 5
"""Seeds that a row is the mean of."""

DRIVES: Mapping[str, Sequence[str]] = {
    "fairio-18es": (),
    # Geometry, seeks and bus of the real drive, in the place of those of the report's model.
    "ibm18es": ("device.drive=ibm18es", "device.bus=drive"),
}
"""What makes the array one of these disks."""


@dataclass(frozen=True, kw_only=True)
class FairioSetting:
    """All of it, read."""

    given: Mapping[str, str]
    modes: Sequence[str]
    cycles_ms: Sequence[float]
    seeds: Sequence[int]
    weights: Sequence[int]

    @property
    def chosen(self) -> bool:
        """Whether the cycles were chosen: then there are rows for these and no others."""
        return "cycles" in self.given

    @property
    def of_device(self) -> tuple[str, ...]:
        """The array, as changes of a job."""
        changed = {key: self.given[key] for key in DEVICE if key in self.given}
        drive = DRIVES[self.given.get("disk", "fairio-18es")]
        return (*drive, *SETTINGS.of_job(changed), *self._depth())

    def _depth(self) -> Iterator[str]:
        """The array takes as many requests as the policy is to have there."""
        cap = self.given.get("cap", self.given.get("load", ""))
        if cap == UNLIMITED:
            yield f"device.array.depth={DEPTH_MOST}"
        # What is no number the policy refuses.
        elif cap.isdecimal() and ("cap" in self.given or int(cap) > DEPTH):
            yield f"device.array.depth={min(max(int(cap), 1), DEPTH_MOST)}"

    @property
    def of_job(self) -> tuple[str, ...]:
        """The changes to an Illustration's job: the weights of its classes and its duration."""
        weights = (f"class.class{at}.weight={weight}" for at, weight in enumerate(self.weights, 1))
        return (*weights, *self._horizon())

    def _horizon(self) -> Iterator[str]:
        """How long an Illustration is measured."""
        horizon = self.given.get("horizon")
        if horizon == SENT:
            heavier = 1 if self.weights[0] > self.weights[1] else 2
            yield from (f"duration={ALL_ARRIVE}", f"stop=sent:class{heavier}")
        elif horizon is not None:
            yield from SETTINGS.of_job({"horizon": horizon})

    @property
    def of_policy(self) -> Mapping[str, str]:
        """Parameters of `fairio` in all rows; `mode` is that of the row."""
        return {key: self.given[key] for key in POLICY[1:] if key in self.given}


def read(arguments: Mapping[str, str]) -> FairioSetting:
    """Returns the setting of the simulation."""
    cycles = arguments.get("cycles")
    published = [row["cycle_ms"] for row in files.published(NAME)["table1"]]
    return FairioSetting(
        given=arguments,
        modes=[arguments["mode"]] if "mode" in arguments else MODES,
        cycles_ms=published if cycles is None else _cycles(cycles),
        seeds=seeds(arguments, SEEDS),
        weights=_weights(arguments.get("weights", "1,2")),
    )


def _cycles(text: str) -> list[float]:
    return list(dict.fromkeys(milliseconds("cycles", part, "250ms,700ms") for part in listed(text)))


def _weights(text: str) -> list[int]:
    weights = listed(text)
    if len(weights) != 2 or not all(weight.isdecimal() and int(weight) for weight in weights):
        expected = "expected two whole numbers from 1, one for each class"
        raise wrong(f"--set weights={text}: {expected}", "as --set weights=1,3")
    return [int(weight) for weight in weights]
