"""Figures in the text format of Prometheus, in a file that a node exporter's collector reads.

Source: Prometheus, "Exposition formats".
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from penstock.report import files

MARK = b"# HELP penstock_"
"""At the beginning of every such file of ours."""


Kind: TypeAlias = Literal["counter", "gauge"]


class Sample(NamedTuple):
    """A value with the labels that tell it from others of its metric."""

    labels: Mapping[str, str]
    value: float


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
        pairs = ",".join(f'{name}="{_escaped(text, quoted=True)}"' for name, text in labels.items())
        yield f"{metric.name}{f'{{{pairs}}}' if pairs else ''} {_number(value)}"


def _escaped(text: str, *, quoted: bool = False) -> str:
    text = text.replace("\\", "\\\\").replace("\n", "\\n")
    return text.replace('"', '\\"') if quoted else text


def _number(value: float) -> str:
    if value in (float("inf"), float("-inf")):
        return "+Inf" if value > 0 else "-Inf"
    return repr(value)


def check(path: Path) -> None:
    """Raise an error unless metrics may be written to `path`."""
    files.check(path, is_ours=_is_ours, kind="metrics file")


def _is_ours(path: Path) -> bool:
    with path.open("rb") as file:
        text = file.read(len(MARK))
    return text in (MARK, b"")


def write(path: Path, metrics: Sequence[Metric]) -> None:
    """Write metrics to `path`, whole or not at all.

    They are not flushed to the disk: they are worth nothing after a crash, and a flush every second
    would be a load of its own on the disk that they may be about.

    # Errors
    The file cannot be written.
    """
    files.write(path, exposition(metrics).encode(), durable=False)
