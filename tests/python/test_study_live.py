"""Studies in real time: remarks of their runs, targets that change, targets that fail."""

import mmap
from pathlib import Path

import pytest

from command import penstock
from penstock.study import rows
from penstock.study.remarks import Counted, counted, lines
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

MIB = 1 << 20


def remarks(out: Path) -> str:
    """What analysis and watch say of the runs, which has to be the same."""
    analysed = penstock("study", "analyse", out)
    assert analysed.code == 0, analysed.err
    watched = penstock("study", "watch", out)
    assert watched.out == "10 of 10 runs (100.0 %): the study is complete\n"
    notes = [line for line in analysed.out.splitlines() if line.startswith("  note: ")]
    assert len(notes) == watched.err.count("note: ")
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

    def test_requests_that_came_late(self, tmp_path: Path) -> None:
        """More than any machine asks for in that time."""
        late = 'arrivals = { kind = "poisson", rate = "8000000/s" }\n'
        job = JOB.replace('cache = "buffered"\n', late)
        run(study(tmp_path, STUDY, job), tmp_path / "out", "--on", "null")
        assert "note: the schedule was not held: " in remarks(tmp_path / "out")

    def test_a_model_that_answers_late(self, tmp_path: Path) -> None:
        """A device of a microsecond, where to answer alone takes as long."""
        (tmp_path / "fast.toml").write_text(
            '[device]\nmodel = "fixed"\nbase = "1us"\ncapacity = "1GiB"\n'
        )
        path = study(tmp_path, STUDY, JOB.replace('cache = "buffered"\n', ""))
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
