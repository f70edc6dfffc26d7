"""Studies in real time: remarks of their runs, targets that change, targets that fail."""

import mmap
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import log
from pathlib import Path

import pytest

from command import COMMAND, LIMIT_S, penstock
from penstock.experiment.trial import Setup
from penstock.results.steps import Step
from penstock.session import Session, Variant
from penstock.study import rows, words
from penstock.study.analysis import Analysis, analyse
from penstock.study.cells import Outcome, failures_of
from penstock.study.definition import Definition
from penstock.study.remarks import Counted, counted, lines
from penstock.study.run import run as run_study
from penstock.study.schedule import Planned, StudySchedule
from penstock.study.table import StudyTable, of_frame, read
from penstock.target import Target
from test_faults import ext4, fill
from test_study_run import run, study

JOB = """\
duration = "50ms"
[class.readers]
[[agent]]
class = "readers"
op = "read"
size = "4KiB"
pattern = "random"
cache = "buffered"
"""

STUDY = """\
[study]
job = "job.toml"
policy = "noop"
repeat = 2
reference = 4
response = "bw_bytes"
[factor.copies]
path = "agent.0.copies"
levels = [1, 2]
[factor.size]
path = "agent.0.size"
levels = ["4KiB", "64KiB"]
"""
"""Ten runs, two of them of the reference cell."""

FOUR = STUDY.replace("reference = 4\n", "").partition("[factor.size]")[0]
"""Four runs."""

MIB = 1 << 20


def remarks(out: Path) -> str:
    """What the analysis says of the runs; watch says as much, and of the reference cell's too."""
    analysed = penstock("study", "analyse", out)
    assert analysed.code == 0, analysed.err
    watched = penstock("study", "watch", out)
    assert watched.out.endswith(" runs (100.0 %): the study is complete\n")
    notes = [line for line in analysed.out.splitlines() if line.startswith("  note: ")]
    assert 0 < len(notes) <= watched.err.count("note: ")
    return "\n".join(notes)


class TestRemarks:
    """What has to be known of runs is kept with them, and said by whatever reads the folder."""

    def test_pages_that_cannot_be_dropped(self, tmp_path: Path, disk: Path) -> None:
        path, out = study(tmp_path, STUDY, JOB), tmp_path / "out"
        plan = penstock("study", "plan", path, "--on", disk, "--create", "4MiB")
        assert plan.code == 0, plan.err
        # The kernel drops no page that a process has mapped and looked at.
        with (
            disk.open("rb") as file,
            mmap.mmap(file.fileno(), 2 * MIB, prot=mmap.PROT_READ) as all_,
        ):
            assert len(all_[:]) == 2 * MIB
            ended = penstock("study", "run", path, "-o", out, "--on", disk)
            assert ended.code == 0, ended.err
        stayed = f"of {disk} stayed in the page cache at the beginning"
        assert f"MiB {stayed} (10 of 10 runs, 100.0 %" in ended.err
        kept = rows.read(out)["remarks"].to_list()
        assert all(stayed in row for row in kept)
        assert f"MiB {stayed} (8 of 8 runs, 100.0 %" in remarks(out)

    @pytest.mark.soak
    def test_pages_that_should_stay(self, tmp_path: Path, disk: Path) -> None:
        text = STUDY.replace("[factor.copies]", 'set = ["live.page_cache=keep"]\n[factor.copies]')
        run(study(tmp_path, text, JOB), tmp_path / "out", "--on", str(disk), "--create", "4MiB")
        said = f"pages of {disk} were not dropped from the page cache before the run"
        assert all(said in row for row in rows.read(tmp_path / "out")["remarks"])
        assert f'{said}, as live.page_cache = "keep" says (8 of 8 runs, 100.0 %)' in remarks(
            tmp_path / "out"
        )

    def test_pages_that_were_dropped_are_no_remark(self, tmp_path: Path, disk: Path) -> None:
        run(study(tmp_path, STUDY, JOB), tmp_path / "out", "--on", str(disk), "--create", "4MiB")
        kept = rows.read(tmp_path / "out")["remarks"]
        if any("lies in memory" in (row or "") for row in kept):
            pytest.skip("the file system of the repository is memory")
        assert not any("stayed" in (row or "") or "not dropped" in (row or "") for row in kept)

    @pytest.mark.soak
    def test_requests_that_came_late(self, tmp_path: Path) -> None:
        """More than any machine asks for in that time."""
        late = 'arrivals = { kind = "poisson", rate = "8000000/s" }\n'
        job = JOB.replace('cache = "buffered"\n', late)
        run(study(tmp_path, FOUR, job), tmp_path / "out", "--on", "null")
        assert "note: the schedule was not held: " in remarks(tmp_path / "out")

    def test_a_model_that_answers_late(self, tmp_path: Path) -> None:
        """A device of a microsecond, where to answer alone takes as long."""
        (tmp_path / "fast.toml").write_text(
            '[device]\nmodel = "fixed"\nbase = "1us"\ncapacity = "1GiB"\n'
        )
        path = study(tmp_path, FOUR, JOB.replace('cache = "buffered"\n', ""))
        run(path, tmp_path / "out", "--on", f"emulated:{tmp_path / 'fast.toml'}")
        assert "note: the model answered late by p50 " in remarks(tmp_path / "out")

    def test_a_model_in_virtual_time_has_none(self, tmp_path: Path) -> None:
        run(study(tmp_path), tmp_path / "out")
        assert rows.read(tmp_path / "out")["remarks"].null_count() == 18

    def test_they_are_counted_by_what_they_say_but_for_figures(self) -> None:
        column = [
            "3 MiB of /x/disk-1.img stayed\nthe machine was busy: no processor for 983 ms",
            "12 MiB of /x/disk-1.img stayed",
            None,
            "12 MiB of /x/disk-2.img stayed\n1 MiB of /x/disk-2.img stayed",
            "the machine was busy: no processor for 1.23 s",
        ]
        assert counted(column) == [
            Counted("3 MiB of /x/disk-1.img stayed", 2, alike=False),
            Counted("the machine was busy: no processor for 983 ms", 2, alike=False),
            Counted("12 MiB of /x/disk-2.img stayed", 1, alike=True),
        ]
        assert list(lines(["a 1", None, "a 1"])) == ["a 1 (2 of 3 runs, 66.7 %)"]
        assert list(lines(["a 1", "a 2"])) == ["a 1 (2 of 2 runs, 100.0 %; figures differ)"]


