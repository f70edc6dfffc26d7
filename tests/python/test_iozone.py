"""`penstock iozone` from the command line to its files."""

import json
import os
import re
import shlex
import signal
import zipfile
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest
from typer.testing import CliRunner, Result

import iozone_parsers as parsers
from penstock.cli import iozone
from penstock.cli.app import app
from penstock.iozone import measure
from penstock.iozone.measured import FileRunner
from penstock.iozone.options import IozoneOptions, options
from penstock.iozone.phases import BY_KEY, IozoneTest
from penstock.iozone.plan import plan
from penstock.iozone.remarks import remarks
from penstock.iozone.runner import IozonePoint, MeasuredTest, Report
from test_serve import HERE

Command = Callable[[str], Result]

GIB = 1 << 30


class Files(FileRunner):
    """A runner on files that knows whether it is closed."""

    def __init__(self, chosen: IozoneOptions) -> None:
        """Open the files of a command."""
        super().__init__(chosen, plan(chosen))
        self.closed = False

    def close(self) -> None:
        super().close()
        self.closed = True


def kept(kind: type[Files], runners: list[Files]) -> Callable[[IozoneOptions], Files]:
    """Makes runners of a kind, and keeps them in a list."""

    def make(chosen: IozoneOptions) -> Files:
        runners.append(kind(chosen))
        return runners[-1]

    return make


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs the command in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def run(line: str) -> Result:
        return CliRunner().invoke(app, ["iozone", *shlex.split(line)])

    return run


