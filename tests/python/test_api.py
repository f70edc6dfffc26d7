"""The package `penstock`: the engine's results as typed values, and jobs built in Python."""

import dataclasses
import json
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import altair as alt
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock
from command import JOB
from command import penstock as command
from penstock.job import Plain, plain

CLASSES = ("tellers", "batch")


def built(*, name: str) -> penstock.Job:
    """The job of the tests, from parts."""
    return penstock.Job(
        name=name,
        seed=7,
        duration="5s",
        device="hdd-7200",
        classes=CLASSES,
        agents=[
            penstock.Agent(
                class_="tellers",
                op="write",
                sync=True,
                size="4KiB",
                pattern="random",
                region=("0%", "10%"),
                arrivals={"kind": "poisson", "rate": "20/s"},
            ),
            penstock.Agent(
                class_="batch",
                op="write",
                size="256KiB",
                pattern="sequential",
                region=("40%", "60%"),
                arrivals={"kind": "closed", "depth": 2},
            ),
        ],
    )


@pytest.fixture(scope="module")
def result() -> penstock.Comparison:
    """The job of the tests under two policies."""
    return penstock.compare(built(name="job"), policies=["noop", "size-priority"])


class TestCompare:
    """It is the command of that name."""

    def test_file_text_and_parts_give_the_same_bytes_as_the_command(self, job: Path) -> None:
        policies = ["noop", "cfq"]
        name = str(job)
        from_file = penstock.compare(job, policies=policies)
        from_text = penstock.compare(penstock.Job.from_toml(JOB, name=name), policies=policies)
        from_parts = penstock.compare(built(name=name), policies=policies)
        assert from_file.json == from_text.json == from_parts.json
        assert from_file == from_text == from_parts
        printed = command("compare", job, "--policies", "noop,cfq", "--json").out
        assert from_file.to_json() + "\n" == printed
        plainly = penstock.compare(job, policies=policies, detail=False)
        assert plainly.to_json() == from_file.to_json()

    def test_it_takes_what_the_command_takes(self, job: Path) -> None:
        changes: dict[str, Plain] = {
            "duration": "1s",
            "agent.1.arrivals.depth": 3,
            "size-priority.priority": False,
        }
        result = penstock.compare(str(job), policies=["size-priority"], on="flash", set=changes)
        assert (result.device, result.world) == ("flash", "simulated")
        assert list(result.job_set) == [
            "duration=1s",
            "agent.1.arrivals.depth=3",
            "size-priority.priority=false",
        ]
        assert result["size-priority"].params["priority"] is False

    def test_without_policies_the_usual_ones_run_and_all_is_every_one(self, job: Path) -> None:
        known = json.loads(command("list", "policies", "--json").out)
        for policies, names in (
            (None, {one["name"] for one in known if one["usual"]}),
            ("all", {one["name"] for one in known}),
        ):
            changes = {"duration": "1s"}
            result = penstock.compare(job, policies=policies, set=changes, detail=False)
            assert {run.policy for run in result.runs} == names
            assert len(result.runs) == len(names)

    def test_on_a_real_file(self, job: Path, disk: Path) -> None:
        words = {"duration": "1s"}
        result = penstock.compare(job, policies=["noop"], on=disk, create="16MiB", set=words)
        assert (result.world, result.device) == ("measured", str(disk))
        assert result.machine.engine in {"io_uring", "threads"}
        held = result["noop"].schedule
        assert held is not None
        of_tellers = result["noop"]["tellers"].schedule
        assert of_tellers is not None
        assert held.made == of_tellers.made, "the batch is a closed loop"
        assert result["noop"]["batch"].schedule is None


class TestErrors:
    """One checker, one message."""

    def test_the_message_is_the_command_s(self, job: Path) -> None:
        job.write_text(JOB.replace("pattern", "patern", 1))
        ended = command("compare", job)
        with pytest.raises(penstock.PenstockError) as caught:
            penstock.compare(job)
        assert f"{caught.value}\n" == ended.err
        assert caught.value.exit_code == ended.code == 2
        text = penstock.Job.from_toml(job.read_text(), name=str(job))
        with pytest.raises(ValueError, match="unknown key `patern`") as caught_too:
            penstock.compare(text)
        assert str(caught_too.value) == str(caught.value)

    def test_parts_are_checked_by_the_engine(self) -> None:
        with pytest.raises(penstock.PenstockError, match="no agent") as caught:
            penstock.compare(penstock.Job(duration="1s", agents=[]))
        assert caught.value.exit_code == 2
        with pytest.raises(penstock.PenstockError, match="no unit"):
            penstock.compare(penstock.Job(duration="1", agents=[{"class": "a"}]))

    def test_pictures_need_the_detail(self, job: Path, tmp_path: Path) -> None:
        result = penstock.compare(job, policies=["noop"], detail=False)
        for wants in (result.series, result.distribution, lambda: result.charts):
            with pytest.raises(penstock.PenstockError, match="detail=True"):
                wants()
        with pytest.raises(penstock.PenstockError, match="detail=True"):
            result.save_report(tmp_path / "out.html")
        assert not (tmp_path / "out.html").exists()
        assert len(result.summary()) == 2


