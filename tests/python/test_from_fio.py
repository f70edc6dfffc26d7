"""Jobs of fio: each becomes a job that is valid and runs, and nothing is overwritten."""

import json
from pathlib import Path

import pytest

from command import ROOT, penstock

JOBS = sorted((ROOT / "tests/data/fio").glob("*.fio"))


@pytest.mark.parametrize("fio", JOBS, ids=lambda path: path.stem)
def test_a_job_of_fio_is_valid_and_runs(fio: Path, tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    made = penstock("job", "from-fio", fio, "-o", job)
    assert made.code == 0, made.err
    assert made.out.startswith(f"wrote {job}: ")
    shown = penstock("job", "show", job)
    assert shown.code == 0, shown.err
    ran = penstock("run", job, "--policy", "fcfs", "--on", "ssd-sata", "--json")
    assert ran.code == 0, ran.err


def test_a_section_without_an_end_in_time_is_not_cut(tmp_path: Path) -> None:
    fio, job = tmp_path / "wait.fio", tmp_path / "job.toml"
    fio.write_text(
        "[global]\nsize=16m\ndirect=1\nfilename=data\nrw=read\n"
        "[a]\ntime_based\nruntime=1\nrate_iops=10\n[b]\nbs=4k\nwait_for=a\n"
    )
    assert penstock("job", "from-fio", fio, "-o", job).code == 0
    ran = penstock("run", job, "--policy", "fcfs", "--on", "ssd-sata", "--json")
    (run,) = json.loads(ran.out)["runs"]
    first, second = run["classes"]
    assert (first["requests"], second["requests"]) == (10, 4096)
    shown = json.loads(penstock("job", "show", job, "--on", "ssd-sata", "--json").out)
    assert shown["seconds"] is None


def test_the_answer_has_the_result_and_then_each_line_that_is_not_in_the_job(
    tmp_path: Path,
) -> None:
    fio, job = tmp_path / "verify.fio", tmp_path / "job.toml"
    fio.write_text("[a]\nrw=write\nsize=1m\nverify=crc32c\nnumjobs=2\nrwmixraed=1\n")
    made = penstock("job", "from-fio", fio, "-o", job)
    assert (made.code, made.err) == (0, "")
    assert made.out.splitlines() == [
        f"wrote {job}: 2 agents, 2 requests in flight at most",
        "not taken over, or stated elsewhere:",
        '  line 4, verify=crc32c: write `verify = "both"`, which stamps and compares blocks of '
        "4 KiB",
        "  line 6, rwmixraed=1: not an option that is known here; did you mean `rwmixread`?",
    ]


def test_without_a_file_the_job_goes_to_stdout(tmp_path: Path) -> None:
    fio = tmp_path / "verify.fio"
    fio.write_text("[a]\nrw=write\nsize=1m\nverify=crc32c\n")
    made = penstock("job", "from-fio", fio)
    assert made.code == 0
    assert made.err.startswith("1 agent, 1 request in flight at most\n")
    assert "  line 4, verify=crc32c: " in made.err
    assert "#   line 4, `verify=crc32c`: " in made.out
    job = tmp_path / "job.toml"
    job.write_text(made.out)
    assert penstock("job", "show", job).code == 0


def test_the_answer_as_json(tmp_path: Path) -> None:
    fio, job = ROOT / "tests/data/fio/deep.fio", tmp_path / "job.toml"
    made = json.loads(penstock("job", "from-fio", fio, "-o", job, "--json").out)
    assert (made["file"], made["agents"], made["in_flight"]) == (str(job), 1, 32)
    assert [note["line"] for note in made["notes"]] == [5, 11]
    assert made["notes"][0]["text"] == "filename=data"
    printed = json.loads(penstock("job", "from-fio", fio, "--json").out)
    assert printed["job"] == job.read_text()


def test_single_sections_become_a_job() -> None:
    fio = ROOT / "tests/data/fio/sections.fio"
    made = penstock("job", "from-fio", fio, "--section", "third")
    assert "[class.third]" in made.out
    assert "[class.first]" not in made.out
    unknown = penstock("job", "from-fio", fio, "--section", "fourth")
    assert unknown.code == 2
    assert "there is no section `fourth`" in unknown.err


def test_a_file_that_exists_is_not_overwritten(tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    job.write_text("mine")
    made = penstock("job", "from-fio", JOBS[0], "-o", job)
    assert (made.code, job.read_text()) == (2, "mine")
    fio = tmp_path / "a.fio"
    fio.write_text("[a]\nrw=read\nsize=1m\n")
    made = penstock("job", "from-fio", fio, "-o", fio)
    assert made.code == 2
    assert fio.read_text().startswith("[a]")


def test_what_is_no_job_of_fio_is_refused(tmp_path: Path) -> None:
    fio, job = tmp_path / "a.fio", tmp_path / "job.toml"
    fio.write_text("[a]\nbs=four\n")
    made = penstock("job", "from-fio", fio, "-o", job)
    assert made.code == 2
    assert f"--> {fio}:2:1" in made.err
    assert not job.exists()
    for path in (tmp_path, tmp_path / "missing.fio"):
        made = penstock("job", "from-fio", path, "-o", job)
        assert made.code == 2, made.err
        assert "cannot read the job file of fio" in made.err
        assert not job.exists()
    fio.write_bytes(b"[a]\nrw=read\n\xff\n")
    assert penstock("job", "from-fio", fio).code == 2