def test_text_workbook_and_json_have_equal_figures(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[measure.IozoneResult] = []

    def measured(*arguments: object, **keywords: object) -> measure.IozoneResult:
        kept.append(whole(*arguments, **keywords))  # type: ignore[arg-type]
        return kept[0]

    whole = measure.measure
    monkeypatch.setattr(measure, "measure", measured)
    done = command("-R -i 0 -i 1 -i 2 -r 64k -s 1m -l 1 -u 2 -F t u -b r.xls")
    assert done.exit_code == 0, done.stderr
    assert done.stderr.endswith("wrote r.xlsx\n")
    document = json.loads(kept[0].json())
    book = openpyxl.load_workbook("r.xlsx")
    labels = ["Initial write", "Rewrite", "Read", "Re-read", "Random read", "Random write"]
    charts = [f"{label} chart" for label in labels]
    assert [sheet.title for sheet in book.worksheets] == [*labels, "Run"]
    assert [chart.title for chart in book.chartsheets] == charts
    cut = parsers.cut_by_blanks(done.stdout)
    assert len(document["tests"]) == len(cut) == 12
    for test, (number, _, *texts) in zip(document["tests"], cut, strict=True):
        values = test["figures"]
        assert number == str(test["threads"])
        figures = [values[name] for name in ("children", "min", "max", "avg")]
        assert texts == [f"{figure:.2f} kB/sec" for figure in figures]
        row = book[BY_KEY[test["test"]].label][3 + test["threads"]]
        names = ("children", "parent", "min", "max", "avg", "min_xfer")
        assert [cell.value for cell in row[:2]] == [test["threads"], 64]
        assert [cell.value for cell in row[2:]] == pytest.approx([values[name] for name in names])
        rates = [worker["bytes"] / 1024 / worker["ns"] * 1e9 for worker in test["workers"]]
        assert values["children"] == pytest.approx(sum(rates))
        assert f"{values['children']:.2f} " in done.stdout.split('"Throughput report')[1]


def test_json_is_alone_and_has_everything(command: Command) -> None:
    done = command("-i 0 -i 1 -r 64k -s 256k --json --seed 7")
    assert done.exit_code == 0
    assert done.stderr == ""
    result = json.loads(done.stdout)
    assert (result["world"], result["mode"], result["seed"]) == ("measured", "single stream", 7)
    assert result["target"]["files"] == ["iozone.tmp"]
    assert result["unit"] == "kBytes/sec"
    assert [test["test"] for test in result["tests"]] == ["write", "rewrite", "read", "reread"]
    assert all(test["workers"][0]["bytes"] == 256 << 10 for test in result["tests"])
    assert any("smaller than memory" in remark for remark in result["remarks"])


def test_files_go_unless_they_are_kept(command: Command, tmp_path: Path) -> None:
    assert command("-i 0 -s 64k").exit_code == 0
    assert os.listdir(tmp_path) == []
    assert command("-i 0 -s 64k -w -f kept").exit_code == 0
    assert os.listdir(tmp_path) == ["kept"]
    assert command("-i 1 -s 64k -f kept").exit_code == 0


def test_a_test_is_printed_when_it_has_ended(tmp_path: Path) -> None:
    chosen = options(shlex.split(f"-t 1 -i 0 -i 1 -s 64k -F {tmp_path / 't'}"))
    seen: list[str] = []
    tests: list[int] = []

    class Watched(Files):
        def run(self, test: IozoneTest, point: IozonePoint, progress: Report) -> MeasuredTest:
            tests.append("".join(seen).count("Children see"))
            return super().run(test, point, progress)

    shares: list[float] = []
    measure.measure(
        chosen,
        Watched(chosen),
        command="",
        write=seen.append,
        progress=lambda _part, share: shares.append(share),
    )
    assert tests == [0, 1, 2, 3]
    assert shares == sorted(shares)
    assert {0.25, 0.5, 0.75, 1.0} <= set(shares)


def test_one_flipped_bit_ends_the_run_and_is_named(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    runners: list[Files] = []

    class Differing(Files):
        def run(self, test: IozoneTest, point: IozonePoint, progress: Report) -> MeasuredTest:
            if test.key == "read":
                with Path("t").open("r+b") as file:
                    file.seek(20_000)
                    byte = file.read(1)[0]
                    file.seek(20_000)
                    file.write(bytes([byte ^ 4]))
            return super().run(test, point, progress)

    monkeypatch.setattr(iozone, "runner_for", kept(Differing, runners))
    done = command("-t 1 -i 0 -i 1 -s 64k -F t -b r.xlsx -+d")
    assert done.exit_code == 4
    assert re.search(r"error: t: .*\b20000\b|error: t: .*\b19968\b", done.stderr), done.stderr
    assert "rewriters" in done.stdout
    assert "complete" not in done.stdout
    assert runners[0].closed
    assert not Path("r.xlsx").exists()


def test_an_interrupted_run_closes_the_runner_and_keeps_its_lines(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    runners: list[Files] = []

    class Interrupted(Files):
        def run(self, test: IozoneTest, point: IozonePoint, progress: Report) -> MeasuredTest:
            if test.key == "rewrite":
                os.kill(os.getpid(), signal.SIGINT)
            return super().run(test, point, progress)

    monkeypatch.setattr(iozone, "runner_for", kept(Interrupted, runners))
    done = command("-t 1 -i 0 -s 64k -F t -b r.xlsx")
    assert done.exit_code == 130
    assert done.stderr.endswith("interrupted: only the tests above have ended\n")
    assert "initial writers" in done.stdout
    assert "rewriters" not in done.stdout
    assert runners[0].closed
    assert os.listdir() == []


def test_a_workbook_of_sizes(command: Command) -> None:
    done = command("-a -i 0 -n 64k -g 128k -y 32k -q 128k -b r.xlsx --json")
    assert done.exit_code == 0, done.stderr
    sheet = openpyxl.load_workbook("r.xlsx")["Rewrite"]
    head, *rows = list(sheet.iter_rows(min_row=3, values_only=True))
    assert head == ("file kB", 32, 64, 128)
    result = json.loads(done.stdout)["tests"]
    values = {
        (test["size_bytes"] >> 10, test["record_bytes"] >> 10): test["figures"]["children"]
        for test in result
        if test["test"] == "rewrite"
    }
    for size, *figures in rows:
        known = [values.get((size, record)) for record in (32, 64, 128)]
        assert [figure is None for figure in figures] == [figure is None for figure in known]
        assert [figure for figure in figures if figure] == pytest.approx(
            [figure for figure in known if figure]
        )


def test_the_sheet_about_the_run(command: Command) -> None:
    assert command("-i 0 -s 64k -b r.xlsx").exit_code == 0
    sheet = openpyxl.load_workbook("r.xlsx")["Run"]
    facts = {str(name): fact for name, fact in sheet.iter_rows(values_only=True)}
    assert {"command", "world", "target", "scheduler", "date", "kernel", "machine"} <= facts.keys()
    assert facts["world"] == "measured"
    assert facts["target"] == "iozone.tmp"
    assert str(facts["kernel"]).startswith("Linux ")


def test_a_simulated_result_has_no_date_and_equal_bytes(command: Command) -> None:
    books = []
    for _ in range(2):
        done = command("-t 1 -i 0 -s 64k -b r.xlsx --on hdd-7200 --scheduler deadline")
        assert done.exit_code == 0, done.stderr
        assert "\tSIMULATED on hdd-7200 under deadline\n" in done.stdout
        assert "Run began" not in done.stdout
        assert "note: the figures are simulated, on a model of hdd-7200" in done.stderr
        books.append(Path("r.xlsx").read_bytes())
        assert zipfile.is_zipfile("r.xlsx")
    assert books[0] == books[1]


REMARKS = {
    "-i 0 -e -i 1 -s 1m": ["files of 1.05 MB are smaller than memory (8.59 GB): read, reread may"],
    "-i 0 -I -s 1g": [],
    "-i 0 -i 1 -I -s 1g": [],
    "-i 0 -i 1 -I -s 64m": ["files of 67.1 MB may fit in the cache of the drive"],
    "-i 0 -s 1m": ["writes are timed until they are in memory"],
    "-i 0 -o -s 1m": [],
    "-i 0 -c -s 1m": ["-c includes close, which on a local file system does not wait"],
    "-i 0 -e -i 1 -s 16g": [],
    "-i 0 -e -i 1 -s 6g -t 2": [],
    "-i 0 -e -i 1 -s 1g -U /": ["-U /: nothing is unmounted"],
    "-i 0 -I -r 5k -s 1g": [
        "a file of 1048576 KiB is no multiple of 5 KiB records: 209715 records"
    ],
}


@pytest.mark.parametrize("line", REMARKS)
def test_what_is_measured_by_accident_is_remarked(line: str) -> None:
    said = list(remarks(options(shlex.split(line)), "measured", 8 * GIB))
    assert len(said) == len(REMARKS[line])
    for remark, begin in zip(said, REMARKS[line], strict=True):
        assert remark.startswith(begin)


def test_a_model_is_not_memory() -> None:
    chosen = options(shlex.split("-i 0 -i 1 -I -s 1m"), on="hdd-7200")
    (remark,) = remarks(chosen, "simulated", 8 * GIB)
    assert remark.startswith("the figures are simulated, on a model of hdd-7200")


@pytest.mark.skipif(not HERE, reason="needs root, FUSE and loop devices")
@pytest.mark.usefixtures("leftovers")
def test_a_served_disk_has_the_schedulers_of_the_kernel_and_says_how_late_it_was(
    command: Command,
) -> None:
    line = "-t 2 -i 0 -i 2 -I -r 64k -s 256k --on block:hdd-7200-cached --scheduler mq-deadline"
    done = command(line)
    assert done.exit_code == 0, done.stderr
    assert "\tEMULATED on block:hdd-7200-cached under mq-deadline\n" in done.stdout
    assert re.search(r"note: the served disk: \d+ requests, .* answered late by ", done.stderr)
