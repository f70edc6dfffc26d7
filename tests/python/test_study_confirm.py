"""`penstock study confirm`: advice is run anew, with other seeds or elsewhere."""

import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from command import ROOT, penstock

STUDIES = ROOT / "examples/studies"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study of the examples, in a folder where it can be changed."""
    folder = tmp_path_factory.mktemp("study")
    for name in ("readers.toml", "readers-job.toml"):
        shutil.copy(STUDIES / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def study(written: Path) -> Path:
    """The folder of its runs."""
    ended = penstock("study", "run", written / "readers.toml", "-o", written / "runs")
    assert ended.code == 0, ended.err
    return written / "runs"


@cache
def confirmed(*words: str | Path) -> list[dict[str, Any]]:
    ended = penstock("study", "confirm", *words, "--json")
    assert ended.code == 0, ended.err
    found: list[dict[str, Any]] = json.loads(ended.out)
    return found


@cache
def confirmed_text(*words: str | Path) -> str:
    ended = penstock("study", "confirm", *words, "--repeat", "1")
    assert ended.code == 0, ended.err
    return ended.out


def test_a_gain_comes_again_with_other_seeds(study: Path) -> None:
    found = confirmed(study, "--by", "pattern")
    assert [one["level"] for one in found] == ["sequential", "random"]
    for one in found:
        assert one["came"]
        assert one["gain_pct"] > 0.5 * one["promised_pct"] > 100
        assert one["low_pct"] <= one["gain_pct"] <= one["high_pct"]
        assert {each["factor"] for each in one["neighbours"]} == {"agents", "depth", "size"}
        assert all(each["against_advice_pct"] < 5 for each in one["neighbours"])
    assert found[1]["advice"]["now"] != found[1]["advice"]["before"], "seeds are others"


def test_equal_calls_give_equal_bytes(study: Path) -> None:
    again = penstock("study", "confirm", study, "--by", "pattern", "--json")
    assert json.loads(again.out) == confirmed(study, "--by", "pattern")


def test_less_of_a_latency_is_better(study: Path) -> None:
    (found,) = confirmed(study, "--response", "lat_ns.p99")
    assert found["advice"]["now"] <= found["default"]["now"]
    (found,) = confirmed(study, "--response", "lat_ns.p99", "--better", "more")
    assert found["advice"]["now"] > found["default"]["now"]


def test_a_gain_that_does_not_come_elsewhere_ends_with_code_3(study: Path) -> None:
    # More in flight gains nothing on a drive that serves one request at a time, and at once.
    device = ("--on", "null")
    ended = penstock("study", "confirm", study, *device, "--repeat", "1", "--by", "pattern")
    assert ended.code == 3, ended.err
    assert "DID NOT COME  pattern = sequential: the advice gains " in ended.out


def test_the_text_has_the_answer_first(study: Path) -> None:
    text = confirmed_text(study, "--by", "pattern")
    first = text.splitlines()[0]
    assert first.startswith("CAME  pattern = sequential: the advice gains +")
    assert "; the study promises +" in text


def test_factors_that_depend_on_others_are_named(study: Path) -> None:
    (result,) = confirmed(study, "--repeat", "1")
    assert result["depends_on"] == {"agents": ["pattern"]}
    note = "  note: agents depends on pattern: with other levels, another may be best"
    assert note in confirmed_text(study)
    assert "note" not in confirmed_text(study, "--by", "pattern")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--by", "colour"], "has no factor colour\nhint: it has pattern, agents, depth, size\n"),
        (["--response", "iops"], "has no response iops\nhint: it has bw_bytes, lat_ns.p99\n"),
    ],
)
def test_what_the_study_has_not_is_named(study: Path, words: list[str], message: str) -> None:
    ended = penstock("study", "confirm", study, *words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.endswith(message)


def test_a_folder_without_a_study_is_refused(tmp_path: Path) -> None:
    ended = penstock("study", "confirm", tmp_path)
    assert ended.code == 2
    assert ended.err.startswith(f"error: {tmp_path} holds no study\nhint: ")


def test_a_study_that_has_changed_is_refused(study: Path, written: Path) -> None:
    job = written / "readers-job.toml"
    before = job.read_text()
    job.write_text(before.replace("500ms", "400ms"))
    ended = penstock("study", "confirm", study)
    job.write_text(before)
    assert ended.code == 2
    assert "has changed: job_text: `" in ended.err
    assert 'is now `duration = "400ms"`' in ended.err
