"""`penstock calibrate`: a disk is measured, and the device file predicts it."""

import json
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

import penstock
from command import penstock as command
from penstock.answer.terminal import show
from penstock.calibrate import (
    MARK,
    NOT_WRITTEN,
    Calibration,
    Compared,
    calibrate,
    measure,
    probes,
    simplest,
)
from penstock.calibrate.fit import ModelFit
from penstock.calibrate.models import MODELS, Known, Model
from penstock.calibrate.probes import WHOLE, MeasuredProbe, Probe, ProbeFigures
from penstock.cli import calibrate as verb
from penstock.experiment.trial import Progress, Setup
from penstock.job import Job
from penstock.results.json_types import Run
from penstock.session import Session
from penstock.target import Target

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
    return calibrate(path, rounds=1)


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


class TestModelled:
    """Devices of which all is known, from figures of their probes alone."""

    def test_a_disk_with_an_arm_is_found_again(self) -> None:
        found = calibrate("hdd-7200", rounds=1)
        assert found.model.name == "hdd"
        assert list(found.errors) == ["fixed", "hdd"]
        assert found.error < 0.05
        assert all(one.good for one in found.unseen)
        drive = found.device["drive"]
        assert isinstance(drive, dict)
        assert drive["rpm"] == 7_200
        assert ms(drive["average_seek"]) == pytest.approx(8.5, rel=0.2)
        assert ms(drive["full_seek"]) == pytest.approx(16, rel=0.2)
        assert found.device["cache"] == "none"
        assert found.device["queue"] == {"policy": "fcfs", "depth": 1}

    @pytest.mark.parametrize("name", ["ssd-sata", pytest.param("ssd-nvme", marks=pytest.mark.soak)])
    def test_flash_is_found_again(self, name: str) -> None:
        found = calibrate(name, rounds=1)
        assert found.model.name == "ssd"
        assert list(found.errors) == ["fixed", "ssd"]
        assert found.error < 0.15
        assert all(one.good for one in found.unseen)
        read = ms(found.device["read_time"]) + ms(found.device["command_overhead"])
        assert read == pytest.approx({"ssd-sata": 0.106, "ssd-nvme": 0.076}[name], rel=0.1)


def ms(text: object) -> float:
    """Milliseconds of a time as a fit writes it."""
    assert isinstance(text, str)
    return float(text.removesuffix("ns")) / 1e6


class TestSimplest:
    """Which model is kept, by the errors that their fits come to."""

    @pytest.mark.parametrize(
        ("errors", "kept", "tried"),
        [
            ((0.14, 0.01, 0.01), "fixed", 1),
            ((0.30, 0.14, 0.01), "ssd", 2),
            ((0.20, 0.14, 0.18), "fixed", 3),
            ((0.20, 0.14, 0.12), "hdd", 3),
            ((0.90, 0.50, None), "ssd", 2),
        ],
    )
    def test_a_richer_one_only_if_it_is_clearly_better(
        self,
        errors: tuple[float | None, ...],
        kept: str,
        tried: int,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        by_name = {model.name: error for model, error in zip(MODELS, errors, strict=True)}

        def fitted(model: Model, _known: Known) -> ModelFit | None:
            error = by_name[model.name]
            return None if error is None else ModelFit(model, {}, error)

        monkeypatch.setattr("penstock.calibrate.fit", fitted)
        best, seen = simplest(Known({}, 0), lambda _what, _fraction: None)
        assert (best.model.name, len(seen)) == (kept, tried)


def test_no_two_runs_go_to_the_same_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "SECONDS", (0.02,))
    monkeypatch.setattr(measure, "ENOUGH", 1)
    texts: list[str] = []

    run = Setup.run

    def listening(
        setup: Setup[Run],
        session: Session,
        jobs: Sequence[Job],
        progress: Progress | None = None,
        *,
        partial: bool = False,
    ) -> list[Run]:
        texts.extend(job.text for job in jobs)
        return run(setup, session, jobs, progress, partial=partial)

    monkeypatch.setattr(Setup, "run", listening)
    some, _ = probes.plan(("read",), 1 << 30)
    target = Target(on="flash")
    with measure.on_bench(target) as bench:
        subject = measure.Subject(bench, target, {}, ())
        found = measure.in_rounds(subject, some, 3, lambda _what, _fraction: None)
    assert [len(rounds) for rounds in found.values()] == [3] * len(some)
    assert len(set(texts)) == 3 * len(some)
    seeds = {line for text in texts for line in text.splitlines() if line.startswith("seed")}
    assert len(seeds) == 3 * len(some)


def test_places_are_looked_at_where_there_is_room_for_them() -> None:
    def places(capacity: int) -> int:
        fitted, unseen = probes.plan(("read",), capacity)
        assert all(probe.region == WHOLE for probe in unseen)
        return sum(probe.region != WHOLE for probe in fitted)

    assert [places(1 << shift) for shift in (40, 30, 23, 16)] == [3, 3, 2, 0]


