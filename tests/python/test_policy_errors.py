"""What a policy written in Python can do wrong: each mistake ends the run and is reported."""

import signal
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import penstock
from command import JOB
from penstock import Go
from penstock.errors import PenstockError
from penstock.session import Variant, compare
from penstock.target import Target
from scripted import Fifo

JOB_OF_TWO = penstock.Job.from_toml(JOB)

TELLERS = penstock.Job.from_toml(JOB.rpartition("[[agent]]")[0])
"""The same without the batch: a disk that rests now and then."""

NO_FUA = penstock.Job.from_toml(JOB.replace("sync = true\n", ""))
"""The same with writes that may be merged: of 4 KiB and of 256 KiB, the latter in sequence."""


class Scripted(Fifo):
    """Does as the test says, in the method that the test names."""

    calls = 0
    step: Callable[["Scripted"], Any]

    def dispatch(self, now: int, below: penstock.Below) -> Any:  # noqa: ANN401 - that is the mistake
        if len(self.queue) < 2:
            return None
        return type(self).step(self)

    def wakeup(self) -> Any:  # noqa: ANN401
        return 10**18


def failing(
    policy: Callable[[], penstock.Policy], *, job: penstock.Job = JOB_OF_TWO
) -> penstock.PenstockError:
    """The error that a run under `policy` ends with."""
    with pytest.raises(penstock.PenstockError) as caught:
        penstock.compare(job, policies=["noop", policy], set={"duration": "2s"})
    return caught.value


class TestRaising:
    """It is the cause of the error."""

    @pytest.mark.parametrize("method", ["enqueue", "dispatch", "complete", "wakeup"])
    def test_what_any_method_raises_ends_the_run_and_is_the_cause(self, method: str) -> None:
        class Broken(Fifo):
            calls = 0

        def breaks(self: Broken, *arguments: Any) -> Any:  # noqa: ANN401
            Broken.calls += 1
            if Broken.calls == 7:
                raise KeyError("nothing")
            return getattr(Fifo, method)(self, *arguments)

        setattr(Broken, method, breaks)
        error = failing(Broken, job=TELLERS)
        assert error.exit_code == 1
        first, hint = str(error).splitlines()
        assert first.startswith("error: policy Broken, at 0.")
        assert first.endswith(f" s: {method} raised KeyError: 'nothing'")
        assert hint == "hint: its traceback says where"
        assert isinstance(error.__cause__, KeyError)
        assert Broken.calls == 7
        shown = "".join(traceback.format_exception(error))
        assert 'raise KeyError("nothing")' in shown
        assert "PenstockError" in shown

    def test_what_making_one_raises_is_the_cause_too(self) -> None:
        class Needs(Fifo):
            def __init__(self, depth: int) -> None:
                super().__init__()

        error = failing(Needs)  # type: ignore[arg-type]
        assert "policy Needs cannot be made: TypeError:" in str(error)
        assert "functools.partial" in str(error)
        assert (error.exit_code, type(error.__cause__)) == (2, TypeError)

    def test_a_class_that_lacks_methods_is_reported_so(self) -> None:
        class Lacks(penstock.Policy):
            pass

        assert "define the methods that it lacks" in str(failing(Lacks))

    def test_words_for_a_terminal_stay_out_of_messages(self) -> None:
        class Coloured(Fifo):
            def dispatch(self, now: int, below: penstock.Below) -> penstock.Request | None:
                raise ValueError("\x1b[31mred\x1b[0m")

        assert "raised ValueError: ?[31mred?[0m" in str(failing(Coloured))

    def test_a_command_of_no_bytes_is_refused_by_the_device_below(self) -> None:
        class Asks(Fifo):
            def dispatch(self, now: int, below: penstock.Below) -> penstock.Request | Go | None:
                decided = super().dispatch(now, below)
                # One of the disks is full: of a striped array it is looked up which.
                assert below.admits("read", 0, 0)
                return decided

        striped = (
            'device = { model = "fixed", base = "1ms", array = { level = "raid0", disks = 4 } }'
        )
        job = penstock.Job.from_toml(JOB.replace('device = "hdd-7200"', striped))
        error = failing(Asks, job=job)
        assert "raised ValueError: len is at least 1, found 0: a command carries" in str(error)

    def test_leaving_the_program_is_no_mistake_of_the_policy(self) -> None:
        class Exits(Fifo):
            def dispatch(self, now: int, below: penstock.Below) -> penstock.Request | None:
                raise SystemExit(3)

        with pytest.raises(SystemExit):
            penstock.compare(JOB_OF_TWO, policies=[Exits])


