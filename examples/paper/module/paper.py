"""The mean wait of a request before a device that serves one at a time, simulated again.

Three runs of one job, each with another rate of Poisson arrivals. A request takes 1 ms.
"""

from collections.abc import Iterator, Mapping

from penstock.papers.claims import Rule, grow
from penstock.papers.paper import Paper, Simulation
from penstock.papers.pictures import Bars, of_bars
from penstock.papers.published import PERCENT, FigureColumn, Published, Row
from penstock.papers.sensitivity import ModelVariant, Sensitivity
from penstock.papers.settings import Settings
from penstock.results.json_types import Run

NAME = "mean-wait"

RATES = (300, 500, 800)
"""Arrivals a second."""

SETTINGS = Settings(
    keys={"seed": ("seed",), "service": ("device.base",)}, examples=("seed=2", "service=500us")
)


def runs(arguments: Mapping[str, str]) -> Iterator[Simulation]:
    """A run for each rate."""
    for rate in RATES:
        sets = [f"agent.0.arrivals.rate={rate}/s", *SETTINGS.of_job(arguments)]
        yield Simulation({"arrivals": "poisson", "rate": rate}, "fcfs", sets)


def figures(run: Run) -> Row:
    """The mean wait of a run."""
    (requests,) = run["classes"]
    return {"wait_ms": requests["wait_ns"]["mean"] / 1e6}


PAPER = Paper(
    name=NAME,
    help="Make the mean wait of Poisson arrivals again, with what the formula gives.",
    title="Mean waits",
    published=Published(
        paper=NAME,
        names={"rate": {}},
        cells={"wait_ms": FigureColumn("mean wait", "ms", digits=3, published_digits=3)},
        away=PERCENT,
    ),
    settings=SETTINGS,
    runs=runs,
    figures=figures,
    series="arrivals",
    cases="rates 300, 500, 800",
    rules=(
        Rule(
            id="grows",
            text="the mean wait grows with the rate",
            figure="wait_ms",
            series=("poisson",),
            holds=lambda waits: grow(waits["poisson"]),
        ),
        Rule(
            id="faster",
            text="it grows faster than the rate does",
            figure="wait_ms",
            series=("poisson",),
            holds=lambda waits: waits["poisson"][-1] / waits["poisson"][0] > RATES[-1] / RATES[0],
        ),
    ),
    pictures=of_bars(
        title="Mean waits",
        about="What a request waits on average.",
        figures=(Bars("wait", "Mean wait", "ms", "wait_ms"),),
        series=["poisson"],
        place=lambda row: (row["arrivals"], f"{row['rate']}/s"),
    ),
    sensitivity=Sensitivity(
        variants={"A": ModelVariant("as it is set", {})},
        points=[{"seed": f"{seed}"} for seed in range(1, 6)],
        noun="seeds",
        about="The random source begins at 5 seeds.",
        help="Also run at 5 other seeds.",
    ),
)
