"""A real browser without a window: Chromium, started anew for each question."""

import os
import re
import shutil
import subprocess
import tempfile
from html import escape
from pathlib import Path

import pytest
from PIL import Image

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
)

SCHEMES = {"dark": 0, "light": 1}
"""How Blink numbers what `prefers-color-scheme` says."""

MEASURE = """<script>
const root = document.documentElement;
const out = [...document.querySelectorAll("body *")].filter(
  (e) => !e.closest(".wide, pre, svg") && e.getBoundingClientRect().right > innerWidth + 0.5);
const charts = [...document.querySelectorAll("svg.chart")].map((e) => e.getBoundingClientRect());
const rows = new Set(charts.map((box) => box.top)).size;
parent.document.documentElement.dataset.measured =
  [innerWidth, root.scrollWidth, out.length, charts.length, rows].join(" ");
</script>"""
"""Measures a copy of a page: the page itself has no script, and allows none."""

FRAME = (
    '<!DOCTYPE html><body style="margin:0">'
    '<iframe style="border:0" width={} height=900 srcdoc="{}">'
)
"""A page around it: no window is as narrow as a phone."""


def chromium() -> str:
    """Where Chromium is. Without it a test is skipped, but never where CI runs."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None and os.environ.get("CI") == "true":
        pytest.fail("CI must have Chromium: apt-get install --no-install-recommends chromium")
    if found is None:
        pytest.skip("there is no Chromium here: apt-get install chromium")
    return found


def _run(*words: str, width: int, height: int, scheme: str) -> str:
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run(
            [
                chromium(),
                *FLAGS,
                f"--user-data-dir={profile}",
                f"--window-size={width},{height}",
                f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}",
                *words,
            ],
            capture_output=True,
            encoding="utf-8",
            timeout=100,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    return done.stdout


def measured(page: Path, copy: Path, *, width: int) -> tuple[int, int, int, int, int]:
    """A page laid out at this width.

    The window's and the content's width, how many elements reach beyond the window, how many charts
    there are, and in how many rows.
    """
    text = re.sub(r"<meta http-equiv[^>]*>", "", page.read_text(), count=1)
    text = text.replace("</body>", f"{MEASURE}</body>")
    copy.write_text(FRAME.format(width, escape(text)))
    dom = _run("--dump-dom", copy.as_uri(), width=width, height=900, scheme="light")
    found = re.search(r'data-measured="(\d+) (\d+) (\d+) (\d+) (\d+)"', dom)
    assert found is not None, dom[:1000]
    inner, content, beyond, charts, rows = map(int, found.groups())
    return inner, content, beyond, charts, rows


def screenshot(page: Path, into: Path, *, width: int, height: int, scheme: str) -> Image.Image:
    """A picture of the page's first `height` pixels."""
    _run(f"--screenshot={into}", page.as_uri(), width=width, height=height, scheme=scheme)
    with Image.open(into) as image:
        return image.convert("RGB")
