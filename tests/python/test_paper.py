"""`penstock paper online-batch`: the table to a hundredth, the claims, the variants, the report."""

import json
import threading
from collections.abc import Sequence

import pytest

from command import penstock
from penstock.experiment.trial import Setup
from penstock.job import Job
from penstock.papers import page
from penstock.papers.claims import Claim
from penstock.papers.online_batch.paper import PAPER
from penstock.papers.online_batch.phases import SENSITIVITY
from penstock.papers.online_batch.simulation import (
    CASES,
    CONTROLS,
    SETTINGS,
    job,
)
from penstock.papers.online_batch.tables import PUBLISHED
from penstock.papers.published import Row
from penstock.papers.result import simulated
from penstock.session import Session, Variant, compare
from penstock.target import Target
from penstock.text import programs

TABLE = """
none   1 22.43 95.91 49.80 46.11 27.11 293.86 24.39   6.31   3.25
none   2 40.20 95.23 49.97 45.26 27.62 339.26 26.24  26.44  25.62
none   3 70.37 90.99 49.49 41.51 30.11 553.85 29.41 121.30  86.55
cpu    1 15.97 79.82 49.91 29.91 41.79 111.76 28.64   2.92   6.86
cpu    2 28.68 80.72 49.86 30.85 40.52 136.69 30.34  14.86  28.41
cpu    3 53.67 80.74 49.69 31.05 40.25 312.09 33.02  77.55 107.24
cpu+io 1 16.50 81.25 49.99 31.25 39.99 103.34 28.13   0.38  23.02
cpu+io 2 28.93 81.06 49.90 31.16 40.12 108.78 29.27   0.42  18.36
cpu+io 3 53.62 80.90 49.89 31.01 40.31 102.82 31.88   0.38  86.05
"""
"""What two other programs made of the same model: control, case, shares of the disk, of the
processors, of those the online and the batch part, seconds of all, then times and waits."""


@pytest.fixture(scope="module")
def ours() -> list[Row]:
    return PAPER.simulate({})


def test_the_table_is_that_of_two_other_programs_to_a_hundredth(ours: list[Row]) -> None:
    for line, found in zip(TABLE.split("\n")[1:-1], ours, strict=True):
        control, case, *figures = line.split()
        assert (found["control"], found["case"]) == (control, int(case))
        # Half of the last digit is what writing them down has rounded away.
        for figure, value in zip(figures, list(found.values())[2:], strict=True):
            assert value == pytest.approx(float(figure), abs=0.0051), (line, value)


def test_no_trusted_cell_is_two_points_from_the_papers(ours: list[Row]) -> None:
    cells = list(PUBLISHED.deviations(ours))
    assert len(cells) == 36
    suspect = [one for one in cells if one.suspect]
    assert [(one.row["control"], one.row["case"], one.figure) for one in suspect] == [
        ("cpu", 2, "online_cpu_pct"),
        ("cpu", 2, "batch_cpu_pct"),
    ]
    assert PUBLISHED.farthest(ours) <= 2.0


def test_transactions_wait_as_the_paper_says_where_the_disk_knows_priorities(
    ours: list[Row],
) -> None:
    waits = [one["online_wait_ms"] for one in ours if one["control"] == "cpu+io"]
    assert all(0.35 <= wait <= 0.45 for wait in waits)
    assert max(waits) - min(waits) < 0.06


def test_with_priority_on_the_disk_a_transaction_waits_for_other_transactions_alone() -> None:
    # At most four have a write there at once: the last of them waits for three units of 1 ms. Its
    # units of batch work begin and end on the millisecond, as all arrivals do.
    for case in ("500kB", "1MB", "2MB"):
        sets = [f"program.1.phases.1.write={case}"]
        policies = ["size-priority"]
        variant = Variant(name="online-batch", text=job(), policies=policies, sets=sets)
        result = compare(variant, Target())
        (run,) = json.loads(result)["runs"]
        (online,) = (one for one in run["classes"] if one["name"] == "online")
        # Reported within a thousandth, as every distribution.
        assert online["programs"]["wait_ns"]["max"] <= 3.003e6


def test_all_work_of_the_batch_jobs_lies_in_the_measured_time(ours: list[Row]) -> None:
    for one in ours:
        computed = one["batch_cpu_pct"] / 100 * 4 * one["makespan_s"]
        assert computed == pytest.approx(50.0, abs=1e-6)
        share = {1: 0.1, 2: 0.2, 3: 0.4}[one["case"]]
        disk = one["online_cpu_pct"] * 4 * 0.02 + one["batch_cpu_pct"] * 4 * share
        assert one["disk_pct"] == pytest.approx(disk, abs=0.3)


def test_every_claim_but_one_holds(ours: list[Row]) -> None:
    found = PAPER.claims(ours)
    assert [one["id"] for one in found] == [rule.id for rule in PAPER.rules]
    assert [one["id"] for one in found if not one["holds"]] == ["2B-flat"]


