"""The bindings: what Python says reaches the engine, and what the engine says reaches Python."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from penstock import _native
from penstock.results.steps import Step
from penstock.session import Options, Variant, compare
from penstock.signals import StopSignal
from penstock.target import Target

FOR_EVER = ["duration=100000h"]


def test_the_stubs_say_what_the_module_has(tmp_path: Path) -> None:
    # What the stubs import is checked with the package, which takes long.
    settings = tmp_path / "mypy.ini"
    settings.write_text("[mypy]\nfollow_imports = skip\n")
    stubtest = Path(sys.executable).with_name("stubtest")
    options = ("--concise", "--mypy-config-file", str(settings))
    command = [str(stubtest), *options, "penstock._native"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("", 0), done.stderr


def endless(job: Path) -> Variant:
    """The job under two policies, for so long that a test ends it."""
    return Variant(name=str(job), sets=FOR_EVER, policies=["noop", "cfq"])


def test_progress_is_reported_and_may_end_the_run_by_raising(job: Path) -> None:
    steps: list[Step] = []
    fractions: list[float] = []

    def progress(step: Step) -> None:
        steps.append(step)
        if step["step"] == "running" and step["fraction"] not in fractions:
            fractions.append(step["fraction"])
        if len(fractions) == 3:
            raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        compare(endless(job), Target(), progress=progress)
    for step in steps:
        assert step["step"] == "running"
        assert (step["policy"], step["number"], step["of"]) == ("noop", 0, 2)
    assert 0 <= fractions[0] < fractions[1] < fractions[2] < 1


def test_an_interrupt_gives_the_result_so_far(job: Path) -> None:
    def progress(_: Step) -> None:
        raise KeyboardInterrupt

    text = compare(endless(job), Target(), progress=progress)
    assert text.count('"interrupted": true') == 1
    assert '"policy": "cfq"' not in text


def test_a_failure_has_its_message_and_its_exit_code(job: Path) -> None:
    options: Options = {"policies": ["nop"]}
    with pytest.raises(_native.Failure, match=r"^error: unknown policy `nop`\n") as caught:
        _native.Session([Variant(name=str(job))], Target(), options)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(("first", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_first_signal_stops_and_the_second_kills(first: signal.Signals, code: int) -> None:
    asked = StopSignal()
    with asked.first_stops():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(first)
        for either in (signal.SIGINT, signal.SIGTERM):
            assert signal.getsignal(either) is signal.SIG_DFL
    assert asked.exit_code == code
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_signals_that_are_ignored_stay_so() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with StopSignal().first_stops():
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
