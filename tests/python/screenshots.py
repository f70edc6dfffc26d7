"""Makes docs/screenshots: the report of the main job as a browser shows it, and its live view."""

import asyncio
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from PIL import Image

import penstock
from browser import screenshot
from command import ROOT
from penstock import _native
from penstock.results.steps import Step
from penstock.session import Variant, compare
from penstock.signals import StopSignal
from penstock.target import Target
from penstock.watch.screen import Screen

FOLDER = ROOT / "docs/screenshots"

SHOTS = ((1200, 1750, "light"), (1200, 1750, "dark"), (400, 1600, "light"), (400, 1600, "dark"))
"""Widths, heights and colour schemes."""

BYTES = 300_000
"""A repository is no place for large pictures."""


JOB = "examples/bank-day.toml"

WATCHED = ("duration=75s", "4")
"""What is watched: the main job, a minute and a bit of it, so many times as fast as real time."""

WINDOW = (100, 23)
"""Columns and lines of the terminal."""


def main() -> None:
    """Take every picture."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        report(Path(folder))
        live_view(Path(folder))


def report(folder: Path) -> None:
    """The report, at each width and in each colour scheme."""
    policies = ["noop", "deadline", "cfq", "size-priority"]
    job = penstock.Job.from_toml((ROOT / JOB).read_text(), name=JOB)
    page = folder / "report.html"
    penstock.compare(job, policies=policies).save_report(page)
    for width, height, scheme in SHOTS:
        image = screenshot(page, folder / "shot.png", width=width, height=height, scheme=scheme)
        save(image, f"report-{width}-{scheme}.png")


def live_view(folder: Path) -> None:
    """The live view, shortly before its second policy ends."""
    duration, speed = WATCHED
    pace = _native.Pace()
    almost = False

    def engine(on_step: Callable[[Step], None]) -> str:
        def progress(step: Step) -> None:
            nonlocal almost
            almost = step["step"] == "running" and (step["number"] + step["fraction"]) > 1.95
            on_step(step)

        policies = ["noop", "size-priority"]
        variant = Variant(name=str(ROOT / JOB), policies=policies, sets=[duration])
        return compare(variant, Target(), progress=progress, watch=pace, speed=speed)

    async def shown() -> str:
        app = Screen(JOB, engine, pace=pace, speed=speed, stop_signal=StopSignal())
        async with app.run_test(size=WINDOW) as pilot:
            while not almost:
                await pilot.pause(0.1)
            return app.export_screenshot(title="penstock watch")

    # Without the fonts that it would fetch from elsewhere.
    svg = re.sub(r"@font-face \{.*?\}", "", asyncio.run(shown()), flags=re.DOTALL)
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    assert box is not None
    page = folder / "watch.html"
    page.write_text(f'<!DOCTYPE html><meta charset="utf-8"><body style="margin:0">{svg}')
    width, height = (round(float(side)) for side in box.groups())
    image = screenshot(page, folder / "shot.png", width=width, height=height, scheme="dark")
    save(image, "watch.png")


def save(image: Image.Image, name: str) -> None:
    """Keep a picture, with few enough colours that it is small."""
    path = FOLDER / name
    image.quantize(256, Image.Quantize.FASTOCTREE).save(path, optimize=True)
    size = path.stat().st_size
    assert size < BYTES, f"{path} has {size} bytes"
    print(path.relative_to(ROOT), size)


if __name__ == "__main__":
    main()
