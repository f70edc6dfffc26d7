"""Experiments: plans of runs, and what runs them."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pytest

from command import ROOT
from penstock.errors import RUN_FAILED, PenstockError
from penstock.experiment import batches, cluster, plan
from penstock.experiment.batches import Batches, on_processors
from penstock.experiment.bench import Bench, run_all
from penstock.experiment.trial import Setup, Trial, only_run
from penstock.job import Agent, Job
from penstock.results.json_types import Comparison
from penstock.session import Variant
from penstock.target import Target

FACTORS: Mapping[str, Sequence[Any]] = {"size": [1, 2], "mode": ["a", "b"]}

CELLS = plan.every(FACTORS)


def test_one_place_opens_sessions_and_another_runs_them() -> None:
    modules = {path: path.read_text() for path in (ROOT / "python/penstock").rglob("*.py")}

    def with_text(text: str) -> set[str]:
        return {path.name for path, module in modules.items() if text in module}

    assert with_text("_native.Session") == {"session.py"}
    assert with_text("return Session(") == {"trial.py"}
    # The comparison of one job has a session of its own.
    assert with_text("closing(Session(") == {"session.py"}


class TestPlan:
    """Which cells run, how often and in which order."""

    def test_cells_are_every_combination_and_the_last_factor_changes_first(self) -> None:
        assert CELLS == [
            {"size": 1, "mode": "a"},
            {"size": 1, "mode": "b"},
            {"size": 2, "mode": "a"},
            {"size": 2, "mode": "b"},
        ]

    def test_every_round_has_every_cell_once(self) -> None:
        runs = plan.in_rounds(CELLS, 2)
        assert [cell for _, cell in runs] == CELLS * 2
        assert [number for number, _ in runs] == [0] * 4 + [1] * 4

    def test_results_are_found_again_by_cell(self) -> None:
        results = [(number, *cell.values()) for number, cell in plan.in_rounds(CELLS, 2)]
        for cell, rounds in plan.by_cell(CELLS, results):
            assert rounds == [(number, *cell.values()) for number in (0, 1)]

    def test_results_of_an_unfinished_round_are_found_too(self) -> None:
        found = plan.by_cell(CELLS, [0, 1, 2, 3, 4])
        assert [rounds for _, rounds in found] == [[0, 4], [1], [2], [3]]

    def test_a_combination_may_be_no_cell(self) -> None:
        some = plan.every({"n": [0, 1], "m": [0, 2]}, lambda cell: cell["n"] + cell["m"] > 0)
        assert [tuple(cell.values()) for cell in some] == [(0, 2), (1, 0), (1, 2)]

    def test_a_level_given_twice_is_measured_twice(self) -> None:
        twice = plan.every({"mode": ["a", "a"]})
        assert [rounds for _, rounds in plan.by_cell(twice, [1, 2])] == [[1], [2]]

    def test_a_factor_without_levels_has_no_cells(self) -> None:
        none = plan.every({"mode": []})
        assert (none, plan.in_rounds(none, 3), plan.by_cell(none, [])) == ([], [], [])

    def test_an_order_is_drawn_and_has_each_number_once(self) -> None:
        order = plan.shuffled(range(100), 1, "order", 100)
        assert sorted(order) == list(range(100)) != order
        assert order == plan.shuffled(range(100), 1, "order", 100)
        assert order != plan.shuffled(range(100), 2, "order", 100)
        # Some of the numbers have the same order as among all.
        some = plan.shuffled(range(0, 100, 7), 1, "order", 100)
        assert some == [number for number in order if number % 7 == 0]

    def test_a_reference_runs_before_each_few_runs_of_all(self) -> None:
        def order(runs: str, before: int = 0) -> str:
            return "".join(plan.with_references(runs, 3, lambda at: f"{at}", before=before))

        assert order("abcdefg") == "0abc1def2g"
        assert order("hij", before=7) == "hi3j"
        assert "".join(plan.with_references("abc", None, str)) == "abc"


def job(seed: int, duration: str = "100ms", **more: Any) -> Variant:  # noqa: ANN401
    agent = Agent(
        class_="all",
        op="read",
        size="4KiB",
        pattern="random",
        arrivals={"kind": "closed", "depth": 4},
    )
    written = Job(
        duration=duration,
        seed=seed,
        classes=["all"],
        agents=[agent],
        device="hdd-7200",
        **more,
    )
    return Variant(name=f"job {seed}", text=written.text, policies=["fcfs"])


def requests(comparison: Comparison) -> int:
    return only_run(comparison)["classes"][0]["requests"]


SETUP = Setup(target=Target(), reduce=requests)

JOBS = [job(seed) for seed in range(8)]


def trials(seen: list[int] | None = None) -> Iterator[Trial]:
    for number, variant in enumerate(JOBS):
        if seen is not None:
            seen.append(number)
        yield Trial(number, variant)


class TestBench:
    """Runs on a target that stays open."""

    def test_results_are_in_order_and_do_not_depend_on_batches(self) -> None:
        whole = run_all(SETUP, JOBS)
        assert len(set(whole)) > 1
        assert run_all(SETUP, JOBS, batch=3) == whole
        with Bench(SETUP) as bench:
            assert [value for one in JOBS for value in bench.run([one])] == whole

    def test_what_is_wrong_is_said_before_anything_runs(self) -> None:
        with Bench(SETUP) as bench:
            (known,) = bench.check(JOBS[:1])
            assert (known["seed"], known["runs"]) == (0, [])
            with pytest.raises(PenstockError, match="unknown unit"):
                bench.check([job(1, duration="1 parsec")])

    def test_a_failed_run_is_raised_or_kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def failures(comparison: Comparison) -> str | None:
            return only_run(comparison).get("failure")

        setup = Setup(target=Target(), reduce=failures)
        failed: Mapping[str, Any] = {"runs": [{"failure": "it broke", "classes": []}]}
        monkeypatch.setattr("penstock.experiment.trial.json.loads", lambda _: failed)
        with pytest.raises(PenstockError, match="error: it broke") as caught:
            run_all(setup, JOBS[:1])
        assert caught.value.exit_code == RUN_FAILED
        kept = Setup(target=Target(), reduce=failures, keep_failures=True)
        assert run_all(kept, JOBS[:1]) == ["it broke"]


class TestBatches:
    """Modelled runs on several processors."""

    def test_results_are_those_of_a_bench_on_any_number_of_processors(self) -> None:
        for workers in (1, 3, 20):
            found: dict[int, int] = {}
            on_processors(SETUP, trials(), len(JOBS), found.update, workers)
            assert [found[number] for number in range(len(JOBS))] == run_all(SETUP, JOBS)

    def test_results_are_handed_over_by_one_thread(self) -> None:
        threads = set()
        on_processors(SETUP, trials(), len(JOBS), lambda _: threads.add(threading.get_ident()), 3)
        assert threads == {threading.get_ident()}

    def test_trials_are_made_as_they_are_needed(self) -> None:
        seen: list[int] = []
        waiting = Batches(trials(seen), len(JOBS))
        assert [trial.number for trial in waiting.next(1)] == seen == [0]
        # Each takes a tenth of the time of a batch, and half of the rest is left for others.
        waiting.took(1, batches.BATCH_S / 10)
        assert [trial.number for trial in waiting.next(1)] == [1, 2, 3, 4]
        assert seen == [0, 1, 2, 3, 4]

    def test_what_the_sink_raises_ends_all(self) -> None:
        def full(_batch: Sequence[tuple[int, int]]) -> None:
            raise PenstockError("error: the disk is full")

        before = threading.active_count()
        with pytest.raises(PenstockError, match="the disk is full"):
            on_processors(SETUP, trials(), len(JOBS), full, 3)
        assert threading.active_count() == before

    def test_what_a_run_raises_ends_all(self) -> None:
        wrong = Trial(0, job(1, duration="1 parsec"))
        with pytest.raises(PenstockError, match="parsec"):
            on_processors(SETUP, [wrong, *trials()], len(JOBS) + 1, print, 2)

    def test_nothing_to_run_is_no_error(self) -> None:
        on_processors(SETUP, [], 0, print)


class Submitted(NamedTuple):
    """A batch on the cluster."""

    number: int
    results: Sequence[int]

    def result(self, timeout: float) -> tuple[float, Sequence[int]]:
        """Its time and its results."""
        return 1.0, self.results


class Client:
    """A cluster of two threads that runs what is waited for."""

    def __init__(self) -> None:
        """Without batches."""
        self.submitted: list[Submitted] = []
        self.cancelled: list[Submitted] = []

    def nthreads(self) -> dict[str, int]:
        return {"worker": 2}

    def submit(self, _run: object, _setup: object, variants: Sequence[Variant], **_: bool) -> Any:  # noqa: ANN401
        self.submitted.append(Submitted(len(self.submitted), (0,) * len(variants)))
        return self.submitted[-1]

    def cancel(self, batches: list[Submitted]) -> None:
        self.cancelled += batches


class Done(NamedTuple):
    """What `wait` returns."""

    done: set[Submitted]


def test_whatever_ends_an_experiment_no_batch_goes_on_in_the_cluster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = Client()

    def wait(running: list[Submitted], **_: object) -> Done:
        return Done({running[0]})

    def full(_batch: object) -> None:
        raise PenstockError("error: the disk is full")

    monkeypatch.setattr("distributed.wait", wait)
    monkeypatch.setattr(cluster, "needs", lambda *_, **__: None)
    monkeypatch.setattr(cluster, "_connected", lambda _: client)
    monkeypatch.setattr(cluster, "_check_versions", lambda *_: None)
    with pytest.raises(PenstockError, match="the disk is full"):
        cluster.Cluster("tcp://there").run(SETUP, trials(), len(JOBS), full)
    assert client.cancelled == client.submitted[1:] != []
