"""Policies written in Python decide as the engine's own do, and lose nothing."""

import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pytest

import penstock
from command import JOB, ROOT
from command import penstock as penstock_command
from penstock.job import Plain
from scripted import Auditing, Batching, Chaining, Cheapest, Fifo, InPieces, Nearest

QUEUEING = """\
[device]
model = "hdd"
drive = "hdd-7200"
queue = { policy = "sptf", depth = 4 }
faults = { errors = "5%", stalls = "1%", stall = "20ms" }
"""
"""A disk that takes four commands at once and fails now and then."""

BANK = ROOT / "examples/bank-day.toml"
TRACE = ROOT / "examples/pgbench-backup.toml"


Candidates: TypeAlias = list[str | Callable[[], penstock.Policy]]


@pytest.fixture(params=["hdd-7200", "flash", "queueing"])
def device(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A device to run on."""
    if request.param != "queueing":
        return str(request.param)
    path = tmp_path / "queueing.toml"
    path.write_text(QUEUEING)
    return str(path)


def figures(result: penstock.Comparison) -> list[Any]:
    """Every figure of every run, without the names of who decided."""
    runs = json.loads(result.json)["runs"]
    return [{k: v for k, v in run.items() if k not in {"policy", "params"}} for run in runs]


class TestDecisions:
    """One policy, two languages, equal figures."""

    @pytest.mark.parametrize(
        ("built_in", "ours"),
        [("fcfs", Fifo), ("sstf", Nearest), ("sptf", Cheapest), ("size-priority", InPieces)],
    )
    @pytest.mark.parametrize("job", [BANK, TRACE], ids=["agents", "trace"])
    def test_a_policy_decides_alike_in_either_language(
        self, job: Path, built_in: str, ours: Callable[[], penstock.Policy], device: str
    ) -> None:
        changes: dict[str, Plain] = {"seed": 5, "sptf.candidates": 100_000, **InPieces.params}
        # Those in Python merge nothing.
        changes |= {f"{name}.max_sectors": "off" for name in ("sstf", "sptf", "size-priority")}
        if job == BANK:
            changes |= {"duration": "20s", "agent.2.arrivals.depth": 8}
        if job == TRACE and ours in {Nearest, Cheapest}:
            # The disk is late by thousands of requests, and asking all of them takes long.
            changes |= {"stop": "1s"}
        result = penstock.compare(job, policies=[built_in, ours], on=device, set=changes)
        engine, python = figures(result)
        assert engine == python
        assert sum(one.requests for one in result.runs[0].classes) > 100

    def test_equal_seeds_give_equal_bytes(self, device: str) -> None:
        changes: dict[str, Plain] = {"duration": "5s"}
        policies: Candidates = ["noop", Fifo, Batching]
        first, again = (
            penstock.compare(BANK, policies=policies, on=device, set=changes) for _ in range(2)
        )
        assert first.json == again.json


class TestInvariants:
    """What a policy receives is whole."""

    def test_every_byte_is_reported_once(self, device: str) -> None:
        result = penstock.compare(
            BANK, policies=[Auditing], on=device, set={"duration": "10s", "stop": "drained"}
        )
        books = Auditing.last
        run = result["Auditing"]
        assert len(books.received) == sum(one.requests + one.errors for one in run.classes)
        assert books.done == books.sent == {id: one.len for id, one in books.received.items()}
        assert sorted(books.lasts) == sorted(books.received)
        assert books.times == sorted(books.times)
        failed = sum(part.error is not None for part in books.parts)
        assert (failed > 0) == ("queueing" in device)
        assert {part.error for part in books.parts} <= {None, 5}
        service = sum(part.service for part in books.parts) / 1e9
        assert service == pytest.approx(sum(one.device_time_s for one in run.classes))

    def test_a_request_is_what_the_job_says(self) -> None:
        penstock.compare(
            JOB_OF_TWO, policies=[Auditing], set={"duration": "1s", "class.batch.prio": 6}
        )
        tellers, batch = (
            [one for one in Auditing.last.received.values() if one.class_ == name]
            for name in ("tellers", "batch")
        )
        assert len(tellers) > 5
        for one in tellers:
            assert (one.op, one.len, one.prio, one.stream) == ("write", 4096, 0, 0)
            assert (one.sync, one.fua, one.end) == (True, True, one.start + 4096)
            assert isinstance(one.due, int)
        assert {(one.prio, one.stream, one.sync, one.fua) for one in batch} == {(6, 1, True, False)}

    def test_a_policy_is_given_what_it_serves(self, tmp_path: Path) -> None:
        class Serving(Fifo):
            begun: list[penstock.Served]

            def __init__(self) -> None:
                super().__init__()
                self.begun = seen

            def begin(self, served: penstock.Served) -> None:
                assert not self.queue
                self.begun.append(served)

        seen: list[penstock.Served] = []
        array = tmp_path / "array.toml"
        table = 'model = "fixed"\nbase = "1ms"\narray = { level = "raid0", disks = 4 }\n'
        array.write_text(f"[device]\n{table}")
        changes: dict[str, Plain] = {"duration": "1s", "class.batch.weight": 300}
        for on in ("hdd-7200", str(array)):
            penstock.compare(JOB_OF_TWO, policies=[Serving], on=on, set=changes)
        classes = (
            penstock.ClassInfo(name="tellers", weight=100, prio=0),
            penstock.ClassInfo(name="batch", weight=300, prio=0),
        )
        assert seen == [penstock.Served(classes, 1), penstock.Served(classes, 4)]

    def test_chains_go_whole_and_every_request_of_them_comes_back(self, device: str) -> None:
        changes: dict[str, Plain] = {"duration": "10s", "stop": "drained"}
        changes |= {"agent.2.arrivals.depth": 16, "agent.2.size": "64KiB"}
        Chaining.longest = 0
        result = penstock.compare(BANK, policies=[Chaining], on=device, set=changes)
        assert Chaining.longest > 3
        assert all(one.requests > 0 and one.unfinished == 0 for one in result["Chaining"].classes)

    def test_a_policy_that_keeps_something_back_is_woken_when_it_says(self) -> None:
        made: list[Batching] = []

        def batching() -> Batching:
            made.append(Batching())
            return made[0]

        changes: dict[str, Plain] = {"duration": "2s", "stop": "drained"}
        run = penstock.compare(BANK, policies=[batching], on="flash", set=changes)["Batching"]
        total = sum(one.requests for one in run.classes)
        # One command for each tick, and an end that waits for none.
        assert run.duration_s == pytest.approx(total * Batching.tick / 1e9, rel=0.01)
        assert made[0].woken > total

    def test_the_device_below_answers_during_a_dispatch_only(self) -> None:
        class Early(Fifo):
            def dispatch(self, now: int, below: penstock.Below) -> penstock.Request | None:
                self.below = below
                return self.queue.popleft() if self.queue else None

            def complete(self, now: int, request: penstock.Request, part: penstock.Part) -> None:
                self.below.room()

        with pytest.raises(penstock.PenstockError, match="complete raised RuntimeError") as caught:
            penstock.compare(JOB_OF_TWO, policies=[Early])
        assert "during dispatch" in str(caught.value.__cause__)


class TestCounters:
    """What a policy has counted stands in its result."""

    def test_they_are_in_the_result_of_the_policy_alone(self) -> None:
        class Counting(Fifo):
            sent = 0

            def dispatch(self, now: int, below: penstock.Below) -> penstock.Request | None:
                self.sent += bool(self.queue)
                return self.queue.popleft() if self.queue else None

            def counters(self) -> dict[str, int]:
                return {"sent": self.sent, "the most": 2**64 - 1}

        result = penstock.compare(JOB_OF_TWO, policies=[Counting, "fcfs"])
        counting = result["Counting"]
        sent = sum(one.requests for one in counting.classes)
        assert counting.policy_stats == {"sent": sent, "the most": 2**64 - 1}
        assert result["fcfs"].policy_stats == {}
        assert ["policy_stats" in run for run in result.raw["runs"]] == [True, False]


class TestWeights:
    """Weights that no policy uses get a remark."""

    def test_a_comparison_reports_them(self, tmp_path: Path) -> None:
        changes: dict[str, Plain] = {"duration": "1s", "class.batch.weight": 300}
        result = penstock.compare(JOB_OF_TWO, policies=["noop", "cfq"], set=changes)
        said = "weight of class `batch` has no effect: none of the policies noop, cfq uses weights"
        assert result.remarks == (said,)
        result.save_report(tmp_path / "report.html")
        assert f"{said}</dd>" in (tmp_path / "report.html").read_text()
        plain = penstock.compare(JOB_OF_TWO, policies=["noop"], set={"duration": "1s"})
        assert plain.remarks == ()
        assert "remarks" not in json.loads(plain.json)

    def test_the_table_reports_them_on_stderr(self, tmp_path: Path) -> None:
        (tmp_path / "job.toml").write_text(JOB)
        words = ("--policy", "noop", "--set", "duration=1s", "--set", "class.batch.weight=300")
        ended = penstock_command("run", tmp_path / "job.toml", *words)
        said = "weight of class `batch` has no effect: noop does not use weights"
        assert ended.err == f"note: {said}\n"
        assert "weights" not in ended.out
        as_json = penstock_command("run", tmp_path / "job.toml", *words, "--json")
        assert (json.loads(as_json.out)["remarks"], as_json.err) == ([said], "")


class TestNames:
    """The names of policies identify them in results."""

    def test_a_class_a_named_class_and_what_makes_one(self, tmp_path: Path) -> None:
        class Named(Fifo):
            name = "a <b> & [c]"

        class Tuned(Fifo):
            def __init__(self, *, depth: int) -> None:
                super().__init__()
                self.name = f"tuned-{depth}"

        policies: Candidates = [
            "noop",
            Fifo,
            Named,
            partial(Tuned, depth=1),
            lambda: Tuned(depth=2),
        ]
        result = penstock.compare(JOB_OF_TWO, policies=policies)
        names = ["noop", "Fifo", "a <b> & [c]", "tuned-1", "tuned-2"]
        assert [run.policy for run in result.runs] == names
        assert result["tuned-2"].params == {}
        assert result.summary()["policy"].unique(maintain_order=True).to_list() == names
        assert [line.split(":")[0] for line in result.verdict()[-4:]] == names[1:]
        assert "a &lt;b&gt; &amp; [c]" in result._repr_html_()
        result.save_report(tmp_path / "report.html")
        result.save_workbook(tmp_path / "report.xlsx")
        assert all(chart.to_dict() for chart in result.charts.values())

    def test_each_run_has_an_object_of_its_own(self) -> None:
        made: list[Fifo] = []

        def fifo() -> Fifo:
            made.append(Fifo())
            return made[-1]

        for _ in range(2):
            penstock.compare(JOB_OF_TWO, policies=[fifo], set={"duration": "1s"})
        assert len(made) == 2
        assert made[0] is not made[1]


JOB_OF_TWO = penstock.Job.from_toml(JOB)


def test_the_example_is_a_whole_policy_of_sixty_lines_that_prints_a_comparison() -> None:
    script = ROOT / "examples/policies/shortest_first.py"
    assert len(script.read_text().splitlines()) <= 60
    done = subprocess.run(
        [sys.executable, script], cwd="/", capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    for name in ("shortest-first-500ms", "shortest-first-100ms"):
        assert any(line.startswith(f"{name}: tellers' p99 ") for line in lines), done.stdout
