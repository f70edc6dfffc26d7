"""How long a cycle of `fairio` should be: the report's figures, its illustrations, wrong input."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command import ROOT, penstock
from penstock.advise.cycle import STABLE, UNSTABLE, Cycle, Share, cycle, requests, stability
from penstock.advise.cycle_words import lines
from penstock.errors import PenstockError
from penstock.text.verdict import WIDTH

TABLE_5 = [
    ("BTIO", "73.42ms", 39, 2200),
    ("MADbench2", "73.57ms", 56, 3100),
    ("varmail", "69.47ms", 19, 1000),
    ("IOR1", "70.25ms", 39, 2100),
    ("IOR2", "74.01ms", 64, 3600),
    ("IOR3", "69.44ms", 32, 1700),
]
"""Service time, requests in a cycle, and the cycle in milliseconds, as the report has them."""

ILLUSTRATIONS = ROOT / "papers/fairio"

WORKLOADS = ROOT / "examples/fairio"

TRACE = "time_us,op,offset,size\n"


def advised(*words: str | Path) -> dict[str, Any]:
    ended = penstock("advise", "cycle", *words, "--json")
    assert ended.code == 0, ended.err
    answer: dict[str, Any] = json.loads(ended.out)
    return answer


def of(answer: dict[str, Any], key: str) -> list[Any]:
    return [one[key] for one in answer["classes"]]


class TestHeuristic:
    """The arithmetic."""

    @pytest.mark.parametrize(("workload", "service", "count", "published"), TABLE_5)
    def test_every_cycle_of_the_report_comes_from_its_inputs(
        self, workload: str, service: str, count: int, published: int
    ) -> None:
        four = ("--service", ",".join([service] * 4), "--requests", ",".join([str(count)] * 4))
        answer = advised(*four, "--weights", "1,1,2,2", "--disks", "8")
        assert answer["eq3_rounded_ms"] == answer["cycle_ms"] == published, workload
        assert (answer["binds"], answer["class"], answer["floor_ms"]) == ("eq3", "1", None)

    def test_illustrations_of_the_report(self) -> None:
        assert _of([62, 64], [85, 85], [1, 2]).eq3_rounded_ns == 2_000_000_000
        assert _of([62, 64], [85, 85], [1, 2]).eq3_ns == 1_976_250_000
        assert _of([130, 63], [17, 85], [1, 2]).eq3_rounded_ns == 1_100_000_000

    def test_the_floor_is_where_the_error_is_the_target(self) -> None:
        near = _of([64, 64], [85, 85], [1, 2], busy=0.915, target=1)
        assert near.floor_ns is not None
        assert float(near.floor_ns) == pytest.approx(1_219.6e6, rel=1e-4)
        none = _of([64, 64], [85, 85], [1, 2], busy=0.915, target=0)
        assert none.floor_ns is not None
        assert float(none.floor_ns) == pytest.approx(1_505.9e6, rel=1e-4)

    def test_the_longer_of_both_binds(self) -> None:
        stable = _of([64, 64], [85, 85], [1, 2], busy=0.915)
        assert (stable.floor_binds, stable.cycle_ns, stable.of.name) == (False, 2_100_000_000, "0")
        unstable = _of([64, 64], [85, 17], [2, 1], busy=0.915)
        assert (unstable.floor_binds, unstable.of.name) == (True, "1")
        assert unstable.cycle_ns == 1_300_000_000

    def test_mode_plus_needs_few_requests_and_no_floor(self) -> None:
        found = _of([62, 64], [85, 85], [1, 2], busy=0.915)
        assert found.plus_ns == 395_250_000
        assert found.plus_rounded_ns == 400_000_000
        assert "in mode plus, the default of fairio, 400ms will do: " in str(lines(found))
        few = _of([62, 64], [4, 4], [1, 2])
        assert few.plus_rounded_ns == few.cycle_ns == 100_000_000
        assert "mode plus" not in str(lines(few))

    def test_a_cycle_that_is_a_multiple_already_is_not_rounded_up(self) -> None:
        assert _of([80], [100], [1]).eq3_rounded_ns == 1_000_000_000
        assert _of([80], [101], [1]).eq3_rounded_ns == 1_100_000_000

    def test_a_class_alone_has_no_floor(self) -> None:
        assert _of([80], [100], [1], busy=1.0, target=0).floor_ns == 0

    @given(
        st.lists(
            st.tuples(st.integers(1, 10**9), st.integers(1, 1000), st.integers(1, 85)),
            min_size=1,
            max_size=6,
        ),
        st.integers(1, 64),
        st.floats(0.01, 0.99),
    )
    def test_every_class_has_its_requests_in_every_cycle(
        self, classes: list[tuple[int, int, int]], disks: int, busy: float
    ) -> None:
        shares = [Share(str(n), w, ns, count) for n, (ns, w, count) in enumerate(classes)]
        found = cycle(shares, disks=disks, busy=busy)
        assert all(found.requests(share) >= share.requests for share in shares)
        assert found.cycle_ns >= found.eq3_rounded_ns
        # As with all times a thousand times as long.
        longer = [share._replace(service_ns=1000 * share.service_ns) for share in shares]
        assert cycle(longer, disks=disks, busy=busy).eq3_ns == 1000 * found.eq3_ns
        assert all(len(line) <= WIDTH for line in lines(found))

    def test_requests_by_stability(self) -> None:
        assert (requests(1.0), requests(0.0)) == (STABLE, UNSTABLE)
        assert [stability(of) for of in (0.0, 0.25, 0.5, 2.0)] == [1.0, 0.5, 0.0, 0.0]
        counts = [requests(n / 100) for n in range(101)]
        assert counts == sorted(counts)


def _of(
    ms: Sequence[int],
    counts: Sequence[int],
    weights: Sequence[int],
    *,
    busy: float | None = None,
    target: float = 1.0,
) -> Cycle:
    """The cycle for classes on eight disks."""
    classes = enumerate(zip(weights, ms, counts, strict=True))
    shares = [Share(str(n), w, 1_000_000 * time, count) for n, (w, time, count) in classes]
    return cycle(shares, disks=8, busy=busy, target=target)


class TestMeasured:
    """Jobs and traces that run once."""

    def test_illustration_1_is_stable(self) -> None:
        answer = advised(ILLUSTRATIONS / "illustration-1.toml")
        assert of(answer, "requests") == [85, 85]
        assert of(answer, "reason") == ["nothing varies", "nothing varies"]
        assert (answer["disks"], answer["load"], answer["class"]) == (8, 16, "class1")
        assert 0.9 < answer["busy"] < 0.93
        assert all(60 < ms < 70 for ms in of(answer, "service_ms"))

    def test_illustration_2_has_a_class_whose_size_drifts(self) -> None:
        answer = advised(ILLUSTRATIONS / "illustration-2.toml")
        assert of(answer, "requests") == [17, 85]
        assert of(answer, "reason")[0] == "size: a drift"
        assert of(answer, "type")[0] == 1

    def test_programs_of_the_report_are_in_their_order(self) -> None:
        found = {
            name: of(advised(WORKLOADS / f"{name}.toml"), "stability")
            for name in ("varmail", "btio", "madbench2", "ior1", "ior2", "ior3")
        }
        mean = {name: sum(values) / len(values) for name, values in found.items()}
        assert mean["varmail"] < mean["btio"] < mean["madbench2"]
        assert all(mean["madbench2"] < mean[name] for name in ("ior1", "ior2", "ior3")), mean

    def test_the_answer_comes_first_then_its_price(self, job: Path) -> None:
        ended = penstock("advise", "cycle", job, "--set", "duration=20s")
        assert ended.code == 0, ended.err
        said = ended.out[ended.out.index("\ncycle = ") :].strip().splitlines()
        assert "binds" in said[0]
        assert said[1].startswith("price: ")
        assert all(len(line) <= WIDTH for line in said)

    def test_a_class_that_asks_for_less_than_its_part_is_named(self, tmp_path: Path) -> None:
        job = tmp_path / "job.toml"
        job.write_text(
            'duration = "60s"\ndevice = "hdd-7200"\n[class.busy]\nweight = 1\n[class.shy]\n'
            "weight = 9\n"
            + "".join(
                f'[[agent]]\nclass = "{name}"\nop = "read"\nsize = "16KiB"\npattern = "random"\n'
                f"arrivals = {arrivals}\n"
                for name, arrivals in (
                    ("busy", '{ kind = "closed", depth = 8 }'),
                    ("shy", '{ kind = "poisson", rate = "10/s" }'),
                )
            )
        )
        answer = advised(job)
        assert of(answer, "limited_by_demand") == [False, True]
        (said,) = (line for line in answer["lines"] if line.startswith("shy ("))
        assert "asks for less than its weight promises" in said

    def test_a_trace_runs_on_a_device_by_the_rules_of_a_job(self, tmp_path: Path) -> None:
        trace, rules = tmp_path / "trace.csv", tmp_path / "rules.toml"
        rows = [f"{10_000 * n},{('read', 'write')[n % 2]},{n * 8192},4096" for n in range(2000)]
        trace.write_text(TRACE + "\n".join(rows))
        rules.write_text(
            '[trace]\nfile = "-"\n[class.reads]\nweight = 1\n[class.writes]\nweight = 2\n'
            '[[rule]]\nop = "read"\nclass = "reads"\n[[rule]]\nclass = "writes"\n'
        )
        alone = advised(trace, "--on", "hdd-7200")
        assert of(alone, "name") == ["all"]
        assert "there is one class" in alone["lines"][-1]
        both = advised(trace, "--on", "hdd-7200", "--classes", rules)
        assert (of(both, "name"), of(both, "weight")) == (["reads", "writes"], [1, 2])
        assert (both["disks"], both["load"]) == (1, 2)

    def test_a_trace_of_devices_apart_has_a_queue_for_each(self, tmp_path: Path) -> None:
        trace = tmp_path / "trace.csv"
        rows = [f"{1000 * n},read,{n * 4096},4096,disk{n % 2}" for n in range(400)]
        trace.write_text("time_us,op,offset,size,device\n" + "\n".join(rows))
        words = ("advise", "cycle", trace, "--on", "hdd-7200")
        ended = penstock(*words, "--set", "trace.layout=each")
        assert ended.code == 2
        assert "a cycle is of one queue" in ended.err
        one = penstock(*words, "--set", 'trace.device="disk0"')
        assert one.code == 0, one.err

    def test_a_real_target(self, job: Path, disk: Path) -> None:
        words = ("--on", disk, "--create", "64MiB", "--set", "duration=2s")
        answer = advised(job, *words, "--load", "4")
        assert (answer["world"], answer["disks"], answer["load"]) == ("measured", 1, 4)
        assert answer["cycle_ms"] >= 100

    def test_a_class_of_few_requests_counts_as_unstable(self, job: Path) -> None:
        answer = advised(job)
        assert of(answer, "requests")[0] == UNSTABLE
        assert "of the 300 requests that a judgement needs" in of(answer, "reason")[0]


class TestWrongInput:
    """What was found, what was expected, and a hint."""

    @pytest.mark.parametrize(
        ("words", "found"),
        [
            ("--service 62ms --requests 85,85 --weights 1,2 --disks 8", "found 1 of --service, 2 "),
            ("--service 62ms,64ms --requests 85 --weights 1,2 --disks 8", "1 of --requests"),
            ("--service 62ms,64ms --requests 85,85 --weights 1 --disks 8", "1 of --weights"),
            ("--service 62,64 --requests 85,85 --weights 1,2 --disks 8", "found '62'"),
            ("--service 0ms,1ms --requests 85,85 --weights 1,2 --disks 8", "found '0ms'"),
            ("--service 1ms,1ms --requests 85,0 --weights 1,2 --disks 8", "--requests: found 0"),
            ("--service 1ms,1ms --requests 85,x --weights 1,2 --disks 8", "expected whole numbers"),
            ("--service 1ms --requests 85 --weights 1", "found neither a job nor --disks"),
            ("", "found neither a job nor --service"),
            (
                "--service 1ms,1ms --requests 9,9 --weights 1,2 --disks 8 --busy 91.5",
                "found --busy 91.5",
            ),
            (
                "--service 1ms,1ms --requests 9,9 --weights 1,2 --disks 8 --busy 1 --target 0",
                "found disks that are busy all the time and a target of 0 points",
            ),
            ("examples/bank-day.toml --disks 8", "found --disks with examples/bank-day.toml"),
            ("examples/bank-day.toml --format msr", "found --format with the job"),
        ],
    )
    def test_it_is_said(self, words: str, found: str) -> None:
        ended = penstock("advise", "cycle", *words.split(), cwd=ROOT)
        assert ended.code == 2, ended.out
        assert found in ended.err
        assert "expected" in ended.err
        assert "\nhint: " in ended.err

    def test_a_trace_shorter_than_a_block(self, tmp_path: Path) -> None:
        trace = tmp_path / "trace.csv"
        trace.write_text(TRACE + "\n".join(f"{1000 * n},read,{n * 8192},4096" for n in range(99)))
        ended = penstock("advise", "cycle", trace, "--on", "hdd-7200")
        assert ended.code == 2
        assert "found at most 99 requests of a class; expected 100 or more" in ended.err
        assert "\nhint: name a longer trace" in ended.err

    def test_a_trace_without_a_device(self, tmp_path: Path) -> None:
        trace = tmp_path / "trace.csv"
        trace.write_text(TRACE + "\n".join(f"{n},read,{n * 8192},4096" for n in range(300)))
        ended = penstock("advise", "cycle", trace)
        assert ended.code == 2
        assert "hint: name one with --on" in ended.err

    def test_an_array_with_a_queue_before_each_disk(self, tmp_path: Path, job: Path) -> None:
        device = tmp_path / "each.toml"
        each = (ROOT / "examples/devices/raid0.toml").read_text()
        device.write_text(each.replace("[device.array]", '[device.array]\nscheduler = "each"'))
        ended = penstock("advise", "cycle", job, "--on", device)
        assert ended.code == 2
        assert "a cycle is of one queue" in ended.err

    def test_a_target_of_nothing_is_an_error_only_without_idle_time(self) -> None:
        with pytest.raises(PenstockError, match="busy all the time"):
            _of([64, 64], [85, 85], [1, 2], busy=1.0, target=0)
