"""Metrics of a watched run and of a gate: their counts are those of the result."""

import json
import os
import signal
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import penstock
from command import penstock as command
from command import running
from exposed import Exposed, checked
from penstock.metrics.outlet import Outlet
from penstock.metrics.text import Metric, exposition
from penstock.results.steps import ClassNow, Step
from penstock.watch.metrics import WatchMetrics
from test_metrics import ask, free_port

POLICIES = ("--policies", "noop,size-priority", "--speed", "max", "--json")


def test_a_watched_run_counts_what_its_result_has(job: Path, tmp_path: Path) -> None:
    path = tmp_path / "watch.prom"
    words = ("watch", job, *POLICIES, "--repeat", "2", "--metrics", path)
    ended = command(*words)
    assert ended.code == 0, ended.err
    exposed = checked(path.read_text())
    assert exposed.value("penstock_watch_running") == 0
    assert "penstock_outstanding_requests" not in exposed.kinds, "what is of a moment goes"
    counted: dict[tuple[str, str], tuple[int, int]] = {}
    for run in json.loads(ended.out)["runs"]:
        for class_ in run["classes"]:
            key = run["policy"], class_["name"]
            requests, moved = counted.get(key, (0, 0))
            counted[key] = requests + class_["requests"], moved + class_["bytes"]
    assert len(counted) == 4
    for (policy, name), (requests, moved) in counted.items():
        labels = {"source": "watch", "target": "hdd-7200", "policy": policy, "class": name}
        assert exposed.value("penstock_requests_total", **labels) == requests > 0
        assert exposed.value("penstock_bytes_total", **labels) == moved > 0
        assert exposed.value("penstock_latency_seconds_count", **labels) == requests
        assert exposed.value("penstock_failed_requests_total", **labels) == 0


def test_a_watched_run_is_scraped_until_a_signal_ends_it(job: Path, tmp_path: Path) -> None:
    port = free_port()
    words = ("watch", job, "--policies", "noop", "--set", "duration=1h", "--json")

    def levels() -> bool:
        try:
            return "penstock_in_flight_requests" in ask(port).text
        except ConnectionRefusedError:
            return False

    with running(tmp_path, *words, "--metrics", f"127.0.0.1:{port}") as watched:
        watched.wait_for(levels)
        exposed = checked(ask(port).text)
        ended = watched.end(signal.SIGTERM)
    assert ended.code == 128 + signal.SIGTERM
    assert json.loads(ended.out)["runs"][0]["interrupted"]
    assert "Traceback" not in ended.err
    labels = {"policy": "noop", "class": "batch"}
    queued = exposed.value("penstock_queued_requests", **labels)
    in_flight = exposed.value("penstock_in_flight_requests", **labels)
    outstanding = exposed.value("penstock_outstanding_requests", **labels)
    assert queued + in_flight == outstanding
    assert outstanding in (1, 2), "the batch asks for the next when one has ended"
    assert exposed.value("penstock_watch_running") == 1


class Kept(Outlet):
    """An outlet that keeps what it got last."""

    def __init__(self) -> None:
        """Begin closed."""
        self.metrics: list[Metric] = []
        self.is_open = False

    def open(self) -> None:
        self.is_open = True

    def put(self, metrics: object) -> None:
        assert isinstance(metrics, list)
        self.metrics = metrics

    def close(self) -> None:
        self.is_open = False


def step(number: int, requests: int, *, policy: str = "noop", errors: int = 0) -> Step:
    """A step of a run in which requests of a millisecond have ended."""
    buckets = {"count": requests, "sum_ns": requests * 10**6, "upto_ns": [(10**6, requests)]}
    class_: ClassNow = {
        "name": "tellers",
        "iops": 0.0,
        "bw_bytes": 0.0,
        "p50_ns": None,
        "p99_ns": None,
        "share": 0.0,
        "outstanding": number + 1,
        "errors": errors,
        "requests": requests,
        "bytes": 4096 * requests,
        "latency_buckets": buckets,
    }
    return {
        "step": "running",
        "policy": policy,
        "number": number,
        "of": 3,
        "fraction": 0.0,
        "device": "/dev/sda",
        "world": "measured",
        "now": {"at_s": 1, "planned_s": 2, "window_s": 1, "windows": 1, "classes": [class_]},
    }


def test_rounds_of_a_policy_add_up_and_levels_are_of_the_run_that_goes_on() -> None:
    outlet = Kept()
    seen: list[Exposed] = []

    def engine(on_step: Callable[[Step], None] | None) -> str:
        assert on_step is not None
        assert outlet.is_open
        for each in (step(0, 5), step(0, 7, errors=1), step(1, 9, policy="cfq"), step(2, 10)):
            on_step(each)
        metrics._put(is_running=True)
        seen.append(checked(exposition(outlet.metrics)))
        return "done"

    metrics = WatchMetrics(outlet)
    assert metrics.of(engine)(lambda _: None) == "done"
    (during,) = seen
    noop, cfq = ({"target": "/dev/sda", "policy": policy} for policy in ("noop", "cfq"))
    assert during.value("penstock_requests_total", **noop) == 7 + 1 + 10
    assert during.value("penstock_failed_requests_total", **noop) == 1
    assert during.value("penstock_latency_seconds_bucket", le="0.001", **noop) == 17
    assert during.value("penstock_latency_seconds_sum", **noop) == 0.017
    assert during.value("penstock_requests_total", **cfq) == 9
    assert during.labels("penstock_outstanding_requests", "policy") == {"noop"}
    assert during.value("penstock_outstanding_requests") == 3
    assert "penstock_queued_requests" not in during.kinds, "the kernel has the queue"
    after = checked(exposition(outlet.metrics))
    assert "penstock_outstanding_requests" not in after.kinds
    assert (after.value("penstock_watch_running"), outlet.is_open) == (0, False)