def test_the_device_file_is_a_device(found: Calibration, job: Path, tmp_path: Path) -> None:
    path = tmp_path / "found.toml"
    path.write_text(found.to_toml())
    assert path.read_text().startswith(MARK)
    result = penstock.compare(job, policies=["noop"], on=path, set={"duration": "1s"})
    assert result.device == "found"


def test_a_reason_is_given_where_a_prediction_fails() -> None:
    probe = Probe("write", "random", 16 << 10, 4)
    other = Probe("write", "sequential", 16 << 10, 4)
    steady = [ProbeFigures(4_000.0, 1e6)] * 3
    moody = [ProbeFigures(4_000.0, 1e6), ProbeFigures(8_000.0, 1e6), ProbeFigures(4_000.0, 1e6)]
    stalls = [ProbeFigures(1_000.0, 1e6)] * 3
    far = ProbeFigures(12_000.0, 1e6)

    def why(rounds: list[ProbeFigures], others: dict[Probe, list[ProbeFigures]]) -> str:
        one = Compared(MeasuredProbe(probe, rounds), far)
        rest = [Compared(MeasuredProbe(p, r), far) for p, r in others.items()]
        model = MODELS[0]
        return Calibration("disk", False, model, {}, 0.5, rest, [one], {}).why(one)

    assert why(moody, {}) == "its own rounds differ by a factor of 2.0"
    assert why(stalls, {}) == "a few take much longer: the mean is 4.0 times the median"
    fast = [ProbeFigures(16_000.0, 0.25e6)] * 3
    assert why(steady, {other: fast}) == "random ones are 0.25 times as many a second as others"
    assert why(steady, {other: steady}) == "model fixed does not know what it depends on"


class TestFiles:
    """Real ones, in short: what is found of them is of no worth."""

    @pytest.fixture(autouse=True)
    def short(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(measure, "SECONDS", (0.02, 2.0))
        monkeypatch.setattr(measure, "ENOUGH", 1)
        monkeypatch.setattr("penstock.calibrate.MODELS", MODELS[:1])

    def test_an_owned_file_is_read_and_written(self, disk: Path) -> None:
        found = calibrate(disk, create="16MiB", rounds=1)
        assert {one.measured.probe.op for one in found.fitted} == {"read", "write"}
        assert f'capacity = "{16 << 20}B"' in found.to_toml()
        assert not found.read_only
        assert NOT_WRITTEN not in found.to_toml()

    def test_what_is_not_ours_is_only_read(self, disk: Path) -> None:
        content = b"x" * (4 << 20) + b"odd"
        disk.write_bytes(content)
        before = disk.stat()
        found = calibrate(disk, rounds=1)
        assert {one.measured.probe.op for one in found.fitted} == {"read"}
        assert found.read_only
        assert NOT_WRITTEN in found.to_toml()
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
        found = json.loads(ended.out)
        assert found["model"] == "fixed"
        assert (len(found["fitted"]), len(found["unseen"])) == (31, 4)
        assert all(abs(one["p50_off_percent"]) < 2 for one in found["unseen"])
        assert out.read_text().startswith(MARK)
        ended = command("calibrate", law, "-o", out, "--rounds", "1")
        assert (ended.code, ended.err) == (0, f"wrote {out}\n")
        assert "it predicts 4 within 25 %" in ended.out
        out.write_text("mine")
        ended = command("calibrate", law, "-o", out, "--rounds", "1")
        assert (ended.code, ended.out, out.read_text()) == (2, "", "mine")

    def test_it_says_what_was_tried_and_why_it_may_be_wrong(self) -> None:
        def shown(errors: dict[str, float], read_only: bool, rounds: list[ProbeFigures]) -> str:
            probe = Probe("read", "random", 4096, 1)
            one = Compared(MeasuredProbe(probe, rounds), rounds[0])
            model = MODELS[0]
            found = Calibration("disk", read_only, model, {}, 0.2, [one], [one], errors)
            console = Console(file=StringIO(), width=200)
            show(console, verb.blocks(found))
            assert isinstance(console.file, StringIO)
            return console.file.getvalue()

        quiet, loud = (
            [ProbeFigures(1e3, 1e6)] * 3,
            [ProbeFigures(1e3, 1e6), ProbeFigures(2e3, 1e6)] * 2,
        )
        said = shown({"fixed": 0.2}, False, quiet)
        assert "off by (root" not in said
        assert NOT_WRITTEN not in said
        assert "something else is at work" not in said
        said = shown({"fixed": 0.2, "ssd": 0.19}, True, loud)
        assert "off by (root mean square): fixed 20 %, ssd 19 %" in said
        assert NOT_WRITTEN in said
        assert "something else is at work" in said

    def test_what_is_not_there_is_reported(self, tmp_path: Path) -> None:
        ended = command("calibrate", tmp_path / "none.img")
        assert (ended.code, ended.out) == (2, "")
        assert "none.img" in ended.err


def test_a_target_that_is_only_read_is_never_written(job: Path, disk: Path) -> None:
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
