"""`penstock paper ioagent live`: which cells run, what is compared, what is refused.

No figure of a machine that may do other work is judged here: only which rows there are, that the
budget is kept, and that what is compared comes out where it is known.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from math import exp
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from command import NOBODY, interrupted, penstock
from forking import Ended
from penstock.errors import CANNOT_HERE, PenstockError
from penstock.experiment import plan
from penstock.experiment.bench import Bench
from penstock.experiment.budget import SPARE
from penstock.experiment.plan import Cell
from penstock.papers.claims import Claim
from penstock.papers.ioagent import analyses, campaign, live, live_json, live_table, setting
from penstock.papers.ioagent import live_claims as claims
from penstock.papers.ioagent import live_fraction as fraction
from penstock.papers.ioagent import live_runs as runs
from penstock.papers.ioagent.live_claims import JudgedClaim
from penstock.papers.ioagent.live_fraction import Pattern
from penstock.papers.ioagent.live_results import MachineStudy, PatternResult
from penstock.papers.ioagent.live_table import Verdict
from penstock.results.steps import Step
from penstock.session import Variant
from penstock.study import rows
from penstock.study.cells import Outcome
from penstock.study.coding import estimable, matrix
from penstock.study.difference import Ranks
from penstock.study.difference import ranks as ranks_of

LIVE = ("paper", "ioagent", "live")

SMALL = ("patterns=random-read,random-write", "D=1", "A=1,8", "B=1,8", "S=8,128")

RUNS = 2 * 2**4
"""Cells of `SMALL`: two patterns, and two levels of each of four factors."""

COEFFICIENTS = {
    "sequential-read": 85,
    "sequential-write": 85,
    "random-read": 50,
    "random-write": 85,
}
"""Of the paper's models, with the constant, counted by hand."""


def whole() -> list[Pattern]:
    """The paper's design."""
    cells = plan.every(setting.FACTORS)
    return [
        Pattern(
            name=name,
            terms=analyses.terms(name, list(setting.FACTORS)),
            factors=setting.FACTORS,
            cells=cells,
        )
        for name in setting.PATTERNS
    ]


def words(*sets: str) -> list[str]:
    return [word for one in sets for word in ("--set", one)]


def measured(*more: str | Path) -> Ended:
    ended = penstock(*LIVE, *words(*SMALL), *more)
    if ended.code == CANNOT_HERE:
        pytest.skip(ended.err)
    return ended


def test_the_fewest_cells_are_the_coefficients_and_some_that_say_what_is_noise() -> None:
    patterns = whole()
    assert {one.name: one.coefficients for one in patterns} == COEFFICIENTS
    assert [one.fewest - one.coefficients for one in patterns] == [fraction.FREE] * 4


def test_a_core_lies_in_its_fraction_and_can_be_fitted_alone() -> None:
    (of,) = (one for one in whole() if one.name == "random-read")
    core, rest = of.fraction(of.fewest + 30, seed=1)
    assert (len(core), len(rest)) == (of.fewest, 30)
    keys = {tuple(cell.values()) for cell in (*core, *rest)}
    assert len(keys) == len(core) + len(rest), "no cell twice"
    codes = {
        name: np.array([levels.index(cell[name]) for cell in core])
        for name, levels in of.factors.items()
    }
    assert estimable(matrix(codes, of.factors, of.terms)[0])


def test_the_budget_says_how_many_cells_run() -> None:
    patterns = whole()
    fewest = sum(COEFFICIENTS.values()) + 4 * fraction.FREE
    seconds = [0.1, 0.2, 0.3, 0.4]
    least = fraction.needed(patterns, seconds)
    assert least == pytest.approx(1.1 * (95 * 0.1 + 95 * 0.2 + 60 * 0.3 + 95 * 0.4))
    assert fraction.counts(patterns, seconds, least) is None, "some is kept in reserve"
    budget = (least + 10.5 * 1.1 * sum(seconds)) / SPARE
    assert fraction.counts(patterns, seconds, budget) == [105, 105, 70, 105]
    assert fraction.counts(patterns, seconds, 1e6) == [648] * 4
    # What is left of a pattern that is complete goes to the others.
    almost = fraction.needed(patterns, seconds) + 1.1 * (553 * 0.6 + 563 * 0.3 + 553 * 0.1)
    budget = (almost + 1.1 * 5 * 0.3) / SPARE
    found = fraction.counts(patterns, seconds, budget)
    assert found is not None
    assert sum(found) > fewest
    spent = 1.1 * sum(many * each for many, each in zip(found, seconds, strict=True))
    assert SPARE * budget - 1.1 * sum(seconds) < spent <= SPARE * budget


