"""Signals that a person or a terminal sends: a run ends with what there is, and tidily."""

import json
import os
import pty
import signal
import subprocess
import sys
import termios
import time
import weakref
from pathlib import Path
from types import FrameType

import pytest
import typer

from command import COMMAND, LIMIT_S, ROOT, Running, penstock, running
from penstock.cli.answering import answer
from penstock.signals import DEFAULTS, StopSignal
from test_devices import losetup

ENDING = [(number, 128 + number) for number in (signal.SIGHUP, signal.SIGQUIT)]
"""Those that came after Ctrl-C and SIGTERM, and what the command exits with."""

NOTES = Path("/run/penstock")
"""Where a run notes the settings that it changes."""


@pytest.mark.parametrize(("number", "code"), ENDING)
@pytest.mark.parametrize("verb", ["run", "watch"])
def test_a_run_ends_with_what_there_is(
    writes: Path, disk: Path, verb: str, number: signal.Signals, code: int
) -> None:
    words = (verb, writes, "--policy" if verb == "run" else "--policies", "noop", "--json")
    with running(disk.parent, *words, "--on", disk, "--create", "16MiB") as command:
        command.wait_for(disk.exists)
        time.sleep(0.5)
        ended = command.end(number)
    assert ended.code == code
    (run,) = json.loads(ended.out)["runs"]
    assert (run["interrupted"], run["ended"]) == (True, "asked")
    assert "interrupted: the last run is partial" in ended.err


def test_ctrl_c_while_pictures_are_drawn_is_reported(job: Path, tmp_path: Path) -> None:
    pictures = tmp_path / "pictures"
    words = ("run", job, "--policy", "noop", "--plots", pictures)
    with running(tmp_path, *words) as command:
        command.wait_for(lambda: "tellers" in command.out.read_text())
        ended = command.end(signal.SIGINT)
    assert (ended.code, ended.err) == (130, "interrupted: not everything was written\n")
    assert "SIMULATED" in ended.out


@pytest.mark.usefixtures("leftovers")
@pytest.mark.parametrize(("number", "code"), [*ENDING, (signal.SIGTERM, 143)])
@pytest.mark.parametrize("verb", ["run", "linux compare"])
def test_a_disk_has_its_own_scheduler_again(
    writes: Path, disk: Path, verb: str, number: signal.Signals, code: int
) -> None:
    with disk.open("wb") as file:
        file.truncate(16 << 20)
    node = losetup("--find", "--show", disk)
    try:
        scheduler = Path("/sys/block", Path(node).name, "queue/scheduler")
        before = scheduler.read_text()
        other = next(name for name in before.split() if not name.startswith("["))
        under = {"run": ("--policy", f"kernel:{other}"), "linux compare": ("--schedulers", other)}
        words: tuple[str | Path, ...] = (*verb.split(), writes, *under[verb], "--json")
        with running(disk.parent, *words, "--on", node, "--i-will-lose-data", node) as command:
            command.wait_for(lambda: f"[{other}]" in scheduler.read_text())
            time.sleep(0.5)
            ended = command.end(number)
        assert scheduler.read_text() == before
        assert not NOTES.joinpath(f"queue.{Path(node).name}").exists()
    finally:
        losetup("--detach", node)
    assert ended.code == code
    (run,) = json.loads(ended.out)["runs"]
    assert (run["policy"], run["ended"]) == (f"kernel:{other}", "asked")


def test_one_that_is_ignored_from_the_start_stays_so(writes: Path, disk: Path) -> None:
    """As `nohup` has it."""
    script = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "os.execv(sys.executable, [sys.executable, '-m', 'penstock', *sys.argv[1:]])\n"
    )
    words = ("run", writes, "--policy", "noop", "--json", "--on", disk, "--create", "16MiB")
    with running(disk.parent, *words, script=script) as command:
        command.wait_for(disk.exists)
        command.process.send_signal(signal.SIGHUP)
        time.sleep(0.5)
        assert command.process.poll() is None
        ended = command.end(signal.SIGTERM)
    assert ended.code == 128 + signal.SIGTERM
    assert json.loads(ended.out)["runs"][0]["ended"] == "asked"


