"""The online-batch paper: section V of it, simulated again."""

from penstock.papers.online_batch.claims import RULES
from penstock.papers.online_batch.phases import SENSITIVITY
from penstock.papers.online_batch.simulation import CASES, NAME, SETTINGS, figures, runs
from penstock.papers.online_batch.tables import PICTURES, PUBLISHED, more
from penstock.papers.paper import Paper

PAPER = Paper(
    name=NAME,
    help="""\
Make tables IV and V and figures 7 and 8 again, with the published figures.

Nine simulated runs: no priority, priority on the processors, on processors and disk, each with
three loads of the disk. What the paper leaves open was chosen with its tables in sight.""",
    title="Tables IV and V",
    published=PUBLISHED,
    settings=SETTINGS,
    runs=runs,
    figures=figures,
    series="control",
    cases=f"cases {', '.join(map(str, CASES))}",
    rules=RULES,
    more=more,
    pictures=PICTURES,
    sensitivity=SENSITIVITY,
)