class TestTarget:
    """The options of a target, which are keywords."""

    def test_an_option_that_no_target_has_is_refused(self, job: Path) -> None:
        with pytest.raises(TypeError, match="unexpected keyword argument 'polices'"):
            penstock.compare(job, polices="fcfs")  # type: ignore[call-arg]

    def test_the_wrong_type_is_shown_in_what_was_given(self, job: Path) -> None:
        with pytest.raises(TypeError, match=r'integer `5`, expected a string.*"create": 5'):
            penstock.compare(job, create=5)  # type: ignore[arg-type]

    @pytest.mark.parametrize("named", ["/dev/none", Path("/dev/none"), (Path("/dev/none"),)])
    def test_a_device_is_named_again_by_one_name_or_several(
        self, job: Path, named: str | Path | Sequence[Path]
    ) -> None:
        with pytest.raises(penstock.PenstockError, match="i-will-lose-data does not go with"):
            penstock.compare(job, i_will_lose_data=named)


class TestJob:
    """Parts become TOML, and nothing else."""

    def test_every_key(self) -> None:
        job = penstock.Job(
            duration="10s",
            agents=[{"class": "a b", "arrivals": {"kind": "fixed", "curve": [1, 0.5]}}],
            classes=["one", penstock.Class(name="two", weight=3, prio=0)],
            device={"model": "fixed", "base": "1ms"},
            seed=0,
            warmup="1s",
            stop="drained",
            max_outstanding=10,
            live={"depth": 1},
            page_cache={"memory": "1MiB"},
            policies={"size-priority": {"split": "64KiB"}, "noop": {}},
        )
        assert tomllib.loads(job.text) == {
            "seed": 0,
            "duration": "10s",
            "warmup": "1s",
            "stop": "drained",
            "max_outstanding": 10,
            "device": {"model": "fixed", "base": "1ms"},
            "live": {"depth": 1},
            "page_cache": {"memory": "1MiB"},
            "class": {"one": {}, "two": {"weight": 3, "prio": 0}},
            "agent": [{"class": "a b", "arrivals": {"kind": "fixed", "curve": [1, 0.5]}}],
            "policy": {"size-priority": {"split": "64KiB"}, "noop": {}},
        }

    @given(
        st.recursive(
            st.text(st.characters(exclude_categories=["Cs"]))
            | st.booleans()
            | st.integers(-(2**63), 2**63 - 1)
            | st.floats(allow_nan=False),
            lambda inner: st.lists(inner) | st.dictionaries(st.text('a-"é .\n\x7f'), inner),
            max_leaves=8,
        )
    )
    def test_any_value_is_read_back(self, value: object) -> None:
        assert tomllib.loads(f"x = {plain(value)}")["x"] == value  # type: ignore[arg-type]


