"""`penstock paper online-batch live`: the programs run, and all that they met is reported."""

import csv
import json
from dataclasses import asdict
from pathlib import Path

import pytest

from command import penstock
from penstock.papers.online_batch import figure5
from penstock.papers.online_batch.live import Figures, Live, MeasuredCell, verdict
from penstock.results.rounds import Spread
from penstock.target import Target

LIVE = ("paper", "online-batch", "live", "--on")
FAST = (*LIVE, "emulated:paper-disk@20", "--repeat", "1", "--batch", "0,1")


def test_every_control_has_its_cell_and_every_write_its_line(tmp_path: Path) -> None:
    writes = tmp_path / "writes.csv"
    words = ("--modes", "fifo,split+prio", "--calibrate", "--cpu-priority", "both")
    ended = penstock(*FAST, *words, "--csv", writes, "--json")
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    cells = {(one["mode"], one["cpu_priority"], one["batch"]): one for one in found["cells"]}
    modes = ("fifo", "split+prio")
    assert set(cells) == {(m, first, n) for m in modes for first in (False, True) for n in (0, 1)}
    # A twentieth of the paper's 1.852 ms and 59.4 ms, and what the machine adds.
    assert found["online_cpu_ns"] >= 2 * 926_000 / 20
    assert found["batch_cpu_ns"] >= 2 * 29_697_000 / 20
    lines = list(csv.DictReader(writes.read_text().splitlines()))
    for (mode, first, batch), one in cells.items():
        (met,) = one["rounds"]
        of = [
            line["kind"]
            for line in lines
            if (line["mode"], line["cpu_priority"], line["batch"])
            == (mode, str(int(first)), str(batch))
        ]
        assert of.count("online") == met["short"]["count"] >= 100
        assert of.count("batch") == met["long"]["count"] == 10 * batch
        assert len(met["batch_ns"]) == batch


def test_the_table_ends_in_what_it_means() -> None:
    ended = penstock(*FAST, "--modes", "fifo,split+prio")
    assert ended.code == 0, ended.err
    assert ended.out.startswith("EMULATED  emulated:paper-disk@20\n")
    assert "medians of 1 round," in ended.out
    assert "fifo, 1 online beside 1 batch: a short write takes" in ended.out
    assert "pieces more" in ended.out


def test_the_papers_points_stand_next_to_ours_of_the_same_control_and_number() -> None:
    words = ("--online", "0,1", "--modes", "fifo,prio")
    ended = penstock(*FAST, *words, "--json")
    assert ended.code == 0, ended.err
    found = json.loads(ended.out)
    cells = [(one["mode"], one["online"], one["batch"]) for one in found["cells"]]
    assert cells == [(mode, *n) for n in ((0, 1), (1, 0), (1, 1)) for mode in ("fifo", "prio")]
    online, batch = found["figure5"]
    means = [one["rounds"][0] for one in found["cells"] if one["mode"] == "fifo"]
    assert (online["program"], online["mode"], online["concurrency"]) == ("online", "fifo", 1)
    assert online["paper_ms"] == 1.23
    assert online["ours_ms"] == pytest.approx(means[1]["short"]["ns"]["mean"] / 1e6)
    assert (batch["program"], batch["paper_ms"]) == ("batch", 0.032)
    # A long write is of 1,000,000 bytes, and a point of 1,000.
    assert batch["ours_ms"] == pytest.approx(means[0]["long"]["ns"]["mean"] / 1e9)
    assert batch["deviation_pct"] == pytest.approx(100 * (batch["ours_ms"] / 0.032 - 1))


def test_the_points_are_shown_where_there_are_some() -> None:
    ended = penstock(*FAST, "--modes", "fifo")
    assert ended.code == 0, ended.err
    (line,) = (line for line in ended.out.splitlines() if line.startswith("1 online, alone"))
    assert line.split()[3:5] == ["fifo", "1.23"]
    assert figure5.NOTE in ended.out
    other = penstock(*FAST, "--modes", "prio")
    assert (other.code, "figure 5" in other.out.lower()) == (0, False)


def test_on_a_file_writes_are_whole_blocks(disk: Path) -> None:
    words = ("--create", "8MiB", "--repeat", "1", "--batch", "1", "--modes", "prio")
    ended = penstock(*LIVE, disk, *words, "--json")
    assert ended.code == 0, ended.err
    (met,) = json.loads(ended.out)["cells"][0]["rounds"]
    short, long, _ = met["lengths"]
    assert all(len % 512 == 0 for len in met["lengths"])
    assert met["gate"]["short"]["bytes"] == short * met["short"]["count"]
    assert met["gate"]["long"]["bytes"] == 10 * long
    assert met["gate"]["long"]["pieces"] == 10


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--modes", "fifo,fast"), "--modes: found 'fast'; expected one of fifo, split,"),
        (("--batch", "many"), "--batch: found 'many'; expected whole numbers"),
        (("--online", "0", "--batch", "0"), "found 0 programs; expected 1 to 256"),
        (("--csv", "/dev/null"), "/dev/null is there already"),
        (("--on", "emulated:no-disk"), "unknown device `no-disk`"),
    ],
)
def test_wrong_use_is_said_and_nothing_runs(words: tuple[str, ...], said: str) -> None:
    ended = penstock(*FAST, *words)
    assert ended.code == 2
    assert said in ended.err


