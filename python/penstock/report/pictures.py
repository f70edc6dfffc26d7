"""Charts as SVG for a page and as PNG for everything else, without a browser."""

import itertools
import re
import struct
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import altair as alt
import vl_convert as vlc

from penstock.charts import palette
from penstock.charts.style import unchecked
from penstock.report.files import DRAWING_MARK, PICTURE_MARK
from penstock.text.names import shown

SLIDE_PIXELS = 1920
"""Width of a PNG for a slide."""

SLIDE_PLOT = 480
"""Least width of the plot on a slide, in pixels of its chart."""

SCALE = 2.0
"""Pixels of a PNG for one of its chart: sharp on paper and on dense screens."""

_ATTRIBUTE = re.compile(r'="[^"<>]*\d\.\d{2,}[^"<>]*"')
_VIEW = re.compile(r'<svg [^>]*?viewBox="0 0 ([0-9.]+) ')
_LONG = re.compile(r"-?\d+\.\d{2,}")
_HEADER = 8 + 25
"""Bytes of a PNG before the first chunk that may be left out: its signature and its header."""


def png(chart: alt.TopLevelMixin) -> bytes:
    """A chart on light ground, marked as ours."""
    return _marked(vlc.vegalite_to_png(_spec(chart), scale=SCALE, allowed_base_urls=[]))


def _marked(picture: bytes) -> bytes:
    kind_and_text = PICTURE_MARK
    chunk = struct.pack(">I", len(kind_and_text) - 4) + kind_and_text
    chunk += struct.pack(">I", zlib.crc32(kind_and_text))
    return picture[:_HEADER] + chunk + picture[_HEADER:]


def drawing(chart: alt.TopLevelMixin) -> bytes:
    """A chart on light ground as a file of SVG, marked as ours."""
    drawn: str = vlc.vegalite_to_svg(_spec(chart), allowed_base_urls=[])
    return DRAWING_MARK + b"\n" + drawn.encode()


class Slide(NamedTuple):
    """A chart with a title, as a file of SVG, marked as ours."""

    svg: bytes

    @classmethod
    def of(
        cls, chart: alt.TopLevelMixin, *, title: str, about: Sequence[str], dark: bool
    ) -> "Slide":
        """Draw a chart at the width of a slide, with a title and what it is about."""
        title, about = shown(title), [shown(line) for line in about]
        spec = _spec(chart)
        for plot in (spec, *spec.get("vconcat", ())):
            if "width" in plot:
                plot["width"] = max(plot["width"], SLIDE_PLOT)
        spec["title"] = {
            "text": title,
            "subtitle": list(about),
            "anchor": "start",
            "frame": "bounds",
            "fontSize": 17,
            "subtitleFontSize": 12,
            "color": palette.INK.light,
            "subtitleColor": palette.FAINT.light,
            "subtitlePadding": 6,
            "offset": 14,
        }
        drawn: str = vlc.vegalite_to_svg(spec, allowed_base_urls=[])
        if dark:
            for pair in (palette.GROUND, *palette.DRAWN):
                drawn = drawn.replace(f'"{pair.light}"', f'"{pair.dark}"')
        return cls(DRAWING_MARK + b"\n" + drawn.encode())

    def png(self) -> bytes:
        """Return the slide as a picture as wide as a screen."""
        drawn = self.svg.decode()
        width = _VIEW.search(drawn)
        assert width is not None
        scale = SLIDE_PIXELS / float(width[1])
        return _marked(vlc.svg_to_png(drawn, scale=scale))


def svg(chart: alt.TopLevelMixin, *, name: str, title: str) -> str:
    """A chart without a ground of its own, to stand in a page with others.

    Coordinates are rounded to a tenth of a pixel, and names are made different from those of other
    charts in the page.
    """
    spec = _spec(chart)
    spec["config"]["background"] = "transparent"
    drawn: str = vlc.vegalite_to_svg(spec, allowed_base_urls=[])
    drawn = _ATTRIBUTE.sub(lambda attribute: _LONG.sub(_rounded, attribute[0]), drawn)
    numbers = itertools.count()
    # In their order: that of a set differs from process to process, and so would the page.
    for identifier in dict.fromkeys(re.findall(r'\bid="([^"]+)"', drawn)):
        unique = f"{name}-{next(numbers)}"
        drawn = drawn.replace(f'id="{identifier}"', f'id="{unique}"')
        drawn = drawn.replace(f"url(#{identifier})", f"url(#{unique})")
    size = re.search(r'<svg [^>]*?viewBox="([^"]+)"', drawn)
    assert size is not None
    _, _, width, _ = size[1].split()
    head = (
        f'<svg class="chart" role="img" aria-label="{title}" viewBox="{size[1]}" '
        f'style="max-width:{1.35 * float(width):.0f}px">'
    )
    return re.sub(r"<svg [^>]*>", head, drawn, count=1)


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.1f}".removesuffix(".0")


def _spec(chart: alt.TopLevelMixin) -> dict[str, Any]:
    with unchecked():
        spec: dict[str, Any] = chart.to_dict(validate=False)
    return spec