class TestResults:
    """Frozen and typed, and as the JSON has it."""

    def test_every_figure(self, result: penstock.Comparison) -> None:
        raw = json.loads(result.json)
        for run, expected in zip(result.runs, raw["runs"], strict=True):
            assert result[run.policy] is run
            assert run.duration_s == expected["duration_s"]
            for one, known in zip(run.classes, expected["classes"], strict=True):
                assert run[one.name] is one
                for field in ("lat_ns", "wait_ns", "service_ns"):
                    spread: penstock.Distribution = getattr(one, field)
                    assert [spread.p50, spread.p95, spread.p99, spread.p999] == list(
                        known[field]["percentile"].values()
                    )
                    assert (spread.mean, spread.min) == (known[field]["mean"], known[field]["min"])
                demand = None if one.demand is None else dataclasses.asdict(one.demand)
                assert demand == known["demand"]
                rest = set(known) - {"lat_ns", "wait_ns", "service_ns", "demand"}
                assert {key: getattr(one, key) for key in rest} == {k: known[k] for k in rest}
        with pytest.raises(KeyError):
            result["none"]
        with pytest.raises(KeyError):
            result["noop"]["none"]

    def test_frozen(self, result: penstock.Comparison) -> None:
        with pytest.raises(dataclasses.FrozenInstanceError):
            result.seed = 2  # type: ignore[misc]
        with pytest.raises(dataclasses.FrozenInstanceError):
            built(name="job").text = ""  # type: ignore[misc]

    def test_policies_in_one_text_are_as_on_the_command_line(self, job: Path) -> None:
        for policies in ("noop", "noop,size-priority"):
            result = penstock.compare(job, policies=policies, detail=False)
            assert [run.policy for run in result.runs] == policies.split(",")

    def test_is_three_lines_for_people(self, result: penstock.Comparison) -> None:
        what, which, verdict = repr(result).splitlines()
        assert what == f"<SIMULATED {result.job_file} on hdd-7200, seed 7"
        assert which == f" noop, size-priority for {', '.join(CLASSES)}"
        assert verdict == f" {result.verdict()[-1]}>"

    def test_frames(self, result: penstock.Comparison) -> None:
        summary = result.summary()
        assert summary.select("policy", "class").rows() == [
            (policy, name) for policy in ("noop", "size-priority") for name in CLASSES
        ]
        row = summary.row(1, named=True)
        one = result["noop"]["batch"]
        assert (row["requests"], row["lat_p99_9_ns"]) == (one.requests, one.lat_ns.p999)
        series = result.series()
        of_batch = pl.col("class") == "batch"
        totals = (
            series.filter(of_batch)
            .group_by("policy", maintain_order=True)
            .agg(pl.col("requests").sum(), pl.col("bw_bytes").null_count())
        )
        assert totals["requests"].to_list() == [run["batch"].requests for run in result.runs]
        assert totals["bw_bytes"].to_list() == [1, 1]
        spread = result.distribution().filter(of_batch & (pl.col("measure") == "lat_ns"))
        last = spread.group_by("policy", maintain_order=True).agg(pl.col("at_or_below").last())
        assert last["at_or_below"].to_list() == [1.0, 1.0]

    def test_charts(self, result: penstock.Comparison) -> None:
        names = [f"{kind}-{one}" for kind in KINDS for one in CLASSES]
        # The batch has always as many requests outstanding.
        names.remove("queue-batch")
        # Behind them one for each policy that counts.
        shown = [name for name in result.charts if not name.startswith("policy-")]
        assert shown == ["tradeoff", *names, "shares", "arm"]
        assert all(isinstance(chart, alt.TopLevelMixin) for chart in result.charts.values())

    def test_the_json_is_read_once_and_nothing_changes_it(
        self, result: penstock.Comparison, tmp_path: Path
    ) -> None:
        raw = result.raw
        assert raw is result.raw
        assert result.rounds == 1
        for show in (result.verdict, result.summary, result.series, result._repr_html_):
            show()
        result.save_report(tmp_path / "report.html")
        assert list(result.charts)
        assert raw is result.raw == json.loads(result.json)

    def test_a_notebook_shows_the_verdict_and_the_table(self, result: penstock.Comparison) -> None:
        html = result._repr_html_()
        assert "SIMULATED" in html
        assert result.verdict()[0].split(":")[0] in html
        assert html.count('<th scope="row">') == 4


KINDS = ("latency", "percentiles", "throughput", "queue")


def test_every_name_of_the_package_is_there() -> None:
    assert dir(penstock) == penstock.__all__
    for name in penstock.__all__:
        assert getattr(penstock, name) is not None
    with pytest.raises(AttributeError, match="'compares'"):
        getattr(penstock, "compares")  # noqa: B009 - a type checker knows better


SAMPLE = Path(__file__).parents[1] / "data/traces/sample.msr"

HEAVY = {"altair", "jinja2", "narwhals", "polars", "textual", "vl_convert", "xlsxwriter"}
"""Packages for pictures, data frames, pages, workbooks and screens."""

WIDGETS = {"rich.live", "rich.progress", "penstock.charts", "penstock.watch.screen"}
"""Modules for pictures, and for what moves on a terminal."""


@pytest.mark.parametrize(
    "words",
    [
        ("--version",),
        ("run", "JOB", "--policy", "noop"),
        ("compare", "JOB", "--policies", "noop,fcfs"),
        ("replay", str(SAMPLE), "--on", "flash", "--fit", "scale", "--layout", "each"),
    ],
    ids=lambda words: words[0],
)
def test_the_command_does_not_wait_for_what_it_does_not_need(
    job: Path, words: tuple[str, ...]
) -> None:
    asked = [str(job) if word == "JOB" else word for word in words]
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "penstock", *asked],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.split("\n")}
    assert ("typer" in loaded) == (words[0] != "--version")
    assert not {name.partition(".")[0] for name in loaded} & HEAVY
    assert not loaded & WIDGETS


def test_modules_are_attributes_of_the_package_once_they_are_used() -> None:
    script = (
        "import sys, penstock\n"
        "assert not any(name.startswith('penstock.study') for name in sys.modules)\n"
        "print(penstock.study.power.detectable, hasattr(penstock, 'none'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("False\n")
