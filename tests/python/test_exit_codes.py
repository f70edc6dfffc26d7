"""What the command exits with where a path leads nowhere: wrong input, or an unsafe target."""

from pathlib import Path

import pytest

import penstock as package
from command import ROOT, penstock

WRONG_INPUT = 2

UNSAFE = 5

TRACE = ROOT / "examples/traces/pgbench-backup.blkparse.gz"

RUN = ("run", "JOB", "--policy", "noop")
LIVE = ("paper", "online-batch", "live", "--modes", "fifo", "--batch", "0", "--repeat", "1")

TARGETS: dict[str, tuple[str | Path, ...]] = {
    "run": (*RUN, "--on", "PATH"),
    "run, which may create": (*RUN, "--on", "PATH", "--create", "16MiB"),
    "run, behind a loop device": (*RUN, "--on", "loop:PATH"),
    "run, below a model": (*RUN, "--on", "emulated:hdd-7200:PATH"),
    "run, which only reads": (*RUN, "--on", "PATH", "--read-only"),
    "compare": ("compare", "JOB", "--policies", "noop", "--on", "PATH"),
    "watch": ("watch", "JOB", "--policies", "noop", "--on", "PATH"),
    "watch, which only reads": ("watch", "JOB", "--policy", "noop", "--on", "PATH", "--read-only"),
    "replay": ("replay", TRACE, "--on", "PATH"),
    "calibrate": ("calibrate", "PATH"),
    "calibrate, which may create": ("calibrate", "PATH", "--create", "16MiB"),
    "advise": ("advise", "split", "--on", "PATH"),
    "paper": (*LIVE, "--on", "PATH"),
}

INPUTS: dict[str, tuple[str | Path, ...]] = {
    "job": ("run", "PATH", "--policy", "noop"),
    "device": (*RUN, "--on", "PATH.toml"),
    "trace": ("trace", "info", "PATH"),
    "record": ("replay-decisions", "PATH"),
    "classes": ("replay", TRACE, "--classes", "PATH"),
    "doctor": ("doctor", "PATH"),
}

OUTPUTS: dict[str, tuple[str | Path, ...]] = {
    "report": (*RUN, "--report", "PATH.html"),
    "plots": (*RUN, "--plots", "PATH"),
    "xlsx": (*RUN, "--xlsx", "PATH.xlsx"),
    "record": (*RUN, "--record", "PATH"),
    "trace": ("trace", "convert", TRACE, "PATH", "--to", "fio-iolog3"),
    "picture": ("trace", "plot", TRACE, "--out", "PATH.png"),
    "pictures": ("trace", "plot", TRACE, "--plots", "PATH"),
    "device file": ("calibrate", "hdd-7200", "--output", "PATH"),
    "paper": ("paper", "online-batch", "--report", "PATH.html"),
    "writes": (*LIVE, "--csv", "PATH"),
}


def ended_at(path: Path, words: tuple[str | Path, ...], job: Path) -> tuple[int, str]:
    """How a command ended that was given a path, and what it said."""
    said = [str(word).replace("JOB", str(job)).replace("PATH", str(path)) for word in words]
    ended = penstock(*said)
    assert "Traceback" not in ended.err, ended.err
    assert path.name in ended.err
    return ended.code, ended.err


@pytest.fixture
def circle(tmp_path: Path) -> Path:
    """A symbolic link that leads to itself, with every ending that outputs have."""
    for ending in ("", ".html", ".xlsx", ".png", ".toml"):
        one, other = tmp_path / f"circle{ending}", tmp_path / f"other{ending}"
        one.symlink_to(other)
        other.symlink_to(one)
    return tmp_path / "circle"


@pytest.mark.parametrize("of", TARGETS)
def test_a_target_of_links_in_a_circle_is_wrong_input(job: Path, circle: Path, of: str) -> None:
    code, said = ended_at(circle, TARGETS[of], job)
    assert code == WRONG_INPUT, said
    assert "found symbolic links that lead in a circle" in said
    assert "\nhint: " in said


@pytest.mark.parametrize("of", INPUTS)
def test_an_input_of_links_in_a_circle_is_wrong_input(job: Path, circle: Path, of: str) -> None:
    code, said = ended_at(circle, INPUTS[of], job)
    assert code == WRONG_INPUT, said


@pytest.mark.parametrize("of", OUTPUTS)
def test_an_output_of_links_in_a_circle_is_wrong_input(job: Path, circle: Path, of: str) -> None:
    code, said = ended_at(circle, OUTPUTS[of], job)
    assert code == WRONG_INPUT, said
    assert circle.is_symlink(), "it is left as it is"


@pytest.mark.parametrize("of", TARGETS)
@pytest.mark.parametrize("path", ["/sys/kernel/uevent_seqnum", "/proc/sys/kernel/hostname"])
def test_files_of_the_kernels_own_are_refused(job: Path, path: str, of: str) -> None:
    code, said = ended_at(Path(path), TARGETS[of], job)
    assert code == UNSAFE, said
    assert "found a file of the kernel's own (" in said
    assert "\nhint: " in said


@pytest.mark.parametrize("adopt", [False, True])
def test_a_gate_refuses_them_alike(circle: Path, adopt: bool) -> None:
    with pytest.raises(package.PenstockError, match="lead in a circle") as caught:
        package.Gate(circle, adopt=adopt)
    assert caught.value.exit_code == WRONG_INPUT
    with pytest.raises(package.PenstockError, match="the kernel's own") as caught:
        package.Gate("/proc/sys/kernel/hostname", adopt=adopt)
    assert caught.value.exit_code == UNSAFE
