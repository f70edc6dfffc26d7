"""A report read back: the figures in its data, and the figures that its pictures show."""

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from math import log10
from typing import Any, NamedTuple

FETCHES = {"src", "href", "xlink:href", "srcset", "poster", "action", "formaction", "background"}
"""Attributes by which a page asks for something elsewhere."""


@dataclass
class Page(HTMLParser):
    """What stands in a page."""

    text: str
    fetches: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    styles: list[str] = field(default_factory=list)
    data: str = ""
    words: str = ""

    def __post_init__(self) -> None:
        """Read it."""
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.feed(self.text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what is asked for."""
        self.tags.append(tag)
        self.open.append(tag)
        for name, value in attrs:
            if name in FETCHES and not (value or "").startswith("#"):
                self.fetches.append(f"{tag} {name}={value}")
            if name in {"style", "fill", "stroke", "clip-path", "filter", "mask"}:
                self.styles.append(value or "")
            if (name, value) == ("http-equiv", "refresh"):
                self.fetches.append("refresh")

    def handle_endtag(self, tag: str) -> None:
        """End an element."""
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        """Note text by what it is."""
        inside = self.open[-1] if self.open else ""
        if inside == "script":
            self.data += data
        elif inside == "style":
            self.styles.append(data)
        else:
            self.words += data

    def requests(self) -> Iterator[str]:
        """Everything that a browser would fetch for this page."""
        yield from self.fetches
        for style in self.styles:
            yield from re.findall(r"@import[^;]*", style)
            urls = re.findall(r"url\(\s*['\"]?([^)'\"]*)", style)
            yield from (url for url in urls if not url.startswith("#"))

    def comparison(self) -> Any:  # noqa: ANN401 - JSON
        """The comparison with its detail, put together from the page's data."""
        data = json.loads(self.data)
        assert set(data) == {"comparison", "detail"}
        comparison = data["comparison"]
        for run, detail in zip(comparison["runs"], data["detail"], strict=True):
            assert run["policy"] == detail["policy"]
            classes = [_class(one) for one in detail["classes"]]
            run["detail"] = {"window_s": detail["window_s"], "classes": classes}
            if "policy_series" in detail:
                run["detail"]["policy"] = detail["policy_series"]
            for name in ("agents", "arm"):
                if name in detail:
                    run["detail"][name] = detail[name]
        return comparison

    def picture(self, name: str) -> "Picture":
        """The chart called `name`."""
        found = re.search(
            rf'<figure id="chart-{re.escape(name)}">.*?(<svg.*?</svg>)\s*</figure>',
            self.text,
            re.DOTALL,
        )
        assert found, name
        return Picture(ET.fromstring(found[1]))

    def pictures(self) -> list[str]:
        """Names of all charts."""
        return re.findall(r'<figure id="chart-([^"]+)">', self.text)


def _class(one: dict[str, Any]) -> dict[str, Any]:
    def pairs(of: dict[str, list[int]]) -> list[list[int]]:
        return [list(pair) for pair in zip(of["upper_ns"], of["count"], strict=True)]

    series = one["series"]
    rows = [dict(zip(series, row, strict=True)) for row in zip(*series.values(), strict=True)]
    spreads = {"lat_ns": pairs(one["lat_ns"]), "wait_ns": pairs(one["wait_ns"])}
    return {"name": one["name"], **spreads, "series": rows}


class Line(NamedTuple):
    """A line or a mark of a picture: how it is drawn, and where, in pixels of the plot."""

    colour: str
    dash: str
    points: list[tuple[float, float]]


class Picture:
    """A chart as SVG, and its axes, so that figures can be read off it as a person would."""

    def __init__(self, svg: ET.Element) -> None:
        """Of this element."""
        self.svg = svg

    def labels(self) -> list[str]:
        """Words of the legend."""
        return [text for group in self._groups("role-legend-label") for text in _texts(group)]

    def words(self) -> list[str]:
        """All words in it."""
        return _texts(self.svg)

    def lines(self) -> list[Line]:
        """Its lines, in the order in which they are drawn."""
        paths = [path for group in self._groups("mark-line") for path in group.iter("path")]
        return [
            Line(path.get("stroke", ""), path.get("stroke-dasharray", ""), _points(path))
            for path in paths
        ]

    def marks(self) -> list[Line]:
        """Its marks; each has one point."""
        found = []
        for group in self._groups("mark-symbol"):
            if "role-mark" in group.get("class", ""):
                for path in group.iter("path"):
                    place = _place(path)
                    found.append(Line(path.get("fill", ""), path.get("d", ""), [place]))
        return found

    def axis(self, which: str) -> list[tuple[float, str]]:
        """The `x` or the `y` axis: where each tick is, and what stands at it."""
        for group in self._groups("role-axis"):
            ticks = [
                _place(line)
                for inner in group.iter("g")
                if "role-axis-tick" in inner.get("class", "")
                for line in inner.iter("line")
            ]
            words = [
                (word.text or "", word.get("opacity") != "0")
                for inner in group.iter("g")
                if "role-axis-label" in inner.get("class", "")
                for word in inner.iter("text")
            ]
            along = 0 if which == "x" else 1
            if len(ticks) > 1 and len({tick[1 - along] for tick in ticks}) == 1:
                pairs = zip(ticks, words, strict=True)
                return [(tick[along], word) for tick, (word, shown) in pairs if shown]
        raise AssertionError(f"no axis {which}")

    def _groups(self, name: str) -> Iterator[ET.Element]:
        return (one for one in self.svg.iter("g") if name in one.get("class", "").split())


def _texts(element: ET.Element) -> list[str]:
    return [text.text or "" for text in element.iter("text")]


def _place(element: ET.Element) -> tuple[float, float]:
    found = re.match(r"translate\(([-\d.]+),([-\d.]+)\)", element.get("transform", ""))
    assert found is not None, element.attrib
    return float(found[1]), float(found[2])


def _points(path: ET.Element) -> list[tuple[float, float]]:
    pairs = re.findall(r"([-\d.]+),([-\d.]+)", path.get("d", ""))
    return [(float(x), float(y)) for x, y in pairs]


UNITS = {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9}


def read_off(ticks: list[tuple[float, str]], at: float, *, log: bool = False) -> float:
    """The value at a place on an axis, by its first and last tick; times are in nanoseconds."""

    def value(text: str) -> float:
        number, _, unit = text.replace(",", "").partition(" ")
        return float(number) * UNITS.get(unit, 1.0)

    (first, low), (last, high) = ticks[0], ticks[-1]
    part = (at - first) / (last - first)
    if log:
        return float(10 ** (log10(value(low)) + part * log10(value(high) / value(low))))
    return value(low) + part * (value(high) - value(low))
