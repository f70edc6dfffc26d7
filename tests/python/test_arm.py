"""Where a disk's arm was: the figures in the page, against what the disks and the rules say."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import penstock
from command import ROOT
from command import penstock as command

BURST = ROOT / "examples/linux/burst.toml"
IDLENESS = ROOT / "examples/linux/deceptive-idleness.toml"
POLICIES = "noop,elevator,deadline,anticipatory,cfq,mq-deadline,kyber,bfq"


def figures(page: Path) -> dict[str, Any]:
    """The arm of each policy, as the page has it."""
    written = page.read_text().partition('id="penstock-data">')[2].partition("</script>")[0]
    return {one["policy"]: one["arm"] for one in json.loads(written)["detail"]}


def crossed(arm: dict[str, Any]) -> int:
    """Cylinders between all stops of the arm, which begins at 0."""
    stops = [one[key] for one in arm["accesses"] for key in ("start", "first", "last")]
    return sum(abs(there - here) for here, there in pairwise([0, *stops]))


def test_the_page_of_a_burst_has_the_arm_of_every_policy(tmp_path: Path) -> None:
    page = tmp_path / "arm.html"
    words = ["compare", str(BURST), "--policies", POLICIES, "--report", str(page)]
    ended = command(*words, "--for", "20s", "--json")
    assert ended.code == 0, ended.err
    arms = figures(page)
    assert list(arms) == POLICIES.split(",")
    runs = {run["policy"]: run for run in json.loads(ended.out)["runs"]}
    for policy, arm in arms.items():
        disk = runs[policy]["device_stats"]
        assert len(arm["accesses"]) == disk["seek_ms"]["n"] == 1000
        assert crossed(arm) == disk["travel"]["cylinders"], policy
        assert disk["travel"]["per_request"] == pytest.approx(crossed(arm) / 1000)
        assert not any(one["write"] for one in arm["accesses"])
        assert arm["held"] == [], "no program asks again"
    way = {policy: crossed(arm) for policy, arm in arms.items()}
    # In the order of arrival it is a third of the disk for each; sorted, up, back and up.
    cylinders = max(one["first"] for one in arms["noop"]["accesses"])
    assert way["noop"] == way["kyber"] == pytest.approx(1000 * cylinders / 3, rel=0.05)
    assert way["elevator"] < 2.5 * cylinders
    assert way["elevator"] < way["deadline"] < way["cfq"] < way["noop"] / 2
    assert (
        page.read_text().count('<svg class="chart" role="img" aria-label="Where the arm was') == 1
    )


@pytest.mark.soak
def test_two_seconds_are_drawn_unless_another_stretch_is_asked_for(tmp_path: Path) -> None:
    whole = penstock.compare(BURST, policies=["noop"]).raw["runs"][0]["detail"]["arm"]
    assert (whole["from_ns"], whole["until_ns"]) == (0, 2_000_000_000)
    page, plots = tmp_path / "arm.html", tmp_path / "plots"
    words = ("compare", str(BURST), "--policies", "noop,look", "--report", str(page))
    assert command(*words, "--plots", str(plots), "--from", "500ms", "--for", "1s").code == 0
    drawn = (plots / "arm.svg").read_text()
    assert all(f">{policy}</text>" in drawn for policy in ("noop", "look"))
    assert (plots / "arm.png").stat().st_size > 50_000
    part = figures(page)["noop"]
    assert (part["from_ns"], part["until_ns"]) == (500_000_000, 1_500_000_000)
    assert part["accesses"] == [
        one for one in whole["accesses"] if 500_000_000 <= one["begins_ns"] < 1_500_000_000
    ]


@pytest.mark.soak
def test_an_anticipating_policy_is_seen_to_hold_the_disk(tmp_path: Path) -> None:
    page = tmp_path / "arm.html"
    policies = "deadline,anticipatory"
    words = ("run", str(IDLENESS), "--policies", policies, "--report", str(page), "--detail")
    ended = command(*words, "--for", "1h")
    assert ended.code == 0, ended.err
    arms = figures(page)
    assert arms["deadline"]["held"] == []
    held = sum(one["until_ns"] - one["from_ns"] for one in arms["anticipatory"]["held"])
    assert f"idle_held_ns             {held / 1e9:.1f} s" in ended.out


def test_a_stretch_without_a_picture_is_refused() -> None:
    ended = command("compare", str(BURST), "--policies", "noop", "--for", "1s")
    assert ended.code == 2
    assert "the picture of the arm shows, and none is asked for" in ended.err
    assert "--report or --plots" in ended.err


def test_the_detail_of_a_run_stands_below_its_table() -> None:
    words = ("run", str(BURST), "--policies", "elevator")
    plain, detailed = command(*words), command(*words, "--detail")
    assert detailed.code == 0, detailed.err
    assert "back_merges" not in plain.out
    assert "back_merges" in detailed.out
    [row] = [line for line in detailed.out.splitlines() if line.startswith("disk  ")]
    assert row.split()[1:3] == ["1,000", "1,000"]