def test_a_connection_is_lost_only_once() -> None:
    """A shell that is hung up on passes the signal on, and so does the kernel."""
    asked = StopSignal()
    try:
        with asked.first_stops():
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGHUP)
            signal.raise_signal(signal.SIGHUP)
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, "this one ends it"
        signal.raise_signal(signal.SIGHUP)
        assert asked.exit_code == 129
    finally:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def test_a_signal_in_a_callback_that_cannot_raise_is_not_lost() -> None:
    """Each import runs such callbacks."""

    def work() -> None:
        value = set[int]()
        callback = weakref.ref(value, lambda _: signal.raise_signal(signal.SIGTERM))
        del value
        end = time.monotonic() + LIMIT_S
        while callback() is None and time.monotonic() < end:
            pass

    with pytest.raises(KeyboardInterrupt), StopSignal().first_stops():
        work()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


@pytest.mark.parametrize("verb", ["run", "watch"])
def test_a_run_whose_terminal_is_gone_ends_with_what_there_is(
    writes: Path, disk: Path, verb: str
) -> None:
    """Nothing that it has to say to the terminal is in the way of its report."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(ours, (40, 120))
    report = disk.parent / "report.html"
    words = (verb, writes, "--policy" if verb == "run" else "--policies", "noop")
    more = ("--on", disk, "--create", "16MiB", "--report", report)
    with subprocess.Popen(
        [*COMMAND, *map(str, (*words, *more))],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm"},
        preexec_fn=lambda: os.login_tty(os.dup(theirs)),
    ) as process:
        os.close(theirs)
        try:
            shown, end = b"", time.monotonic() + LIMIT_S
            while b"noop" not in shown:
                assert time.monotonic() < end, shown
                shown += os.read(ours, 1 << 16)
            time.sleep(0.5)
            os.close(ours)
            assert process.wait(LIMIT_S) == 128 + signal.SIGHUP
        finally:
            process.kill()
    assert "PARTIAL: interrupted" in report.read_text()
    again = ("run", writes, "--policy", "noop", "--on", disk, "--set", "duration=1s")
    assert penstock(*again).code == 0


STUDY = """\
[study]
job = "job.toml"
policy = "noop"
repeat = 2
response = ["tellers.lat_ns.p99"]

