"""A reader of Prometheus' text format, which checks the rules of the format and of naming."""

import re
from typing import NamedTuple

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*)\}})? ([^ ]+)")
UNITS = ("seconds", "bytes", "requests", "events", "windows", "changes", "ratio", "info")
STATES = ("running", "decided", "goals_met")
"""Metrics without a unit: 0 or 1."""
PARTS = ("_bucket", "_sum", "_count")
"""Endings of the samples of a histogram."""


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
            assert kind in ("counter", "gauge", "histogram")
            assert (kind == "counter") == name.endswith("_total")
            assert not name.endswith(PARTS)
            assert name.removesuffix("_total").endswith((*UNITS, *STATES)), name
            kinds[name] = kind
        else:
            match = SAMPLE.fullmatch(line)
            assert match is not None, line
            name, written, number = match.groups()
            metric = helped[-1]
            parts = {f"{metric}{part}" for part in PARTS}
            assert name in (parts if kinds[metric] == "histogram" else {metric})
            pairs = LABEL.findall(written or "")
            assert ",".join(f'{key}="{value}"' for key, value in pairs) == (written or "")
            key = (name, frozenset((key, unescaped(value)) for key, value in pairs))
            assert key not in values
            values[key] = float(number.replace("Inf", "inf"))
    assert set(kinds) == set(helped)
    exposed = Exposed(kinds, values)
    for name in (name for name, kind in kinds.items() if kind == "histogram"):
        check_histogram(exposed, name)
    return exposed


def check_histogram(exposed: Exposed, name: str) -> None:
    """Every series of it has buckets that ascend to its count, and a sum that fits them."""
    series: dict[frozenset[tuple[str, str]], list[tuple[float, float]]] = {}
    for (sample, pairs), value in exposed.values.items():
        if sample == f"{name}_bucket":
            (bound,) = (float(text.replace("Inf", "inf")) for key, text in pairs if key == "le")
            rest = frozenset(pair for pair in pairs if pair[0] != "le")
            series.setdefault(rest, []).append((bound, value))
    assert series
    for labels, buckets in series.items():
        bounds, counts = zip(*buckets, strict=True)
        assert list(bounds) == sorted(set(bounds)), "the lines are in the order of the bounds"
        assert list(counts) == sorted(counts)
        assert (bounds[-1], counts[-1]) == (float("inf"), exposed.values[f"{name}_count", labels])
        total = exposed.values[f"{name}_sum", labels]
        least = sum(
            (count - before) * bound
            for bound, count, before in zip((0, *bounds), counts, (0, *counts), strict=False)
        )
        assert total >= least * (1 - 1e-9)
        if len(counts) > 1 and counts[-1] == counts[-2]:
            most = sum(
                (count - before) * bound
                for bound, count, before in zip(bounds[:-1], counts, (0, *counts), strict=False)
            )
            assert total <= most * (1 + 1e-9)


def unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: "\n" if match[1] == "n" else match[1], text)