def test_a_claim_can_fail(ours: list[Row]) -> None:
    def holding(found: list[Claim]) -> set[str]:
        return {one["id"] for one in found if one["holds"]}

    assert holding(PAPER.claims(ours[::-1])) != holding(PAPER.claims(ours))
    assert "1A-none" not in holding(PAPER.claims(PAPER.simulate({"disk": "rr"})))


@pytest.mark.parametrize("variant", SENSITIVITY.variants)
def test_every_variant_runs(variant: str) -> None:
    assert len(PAPER.simulate(SENSITIVITY.variants[variant].changes)) == 9


@pytest.mark.parametrize(
    "setting",
    [
        "ncpu=3",
        "slice=5ms",
        "unit=2ms",
        "online.offsets=0ms,2ms",
        "online.period=300ms",
        "online.cpu=50ms",
        "batch.n=6",
        "batch.start=150ms",
        "batch.stagger=100ms",
        "batch.writes=10",
        "batch.cpu_between=250ms",
        "preempt=true",
        "cpu_pick=lowest",
        "disk=rr",
        "arrivals=poisson",
    ],
)
def test_every_setting_changes_something(setting: str, ours: list[Row]) -> None:
    # Priority everywhere, and the only control under which processors are taken away.
    changed = PAPER.simulate(SETTINGS.read([setting]))
    assert changed[-1] != ours[-1] or setting == "disk=rr"
    assert changed[5] != ours[5]


def test_the_settings_above_are_all(request: pytest.FixtureRequest) -> None:
    (mark,) = test_every_setting_changes_something.pytestmark  # type: ignore[attr-defined]
    assert [one.partition("=")[0] for one in mark.args[1]] == SETTINGS.names


def test_a_lone_batch_job_takes_ten_seconds_and_its_writes() -> None:
    alone = SETTINGS.read(["batch.n=1", "online.offsets=0ms", "online.period=1h"])
    found = [row["batch_s"] for row in PAPER.simulate(alone)]
    assert found == [11.0, 12.0, 14.0] * len(CONTROLS)


def test_what_is_set_wrongly_is_said_in_its_own_words() -> None:
    ended = penstock("paper", "online-batch", "--set", "batch.n=many")
    assert ended.code == 2
    where, caret = ended.err.splitlines()[1:3]
    assert where == "  --> --set batch.n=many"
    assert caret.index("^") == where.index("many")
    unknown = penstock("paper", "online-batch", "--set", "batch.many=1")
    assert (unknown.code, "unknown key batch.many" in unknown.err) == (2, True)


def test_its_report_has_the_figures_and_the_pictures() -> None:
    text = page.page(simulated(PAPER, {})).html()
    assert text.count('<svg class="chart"') == 4
    assert "22.43 / 23.5 (-1.07)" in text
    assert "does not hold" in text


@pytest.mark.soak
def test_the_points_of_a_variant_share_the_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[int] = []
    session = Setup.session

    def counted(setup: Setup[Row], first: Sequence[Variant], workers: int | None) -> Session:
        opened.append(threading.get_ident())
        assert len(first) == len(SENSITIVITY.points) * 9
        assert workers is None
        return session(setup, first, workers)

    monkeypatch.setattr(Setup, "session", counted)
    assert len(PAPER.varied({}, lambda _: None)) == len(SENSITIVITY.variants)
    assert opened == [threading.get_ident()] * len(SENSITIVITY.variants)


def test_the_help_of_its_sensitivity_counts_the_runs() -> None:
    phases = len(SENSITIVITY.points)
    runs = phases * len(SENSITIVITY.variants) * len(CONTROLS) * len(CASES)
    assert f"{runs:,} runs" in SENSITIVITY.help
    assert f" {phases} other phases" in SENSITIVITY.help
    assert f" {phases} phases" in SENSITIVITY.about


def test_programs_built_in_python_run() -> None:
    import penstock

    job = Job(
        duration="1s",
        device="paper-io-path",
        classes=["online"],
        cpu={"count": 2},
        programs=[
            {
                "class": "online",
                "phases": [{"write": "1000B"}, {"cpu": "100ms"}, {"write": "1000B"}],
                "arrivals": {"kind": "once"},
            }
        ],
    )
    comparison = penstock.compare(job, policies=["noop"])
    found = comparison["noop"]["online"].programs
    assert found is not None
    assert (found.n, found.unfinished, found.time_ns.mean) == (1, 0, 102e6)
    assert (found.wait_ns.max, found.cpu_time_s) == (0, 0.1)
    (line,) = programs.lines(comparison.raw["runs"])
    assert line == "online: 1 programs, 49.0 % of the processors, mean 102 ms, p99 102 ms"