[factor.depth]
path = "agent.1.depth"
levels = [1, 2]
"""
"""A study of two cells."""

REAL = ("--on", "emulated:hdd-7200", "--set", "duration=1h")

ANSWER = "interrupted: there is no answer yet\n"

LONG = {
    "advise capacity": (
        (
            *("advise", "capacity", "job.toml", "--class", "tellers", "--set", "duration=1000h"),
            *("--goal", "tellers.p99 <= 1s"),
        ),
        ANSWER,
    ),
    "advise goal": (
        ("advise", "job.toml", "--best", "batch.bw", "--set", "agent.1.copies=2000"),
        ANSWER,
    ),
    "advise merge": (("advise", "merge", "--disks", "64", "--jobs", "64"), ANSWER),
    "advise cycle": (("advise", "cycle", "job.toml", "--set", "duration=1000h"), ANSWER),
    "advise shares": (
        ("advise", "shares", "--weights", "1,2", "--on", "emulated:hdd-7200"),
        ANSWER,
    ),
    "advise split": (("advise", "split", "--on", "emulated:hdd-7200"), ANSWER),
    "calibrate": (("calibrate", "emulated:hdd-7200"), ANSWER),
    "study plan": (("study", "plan", "study.toml", *REAL), ANSWER),
    "study confirm": (("study", "confirm", "recorded", "--on", "emulated:hdd-7200"), ANSWER),
    "paper online-batch": (("paper", "online-batch", "--sensitivity"), ANSWER),
    "paper ioagent": (("paper", "ioagent"), ANSWER),
    "paper merge-placement": (("paper", "merge-placement"), ANSWER),
    "paper fairio live": (("paper", "fairio", "live"), ANSWER),
    "paper online-batch live": (("paper", "online-batch", "live"), ANSWER),
}
"""A call of each verb that works for long, and what it says if it is interrupted."""


@pytest.mark.parametrize("verb", LONG)
def test_a_verb_without_a_partial_result_says_so(job: Path, verb: str) -> None:
    folder, (words, said) = job.parent, LONG[verb]
    (folder / "study.toml").write_text(STUDY)
    if verb == "study confirm":
        ran = penstock("study", "run", "study.toml", "-o", "recorded", cwd=folder)
        assert ran.code == 0, ran.err
    with running(folder, *words, cwd=folder) as command:
        command.wait_for(lambda: takes_over(command, signal.SIGTERM))
        ended = command.end(signal.SIGTERM)
    assert (ended.code, ended.out) == (143, ""), ended.err
    assert ended.err.endswith(said)


QUIET = {
    "trace info": ("trace", "info", "quiet"),
    "trace convert": ("trace", "convert", "quiet", "made", "--to", "fio-iolog3"),
    "replay": ("replay", "quiet", "--on", "hdd-7200"),
    "job show": ("job", "show", "quiet"),
    "study run": ("study", "run", "quiet", "-o", "made"),
}
"""Verbs that wait for a pipe in which nothing comes."""


@pytest.mark.parametrize("verb", QUIET)
def test_a_signal_is_heard_while_nothing_comes_from_a_pipe(tmp_path: Path, verb: str) -> None:
    os.mkfifo(tmp_path / "quiet")
    with running(tmp_path, *QUIET[verb], cwd=tmp_path) as command:
        command.wait_for(lambda: takes_over(command, signal.SIGTERM))
        ended = command.end(signal.SIGTERM)
    assert (ended.code, ended.out) == (143, "")
    assert ended.err.count("\n") == 1
    assert "interrupted" in ended.err
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL])
def test_a_trace_that_is_being_written_has_no_name(tmp_path: Path, number: signal.Signals) -> None:
    os.mkfifo(tmp_path / "trace")
    words = ("trace", "convert", "trace", "made", "--to", "fio-iolog3")
    with (
        running(tmp_path, *words, cwd=tmp_path) as command,
        (tmp_path / "trace").open("wb") as pipe,
    ):
        pipe.write(b"0,8,4096,R,0.5\n" * 100_000)
        command.process.send_signal(number)
        command.process.wait(LIMIT_S)
    assert {path.name for path in tmp_path.iterdir()} == {"trace", "out", "err"}


def takes_over(command: Running, number: signal.Signals) -> bool:
    """Whether a process has a handler of its own for a signal."""
    status = Path(f"/proc/{command.process.pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) >> number - 1 & 1)


def test_a_signal_at_any_moment_after_it_is_taken_over_ends_the_command_tidily() -> None:
    """It comes at each call and return, one after another, until the work itself has begun."""
    before = {number: signal.getsignal(number) for number in DEFAULTS}
    begun: list[int] = []

    def ended(moment: int) -> int:
        """The exit code, if the signal comes at this call or return."""
        passed = iter(range(moment + 1))

        def count(_frame: FrameType, _event: str, _value: object) -> None:
            if signal.getsignal(signal.SIGTERM) != before[signal.SIGTERM] and (
                next(passed, None) == moment
            ):
                signal.raise_signal(signal.SIGTERM)

        def work(_progress: object) -> None:
            begun.append(moment)
            sys.setprofile(None)
            signal.raise_signal(signal.SIGTERM)

        sys.setprofile(count)
        try:
            answer(work)
        except typer.Exit as code:
            return code.exit_code
        except KeyboardInterrupt:
            return 0
        finally:
            sys.setprofile(None)
            for number, handler in before.items():
                signal.signal(number, handler)
        return 0

    codes: list[int] = []
    while not begun:
        codes.append(ended(len(codes)))
    assert len(codes) > 10
    assert set(codes) == {128 + signal.SIGTERM}


def test_an_interrupt_while_a_text_is_evaluated_does_not_change_the_exit_code(
    tmp_path: Path,
) -> None:
    (tmp_path / "interrupted.py").write_text(
        "from penstock import command\n"
        "from penstock.cli import app\n"
        "def main():\n"
        "    try:\n"
        "        exec('raise KeyboardInterrupt')\n"
        "    except KeyboardInterrupt:\n"
        "        raise SystemExit(143)\n"
        "app.main = main\n"
        "command.main()\n"
    )
    done = subprocess.run([sys.executable, "-m", "interrupted"], cwd=tmp_path, check=False)
    assert done.returncode == 143


def test_one_place_of_the_command_takes_signals_over() -> None:
    package = ROOT / "python/penstock"
    calls = [
        str(file.relative_to(package))
        for file in package.rglob("*.py")
        for _ in range(file.read_text().count(".first_stops()"))
    ]
    assert calls == ["cli/answering.py"]
