"""Metrics in the text format of Prometheus, read by a checker of its own."""

import math
import re
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import metrics
from penstock.errors import WRONG_INPUT, PenstockError
from penstock.metrics import Metric, Sample

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? ([^ ]+)")
UNITS = ("seconds", "bytes", "requests", "events", "windows", "changes", "ratio", "info")
STATES = ("running", "decided", "goals_met")
"""Metrics without a unit: 0 or 1."""


class Exposed(NamedTuple):
    """The metrics of a text: their kinds, and the value of each name with its labels."""

    kinds: dict[str, str]
    values: dict[tuple[str, frozenset[tuple[str, str]]], float]

    def value(self, name: str, **labels: str) -> float:
        """The value of the one sample with these labels, and perhaps others."""
        (known,) = (
            value
            for (metric, pairs), value in self.values.items()
            if metric == name and labels.items() <= dict(pairs).items()
        )
        return known

    def labels(self, name: str, label: str) -> set[str]:
        return {dict(pairs)[label] for metric, pairs in self.values if metric == name}


def checked(text: str) -> Exposed:
    """The metrics of a text, by the rules of Prometheus' exposition formats and naming."""
    assert text.endswith("\n")
    kinds: dict[str, str] = {}
    values: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
    helped: list[str] = []
    for line in text.splitlines():
        if line.startswith("# HELP "):
            _, _, name, meaning = line.split(" ", 3)
            assert name not in helped
            assert meaning
            helped.append(name)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert helped[-1] == name, "help comes first, and all lines of a metric together"
            assert re.fullmatch(NAME, name)
            assert (kind == "counter") == name.endswith("_total")
            assert name.removesuffix("_total").endswith((*UNITS, *STATES)), name
            kinds[name] = kind
        else:
            match = SAMPLE.fullmatch(line)
            assert match is not None, line
            name, written, number = match.groups()
            assert name == helped[-1]
            assert name in kinds
            pairs = LABEL.findall(written or "")
            assert ",".join(f'{key}="{value}"' for key, value in pairs) == (written or "")
            key = (name, frozenset((key, unescaped(value)) for key, value in pairs))
            assert key not in values
            values[key] = float(number.replace("Inf", "inf"))
    assert set(kinds) == set(helped)
    return Exposed(kinds, values)


def unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: "\n" if match[1] == "n" else match[1], text)


def ratio(value: float, **labels: str) -> Metric:
    return Metric("a_ratio", "gauge", "One.", [Sample(labels, value)])


@given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"])), st.floats())
def test_labels_and_values_come_back_as_they_were(label: str, value: float) -> None:
    label = f'{label}\\"\n'
    exposed = checked(metrics.exposition([ratio(value, label=label)]))
    read = exposed.value("a_ratio", label=label)
    assert read == value or (math.isnan(read) and math.isnan(value))


def test_a_metric_without_samples_is_left_out_and_labels_may_be_missing() -> None:
    text = metrics.exposition([Metric("b_total", "counter", "None.", []), ratio(2)])
    assert text == "# HELP a_ratio One.\n# TYPE a_ratio gauge\na_ratio 2\n"
    assert checked(text).value("a_ratio") == 2


def test_a_file_is_replaced_and_nothing_else_is(tmp_path: Path) -> None:
    path = tmp_path / "penstock.prom"
    written = [Metric("penstock_a_ratio", "gauge", "One.", [Sample({}, value)]) for value in (1, 2)]
    for metric in written:
        metrics.check(path)
        metrics.write(path, [metric])
    assert checked(path.read_text()).value("penstock_a_ratio") == 2
    assert list(tmp_path.iterdir()) == [path]
    path.write_text("# HELP node_a One.\n")
    with pytest.raises(PenstockError, match="exists and is no metrics file of penstock") as error:
        metrics.check(path)
    assert error.value.exit_code == WRONG_INPUT