DEVICE = """\
[device]
model = "fixed"
base = "{base}"
per_mb = "{per_mb}"
capacity = "1GiB"
"""

SLOWED = """\
[study]
job = "job.toml"
policy = "noop"
seed = 32
repeat = 2
reference = 1
response = "lat_ns.min"
[factor.size]
path = "agent.0.size"
levels = ["4KiB", "32KiB", "64KiB"]
[factor.pattern]
path = "agent.0.pattern"
levels = ["sequential", "random"]
"""
"""Two blocks of six cells. A busy machine adds to any latency but the least one."""

MS = {"4KiB": 2.04096, "32KiB": 2.32768, "64KiB": 2.65536}
"""What each size takes on the device as it is at first."""


@dataclass
class Slowed:
    """A session on a device in real time that becomes another one while it is used."""

    before: Session
    after: Session
    runs: int
    """It changes after so many."""
    made: int = 0

    def check(self, jobs: Sequence[Variant]) -> list[str]:
        """As a session does."""
        return self.before.check(jobs)

    def run(
        self,
        jobs: Sequence[Variant],
        *,
        progress: Callable[[Step], object] | None = None,
        partial: bool = False,
    ) -> list[str]:
        """As a session does."""
        self.made += len(jobs)
        where = self.before if self.made <= self.runs else self.after
        return where.run(jobs, progress=progress, partial=partial)

    def close(self) -> None:
        """As a session does."""
        self.before.close()
        self.after.close()


@dataclass
class Changing:
    """A study on a device that becomes half as fast after its first block."""

    planned: Sequence[Planned]
    sizes: Sequence[str]
    """Of the cells."""
    whole: StudyTable
    tables: dict[int, StudyTable] = field(default_factory=dict)
    """What was recorded after so many runs, read while the study ran."""


@pytest.fixture(scope="class")
def changing(tmp_path_factory: pytest.TempPathFactory) -> Changing:
    """It runs once, in real time."""
    folder = tmp_path_factory.mktemp("changing")
    for name, base, per_mb in (("fast", "2ms", "10ms"), ("slow", "4ms", "20ms")):
        (folder / f"{name}.toml").write_text(DEVICE.format(base=base, per_mb=per_mb))
    job = JOB.replace('cache = "buffered"\n', "")
    definition = Definition.load(study(folder, SLOWED, job))
    schedule = StudySchedule(definition)
    planned = schedule.runs(references=True)
    first = sum(one.block == 0 for one in planned)
    fast, slow = (Target(on=f"emulated:{folder / name}.toml") for name in ("fast", "slow"))
    opened, tables = Setup.session, {}

    def session(
        self: Setup[Outcome], first_jobs: Sequence[Variant] = (), workers: int | None = None
    ) -> Slowed:
        after = replace(self, target=slow)
        return Slowed(opened(self, first_jobs, workers), opened(after, first_jobs, workers), first)

    def report(done: int, _runs: int) -> None:
        if done > first:
            tables[done] = read(str(folder / "out"))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Setup, "session", session)
        run_study(definition, folder / "out", fast, report=report)
    sizes = [str(schedule.levels(cell)["size"]) for cell in range(len(schedule.cells))]
    return Changing(planned, sizes, read(str(folder / "out")), tables)


