"""Makes docs/screenshots: the report of the main job as a browser shows it."""

import tempfile
from pathlib import Path

from PIL import Image

import penstock
from browser import screenshot
from command import ROOT

FOLDER = ROOT / "docs/screenshots"

SHOTS = ((1200, 1750, "light"), (1200, 1750, "dark"), (400, 1600, "light"), (400, 1600, "dark"))
"""Widths, heights and colour schemes."""

BYTES = 300_000
"""A repository is no place for large pictures."""


def main() -> None:
    """Take every picture."""
    FOLDER.mkdir(exist_ok=True)
    policies = ["noop", "deadline", "cfq", "size-priority"]
    job = penstock.Job.from_toml(
        (ROOT / "examples/bank-day.toml").read_text(), name="examples/bank-day.toml"
    )
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        penstock.compare(job, policies=policies).save_report(page)
        for width, height, scheme in SHOTS:
            shot = Path(folder) / "shot.png"
            image = screenshot(page, shot, width=width, height=height, scheme=scheme)
            path = FOLDER / f"report-{width}-{scheme}.png"
            image.quantize(256, Image.Quantize.FASTOCTREE).save(path, optimize=True)
            size = path.stat().st_size
            assert size < BYTES, f"{path} has {size} bytes"
            print(path.relative_to(ROOT), size)


if __name__ == "__main__":
    main()
