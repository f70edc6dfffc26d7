"""`penstock calibrate`: a disk is measured, and the device file predicts it."""

import json
from pathlib import Path

import pytest

import penstock
from command import penstock as command
from penstock.calibrate import MARK, Calibration, Compared, calibrate, probes
from penstock.calibrate.models import MODELS
from penstock.calibrate.probes import Figures, Measured, Probe

pytest.importorskip("scipy")

LAW = """
[device]
model = "fixed"
base = "12us"
per_mb = "700us"
latency = "40us"
writes = { base = "9us", per_mb = "200us", latency = "30us" }
depth = 256
capacity = "1GiB"
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Calibration:
    """What is found of a device of which all is known."""
    path = tmp_path_factory.mktemp("law") / "law.toml"
    path.write_text(LAW)
    return calibrate(path)


def test_a_law_is_found_again(found: Calibration) -> None:
    assert found.model.name == "fixed"
    assert found.error < 0.01

    def ns(value: object) -> float:
        assert isinstance(value, str)
        return float(value.removesuffix("ns"))

    device = found.device
    writes = device["writes"]
    assert isinstance(writes, dict)
    assert ns(device["base"]) == pytest.approx(12_000, rel=0.05)
    assert ns(device["per_mb"]) == pytest.approx(700_000, rel=0.05)
    assert ns(device["latency"]) == pytest.approx(40_000, rel=0.05)
    assert ns(writes["base"]) == pytest.approx(9_000, rel=0.05)
    assert ns(writes["per_mb"]) == pytest.approx(200_000, rel=0.05)
    assert ns(writes["latency"]) == pytest.approx(30_000, rel=0.05)


def test_jobs_that_the_fit_has_not_seen_are_predicted(found: Calibration) -> None:
    kinds = {(one.measured.probe.op, one.measured.probe.pattern) for one in found.unseen}
    assert len(kinds) == 4
    assert not {one.measured.probe for one in found.unseen} & {
        one.measured.probe for one in found.fitted
    }
    assert all(one.good for one in found.unseen)
    assert all(abs(one.iops_off) < 2 for one in found.unseen)


def test_the_device_file_is_a_device(found: Calibration, job: Path, tmp_path: Path) -> None:
    path = tmp_path / "found.toml"
    path.write_text(found.to_toml())
    assert path.read_text().startswith(MARK)
    result = penstock.compare(job, policies=["noop"], on=path, set={"duration": "1s"})
    assert result.device == "found"


def test_a_reason_is_given_where_a_prediction_fails() -> None:
    probe = Probe("write", "random", 16 << 10, 4)
    other = Probe("write", "sequential", 16 << 10, 4)
    steady = [Figures(1_000.0, 1e6)] * 3
    moody = [Figures(1_000.0, 1e6), Figures(2_000.0, 1e6), Figures(1_000.0, 1e6)]
    far = Figures(3_000.0, 1e6)

    def why(rounds: list[Figures], others: dict[Probe, list[Figures]]) -> str:
        one = Compared(Measured(probe, rounds), far)
        rest = [Compared(Measured(p, r), far) for p, r in others.items()]
        model = MODELS[0]
        return Calibration("disk", False, model, {}, 0.5, rest, [one], {}).why(one)

    assert why(moody, {}) == "its own rounds differ by a factor of 2.0"
    fast = [Figures(4_000.0, 1e6)] * 3
    assert why(steady, {other: fast}) == "random ones are 0.25 times as many a second as others"
    assert why(steady, {other: steady}) == "model fixed does not know what it depends on"


class TestFiles:
    """Real ones, in short: what is found of them is of no worth."""

    @pytest.fixture(autouse=True)
    def short(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(probes, "SECONDS", (0.02,))
        monkeypatch.setattr(probes, "ENOUGH", 1)

    def test_an_owned_file_is_read_and_written(self, disk: Path) -> None:
        found = calibrate(disk, create="16MiB", rounds=1)
        assert {one.measured.probe.op for one in found.fitted} == {"read", "write"}
        assert found.device["capacity"] == f"{16 << 20}B"

    def test_what_is_not_ours_is_only_read(self, disk: Path) -> None:
        content = b"x" * (4 << 20) + b"odd"
        disk.write_bytes(content)
        before = disk.stat()
        found = calibrate(disk, rounds=1)
        assert {one.measured.probe.op for one in found.fitted} == {"read"}
        assert "writes" not in found.device
        assert disk.read_bytes() == content
        assert disk.stat().st_mtime_ns == before.st_mtime_ns


class TestCommand:
    """The verb."""

    @pytest.fixture
    def law(self, tmp_path: Path) -> Path:
        path = tmp_path / "law.toml"
        path.write_text(LAW)
        return path

    def test_it_writes_a_device_and_replaces_only_its_own(self, law: Path, tmp_path: Path) -> None:
        out = tmp_path / "disk.toml"
        ended = command("calibrate", law, "-o", out, "--rounds", "1", "--json")
        assert (ended.code, ended.err) == (0, f"wrote {out}\n")
        told = json.loads(ended.out)
        assert told["model"] == "fixed"
        assert (len(told["fitted"]), len(told["unseen"])) == (31, 4)
        assert all(abs(one["p50_off_percent"]) < 2 for one in told["unseen"])
        assert out.read_text().startswith(MARK)
        ended = command("calibrate", law, "-o", out, "--rounds", "1")
        assert (ended.code, ended.err) == (0, f"wrote {out}\n")
        assert "it predicts 4 within 25 %" in ended.out
        out.write_text("mine")
        ended = command("calibrate", law, "-o", out, "--rounds", "1")
        assert (ended.code, ended.out, out.read_text()) == (2, "", "mine")

    def test_what_is_not_there_is_told(self, tmp_path: Path) -> None:
        ended = command("calibrate", tmp_path / "none.img")
        assert (ended.code, ended.out) == (2, "")
        assert "none.img" in ended.err


def test_a_target_that_is_only_read_is_written_by_nobody(job: Path, disk: Path) -> None:
    disk.write_bytes(bytes(4 << 20))
    words = ("run", job, "--policy", "noop", "--on", disk, "--read-only")
    ended = command(*words)
    assert (ended.code, ended.out) == (2, "")
    assert "the job writes, and the target is only to be read" in ended.err
    for other in (("--create", "1MiB"), ("--i-will-lose-data", "x")):
        ended = command(*words, *other)
        assert (ended.code, ended.out) == (2, "")
        assert f"--read-only does not go with {other[0]}" in ended.err
    ended = command(*words[:-2], "hdd-7200", "--read-only")
    assert (ended.code, ended.out) == (2, "")
    assert not any(disk.read_bytes())
