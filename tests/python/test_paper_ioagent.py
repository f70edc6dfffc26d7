"""`penstock paper ioagent`: the design, the amounts, what is set, the claims."""

import json
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from command import penstock
from penstock import _native
from penstock.charts.study import Mean, interaction
from penstock.papers import files
from penstock.papers.ioagent import campaign, setting
from penstock.papers.ioagent.claims import limit_at, rises
from penstock.papers.ioagent.paper import PAPER, simulate
from penstock.report import pictures
from penstock.study import rows

R2_LEAST = {
    "sequential-read": 0.85,
    "sequential-write": 0.90,
    "random-read": 0.98,
    "random-write": 0.97,
}
"""What our models have to explain at least."""

HOLD = ("4.1-r2", "5.1-random", "5.1-disks", "5.1-size", "5.2-random", "5.2-size")
"""Sentences that have to hold of any disk with an arm and a queue."""

SMALL = ("D=1", "A=1,32", "B=1,32", "S=8", "seeds=1")


def test_the_design_is_that_of_the_paper() -> None:
    of = setting.read({})
    assert len(campaign.design(of)) == 4 * 648
    assert len(campaign.design(of)) * len(of.seeds) == 10_368
    published = files.published(setting.NAME)
    assert set(published["r2"]) == {row["pattern"] for row in published["table3"]}
    assert set(published["r2"]) == set(setting.PATTERNS)


def test_every_run_has_64_mib_a_disk_or_3_seconds() -> None:
    # The fastest of those that move less: many agents with many buffers.
    of = setting.read({"S": "8", "A": "16,32", "B": "16,32", "seeds": "1"})
    for row in campaign.rows(of):
        moved = row["bw_bytes"] * row["seconds"] / row["D"]
        assert moved >= 0.999 * campaign.AMOUNT or row["seconds"] >= 3, row
    for cell in campaign.design(setting.read({})):
        (total,) = (one for one in campaign.changes(cell) if one.startswith("agent.agents.total"))
        each = int(total.partition("=")[2].removesuffix("KiB"))
        assert each % cell["S"] == 0
        full = cell["A"] * each * campaign.KIB
        assert full in (campaign.AMOUNT, *campaign.RANDOM_AMOUNT.values())


def test_equal_calls_give_equal_bytes() -> None:
    again = penstock("paper", "ioagent", *_words(SMALL), "--json")
    assert again.code == 0, again.err
    assert again.out == _small()


def test_json_has_the_analyses_by_pattern() -> None:
    found = json.loads(_small())
    assert [one["pattern"] for one in found["patterns"]] == list(setting.PATTERNS)
    assert found["runs"] == 4 * 8
    for one in found["patterns"]:
        assert one["analysis"]["n"] == 8
        assert {"r2", "anova", "effects", "checks", "recommend"} <= set(one["analysis"])


def test_the_runs_are_a_study_that_can_be_analysed(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    words = ["paper", "ioagent", *_words((*SMALL[:-1], "seeds=2")), "--data", f"{folder}"]
    ended = penstock(*words, "--json")
    assert ended.code == 0, ended.err
    frame = rows.read(folder)
    assert frame["run"].to_list() == list(range(64))
    assert frame["replicate"].to_list() == [0, 1] * 32
    of_pattern = {"by": "pattern", "response": "bw_bytes"}
    options = [word for key, value in of_pattern.items() for word in (f"--{key}", value)]
    analysed = penstock("study", "analyse", folder, *options, "--json")
    assert analysed.code == 0, analysed.err
    assert [one["level"] for one in json.loads(analysed.out)["levels"]] == list(setting.PATTERNS)
    again = penstock(*words)
    assert again.code == 2
    assert str(folder) in again.err


@cache
def _small() -> str:
    return penstock("paper", "ioagent", *_words(SMALL), "--json").out


def _words(sets: tuple[str, ...]) -> list[str]:
    return [word for one in sets for word in ("--set", one)]


def test_the_machine_is_changed_where_it_is_set() -> None:
    text = _native.device(campaign.MACHINE)
    given = {"queue": "64", "write_back": "true", "dirty_ratio": "20%"}
    before, after = (tomllib.loads(one)["machine"] for one in (text, setting.machine(given, text)))
    (disk,) = after["devices"]
    assert disk["device"]["queue"] == {**before["devices"][0]["device"]["queue"], "depth": 64}
    assert disk["device"]["write_back"] is True
    assert after["page_cache"] == {**before["page_cache"], "dirty_ratio": "20%"}
    disk["device"].update(before["devices"][0]["device"])
    assert {**after, "page_cache": before["page_cache"]} == before


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("A=3", "--set A: found 3; expected some of 1, 2, 4, 8, 16, 32"),
        ("patterns=mixed", "--set patterns: found mixed; expected some of sequential-read, "),
        ("queue=deep", "--set queue: found deep; expected a number or off"),
        ("write_back=yes", "--set write_back: found yes; expected true or false"),
        ("seeds=0", "--set seeds=0: expected how many there are"),
        ("policy=none", "unknown policy `none`"),
        ("dirty_ratio=200%", "dirty_ratio"),
    ],
)
def test_what_is_wrong_is_named(given: str, message: str) -> None:
    ended = penstock("paper", "ioagent", *_words((*SMALL, given)))
    assert (ended.code, ended.out) == (2, ""), ended.out
    assert message in ended.err


def test_a_rate_that_dips_a_little_still_rises() -> None:
    assert rises([10, 12, 11.9, 13])
    assert not rises([10, 12, 11, 13])
    assert not rises([10, 10.2])
    assert limit_at([10, 15, 19.1, 20]) == 2


@pytest.fixture(scope="module")
def whole() -> Mapping[str, Any]:
    found: Mapping[str, Any] = simulate({})
    return found


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_the_models_explain_what_the_papers_do(whole: Mapping[str, Any]) -> None:
    assert whole["runs"] == 10_368
    for one in whole["fits"]:
        assert one["r2"] >= R2_LEAST[one["pattern"]]


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_what_arithmetic_asks_for_holds(whole: Mapping[str, Any]) -> None:
    claims = {one["id"]: one["holds"] for one in PAPER.claims(whole)}
    assert all(claims[one] for one in HOLD)


def test_every_line_of_a_picture_is_named() -> None:
    means = [Mean("1", "few", 1.0), Mean("2", "few", 2.0), Mean("1", "many", 3.0)]
    chart = interaction(means, x="B", line="agents on a disk", response="MB/s", logarithmic=True)
    svg = pictures.svg(chart, name="one", title="two lines")
    assert all(f">{word}<" in svg for word in ("agents on a disk", "few", "many"))