class TestChange:
    """A device in real time that becomes half as fast: drift is seen, and blocks take it out."""

    def effects(self, of: Analysis) -> dict[str, tuple[float, float, float]]:
        """Of each size, with its interval; the fit is of logarithms."""
        every = [one for one in of.fit.effects if one.term == ("size",)]
        found = {}
        for one in every:
            assert one.low is not None
            assert one.high is not None
            found[str(one.levels[0])] = (one.effect, one.low, one.high)
        return found

    def ascending(self, of: Analysis) -> list[str]:
        effects = self.effects(of)
        return sorted(effects, key=effects.__getitem__)

    def both(self, table: StudyTable) -> tuple[Analysis, Analysis]:
        """With blocks, as without being asked, and without."""
        bare = of_frame(
            table.frame.drop("block"),
            source=table.source,
            response=table.response,
            factors=list(table.factors),
        )
        terms = [(one,) for one in table.factors]
        return analyse(table, terms=terms), analyse(bare, terms=terms)

    def unfinished(self, changing: Changing) -> StudyTable:
        """The table when two cells of the second block had run, both of the least size."""
        second = [one for one in changing.planned if one.block == 1 and not one.reference][:2]
        assert [changing.sizes[one.cell] for one in second] == ["4KiB", "4KiB"]
        return changing.tables[second[-1].order + 1]

    def test_drift_is_seen_with_its_interval(self, changing: Changing) -> None:
        of, _ = self.both(changing.whole)
        assert of.drift is not None
        assert (of.drift.by, of.drift.runs) == ("reference", 12)
        # The device is half as fast, and a straight line makes more of what changes at once.
        assert 0 < of.drift.low < 100 < of.drift.percent < of.drift.high
        said = "\n".join(words.lines(of))
        assert "The target drifted: +" in said
        assert "; blocks take out what changed between them, not within one." in said
        assert next(iter(of.anova)).term == "block"

    def test_a_change_between_blocks_hides_nothing(self, changing: Changing) -> None:
        of, without = self.both(changing.whole)
        assert self.ascending(of) == list(MS)
        (size,) = (one for one in of.advice if one.factor == "size")
        assert (size.best, size.sns) == (("4KiB",), False)
        assert all(one.sns for one in without.advice), "what changed is taken for noise"

    def test_blocks_restore_the_order_of_levels(self, changing: Changing) -> None:
        table = self.unfinished(changing)
        assert "the study is not complete: 8 of 12 runs are recorded" in table.remarks
        of, without = self.both(table)
        assert self.ascending(without) == ["32KiB", "64KiB", "4KiB"]
        assert self.ascending(of) == list(MS)
        assert of.configurations[0].levels["size"] == "4KiB"
        assert without.configurations[0].levels["size"] == "32KiB"

    def test_effects_are_those_of_the_device(self, changing: Changing) -> None:
        mean = sum(map(log, MS.values())) / len(MS)
        for table in (changing.whole, self.unfinished(changing)):
            of, without = self.both(table)
            for size, ms in MS.items():
                assert self.effects(of)[size][0] == pytest.approx(log(ms) - mean, abs=0.02)
            off = [abs(self.effects(without)[size][0] - log(ms) + mean) for size, ms in MS.items()]
            assert (max(off) > 0.15) == (table is not changing.whole)


WRITERS = JOB.replace('"read"', '"write"').replace('cache = "buffered"\n', "")