def test_a_watched_run_goes_on_if_its_metrics_cannot_be_written(job: Path, tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    words = ("watch", job, "--policies", "noop", "--set", "duration=20min", "--speed", "200")
    with running(tmp_path, *words, "--metrics", folder / "watch.prom") as watched:
        watched.wait_for((folder / "watch.prom").exists)
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()
        ended = watched.end()
    assert ended.code == 0
    assert "noop" in ended.out
    assert f"error: {folder}/watch.prom cannot be written: No such file" in ended.err


def test_a_gate_writes_what_its_statistics_have(tmp_path: Path) -> None:
    path, exposed_at = tmp_path / "own", tmp_path / "gate.prom"
    path.write_bytes(b"")
    with penstock.Gate(path, adopt=True, split="4KiB", metrics=str(exposed_at)) as gate:
        for number in range(10):
            gate.write(number, b"-")
        gate.write(0, bytes(20_000))
        during = checked(gate.metrics())
        gate.flush()
        stats = gate.stats()
    exposed = checked(exposed_at.read_text())
    labels = {"source": "gate", "target": str(path), "policy": "size-priority"}
    for name, totals in (("short", stats.short), ("long", stats.long), ("flush", stats.flush)):
        class_ = {**labels, "class": name}
        assert exposed.value("penstock_requests_total", **class_) == totals.requests > 0
        assert exposed.value("penstock_bytes_total", **class_) == totals.bytes
        assert exposed.value("penstock_latency_seconds_count", **class_) == totals.requests
        seconds = exposed.value("penstock_latency_seconds_sum", **class_)
        assert seconds == pytest.approx(totals.latency_ns.mean * totals.requests / 1e9, rel=1e-6)
        assert exposed.value("penstock_queued_requests", **class_) == 0
        assert exposed.value("penstock_in_flight_requests", **class_) == 0
    assert during.value("penstock_requests_total", **labels, **{"class": "flush"}) == 0


def test_of_four_requests_one_is_in_flight_and_the_others_are_queued() -> None:
    most = {"queued": 0, "in_flight": 0, "both": 0}
    with (
        penstock.Gate(emulate="hdd-7200", depth=1, policy="fcfs") as gate,
        ThreadPoolExecutor(4) as pool,
    ):
        writes = [pool.submit(gate.write, number << 20, bytes(4096)) for number in range(40)]
        while not all(write.done() for write in writes):
            stats = gate.stats().short
            both = stats.queued + stats.in_flight
            seen = {"queued": stats.queued, "in_flight": stats.in_flight, "both": both}
            most = {name: max(most[name], seen[name]) for name in most}
        assert (gate.stats().short.queued, gate.stats().short.in_flight) == (0, 0)
    # The next is sent before an answer is counted.
    assert 1 <= most["in_flight"] <= 2
    assert 1 <= most["queued"] <= 4
    assert most["both"] <= 5, "four threads wait for an answer"


def test_a_gate_is_scraped_until_it_is_closed(tmp_path: Path) -> None:
    path, port = tmp_path / "own", free_port()
    path.write_bytes(b"")
    with penstock.Gate(path, adopt=True, metrics=f"127.0.0.1:{port}") as gate:
        short = {"class": "short"}
        assert checked(ask(port).text).value("penstock_requests_total", **short) == 0
        gate.write(0, b"-")
        assert checked(ask(port).text).value("penstock_requests_total", **short) == 1
        with pytest.raises(penstock.PenstockError, match="the port is in use") as error:
            penstock.Gate(tmp_path / "new", create="1MiB", metrics=f"127.0.0.1:{port}")
        assert error.value.exit_code == 5
        assert not (tmp_path / "new").exists()
        child = os.fork()
        if child == 0:
            gate.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0, "a fork has not the server's thread"
        assert ask(port).status == 200
    with pytest.raises(ConnectionRefusedError):
        ask(port)


def test_a_gate_that_is_refused_leaves_its_port(tmp_path: Path) -> None:
    place = f"127.0.0.1:{free_port()}"
    for _ in range(2):
        with pytest.raises(penstock.PenstockError, match="unknown policy"):
            penstock.Gate(tmp_path / "new", create="1MiB", policy="nope", metrics=place)


def test_a_gate_warns_once_if_its_metrics_could_not_be_written(tmp_path: Path) -> None:
    path, folder = tmp_path / "own", tmp_path / "gone"
    path.write_bytes(b"")
    folder.mkdir()
    gate = penstock.Gate(path, adopt=True, metrics=str(folder / "gate.prom"))
    for file in folder.iterdir():
        file.unlink(missing_ok=True)
    folder.rename(tmp_path / "elsewhere")
    with pytest.warns(RuntimeWarning, match=r"gate\.prom cannot be written: No such file"):
        gate.close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gate.close()
