"""Methods of the dataclasses of results, and attributes that differ from the JSON."""

from collections.abc import Mapping, Sequence
from typing import Protocol, TypeVar

from penstock.results.build import Json


class Named(Protocol):
    """A part of a result that has a name."""

    @property
    def name(self) -> str:
        """Its name."""


NamedT = TypeVar("NamedT", bound=Named)
NamedT_co = TypeVar("NamedT_co", bound=Named, covariant=True)


class HasClasses(Protocol[NamedT_co]):
    """A result with a part for each class."""

    @property
    def classes(self) -> Sequence[NamedT_co]:
        """The parts."""


class ByClass:
    """Access to a run's classes by name: `run["tellers"]`."""

    def __getitem__(self: HasClasses[NamedT], name: str) -> NamedT:
        """Return the class called `name`."""
        for part in self.classes:
            if part.name == name:
                return part
        raise KeyError(name)


class HasPercentiles(Protocol):
    """A distribution of nanoseconds."""

    @property
    def percentiles(self) -> Mapping[float, int]:
        """Percentiles by percent."""


class Percentiles:
    """Attributes for the usual percentiles of a distribution."""

    @property
    def p50(self: HasPercentiles) -> int:
        """The median."""
        return self.percentiles[50.0]

    @property
    def p95(self: HasPercentiles) -> int:
        """The 95th percentile."""
        return self.percentiles[95.0]

    @property
    def p99(self: HasPercentiles) -> int:
        """The 99th percentile."""
        return self.percentiles[99.0]

    @property
    def p999(self: HasPercentiles) -> int:
        """The 99.9th percentile."""
        return self.percentiles[99.9]


def by_percent(distribution: Json) -> Json:
    """Add `percentiles`: the member `percentile` with numbers as keys."""
    percentiles = {float(key): value for key, value in distribution["percentile"].items()}
    return {**distribution, "percentiles": percentiles}


def against_measured(run: Json) -> Json:
    """Add `against_measured`: the figures of a trace with measured response times as one member."""
    return {**run, "against_measured": run if "rms_ms" in run else None}