class TestInterrupt:
    """Ctrl-C ends a run with what there is."""

    def test_an_interrupt_reaches_a_policy_that_does_not_return(self) -> None:
        class Endless(Fifo):
            def dispatch(self, now: int, below: penstock.Below) -> penstock.Request | None:
                if now > 2_000_000_000:
                    signal.raise_signal(signal.SIGINT)
                    while True:
                        pass
                return self.queue.popleft() if self.queue else None

        result = penstock.compare(JOB_OF_TWO, policies=[Endless, "noop"])
        assert [(run.policy, run.interrupted) for run in result.runs] == [("Endless", True)]
        assert result.runs[0].duration_s == pytest.approx(2, abs=0.1)
        assert result.runs[0]["tellers"].requests > 10

    def test_an_interrupt_reaches_a_built_in_policy_next_to_one(self) -> None:
        pressed = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
        pressed.start()
        result = penstock.compare(
            JOB_OF_TWO, policies=["noop", Fifo], set={"duration": "100000h"}, detail=False
        )
        pressed.join()
        assert [(run.policy, run.interrupted) for run in result.runs] == [("noop", True)]


LONG = 256 << 10


def long_ones(self: Scripted) -> list[penstock.Request]:
    """The batch's two requests, which are neighbours."""
    found = [one for one in self.queue if one.len == LONG]
    assert found[0].end == found[1].start
    return found[:2]


def after(answer: Callable[[Scripted], Any], *, first: Callable[[Scripted], Any]) -> Any:  # noqa: ANN401
    """A step that answers `first` once and then `answer`."""

    def step(self: Scripted) -> Any:  # noqa: ANN401
        self.calls += 1
        return first(self) if self.calls == 1 else answer(self)

    return step


def both(answer: Callable[[penstock.Request, penstock.Request], Any]) -> Any:  # noqa: ANN401
    """A step that answers of the batch's two requests."""
    return lambda self: answer(*long_ones(self))


WRONG: dict[str, tuple[Any, str]] = {
    "a text": (lambda _: "fifo", "answered 'fifo': of type str"),
    "a bare id": (lambda self: self.queue[0].id, "answered 0: of type int"),
    "a tuple": (lambda _: (0, 0, ()), "answered (0, 0, ()): of type tuple"),
    "no id": (lambda _: Go(-1), "answered Go(id=-1, len=0, chain=()): its id is not one"),
    "a word for an id": (lambda _: Go("0"), "its id is not one"),  # type: ignore[arg-type]
    "an id from nowhere": (lambda _: Go(99), "there is no request 99"),
    "a negative length": (lambda self: Go(self.queue[0].id, -1), "its len is no size in bytes"),
    "a length of half a byte": (
        lambda self: Go(self.queue[0].id, 0.5),  # type: ignore[arg-type]
        "its len is no size in bytes",
    ),
    "too much": (both(lambda one, _: Go(one.id, LONG + 1)), "262144 bytes are left of request 0"),
    "more than is left": (
        after(both(lambda one, _: Go(one.id, LONG)), first=both(lambda one, _: Go(one.id, 4096))),
        "258048 bytes are left of request 0",
    ),
    "the same again": (
        after(both(lambda one, _: one), first=both(lambda one, _: one)),
        "request 0 is finished",
    ),
    "a chain of no ids": (
        both(lambda one, two: Go(one.id, chain=[two])),  # type: ignore[list-item]
        "its chain is not a sequence of ids",
    ),
    "a chain that is one id": (
        both(lambda one, two: Go(one.id, chain=two.id)),  # type: ignore[arg-type]
        "its chain is not a sequence of ids",
    ),
    "a chain with a gap": (both(lambda one, two: Go(two.id, chain=[one.id])), "request 0 begins"),
    "a chain round": (both(lambda one, _: Go(one.id, chain=[one.id])), "request 0 begins"),
    "a chain twice": (
        both(lambda one, two: Go(one.id, chain=[two.id, two.id])),
        "request 1 begins",
    ),
    "a chain behind a piece": (
        both(lambda one, two: Go(one.id, 4096, [two.id])),
        "a chain begins with a whole request, which 0 is not",
    ),
    "a chain with a piece": (
        after(
            both(lambda one, two: Go(one.id, chain=[two.id])),
            first=both(lambda _, two: Go(two.id, 4096)),
        ),
        "a part of request 1 was sent already",
    ),
    "a chain behind the rest": (
        after(
            both(lambda one, two: Go(one.id, chain=[two.id])),
            first=both(lambda one, _: Go(one.id, 4096)),
        ),
        "a chain begins with a whole request, which 0 is not",
    ),
    "a chain into nowhere": (both(lambda one, _: Go(one.id, chain=[99])), "no request 99"),
}
"""Answers to `dispatch`, and what is said of them."""


