"""What holds of every registered paper: its command, its claims, its report, its page."""

import json
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

import papers
from command import ROOT, penstock
from penstock import __version__
from penstock.answer.terminal import show
from penstock.papers import PAPERS, files
from penstock.papers.paper import Paper, load
from penstock.papers.result import Result, blocks, simulated
from penstock.papers.study import Study
from reading import Page


def models(name: str) -> list[str]:
    """The option that leaves out what runs under the kernel, if a paper has such a part."""
    return ["--without-root"] if PAPERS[name].kernel else []


@pytest.fixture(params=PAPERS)
def paper(request: pytest.FixtureRequest) -> Study:
    return load(request.param)


@pytest.fixture
def table(paper: Study) -> Paper:
    """A paper with one published table."""
    if not isinstance(paper, Paper):
        pytest.skip("it has tables of its own, and tests of its own for them")
    return paper


def test_it_is_listed_with_a_line(paper: Study) -> None:
    help_ = " ".join(penstock("paper", "--help").out.split())
    assert f" {paper.name} {PAPERS[paper.name].line}" in help_
    own = penstock("paper", paper.name, "--help").out
    assert ("The paper's programs on a disk, in real time." in own) == PAPERS[paper.name].live


def test_it_is_registered_as_its_folder_is() -> None:
    folders = {path.parent.name for path in (ROOT / "python/penstock/papers").glob("*/paper.py")}
    assert folders == {name.replace("-", "_") for name in PAPERS}
    for name, listed in PAPERS.items():
        assert load(name).name == name
        command = f"penstock.papers.{name.replace('-', '_')}.live_command"
        assert (find_spec(command) is not None) == listed.live
        assert (load(name).under_kernel is not None) == listed.kernel


def test_no_paper_is_imported_before_one_is_asked_for() -> None:
    script = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from penstock.cli.app import app\n"
        "for words in (['--version'], ['--help'], ['list', 'devices'], ['paper', '--help']):\n"
        "    assert CliRunner().invoke(app, words).exit_code == 0\n"
        "print([name for name in sys.modules if name.startswith('penstock.papers.')\n"
        "       and name.count('.') > 2])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_it_says_who_published_what_where(paper: Study) -> None:
    of = files.published(paper.name)
    assert all(of[key] in files.source(paper.name) for key in ("authors", "title", "published"))


def test_every_claim_is_about_a_figure_that_the_paper_published(table: Paper) -> None:
    drawn = table.pictures.figures if table.pictures else ()
    names = {rule.id for rule in table.rules}
    assert len(names) == len(table.rules) > 0
    series = {row[table.series] for row in table.published.rows}
    for rule in table.rules:
        assert rule.figure in {*table.published.cells, *drawn}, rule.id
        assert set(rule.series) <= series, rule.id


def test_every_row_was_published_and_every_suspect_cell_is_explained(table: Paper) -> None:
    of = table.published
    for row in of.rows:
        assert set(of.names) < set(row)
        published = set(of.cells) & set(row)
        assert published
        assert set(row.get("suspect", [])) <= published
        assert of.suspect_because or "suspect" not in row


def test_its_json_and_its_text_have_its_figures_and_the_claims(paper: Study) -> None:
    words = [word for setting in paper.quick for word in ("--set", setting)]
    ended = penstock("paper", paper.name, *words, *models(paper.name), "--json")
    assert (ended.code, ended.err) == (0, "")
    data = json.loads(ended.out)
    assert list(data)[:2] == ["penstock", "set"]
    given, figures = paper.settings.read(paper.quick), paper.read(data)
    assert (data["penstock"], data["set"]) == (__version__, given)
    claims = paper.claims(figures)
    result = Result(paper=paper, given=given, ours=figures, claims=claims)
    assert data == json.loads(json.dumps(result.json()))
    stream = StringIO()
    show(Console(file=stream, width=120, highlight=False), blocks(result))
    text = stream.getvalue()
    assert text.startswith(f"SIMULATED  {files.source(paper.name)}\n")
    lines = text.splitlines()
    for table in paper.tables(figures):
        for row in table.rows:
            assert any(all(cell in line for cell in row) for line in lines), row
    for claim in claims:
        holds = "holds" if claim["holds"] else "DOES NOT HOLD"
        assert f"\n{holds:<14} {claim['id']:<11} {claim['text']}\n" in text


def test_the_json_of_one_table_has_the_published_rows(table: Paper) -> None:
    found = simulated(table, {}).json()
    assert list(found) == ["penstock", "set", "rows", "claims", "paper"]
    assert found["paper"] == table.published.rows


def test_an_unknown_setting_is_refused(paper: Study) -> None:
    ended = penstock("paper", paper.name, "--set", "no.such.key=1")
    assert (ended.code, "unknown key no.such.key" in ended.err) == (2, True)
    for example in paper.settings.examples:
        assert list(paper.settings.read([example])) == [example.partition("=")[0]]


@pytest.mark.parametrize(
    "paper",
    [
        pytest.param(name, marks=[pytest.mark.soak, pytest.mark.timeout(900)])
        if listed.long
        else name
        for name, listed in PAPERS.items()
    ],
    indirect=True,
)
def test_its_report_and_its_page_have_the_same_figures(
    paper: Study, paper_report: Callable[[str], Path]
) -> None:
    text = paper_report(paper.name).read_text()
    drawn = paper.pictures.titles if paper.pictures else ()
    assert text.count('<svg class="chart"') == len(drawn)
    data = json.loads(Page(text).data)
    result = Result(
        paper=paper,
        given={},
        ours=paper.read(data),
        claims=data["claims"],
        variants=data["sensitivity"],
    )
    assert papers.place(paper.name).read_text() == papers.page(result), "run `make papers`"
    of = paper.sensitivity
    assert [one["variant"] for one in result.variants] == list(of.variants if of else ())
    assert all(of and one[of.noun] == len(of.points) for one in result.variants)
    again = penstock("paper", paper.name, "--report", papers.place(paper.name))
    assert again.code == 2, "only a report is written over"


def test_the_pictures_of_its_page_are_there(paper: Study) -> None:
    for _, file in papers.images(paper):
        assert (papers.FOLDER / paper.name / file).is_file()
