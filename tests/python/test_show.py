"""Devices printed as files, and changed where they stand."""

import json
from pathlib import Path

import pytest

from command import ROOT, penstock

DEVICES = [
    one["name"]
    for one in json.loads(penstock("list", "devices", "--json").out)
    if not one["machine"]
]


@pytest.mark.parametrize("name", DEVICES)
def test_a_device_runs_from_what_is_printed_as_by_its_name(
    job: Path, tmp_path: Path, name: str
) -> None:
    ended = penstock("show", "device", name)
    assert ended.code == 0, ended.err
    file = tmp_path / "mine.toml"
    file.write_text(ended.out)
    words = ("run", job, "--policy", "noop", "--set", "duration=1s", "--json", "--on")
    by_name, by_file = (penstock(*words, on) for on in (name, file))
    assert by_name.code == 0, by_name.err
    assert json.loads(by_file.out)["runs"] == json.loads(by_name.out)["runs"]
    assert penstock("show", "device", file).out == ended.out


def test_a_machine_runs_from_what_is_printed_as_by_its_name(tmp_path: Path) -> None:
    ended = penstock("show", "device", "openpower-710")
    assert ended.code == 0, ended.err
    file = tmp_path / "mine.toml"
    file.write_text(ended.out)
    job = ROOT / "examples/four-disks.toml"
    words = ("run", job, "--policy", "noop", "--set", "duration=200ms", "--json", "--on")
    by_name, by_file = (penstock(*words, on) for on in ("openpower-710", file))
    assert by_name.code == 0, by_name.err
    assert json.loads(by_file.out)["runs"] == json.loads(by_name.out)["runs"]
    assert penstock("show", "device", file).out == ended.out


def test_an_unknown_device_is_refused() -> None:
    ended = penstock("show", "device", "hdd-7201")
    assert (ended.code, ended.out) == (2, "")
    assert "did you mean `hdd-7200`?" in ended.err


@pytest.mark.parametrize("how", [("--on", "ssd-sata"), ("--set", "device=ssd-sata")])
def test_a_part_of_a_named_device_can_be_changed(job: Path, how: tuple[str, str]) -> None:
    words = ("run", job, "--policy", "noop", *how, "--set", "device.queue_depth=1", "--json")
    changed = json.loads(penstock(*words).out)
    assert changed["device"] == "ssd-sata, changed"
    assert "queue_depth = 1\n" in changed["job"]["text"]
    assert changed["job"]["set"][-1] == "device.queue_depth=1"
    plain = json.loads(penstock("run", job, "--policy", "noop", "--on", "ssd-sata", "--json").out)
    assert plain["device"] == "ssd-sata"
    assert changed["runs"] != plain["runs"]


@pytest.mark.parametrize("device", ["barracuda", "examples/devices/hdd-7200.toml"])
def test_sweeps_vary_a_part_of_a_device(job: Path, device: str) -> None:
    vary = ("--vary", "policy=noop", "--vary", "device.turnaround=0s,5ms")
    ended = penstock("sweep", job, "--on", device, *vary)
    assert ended.code == 0, ended.err
    assert f"{Path(device).stem}, changed" in ended.out


def test_a_part_of_a_device_file_can_be_changed(job: Path) -> None:
    words = ("run", job, "--policy", "noop", "--on", "examples/devices/hdd-7200.toml")
    ended = penstock(*words, "--set", "device.turnaround=1ms", "--json")
    assert json.loads(ended.out)["device"] == "hdd-7200, changed"


def test_an_emulated_device_is_not_changed(job: Path) -> None:
    words = ("run", job, "--policy", "noop", "--on", "emulated:barracuda")
    ended = penstock(*words, "--set", "device.observed=false")
    assert (ended.code, ended.out) == (2, "")
    assert "--set changes no part of emulated:barracuda" in ended.err


def test_a_part_that_it_has_not_is_refused(job: Path) -> None:
    ended = penstock("run", job, "--policy", "noop", "--on", "flash", "--set", "device.rpm=1")
    assert (ended.code, ended.out) == (2, "")
    assert "device.rpm=1" in ended.err
