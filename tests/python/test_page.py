"""What holds for the page of every answer: it needs nothing else, and is of one make."""

import json
import re
from collections.abc import Callable

import pytest

import penstock
from command import ROOT
from penstock import _native
from penstock.charts import palette
from penstock.papers.online_batch.paper import PAPER
from penstock.papers.page import page as paper_page
from penstock.papers.result import simulated
from penstock.report import comparison, trace
from penstock.report.page import Page as Made
from penstock.study.analysis import analyse
from penstock.study.report import page as study_page
from penstock.study.table import read
from reading import Page

EVIL = "</script><script>alert(1)</script><!--\u2028"
"""What would end the data of a page, and begin another script, if it were written as it is."""

JOB = """\
duration = "1s"
device = "hdd-7200"

[class.all]

[[agent]]
class = "all"
op = "write"
size = "4KiB"
pattern = "random"
arrivals = { kind = "poisson", rate = "40/s" }
"""


def compared() -> Made:
    """The page of a comparison."""
    job = penstock.Job.from_toml(JOB, name=EVIL)
    return comparison.page(penstock.compare(job, policies=["noop", "fairio"]).raw)


def swept() -> Made:
    """The page of a sweep."""
    job = penstock.Job.from_toml(JOB, name=EVIL)
    found = penstock.sweep(job, {"policy": ["noop", "cfq"]}, x="all.p99", y="all.bw")
    return comparison.sweep_page(found.comparison, found.tradeoff, command=EVIL)


def studied() -> Made:
    """The page of an analysis."""
    table = read(str(ROOT / "examples/studies/fio.csv"), response="iops")
    return study_page(None, [(None, analyse(table))], command=EVIL)


def traced() -> Made:
    """The page of a trace."""
    path = ROOT / "examples/traces/pgbench-backup.blkparse.gz"
    return trace.page({**json.loads(_native.trace_describe(path, drawn=True)), "file": EVIL})


def paper() -> Made:
    """The page of a paper."""
    result = simulated(PAPER, {})
    return paper_page(result)


KINDS: list[Callable[[], Made]] = [compared, swept, studied, traced, paper]


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: kind.__name__)
def page(request: pytest.FixtureRequest) -> Page:
    """A page of each kind."""
    return Page(request.param().html())


def test_it_asks_for_nothing_elsewhere(page: Page) -> None:
    assert list(page.requests()) == []
    assert not re.search(r"https?:|//[a-z]", page.text.replace("Content-Security-Policy", ""))
    assert not {"link", "img", "iframe", "object", "embed", "base"} & set(page.tags)


def test_no_text_can_end_its_data(page: Page) -> None:
    assert page.tags.count("script") == 1
    assert json.loads(page.data)


def test_names_within_do_not_meet(page: Page) -> None:
    names = re.findall(r'\bid="([^"]+)"', page.text)
    assert len(names) == len(set(names))
    used = set(re.findall(r"url\(#([^)]+)\)", page.text))
    assert used <= set(names)


def test_every_colour_has_a_dark_one(page: Page) -> None:
    light = {one.light for one in (*palette.DRAWN, palette.GROUND)}
    assert page.pictures()
    for name in page.pictures():
        for element in page.picture(name).svg.iter():
            for paint in ("fill", "stroke"):
                colour = element.get(paint, "none")
                assert colour in {"none", "transparent"} | light, (name, colour)
    for colour in light:
        for paint in ("fill", "stroke"):
            assert f"svg.chart [{paint}='{colour}']{{{paint}:#" in page.text


def test_there_is_one_template() -> None:
    templates = ROOT / "python/penstock/report/templates"
    whole = [file.name for file in templates.iterdir() if "<html" in file.read_text()]
    assert whole == ["page.html.jinja"]


def test_a_reader_of_pages_sees_what_would_be_fetched() -> None:
    foreign = (
        '<style>@import "a.css"; p{background:url(b.png)}</style>'
        '<img src="http://c"><p style="background:url(\'d\')"><use href="#here"/>'
        '<link href=e><g clip-path="url(#f)">'
    )
    assert list(Page(foreign).requests()) == [
        "img src=http://c",
        "link href=e",
        '@import "a.css"',
        "b.png",
        "d",
    ]
