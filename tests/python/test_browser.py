"""The report in a real browser: wide and narrow, light and dark."""

from pathlib import Path

import pytest

import penstock
from browser import measured, screenshot
from command import ROOT
from penstock.charts import palette

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bank's minute under three policies."""
    path = tmp_path_factory.mktemp("report") / "out.html"
    policies = ["noop", "deadline", "size-priority"]
    job = ROOT / "examples/bank-day.toml"
    penstock.compare(job, policies=policies, set={"duration": "1min"}).save_report(path)
    return path


def rgb(colour: str) -> tuple[int, ...]:
    """A colour as a picture has it."""
    return tuple(int(colour[at : at + 2], 16) for at in (1, 3, 5))


@pytest.mark.parametrize("width", [400, 1200])
def test_it_fits(report: Path, tmp_path: Path, width: int) -> None:
    inner, content, beyond, charts, rows = measured(report, tmp_path / "copy.html", width=width)
    assert inner == width
    assert content == width
    assert beyond == 0
    assert charts == 19
    # Pictures stand side by side where there is room.
    assert rows == (11 if width == 1200 else 19)


@pytest.mark.parametrize("width", [pytest.param(400, marks=pytest.mark.soak), 1200])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_drawn_in_the_colours_that_the_reader_prefers(
    report: Path, tmp_path: Path, width: int, scheme: str
) -> None:
    image = screenshot(report, tmp_path / "shot.png", width=width, height=6000, scheme=scheme)
    assert image.width == width
    counted = image.getcolors(1 << 24) or []
    seen = {colour: count for count, colour in counted if isinstance(colour, tuple)}
    ours, other = (0, 1) if scheme == "light" else (1, 0)
    ground = seen[rgb(palette.GROUND[ours])]
    assert 0.7 < ground / (image.width * image.height) < 0.99
    assert seen.get(rgb(palette.GROUND[other]), 0) < 0.01 * ground
    for pair in (*palette.POLICIES[:3], palette.INK):
        assert seen.get(rgb(pair[ours]), 0) > 50, pair
    for pair in palette.POLICIES[:3]:
        assert seen.get(rgb(pair[other]), 0) < 20, pair