class TestFailures:
    """A target that fails: the study ends with a message, its rows stay, and it goes on later."""

    def resumed(self, path: Path, out: Path, *words: str | Path) -> None:
        """It makes what was not made, and no run again."""
        before = rows.read(out)
        assert 0 < before.height < 10
        found = run(path, out, "--resume", *map(str, words))
        assert (found["resumed"], found["done"]) == (before.height, 10)
        after = rows.read(out)
        assert after["run"].to_list() == list(range(10))
        assert after.filter(after["run"].is_in(before["run"].implode())).equals(before)

    def started(self, path: Path, out: Path, *words: str | Path) -> subprocess.Popen[str]:
        """Until its first rows are there."""
        command = [*COMMAND, "study", "run", str(path), "-o", str(out), *map(str, words)]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        while not rows.every_part(out):
            assert process.poll() is None
            time.sleep(0.01)
        return process

    def test_a_file_that_is_cut(self, tmp_path: Path, disk: Path) -> None:
        path, out = study(tmp_path, STUDY, WRITERS.replace("50ms", "500ms")), tmp_path / "out"
        process = self.started(path, out, "--on", disk, "--create", "4MiB")
        kept = disk.read_bytes()
        os.truncate(disk, 4096)
        _, err = process.communicate(timeout=LIMIT_S)
        assert process.returncode == 1
        assert re.search(rf"^error: run \d+, copies = .*: {disk}: found a file of ", err, re.M)
        assert re.search(r"^hint: \d of 10 runs are recorded; --resume goes on ", err, re.M)
        ended = penstock("study", "run", path, "-o", out, "--resume", "--on", disk)
        assert ended.code == 5, "nothing that is not ours is written to"
        disk.write_bytes(kept)
        self.resumed(path, out, "--on", disk)

    def test_a_disk_that_is_full(self, tmp_path: Path, disk: Path) -> None:
        path, out = study(tmp_path, STUDY, WRITERS.replace("50ms", "1s")), tmp_path / "out"
        with ext4(disk, "32M", "-O", "^has_journal") as system:
            target, theirs = system.path / "disk.img", system.path / "theirs"
            process = self.started(path, out, "--on", target, "--create", "8MiB")
            # Its blocks are given back, and another file takes them before it writes again.
            punch = ["fallocate", "--punch-hole", "--offset", "0", "--length", "8MiB", str(target)]
            process.send_signal(signal.SIGSTOP)
            subprocess.run(punch, check=True)
            fill(theirs)
            process.send_signal(signal.SIGCONT)
            _, err = process.communicate(timeout=LIMIT_S)
            assert process.returncode == 1, err
            assert "ENOSPC; first a write of " in err
            theirs.unlink()
            self.resumed(path, out, "--on", target)

    def test_no_room_for_rows(self, tmp_path: Path, disk: Path) -> None:
        if os.geteuid() != 0:
            pytest.skip("to mount a file system takes root")
        path, small = study(tmp_path, STUDY, WRITERS), tmp_path / "small"
        small.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", str(small)]
        done = subprocess.run(mount, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")
        try:
            words = ("--on", disk, "--create", "4MiB")
            ended = penstock("study", "run", path, "-o", small / "out", *words)
            assert ended.code == 1
            assert re.search(
                r"^error: .*\.parquet cannot be written: No space left on device\n"
                r"hint: what is recorded stays; go on by --resume when there is room$",
                ended.err,
                re.M,
            )
            subprocess.run(["mount", "-o", "remount,size=1m", str(small)], check=True)
            self.resumed(path, small / "out", "--on", disk)
        finally:
            subprocess.run(["umount", small], check=True)

    def test_requests_that_fail_now_and_then_are_a_remark(self, tmp_path: Path) -> None:
        """On a model, whose faults are judged as a real disk's are."""
        (tmp_path / "faulty.toml").write_text(
            '[device]\nmodel = "fixed"\nbase = "100us"\nfaults = { errors = "10%" }\n'
        )
        path = study(tmp_path, STUDY, WRITERS)
        run(path, tmp_path / "out", "--on", str(tmp_path / "faulty.toml"))
        kept = rows.read(tmp_path / "out")["remarks"]
        assert all(re.match(r"\d+ of \d+ requests of readers failed \(EIO; ", one) for one in kept)

    def test_a_run_of_which_most_requests_fail_is_no_row(self, tmp_path: Path) -> None:
        (tmp_path / "faulty.toml").write_text(
            '[device]\nmodel = "fixed"\nbase = "100us"\nfaults = { errors = "80%" }\n'
        )
        path = study(tmp_path, STUDY, WRITERS)
        ended = penstock(
            "study", "run", path, "-o", tmp_path / "out", "--on", tmp_path / "faulty.toml"
        )
        assert ended.code == 1
        assert "MOST FAILED: " in ended.err
        assert not rows.every_part(tmp_path / "out")

    def test_a_request_without_room_is_a_disk_that_is_full(self) -> None:
        """Few of its requests fail, and its figures are still none of the cell."""
        first = {"op": "write", "start": 0, "len": 4096, "at_s": 0.5}
        codes = {"ENOSPC": {"requests": 10, "first": first}}
        one = {"name": "all", "requests": 990, "errors": 10, "error_codes": codes}
        run = {"policy": "noop", "classes": [one]}
        (said,) = failures_of(run)  # type: ignore[arg-type]
        assert said.startswith("the disk is full: 10 of 1,000 requests of all failed (ENOSPC; ")
        codes["EIO"] = codes.pop("ENOSPC")
        assert not list(failures_of(run))  # type: ignore[arg-type]
