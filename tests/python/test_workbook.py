"""The workbook, read back by another library."""

import json
from pathlib import Path

import openpyxl
import pytest

import penstock
from command import JOB
from penstock.report.workbook import NAME_LENGTH

MS = 1e6


@pytest.fixture
def result(job: Path) -> penstock.Comparison:
    """Two policies over five seconds."""
    return penstock.compare(job, policies=["noop", "size-priority"])


def book_of(result: penstock.Comparison, path: Path) -> openpyxl.Workbook:
    """Written and read back."""
    result.save_workbook(path)
    return openpyxl.load_workbook(path)


def test_the_summary(result: penstock.Comparison, tmp_path: Path) -> None:
    book = book_of(result, tmp_path / "out.xlsx")
    assert book.sheetnames == ["Summary", "tellers", "batch", "Job"]
    _, _, head, *rows = book["Summary"].iter_rows(values_only=True)
    columns = {str(name): at for at, name in enumerate(head)}
    expected = [(run, one) for run in result.runs for one in run.classes]
    for (run, one), row in zip(expected, rows, strict=False):
        assert (row[0], row[1]) == (run.policy, one.name)
        assert row[columns["requests"]] == one.requests
        assert row[columns["MB/s"]] == pytest.approx(one.bw_bytes / 1e6)
        assert row[columns["p99 ms"]] == pytest.approx(one.lat_ns.p99 / MS)
        assert row[columns["share of busy"]] == pytest.approx(one.share)
    assert [row[0] for row in rows[5:]] == result.verdict()


def test_a_class_has_its_percentiles_its_course_and_charts(
    result: penstock.Comparison, tmp_path: Path
) -> None:
    sheet = book_of(result, tmp_path / "out.xlsx")["batch"]
    rows = list(sheet.iter_rows(values_only=True))
    for row, run in zip(rows[1:3], result.runs, strict=True):
        spread = run["batch"].lat_ns
        known = [spread.mean, spread.p50, spread.p95, spread.p99, spread.p999, spread.max]
        assert row[0] == run.policy
        assert row[1:7] == pytest.approx([ns / MS for ns in known])
    assert rows[4][0] == "noop"
    assert rows[4][7] == "size-priority"
    for column, run in zip((0, 7), json.loads(result.json)["runs"], strict=True):
        series = run["detail"]["classes"][1]["series"]
        for window, row in zip(series, rows[6:], strict=False):
            assert row[column] == pytest.approx(window["at_s"])
            assert row[column + 1] == window["requests"]
            if window["p99_ns"] is None:
                assert row[column + 4] is None
            else:
                assert row[column + 4] == pytest.approx(window["p99_ns"] / MS)
            assert row[column + 5] == pytest.approx(window["outstanding"])
    assert len(sheet._charts) == 2  # type: ignore[attr-defined]


def test_the_job_is_text_whatever_it_says(job: Path, tmp_path: Path) -> None:
    text = '# =1+1 https://example.org\n"seed" = 3\n' + job.read_text().replace("seed = 7\n", "")
    changed = penstock.Job.from_toml(text, name="=HYPERLINK(1)")
    result = penstock.compare(changed, policies=["noop"], set={"duration": "1s"})
    sheet = book_of(result, tmp_path / "out.xlsx")["Job"]
    cells = [cell for row in sheet.iter_rows() for cell in row if cell.value is not None]
    assert all(cell.data_type == "s" for cell in cells)
    words = [str(cell.value) for cell in cells]
    assert "=HYPERLINK(1)" in words
    assert 'duration = "1s"' in words


def test_sheets_of_classes_with_awkward_names(job: Path, tmp_path: Path) -> None:
    text = job.read_text().replace("tellers", "SUMMARY").replace("batch", "b" * 40)
    result = penstock.compare(penstock.Job.from_toml(text), policies=["noop"])
    names = book_of(result, tmp_path / "out.xlsx").sheetnames
    assert len({name.lower() for name in names}) == 4
    assert all(len(name) <= NAME_LENGTH for name in names)


def test_rounds_have_their_medians_and_every_round_its_row(tmp_path: Path) -> None:
    job = penstock.Job.from_toml(JOB)
    policies = ["alone:tellers", "noop", "size-priority"]
    result = penstock.compare(job, policies=policies, repeat=3)
    book = book_of(result, tmp_path / "out.xlsx")
    assert book.sheetnames == ["Summary", "Rounds", "tellers", "batch", "Job"]
    _, _, head, *rows = book["Summary"].iter_rows(values_only=True)
    assert head[:4] == ("policy", "round", "seed", "class")
    found = [row[:4] for row in rows[:15]]
    expected = [(run, one.name) for run in result.runs for one in run.classes]
    assert found == [(run.policy, run.round, str(run.seed), name) for run, name in expected]
    _, _, head, *rows = book["Rounds"].iter_rows(values_only=True)
    assert [row[:3] for row in rows] == [
        *((policy, "tellers", 3) for policy in policies),
        *((policy, "batch", 3) for policy in policies[1:]),
    ]
    at = head.index("p99 ms median")
    for policy, row in zip(policies, rows, strict=False):
        p99s = sorted(run["tellers"].lat_ns.p99 / MS for run in result.of(policy))
        assert row[at : at + 3] == pytest.approx([p99s[1], p99s[0], p99s[2]])
    sheet = [row[:2] for row in book["batch"].iter_rows(values_only=True)]
    assert [row[0] for row in sheet[1:3]] == policies[1:], "the tellers alone have no batch"