@pytest.mark.parametrize("words", [("--set", "batch.n=6"), ("--sensitivity", "--json")])
def test_options_of_the_simulation_are_refused(words: tuple[str, ...]) -> None:
    ended = penstock("paper", "online-batch", *words, "live")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"error: {words[0]} before `live` belongs to the simulation\n")


def test_a_file_that_is_too_small_is_refused(disk: Path) -> None:
    ended = penstock(*LIVE, disk, "--create", "4MiB", "--batch", "2", "--repeat", "1")
    assert ended.code == 2
    assert "found 4194304 bytes for 3 programs; expected 12582912, 4MiB for each" in ended.err


def test_a_verdict_counts_in_pieces() -> None:
    def cell(batch: int, mean: float) -> MeasuredCell:
        service = {"service_ns": {"mean": 100_000.0}, "requests": 10, "pieces": 1000}
        outlasted = mean > 3_000
        met = {"short": {"ns": {"mean": mean}}, "gate": {"long": service}, "outlasted": outlasted}
        return MeasuredCell(
            mode="split+prio", cpu_priority=True, online=2, batch=batch, rounds=(met,)
        )

    cells = (cell(0, 1_000.0), cell(5, 3_500.0))
    live = Live(
        where=Target(on="x"), online_cpu_ns=1, batch_cpu_ns=1, calibrated=False, cells=cells
    )
    assert list(verdict(live)) == [
        "split+prio, online first at the processors, 2 online beside 5 batch: a short write takes "
        "3.5 times as long as alone, 2.5 pieces more. The batch had not ended after 10 s; then the "
        "online programs did."
    ]


def figures(mode: str, online: int, batch: int, short: float, long: float = 0.0) -> Figures:
    """A cell of one round, in ms for 1,000 bytes."""
    return Figures(
        mode=mode,
        cpu_priority=False,
        online=online,
        batch=batch,
        short_ns=Spread.of([short * 1e6]) if online else None,
        long_per_1000_bytes_ns=Spread.of([long * 1e6]) if batch else None,
        outlasted=short > 50,
    )


CELLS = [
    figures("fifo", 0, 1, 0, 0.030),
    figures("fifo", 1, 0, 1.2),
    figures("fifo", 1, 1, 9, 0.031),
    figures("fifo", 2, 0, 1.3),
    figures("fifo", 2, 1, 10, 0.032),
    figures("split+prio", 1, 1, 2, 0.12),
    figures("split+prio", 2, 1, 60, 5.0),
]


def test_what_the_paper_says_of_its_measurement_is_held_to_the_cells() -> None:
    found = {one["id"]: (one["holds"], one["numbers"]) for one in figure5.claims(CELLS)}
    assert found == {
        "III.D-online": (True, {"fifo, no batch": [1.2, 1.3]}),
        "III.D-batch": (True, {"fifo, 1 batch": [0.030, 0.031, 0.032]}),
        "III.D-stuck": (True, {"fifo, 1 online": [1.2, 9]}),
        "IV": (False, {"fifo, 1 batch": [9, 10], "split+prio": [2, 60]}),
    }
    slow = [*CELLS[:1], figures("fifo", 2, 1, 1.0, 0.034), figures("fifo", 1, 0, 1.2)]
    slow += [figures("fifo", 2, 0, 1.1), figures("fifo", 1, 1, 1.2)]
    held = {one["id"]: one["holds"] for one in figure5.claims(slow)}
    assert held == {"III.D-online": False, "III.D-batch": False, "III.D-stuck": False}


def test_tables_have_a_row_for_each_control_and_the_papers_point() -> None:
    alone, together = (figure5.short_times(CELLS, n).rows for n in (0, 1))
    assert alone[0] == ["fifo", "1.2 / 1.23 (-2.4 %)", "1.3"]
    assert alone[3] == ["split+prio", "–", "–"]
    assert together[0] == ["fifo", "9", "10"]
    assert together[3] == ["split+prio", "2", "60*"]
    assert figure5.long_times(CELLS, 1).rows[0] == ["fifo", "0.03", "0.031", "0.032"]


def test_figures_are_read_as_they_were_written() -> None:
    assert [Figures.read(json.loads(json.dumps(asdict(one)))) for one in CELLS] == CELLS