def test_amounts_are_as_large_as_the_budget_allows_for_all_cores() -> None:
    patterns = whole()
    seconds = [(0.01, 0.1)] * 4
    cells = sum(one.fewest for one in patterns)

    def part(budget_s: float) -> int | None:
        return fraction.part_of(patterns, seconds, 16, budget_s)

    for parts in fraction.PARTS:
        enough = 1.1 * cells * (0.01 + 0.1 * 16 / parts) / SPARE
        assert part(1.001 * enough) == parts
        assert part(0.999 * enough) == (2 * parts if parts < 16 else None)
    nearly = 1.1 * cells * (0.01 + 0.2) / SPARE
    assert fraction.part_of(patterns, seconds, 16, 1.001 * nearly, pilot=8) == 16


def test_cells_that_need_more_memory_than_there_is_are_named() -> None:
    cells = plan.every(setting.FACTORS)
    able, out = fraction.runnable(cells, 600 << 20)
    assert len(able) + len(out) == len(cells)
    needed = {cell["D"] * cell["A"] * cell["B"] * cell["S"] for cell, _ in out}
    assert min(needed) > 300 << 10 >= max(c["D"] * c["A"] * c["B"] * c["S"] for c in able)
    assert ({"O": "direct", "D": 4, "A": 32, "B": 32, "S": 128}) in [one.cell for one in out]
    assert out[-1].why == "buffers of 512 MiB, and 600 MiB of memory are available"


def test_files_fit_the_space_and_the_budget() -> None:
    gib = 1 << 30
    assert runs.file_size(free=100 * gib, files_most=4, budget_s=600) == gib
    assert runs.file_size(free=100 * gib, files_most=4, budget_s=10) == runs.SIZE_LEAST
    assert runs.file_size(free=5 * gib, files_most=4, budget_s=600) == gib // 2
    assert runs.file_size(free=gib - 1, files_most=4, budget_s=600) == 0


def test_a_run_of_a_sixteenth_has_an_operation_of_every_agent() -> None:
    for pattern in setting.PATTERNS:
        for cell in plan.every(setting.FACTORS):
            found = campaign.changes({"pattern": pattern, **cell}, max(fraction.PARTS))
            (total,) = (one for one in found if one.startswith("agent.agents.total"))
            assert int(total.partition("=")[2].removesuffix("KiB")) >= cell["S"]


@cache
def random_access() -> Mapping[str, Sequence[Cell]]:
    """A fraction of random reads and one of random writes."""
    found = {}
    for of in whole():
        if of.name.startswith("random"):
            core, rest = of.fraction(of.fewest + 20, seed=1)
            found[of.name] = [*core, *rest]
    return found


def judged(noise: float, seed: int, *, of_agents: float) -> Mapping[str, JudgedClaim]:
    """The claims of a fraction of random access, where the rate is a power of each factor but O."""
    random = np.random.Generator(np.random.PCG64(seed))
    fits = {}
    for name, cells in random_access().items():
        rates = [
            {
                "pattern": name,
                **cell,
                "bw_bytes": 1e6
                * cell["A"] ** of_agents
                * cell["B"] ** 0.2
                * cell["S"] ** 0.8
                * cell["D"]
                * exp(noise * random.standard_normal()),
            }
            for cell in cells
        ]
        fits[name] = claims.compared(name, rates, rates).fits[0]
    return claims.judged(fits, plan.every(setting.FACTORS), 1)


def test_a_fraction_says_of_all_cells_what_all_cells_say() -> None:
    found = judged(1e-6, 1, of_agents=0.3)
    # Without sequential patterns only the sentences on random access.
    assert list(found) == ["5.1-random", "5.2-random"]
    assert (found["5.1-random"].claim["holds"], found["5.1-random"].certain) == (True, True)
    rates = found["5.2-random"].claim["numbers"]["A = 32"]
    assert rates[-1] / rates[0] == pytest.approx(32**0.2, rel=1e-4)
    undecided = {name: why for name, _, why in claims.undecided(found)}
    assert undecided["4.1-r2"] == claims.WHY_NOT["4.1-r2"]
    assert "did not run" in undecided["5.1-read"]


