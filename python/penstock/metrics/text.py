"""Figures in the text format of Prometheus.

Source: Prometheus, "Exposition formats" and "Metric and label naming".
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from penstock.results.buckets import LatencyBuckets

BEGINNING = "# HELP penstock_"
"""At the beginning of every text of ours."""

Kind: TypeAlias = Literal["counter", "gauge", "histogram"]


class Sample(NamedTuple):
    """A value with the labels that tell it from others of its metric."""

    labels: Mapping[str, str]
    value: float | LatencyBuckets


@dataclass(frozen=True)
class Metric:
    """A metric with its samples; the name has its unit, and that of a counter ends in `_total`."""

    name: str
    kind: Kind
    meaning: str
    samples: Sequence[Sample]


def exposition(metrics: Sequence[Metric]) -> str:
    """Return metrics in the text format; one without samples is left out."""
    return "".join(f"{line}\n" for metric in metrics if metric.samples for line in _lines(metric))


def _lines(metric: Metric) -> Iterator[str]:
    yield f"# HELP {metric.name} {_escaped(metric.meaning)}"
    yield f"# TYPE {metric.name} {metric.kind}"
    for labels, value in metric.samples:
        if isinstance(value, LatencyBuckets):
            yield from _histogram(metric.name, labels, value)
        else:
            yield _line(metric.name, labels, value)


def _histogram(name: str, labels: Mapping[str, str], value: LatencyBuckets) -> Iterator[str]:
    """Yield the lines of a histogram in seconds."""
    for bound_ns, count in value.upto_ns:
        yield _line(f"{name}_bucket", {**labels, "le": _number(bound_ns / 1e9)}, count)
    yield _line(f"{name}_bucket", {**labels, "le": "+Inf"}, value.count)
    yield _line(f"{name}_sum", labels, value.sum_ns / 1e9)
    yield _line(f"{name}_count", labels, value.count)


def _line(name: str, labels: Mapping[str, str], value: float) -> str:
    pairs = ",".join(f'{label}="{_escaped(text, quoted=True)}"' for label, text in labels.items())
    return f"{name}{f'{{{pairs}}}' if pairs else ''} {_number(value)}"


def _escaped(text: str, *, quoted: bool = False) -> str:
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    return text.replace('"', '\\"') if quoted else text


def _number(value: float) -> str:
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    return repr(value)
