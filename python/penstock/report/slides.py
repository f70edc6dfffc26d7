"""Charts as pictures that stand alone: SVG and PNG as wide as a slide, which say what they show.

Each has a title, the class, the job, the device, the world and the date.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from os import PathLike, environ
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.report import files, pictures
from penstock.results import rounds
from penstock.results.json_types import Comparison
from penstock.text import ranges

if TYPE_CHECKING:
    import altair as alt

TITLES = {
    "tradeoff": "What one gains and another one pays",
    "rounds": "How far rounds lie apart",
    "latency": "How long requests take",
    "percentiles": "Latency over time",
    "throughput": "Throughput over time",
    "queue": "Queue over time",
    "share": "Share of the device over time",
    "shares": "Who had the device",
    "arm": "Where the arm was",
    "policy": "What the policy counts",
}
"""What each kind of chart shows, in the order of a page."""

KINDS = {files.DRAWING: files.is_drawing, files.PICTURE: files.is_picture}
"""What is written of each chart."""


def save(
    comparison: Comparison,
    drawn: "Mapping[str, alt.TopLevelMixin]",
    folder: str | PathLike[str],
    *,
    dark: bool = False,
) -> int:
    """Write charts into `folder` and return how many files there are."""
    folder = Path(folder)
    files.check_folder(folder)
    files.make_folder(folder)
    paths = {(name, kind): folder / f"{name}{kind}" for name in drawn for kind in KINDS}
    for (_, kind), path in paths.items():
        files.check(path, is_ours=KINDS[kind], what="picture")
    about = _about(comparison)
    for name, chart in drawn.items():
        slide = pictures.Slide.of(chart, title=title(name), about=about, dark=dark)
        files.write(paths[name, files.DRAWING], slide.svg)
        files.write(paths[name, files.PICTURE], slide.png())
    return len(paths)


def title(name: str) -> str:
    """What the chart of this name shows, and of which class."""
    kind, _, of = name.partition("-")
    return f"{TITLES[kind]}: {of}" if of else TITLES[kind]


def date(comparison: Comparison) -> str:
    """The day of the run, or of today if it is of a model; `SOURCE_DATE_EPOCH` is another today."""
    began = comparison["machine"].get("began_unix_s")
    today = environ.get("SOURCE_DATE_EPOCH", "")
    if began is None and today.isdecimal():
        began = int(today)
    return f"{datetime.now(UTC) if began is None else datetime.fromtimestamp(began, UTC):%Y-%m-%d}"


def _about(comparison: Comparison) -> Sequence[str]:
    """What ran where, and when."""
    seeds = f"seed {comparison['seed']}"
    if rounds.repeated(comparison):
        seeds = ranges.seeds(comparison)
    where = f"{comparison['job']['file']} on {comparison['device']}"
    lines = [f"{comparison['world'].upper()}: {where}, {seeds}, {date(comparison)}"]
    if comparison["job"]["set"]:
        lines.append(", ".join(comparison["job"]["set"]))
    return lines