def test_noise_makes_no_claim_fail_that_is_true() -> None:
    """A rise of two per cent from level to level, in noise of five: few draws have it."""
    found = [judged(0.05, seed, of_agents=0.03)["5.1-random"] for seed in range(5)]
    assert not all(one.claim["holds"] for one in found), "noise hides it"
    assert not any(one.certain and not one.claim["holds"] for one in found)


def test_what_falls_certainly_fails() -> None:
    for seed in range(3):
        of = judged(0.05, seed, of_agents=-0.2)["5.1-random"]
        assert (of.claim["holds"], of.certain) == (False, True)


@pytest.mark.soak
def test_a_fraction_runs_and_is_compared(tmp_path: Path) -> None:
    began = time.monotonic()
    data = tmp_path / "rows"
    ended = measured("--on", tmp_path, "--budget", "30s", "--data", data, "--json")
    assert ended.code == 0, ended.err
    assert time.monotonic() - began < 30 + 5
    assert [one.name for one in tmp_path.iterdir()] == ["rows"], "the files are removed again"
    found = json.loads(ended.out)
    assert found["set"] == dict(one.split("=") for one in SMALL)
    assert (found["runs"], found["planned"]) == (RUNS, RUNS)
    assert (found["files"], found["stopped"]) == (1, False)
    assert found["left_out"] == []
    # The model's values are those of the simulation of the same cells.
    of = setting.read(found["set"])
    simulated = {
        tuple(row[name] for name in ("pattern", *setting.FACTORS)): row["bw_bytes"]
        for row in campaign.cells(campaign.rows(of))
    }
    ours = {
        tuple(row[name] for name in ("pattern", *setting.FACTORS)): row["model_bw_bytes"]
        for row in found["rows"]
    }
    assert ours == pytest.approx(simulated)
    assert all(row["bw_bytes"] > 0 for row in found["rows"])
    for one in found["patterns"]:
        assert (one["cells"], one["possible"]) == (RUNS // 2, RUNS // 2)
        assert one["references"] >= 1
        assert one["spearman"]["low"] <= one["spearman"]["rho"] <= one["spearman"]["high"]
        own = [
            (row["bw_bytes"], row["model_bw_bytes"])
            for row in found["rows"]
            if row["pattern"] == one["pattern"]
        ]
        ranks = ranks_of([here for here, _ in own], [model for _, model in own])
        assert ranks is not None
        assert ranks.rho == pytest.approx(one["spearman"]["rho"])
        assert [each["factor"] for each in one["here"]] == [
            name for name in "OASB" for _ in range(2)
        ]
    ids = {one["id"] for one in (*found["claims"], *found["not_judged"])}
    assert len(ids) == 15
    assert {"5.1-random"} <= {one["id"] for one in found["claims"]}
    # All that is shown and on the page can be made of it again.
    again = live_json.read(found)
    assert json.loads(json.dumps(live_json.plain(again))).items() <= found.items()
    assert live_table.verdict(again).value == found["verdict"]
    # Every run is a row of a study, those of the reference cell marked.
    frame = rows.read(data)
    assert frame.filter(~frame["reference"]).height == RUNS
    assert frame["order"].to_list() == list(range(frame.height))
    assert (frame["bw_bytes"] > 0).all()
    analysed = penstock(
        "study", "analyse", data, "--by", "pattern", "--response", "bw_bytes", "--json"
    )
    assert analysed.code == 0, analysed.err


def slowly(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Runs that take so many seconds more, once the number of cells has been decided."""
    made, decide = runs.Runs.run, fraction.counts
    decided = False

    def counts(of: Sequence[Pattern], each: Sequence[float], budget_s: float) -> list[int] | None:
        nonlocal decided
        decided = True
        return decide(of, each, budget_s)

    def run(of: runs.Runs, cell: Cell, part: int, seed: int) -> Outcome | None:
        if decided:
            time.sleep(seconds)
        return made(of, cell, part, seed)

    monkeypatch.setattr(live, "counts", counts)
    monkeypatch.setattr(runs.Runs, "run", run)


def started(tmp_path: Path, budget_s: float) -> MachineStudy:
    try:
        return live.ioagent_live(str(tmp_path), budget_s, setting.live(SMALL))
    except PenstockError as error:
        if error.exit_code == CANNOT_HERE:
            pytest.skip(str(error))
        raise


@pytest.mark.soak
def test_the_budget_ends_what_takes_longer_than_planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slowly(monkeypatch, 0.6)
    began = time.monotonic()
    found = started(tmp_path, 12)
    assert time.monotonic() - began < 12 + 5
    assert found.stopped
    assert found.runs < found.planned == RUNS
    assert len(found.rows) == found.runs
    assert f"of {RUNS} that were planned: the budget ended" in " ".join(live_table.details(found))
    assert list(tmp_path.iterdir()) == []


def test_what_is_interrupted_leaves_its_rows_and_no_files(tmp_path: Path) -> None:
    data = tmp_path / "rows"
    sets = words("patterns=random-read", "D=1", "S=32,128")
    of: list[str | Path] = [*LIVE, "--on", tmp_path, "--data", data, *sets]
    if penstock(*of, "--budget", "1s").code == CANNOT_HERE:
        pytest.skip("this machine cannot run it")
    # Not a share of the runs: a disk that stands still for half a minute does only a few of them.
    ended = interrupted(*of, "--budget", "1min", when=r"([3-9]|\d\d) of \d+ runs")
    assert (ended.code, ended.out) == (130, "")
    assert f"interrupted: what is recorded is in {data}" in ended.err
    assert [one.name for one in tmp_path.iterdir()] == ["rows"]
    assert rows.read(data).height >= 3


def test_a_cell_that_fails_is_left_out_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = {"pattern": "random-read", "O": "direct", "D": 1, "A": 8, "B": 8, "S": 128}

    made = runs.Runs.run
    kept = Bench.run

    def one_fails(of: runs.Runs, cell: Cell, part: int, seed: int) -> Outcome | None:
        def failed(
            bench: Bench[Outcome], variants: Sequence[Variant], progress: Callable[[Step], object]
        ) -> list[Outcome]:
            (outcome,) = kept(bench, variants, progress=progress)
            return [outcome._replace(failure="it has no room")]

        with monkeypatch.context() as patch:
            if cell == bad:
                patch.setattr(Bench, "run", failed)
            return made(of, cell, part, seed)

    monkeypatch.setattr(runs.Runs, "run", one_fails)
    found = started(tmp_path, 30)
    assert (found.runs, found.planned, found.stopped) == (RUNS - 1, RUNS, False)
    assert [(one.cell, one.why) for one in found.left_out] == [(bad, "it has no room")]
    assert (
        "left out: random-read: O = direct, D = 1, A = 8, B = 8, S = 128: it has no room"
        in list(live_table.notes(found))
    )


def found_by(rhos: Sequence[float], same: int, other: int) -> MachineStudy:
    """A study with these ranks, and with so many claims that come out alike, and otherwise."""
    patterns = [
        PatternResult(
            pattern=name,
            cells=100,
            possible=648,
            coefficients=85,
            ranks=Ranks(rho, rho - 0.2, rho + 0.2, 0.01),
            references=3,
            noise_pct=4.0,
            drift=None,
            here=[],
            model=[],
        )
        for name, rho in zip(setting.PATTERNS, rhos, strict=True)
    ]

    def judged(holds: Sequence[bool]) -> dict[str, JudgedClaim]:
        claims = {
            f"{at}": Claim(id=f"{at}", text="", holds=one, numbers={})
            for at, one in enumerate(holds)
        }
        return {
            name: JudgedClaim(claim=one, certainty=1.0, certain=name != f"{same + other}")
            for name, one in claims.items()
        }

    return MachineStudy(
        folder=".",
        machine="",
        file_bytes=1 << 30,
        files=4,
        part=1,
        budget_s=600,
        seconds=590,
        planned=400,
        runs=400,
        stopped=False,
        patterns=patterns,
        # The last one differs and is not certain.
        here=judged([True] * (same + other) + [True]),
        model=judged([True] * same + [False] * other + [False]),
        left_out=[],
        remarks=[],
        rows=[],
    )


@pytest.mark.parametrize(
    ("rhos", "same", "other", "verdict"),
    [
        ([0.9, 0.9, 0.9, 0.9], 3, 0, Verdict.AGREES),
        ([0.9, 0.9, 0.9, 0.9], 3, 1, Verdict.IN_PART),
        ([0.9, 0.9, 0.9, 0.1], 3, 0, Verdict.IN_PART),
        ([0.1, 0.1, 0.1, -0.9], 3, 0, Verdict.DISAGREES),
        ([0.9, 0.9, 0.9, 0.9], 0, 2, Verdict.DISAGREES),
    ],
)
def test_the_verdict_is_of_ranks_and_of_what_is_certain(
    rhos: Sequence[float], same: int, other: int, verdict: Verdict
) -> None:
    found = found_by(rhos, same, other)
    assert live_table.verdict(found) == verdict
    alike = sum(rho > 0.2 for rho in rhos)
    assert f"cells alike in {alike} of 4 patterns" in live_table.answer(found)
    certain = f"{same} of {same + other + 1} claims come out alike, {same} of the {same + other}"
    assert certain in live_table.answer(found)
    unknown = replace(found.patterns[0], ranks=None)
    assert live_table.verdict(replace(found, patterns=[unknown])) == Verdict.OPEN


def test_the_answer_comes_first(tmp_path: Path) -> None:
    ended = measured("--on", tmp_path, "--budget", "20s")
    assert ended.code == 0, ended.err
    first, paper, price, trust = ended.out.splitlines()[:4]
    assert any(first.startswith(f"{word}  the model and this machine") for word in Verdict)
    assert paper.startswith("  the paper: ")
    assert price.startswith("  price: ")
    assert "of 20.0 s" in price
    assert trust.startswith("  trust: ")
    assert "factor D is files here, all in one folder and so on one disk" in ended.out


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ([], "Missing option '--on'"),
        (["--on", "gone"], "--on gone: found nothing there"),
        (["--on", "file"], "--on file: found a file, expected a folder"),
        (["--on", ".", "--budget", "10"], "--budget: found '10'; expected a time above 0"),
        (["--on", ".", "--budget", "soon"], "--budget: found 'soon'; expected a time above 0"),
        (["--on", ".", "--budget", "0s"], "--budget: found '0s'; expected a time above 0"),
        (["--on", ".", "--set", "queue=64"], "--set queue=64 belongs to the simulation"),
        (["--on", ".", "--set", "A=3"], "--set A: found 3; expected some of 1, 2, 4, 8, 16, 32"),
        (["--on", ".", "--data", "file"], "file"),
        (["--on", ".", "--sensitivity"], "No such option: --sensitivity"),
        (
            ["--on", ".", *words("O=direct", "D=1", "A=1", "B=1", "S=8")],
            "random-read has 1 cell of these levels, and the paper's model 1 coefficient",
        ),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, more: list[str], said: str) -> None:
    (tmp_path / "file").write_text("")
    sets = words(*SMALL) if "--set" not in more else words("patterns=random-read")
    ended = penstock(*LIVE, *sets, *more, cwd=tmp_path)
    assert (ended.code, ended.out) == (2, ""), ended.out
    assert said in ended.err
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_a_folder_without_space_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Usage:
        free = 100 << 20

    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage)
    with (
        pytest.raises(PenstockError, match="found 100 MiB of free space, expected at least 1024"),
        runs.own_folder(str(tmp_path), 4, 600),
    ):
        pass


def test_a_folder_that_may_not_be_written_to_is_refused() -> None:
    script = (
        "import os, sys\n"
        "from penstock.papers.ioagent import live_runs\n"
        f"if os.geteuid() == 0: os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})\n"
        "try:\n"
        "    with live_runs.own_folder(sys.argv[1], 1, 10): pass\n"
        "except ValueError as error: print(error)\n"
    )
    with TemporaryDirectory() as folder:
        for mode, said in ((0o555, "no folder can be made in it"), (0o000, "inner: Permission")):
            Path(folder).chmod(mode)
            words = [sys.executable, "-c", script, folder if mode else f"{folder}/inner"]
            done = subprocess.run(words, capture_output=True, text=True, check=True)
            assert done.stdout.startswith(f"error: --on {words[-1]}: ")
            assert said in done.stdout
            assert "Permission denied" in done.stdout
        Path(folder).chmod(0o700)


def test_a_budget_that_is_too_small_says_what_would_do(tmp_path: Path) -> None:
    ended = penstock(*LIVE, "--on", tmp_path, "--budget", "2s")
    if ended.code == CANNOT_HERE:
        pytest.skip(ended.err)
    assert (ended.code, ended.out) == (2, "")
    assert "--budget 2.00 s is too small" in ended.err
    assert list(tmp_path.iterdir()) == []
