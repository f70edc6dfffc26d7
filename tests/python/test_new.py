"""`penstock new`: every set of answers gives a job that runs, and no file is lost."""

import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

import penstock
from command import on_a_terminal
from command import penstock as command
from penstock.cli.new import Background, Online


@pytest.mark.parametrize(("online", "background"), list(product(Online, Background)))
def test_every_answer_gives_a_job_that_runs(
    tmp_path: Path, online: Online, background: Background
) -> None:
    job = tmp_path / "mine.toml"
    words = ("--online", online, "--background", background, "--device", "flash")
    ended = command("new", job, *words)
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == f"wrote {job}; run it with `penstock compare {job}`\n"
    result = penstock.compare(job, policies="noop", set={"duration": "10s"}, detail=False)
    classes = ["online"] if background is Background.NONE else ["online", "background"]
    assert [one.name for one in result.runs[0].classes] == classes
    assert all(one.requests > 20 for one in result.runs[0].classes)
    assert result.device == "flash"
    # Every line of a table says what it is for.
    assert job.read_text().count("\n# ") >= 2 + len(classes)


def test_three_questions_are_asked(tmp_path: Path) -> None:
    job = tmp_path / "mine.toml"
    press = [
        ("What do people wait for", "a log\n"),
        ("a log is not one of writes, reads, both", "reads\n"),
        ("in the background", "\n"),
        ("On which", "flash\n"),
    ]
    ended = on_a_terminal("new", job, press=press)
    assert ended.code == 0
    text = job.read_text()
    assert 'device = "flash"' in text
    assert text.count("[[agent]]") == 2
    assert 'op = "read"' in text
    assert 'op = "write"' in text


def test_without_a_terminal_the_usual_answers_are_taken(tmp_path: Path) -> None:
    ended = command("new", "bank-day", "--device", "flash", cwd=tmp_path)
    assert (ended.code, ended.out) == (0, "")
    assert ended.err == (
        "no terminal to ask: --online both\n"
        "no terminal to ask: --background write\n"
        "wrote bank-day.toml; run it with `penstock compare bank-day.toml`\n"
    )
    words = ("--online", "both", "--background", "write", "--device", "flash")
    assert command("new", "answered.toml", *words, cwd=tmp_path).code == 0
    usual, answered = ((tmp_path / f"{name}.toml").read_text() for name in ("bank-day", "answered"))
    assert usual.replace("bank-day", "answered") == answered


def test_an_ending_is_kept_and_what_is_there_has_none_added(tmp_path: Path) -> None:
    assert command("new", "my.job", cwd=tmp_path).err.endswith("`penstock compare my.job`\n")
    (tmp_path / "folder").mkdir()
    for there in ("folder", ".", ".."):
        ended = command("new", there, cwd=tmp_path)
        assert ended.code == 2
        assert f"{there} is there already" in ended.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "my.job"]


def test_a_closed_stdin_is_no_terminal(tmp_path: Path) -> None:
    script = f"'{sys.executable}' -m penstock new mine <&-"
    done = subprocess.run(
        ["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "mine.toml").exists()


def test_no_file_is_overwritten(tmp_path: Path) -> None:
    job = tmp_path / "mine.toml"
    job.write_text("mine")
    words = ("--online", "reads", "--background", "none", "--device", "flash")
    ended = command("new", job, *words)
    assert ended.code == 2
    assert "is there already" in ended.err
    assert job.read_text() == "mine"


def test_the_manual_has_every_command_and_option() -> None:
    page = command("man").out
    for word in ("compare", "sweep", "advise goal", "capture", "--vary", "--goal", "--repeat"):
        assert word.replace("-", "\\-") in page
    assert ".SH EXIT STATUS" in page
    # A line that begins with a point is troff's own.
    own = {line.split()[0] for line in page.splitlines() if line.startswith(".")}
    assert own == {".TH", ".SH", ".SS", ".PP", ".TP", ".B"}


def test_a_shell_completes_verbs_and_options() -> None:
    words = {"_PENSTOCK_COMPLETE": "complete_bash", "COMP_WORDS": "penstock sw", "COMP_CWORD": "1"}
    assert command(env=words).out.split() == ["sweep"]