class TestWrongAnswers:
    """Each is reported with what was answered and what is allowed."""

    @pytest.mark.parametrize(("step", "said"), WRONG.values(), ids=WRONG.keys())
    def test_a_wrong_dispatch(self, step: Any, said: str) -> None:  # noqa: ANN401
        policy = type("Wrong", (Scripted,), {"step": step})
        error = failing(policy, job=NO_FUA)
        first, hint = str(error).splitlines()
        assert first.startswith("error: policy Wrong, at 0.")
        assert " s: dispatch answered " in first
        assert said in first, first
        assert hint.startswith("hint: allowed: None; a request that was enqueued")
        assert (error.exit_code, error.__cause__) == (1, None)

    def test_a_request_on_its_way_cannot_go_again(self, tmp_path: Path) -> None:
        device = tmp_path / "two.toml"
        queue = '{ policy = "fcfs", depth = 2 }'
        device.write_text(f'[device]\nmodel = "hdd"\ndrive = "hdd-7200"\nqueue = {queue}\n')

        class Again(Fifo):
            def dispatch(self, now: int, below: penstock.Below) -> penstock.Request | None:
                return self.queue[0] if self.queue else None

        with pytest.raises(penstock.PenstockError, match="request 0 was sent already"):
            penstock.compare(JOB_OF_TWO, policies=[Again], on=device)

    def test_what_is_forced_to_the_medium_is_never_merged(self) -> None:
        class Merges(Fifo):
            def dispatch(self, now: int, below: penstock.Below) -> Go | None:
                forced = next((one for one in self.queue if one.fua), None)
                return forced and Go(forced.id, chain=[self.queue[0].id])

            def wakeup(self) -> int:
                return 10**18

        assert "a request with fua is never merged" in str(failing(Merges))

    @pytest.mark.parametrize(
        ("answer", "said"),
        [
            (lambda now: now, "answered {now}: now is {now}"),
            (lambda now: 0, "answered 0: now is {now}"),
            (lambda now: -1, "answered -1: now is {now}"),
            (lambda now: 2**63, "answered 9223372036854775808: of type int"),
            (lambda now: now + 1, "answered {now_1}: it was woken 100000 times in a row"),
            (lambda now: now + 10**9, "answered {now_s}: it was woken 100000 times in a row"),
            (lambda now: 1.5, "answered 1.5: of type float"),
            (lambda now: "1ms", "answered '1ms': of type str"),
            (lambda now: None, "answered None, and so did dispatch: "),
        ],
    )
    def test_a_wrong_wakeup(self, answer: Callable[[int], Any], said: str) -> None:
        class Lazy(Fifo):
            now = 0

            def dispatch(self, now: int, below: penstock.Below) -> penstock.Request | None:
                Lazy.now = now
                return self.queue.popleft() if now < 10**9 and self.queue else None

            def wakeup(self) -> Any:  # noqa: ANN401
                return answer(self.now) if self.now >= 10**9 else None

        error = failing(Lazy)
        now = Lazy.now
        said = said.format(now=now, now_1=now + 1, now_s=now + 10**9)
        assert f"wakeup {said}" in str(error)
        assert "hint: allowed: a whole number of nanoseconds later than now" in str(error)
        assert error.exit_code == 1

    @pytest.mark.parametrize("answer", [None, {"sent": -1}, {"sent": 2**64}, {"sent": 1.5}, {1: 1}])
    def test_wrong_counters(self, answer: Any) -> None:  # noqa: ANN401
        class Miscounting(Fifo):
            def counters(self) -> Any:  # noqa: ANN401
                return answer

        error = failing(Miscounting)
        assert f"counters answered {answer!r}: of type {type(answer).__name__}" in str(error)
        assert "hint: allowed: a dict of names and whole numbers" in str(error)

    def test_what_begin_and_counters_raise_ends_the_run(self) -> None:
        class Late(Fifo):
            def counters(self) -> dict[str, int]:
                raise KeyError("sent")

        class Early(Fifo):
            def begin(self, served: penstock.Served) -> None:
                raise LookupError(served.classes[0].name)

        assert "counters raised KeyError: 'sent'" in str(failing(Late))
        error = failing(Early)
        assert "at 0.000 s: begin raised LookupError: tellers" in str(error)
        assert isinstance(error.__cause__, LookupError)

    def test_an_answer_of_pages_is_reported_in_a_line(self) -> None:
        policy = type("Wordy", (Scripted,), {"step": lambda _: "x" * 10_000})
        assert len(str(failing(policy))) < 700

    def test_an_answer_that_cannot_be_shown_is_reported_by_its_type(self) -> None:
        class Hidden:
            def __repr__(self) -> str:
                raise RuntimeError

        policy = type("Secret", (Scripted,), {"step": lambda _: Hidden()})
        assert "answered something: of type Hidden" in str(failing(policy))


