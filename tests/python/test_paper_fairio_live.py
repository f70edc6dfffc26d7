"""`penstock paper fairio live`: the loads run on a small file, and all rows are there.

No figure of a machine that may do other work is judged here: only which rows there are, that
shares are shares, and what is refused.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from command import penstock
from penstock.papers.fairio import live, live_page, live_table, setting
from penstock.papers.fairio.live import LAW, TIME, LiveRow
from penstock.target import Target

LIVE = ("paper", "fairio", "live")
SHORT = ("--set", "cycles=50ms", "--set", "horizon=200ms", "--repeat", "1")


def rows(found: dict[str, Any], illustration: int) -> list[tuple[str, str | None, str | None]]:
    """Which rows there are of an Illustration."""
    of = [one for one in found["live"]["rows"] if one["illustration"] == illustration]
    return [(one["policy"], one["mode"], one["charge"]) for one in of]


def test_every_policy_has_its_row_on_a_file(tmp_path: Path) -> None:
    device = tmp_path / "law.toml"
    device.write_text('[device]\nmodel = "fixed"\nbase = "50us"\nper_mb = "1ms"\n')
    on = ("--on", "disk.img", "--create", "16MiB", "--law", device)
    ended = penstock(*LIVE, *on, *SHORT, "--json", cwd=tmp_path)
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    fairio = [("fairio", mode, charge) for charge in (TIME, LAW) for mode in ("paper", "plus")]
    expected = [("fcfs", None, None), ("sfq", None, None), *fairio]
    assert rows(found, 1) == rows(found, 2) == expected
    assert found["set"] == {"cycles": "50ms", "horizon": "200ms"}
    of = found["live"]
    assert (of["world"], of["target"], of["rounds"]) == ("measured", "disk.img", 1)
    assert all(rate >= 1 for rate in of["offered_per_s"])
    for one in of["rows"]:
        assert sum(one["error_pct"]) == pytest.approx(0, abs=1e-9)
        assert one["throughput_mib_s"] > 0
        assert min(one["p99_ms"]) > 0
        assert one["spread_pct"] == 0, "one round"
        # The array has no costs, and all else is as in the simulation.
        assert (one["simulated_error_pct"] is None) == (one["charge"] == LAW)
    (fcfs,) = (one for one in of["rows"] if (one["policy"], one["illustration"]) == ("fcfs", 1))
    assert fcfs["simulated_error_pct"][0] == pytest.approx(18.5, abs=0.6)


def test_the_costs_of_an_emulated_device_are_known_and_weights_are_as_set() -> None:
    words = ("--set", "weights=1,3", "--set", "mode=plus", "--set", "load=4")
    ended = penstock("paper", "fairio", "live", "--on", "emulated:flash", *SHORT, *words)
    assert ended.code == 0, ended.err
    assert ended.out.startswith("EMULATED  emulated:flash\n  1 round, each run 0.2 s\n")
    for said in (
        "fairio plus by time 50 ms",
        "fairio plus by law 50 ms",
        "simulated",
        "Illustration 2:",
    ):
        assert said in ended.out
    assert "paper by time" not in ended.out


def test_requests_grow_over_a_run_as_over_a_minute_of_the_report() -> None:
    of = setting.read(live.settings(["horizon=2s"]))
    plan = live.Plan(2, "fcfs")
    found = dict(one.split("=") for one in live._changes(of, 30_000.0, plan))
    assert found["agent.0.arrivals.rate"] == found["agent.1.arrivals.rate"] == "30000.000/s"
    assert found["agent.0.arrivals.count"] == "60000"
    assert found["agent.0.growth.every"] == "1000", "as after 100 of 6,000"
    assert found["live.depth"] == "16"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--set", "disks=4"), "--set disks=4 belongs to the simulation"),
        (("--set", "seeds=3"), "hint: known in real time are mode, weights, cycles"),
        (("--set", "size=4KiB"), "unknown key size"),
        (("--set", "horizon=sent"), "--set horizon=sent belongs to the simulation"),
        (("--set", "horizon=soon"), "--set horizon: found soon; expected times above zero"),
        (("--set", "horizon=1s", "--set", "cycles=1s,2s"), "shorter than a cycle of 2000 ms"),
        (("--set", "weights=1,2,3"), "expected two whole numbers from 1"),
        (("--set", "mode=other"), "other"),
        (("--on", "hdd-7200"), "hdd-7200 is a model in virtual time"),
        (("--law", "gone.toml"), "there is no such file"),
        (("--report", "page.html"), "No such option: --report"),
    ],
)
def test_wrong_input_is_refused(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    where = () if "--on" in words else ("--on", "emulated:flash")
    ended = penstock(*LIVE, *where, *words, cwd=tmp_path)
    assert ended.code == 2, ended.out
    assert said in ended.err
    assert "Traceback" not in ended.err


def test_a_table_says_which_rows_have_no_counterpart_and_who_asked_for_less() -> None:
    about: dict[str, Any] = {
        "illustration": 1, "policy": "fairio", "mode": "plus", "cycle_ms": 250.0,
        "spread_pct": 0.5, "throughput_mib_s": 7.0, "p99_ms": [1.0, 2000.0],
    }  # fmt: skip
    law = LiveRow(
        **about,
        charge=LAW,
        error_pct=[4.0, -4.0],
        limited_by_demand=True,
        simulated_error_pct=None,
    )
    time = LiveRow(
        **about,
        charge=TIME,
        error_pct=[-1.0, 1.0],
        limited_by_demand=False,
        simulated_error_pct=[0.2, -0.2],
    )
    table = live_table.table([law, time], 1)
    name = "fairio plus by law 250 ms"
    assert table.rows[0] == [name, "+4.00", "0.50", "–", "7.00", "1.00 ms", "2.00 s"]
    assert table.rows[1][3] == "+0.20"
    said = list(live_table.verdict([law, time]))
    assert said[0].endswith(f"{name} off by 4.0, fairio plus by time 250 ms within 1.0 points")
    assert said[1] == f"Illustration 1: a class asked for less than its share: {name}"


def test_what_is_kept_is_read_again() -> None:
    found = live.fairio_live(
        Target(on="emulated:flash"),
        live.settings(["cycles=50ms", "horizon=100ms", "mode=plus"]),
        rounds=1,
    )
    data = {"live": json.loads(json.dumps(asdict(found)))}
    about, figures = live_page.kept(data)
    said = live_page.words({**about, "figures": figures}, None)
    assert said["live_target"] == "emulated:flash"
    assert said["live_command"].startswith("$ penstock paper fairio live --set cycles=")
    assert "| sfq |" in said["live_2"]
