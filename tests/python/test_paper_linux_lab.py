"""The lab on the schedulers of Linux: its statements, and its half under the kernel."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from penstock import _native
from penstock.errors import CANNOT_HERE, PenstockError
from penstock.papers.linux_lab import claims, kernel, modelled, setting
from penstock.papers.linux_lab.kernel import Lab, World
from penstock.papers.linux_lab.modelled import Rows
from penstock.papers.rows import levels, select
from test_serve import HERE

SETTINGS = ("scheduler", "nr_requests")
"""What a run changes of a queue; the kernel sets the limits of a loop device as it is attached."""

SHORT = ("duration=20s", "exercise.size=16MiB", "example.size=64MiB")

DOES_NOT_HOLD = {"deadline-2"}


def queues() -> dict[str, dict[str, str]]:
    """The settings of all loop devices."""
    disks = json.loads(_native.disks())["disks"]
    return {
        disk["name"]: {key: disk["queue"][key] for key in SETTINGS}
        for disk in disks
        if disk["name"].startswith("loop")
    }


@pytest.fixture(scope="module")
def rows() -> Rows:
    return modelled.simulate(setting.read(setting.SETTINGS.read(SHORT)))


def test_the_statements_hold_on_models_but_for_what_overload_breaks(rows: Rows) -> None:
    judged = {claim["id"]: claim["holds"] for claim in claims.claims(rows)}
    assert len(judged) == 15
    assert {id_ for id_, holds in judged.items() if not holds} == DOES_NOT_HOLD


def test_with_one_program_all_schedulers_do_the_same(rows: Rows) -> None:
    for run in ("exercise", "example"):
        for test in levels(rows["exercise"], "test"):
            kb_s = [row["kb_s"] for row in select(rows["exercise"], run=run, test=test)]
            assert len(kb_s) == len(setting.LECTURE)
            assert max(kb_s) < 1.02 * min(kb_s), (run, test)


def test_the_worth_of_sorting_grows_with_the_part_of_the_disk(rows: Rows) -> None:
    def gain(place: str, scheduler: str) -> float:
        of_place = select(rows["readers"], place=place, threads=32)
        above, below = (
            select(of_place, scheduler=name)[0]["requests_s"] for name in (scheduler, "noop")
        )
        return float(above / below)

    assert gain("1 GiB", "deadline") <= 1.1
    assert gain("a tenth", "deadline") >= 1.15
    assert gain("the disk", "deadline") >= 1.6
    assert gain("the disk", "cfq") == pytest.approx(1, abs=0.02)


def test_a_scheduler_that_waits_gains_where_programs_think(rows: Rows) -> None:
    mb_s = {row["scheduler"]: row["mb_s"] for row in rows["thinking"]}
    assert mb_s["anticipatory"] >= 5 * mb_s["deadline"]


@pytest.mark.parametrize("sets", [["seed=x"], ["exercise.size=1"], ["duration=soon"]])
def test_a_wrong_setting_names_itself(sets: list[str]) -> None:
    with pytest.raises(PenstockError, match=sets[0].replace(".", r"\.")):
        modelled.simulate(setting.read(setting.SETTINGS.read(sets)))


def test_without_root_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, rows: Rows) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    half = kernel.under_kernel({}, rows, print)
    assert half.tables == ()
    (missing,) = half.missing
    assert "sudo penstock paper linux-lab" in missing


@contextmanager
def _missing() -> Iterator[Lab]:
    raise PenstockError("error: there is no FUSE here\nhint: load it", exit_code=CANNOT_HERE)
    yield


def test_a_machine_that_cannot_says_why(monkeypatch: pytest.MonkeyPatch, rows: Rows) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(kernel, "_served", _missing)
    monkeypatch.setattr(kernel, "_looped", _missing)
    half = kernel.under_kernel({}, rows, print)
    assert [line.partition(":")[0] for line in half.missing] == [
        kernel.SERVED_DISK.name,
        kernel.LOOP_DEVICE.name,
    ]
    assert "there is no FUSE here" in half.missing[0]


@pytest.mark.skipif(not HERE, reason="needs root, FUSE and loop devices")
@pytest.mark.usefixtures("leftovers")
@pytest.mark.parametrize("place", ["_served", "_looped"])
def test_it_runs_under_the_kernel_and_puts_everything_back(
    place: str, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(disk.parent)
    monkeypatch.setattr(kernel, "SCHEDULERS", ("mq-deadline",))
    world = World(name="short", threads=(2,), seconds=1, sizes={"exercise": 1 << 20})
    before = queues()
    with getattr(kernel, place)() as lab:
        rows = lab.run(world, lambda _: None)
    assert queues() == before
    schedulers = ["mq-deadline"]
    for experiment in ("exercise", "readers", "thinking", "flood", "processes"):
        assert levels(rows[experiment], "scheduler") == schedulers, experiment
    assert len(rows["exercise"]) == 6
    assert {claim["id"] for claim in claims.claims(rows, claims.KERNEL_NAMES)} >= {"deadline-1"}
    assert kernel.kernel_tables({"short": rows}, rows)