class TestRefused:
    """Before anything runs."""

    @pytest.mark.parametrize(
        ("policies", "said"),
        [
            ([Fifo()], "policies has an object of Fifo, which serves one run\nhint: write Fifo"),
            ([7], "policies has 7"),
            ([dict], "which gives {}"),
            ([Fifo, Fifo], "two policies are called Fifo"),
            ([type("noop", (Fifo,), {})], "is called noop, as a built-in one is"),
            ([type("Nameless", (Fifo,), {"name": " "})], 'a policy is called " "'),
            ([type("Lines", (Fifo,), {"name": "a\nb"})], r'a policy is called "a\nb"'),
            ([type("Number", (Fifo,), {"name": 7})], "a policy's name is 7"),
            ([penstock.Policy], "Can't instantiate abstract class"),
        ],
    )
    def test_what_is_no_policy_and_what_has_no_name_of_its_own(
        self,
        policies: Any,  # noqa: ANN401
        said: str,
    ) -> None:
        with pytest.raises(penstock.PenstockError) as caught:
            penstock.compare(JOB_OF_TWO, policies=policies)
        assert said in str(caught.value)
        assert caught.value.exit_code == 2

    def test_a_live_run_is_refused_before_anything_is_made(self, disk: Path) -> None:
        with pytest.raises(penstock.PenstockError, match="policy Fifo is from outside") as caught:
            penstock.compare(JOB_OF_TWO, policies=["noop", Fifo], on=disk, create="16MiB")
        assert "name a modelled device" in str(caught.value)
        assert caught.value.exit_code == 2
        assert not disk.exists()

    def test_a_record_is_refused_before_anything_is_made(self, job: Path, tmp_path: Path) -> None:
        record = tmp_path / "run.record"
        variant = Variant(name=str(job), policies=[("Fifo", Fifo())])
        with pytest.raises(
            PenstockError, match="only built-in policies can be recorded, and Fifo is"
        ):
            compare(variant, Target(), record=record)
        assert not record.exists()
