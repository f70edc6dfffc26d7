"""The mean wait of a request before a device that serves one at a time, simulated again.

Three runs of one job, each with another rate of Poisson arrivals. A request takes 1 ms.
"""

import json
from collections.abc import Mapping

from penstock import _native
from penstock.errors import translated
from penstock.papers import files
from penstock.papers.claims import Rule, grow
from penstock.papers.paper import Paper
from penstock.papers.pictures import Picture, Pictures
from penstock.papers.published import PERCENT, Cell, Published, Row
from penstock.papers.sensitivity import Sensitivity, Variant
from penstock.papers.settings import Settings

NAME = "mean-wait"

RATES = (300, 500, 800)
"""Arrivals a second."""

SETTINGS = Settings(
    keys={"seed": ("seed",), "service": ("device.base",)}, examples=("seed=2", "service=500us")
)


def rows(given: Mapping[str, str]) -> list[Row]:
    """A run for each rate."""
    return [row(rate, given) for rate in RATES]


def row(rate: int, given: Mapping[str, str]) -> Row:
    """One run."""
    sets = [f"agent.0.arrivals.rate={rate}/s", *SETTINGS.of_job(given)]
    with SETTINGS.errors(given), translated():
        text = files.text(NAME, "job.toml")
        found = _native.compare(NAME, text=text, policies=["fcfs"], sets=sets, detail=False)
    (run,) = json.loads(found)["runs"]
    (one,) = run["classes"]
    return {"arrivals": "poisson", "rate": rate, "wait_ms": one["wait_ns"]["mean"] / 1e6}


PAPER = Paper(
    name=NAME,
    help="Make the mean wait of Poisson arrivals again, with what the formula gives.",
    title="Mean waits",
    published=Published(
        paper=NAME,
        names={"rate": {}},
        cells={"wait_ms": Cell("mean wait", "ms", digits=3, published_digits=3)},
        away=PERCENT,
    ),
    settings=SETTINGS,
    simulate=rows,
    series="arrivals",
    cases="rates 300, 500, 800",
    rules=(
        Rule(
            id="grows",
            text="the mean wait grows with the rate",
            figure="wait_ms",
            series=("poisson",),
            holds=lambda of: grow(of["poisson"]),
        ),
        Rule(
            id="faster",
            text="it grows faster than the rate does",
            figure="wait_ms",
            series=("poisson",),
            holds=lambda of: of["poisson"][-1] / of["poisson"][0] > RATES[-1] / RATES[0],
        ),
    ),
    pictures=Pictures(
        title="Mean waits",
        about="What a request waits on average.",
        figures=(Picture("wait", "Mean wait", "ms", "wait_ms"),),
        series=["poisson"],
        place=lambda row: (row["arrivals"], f"{row['rate']}/s"),
    ),
    sensitivity=Sensitivity(
        variants={"A": Variant("as it is set", {})},
        points=[{"seed": f"{seed}"} for seed in range(1, 6)],
        noun="seeds",
        about="The random source begins at 5 seeds.",
        help="Also run at 5 other seeds.",
    ),
)
