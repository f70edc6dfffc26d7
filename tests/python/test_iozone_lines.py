"""The lines of `penstock iozone`: their text to the blank, and how widely used scripts read it."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

import iozone_parsers as parsers
from penstock import __version__
from penstock.iozone.figures import figures
from penstock.iozone.lines import IozoneLines, header
from penstock.iozone.machine import MachineFacts
from penstock.iozone.options import IozoneOptions, options
from penstock.iozone.plan import plan
from penstock.iozone.result import RunFacts
from penstock.iozone.runner import MeasuredTest, Worker
from penstock.iozone.sheets import ending

SECOND = 10**9

HANDOUT = "-R -i 0 -i 1 -i 2 -I -r 512k -s 512m -t 1 -F ./t"

MACHINE = MachineFacts("Linux 6.1", "x86_64", 4, 1 << 33, 1024, 64)


def facts(line: str) -> RunFacts:
    """Where a line ran, in a text that does not change."""
    return RunFacts(
        world="measured",
        subject="./t",
        scheduler="none",
        disk="sda",
        began=datetime(2026, 11, 28, 12, 0, 5, tzinfo=UTC),
        command=f"penstock iozone {line}",
        resolution_s=1e-9,
        machine=MACHINE,
    )


def results(chosen: IozoneOptions) -> Iterator[MeasuredTest]:
    """A result for each test of a plan: the formatting is tested with sizes and times of ours."""
    for number, (test, point) in enumerate(plan(chosen), start=1):
        amount = point.records * point.record
        workers = tuple(
            Worker(amount >> worker, point.records >> worker, number * SECOND)
            for worker in range(point.threads)
        )
        yield MeasuredTest(test, point, number * SECOND + SECOND // 2, workers)


def printed(line: str) -> str:
    """All text of a line."""
    chosen = options(shlex.split(line))
    measured = list(results(chosen))
    lines = IozoneLines(chosen)
    texts = [header(chosen, facts(line)), *map(lines.add, measured), ending(chosen, measured)]
    return "".join(texts)


def visible(text: str) -> str:
    """The text with an arrow for each tab, and a mark behind blanks that end a line."""
    return text.replace("\t", "→").replace(" \n", " $\n")


HANDOUT_TEXT = f"""\
→Penstock: Performance Test of File I/O
→        Version {__version__}
→→Build: x86_64

→MEASURED on ./t
→Disk = sda under none
→Machine = Linux 6.1 x86_64, 4 CPUs, 8.59 GB of memory
→Run began: Sat Nov 28 12:00:05 2026

→Record Size 512 kB
→File size set to 524288 kB
→O_DIRECT feature enabled
→Excel chart generation enabled
→Command line used: penstock iozone {HANDOUT}
→Output is in kBytes/sec
→Time Resolution = 0.000000001 seconds.
→Processor cache size set to 1024 kBytes.
→Processor cache line size set to 64 bytes.
→File stride size set to 17 * record size.
→Throughput test with 1 process
→Each process writes a 524288 kByte file in 512 kByte records

→Children see throughput for  1 initial writers →=  524288.00 kB/sec
→Parent sees throughput for  1 initial writers →=  349525.33 kB/sec
→Min throughput per process →→→=  524288.00 kB/sec $
→Max throughput per process →→→=  524288.00 kB/sec
→Avg throughput per process →→→=  524288.00 kB/sec
→Min xfer →→→→→=  524288.00 kB

→Children see throughput for  1 rewriters →=  262144.00 kB/sec
→Parent sees throughput for  1 rewriters →=  209715.20 kB/sec
→Min throughput per process →→→=  262144.00 kB/sec $
→Max throughput per process →→→=  262144.00 kB/sec
→Avg throughput per process →→→=  262144.00 kB/sec
→Min xfer →→→→→=  524288.00 kB

→Children see throughput for  1 readers →→=  174762.67 kB/sec
→Parent sees throughput for  1 readers →→=  149796.57 kB/sec
→Min throughput per process →→→=  174762.67 kB/sec $
→Max throughput per process →→→=  174762.67 kB/sec
→Avg throughput per process →→→=  174762.67 kB/sec
→Min xfer →→→→→=  524288.00 kB

→Children see throughput for 1 re-readers →=  131072.00 kB/sec
→Parent sees throughput for 1 re-readers →=  116508.44 kB/sec
→Min throughput per process →→→=  131072.00 kB/sec $
→Max throughput per process →→→=  131072.00 kB/sec
→Avg throughput per process →→→=  131072.00 kB/sec
→Min xfer →→→→→=  524288.00 kB

→Children see throughput for 1 random readers →=  104857.60 kB/sec
→Parent sees throughput for 1 random readers →=   95325.09 kB/sec
→Min throughput per process →→→=  104857.60 kB/sec $
→Max throughput per process →→→=  104857.60 kB/sec
→Avg throughput per process →→→=  104857.60 kB/sec
→Min xfer →→→→→=  524288.00 kB

→Children see throughput for 1 random writers →=   87381.33 kB/sec
→Parent sees throughput for 1 random writers →=   80659.69 kB/sec
→Min throughput per process →→→=   87381.33 kB/sec $
→Max throughput per process →→→=   87381.33 kB/sec
→Avg throughput per process →→→=   87381.33 kB/sec
→Min xfer →→→→→=  524288.00 kB



"Throughput report Y-axis is type of test X-axis is number of processes"
"Record size = 512 kBytes "
"Output is in kBytes/sec"

"  Initial write "  524288.00 $

"        Rewrite "  262144.00 $

"           Read "  174762.67 $

"        Re-read "  131072.00 $

"    Random read "  104857.60 $

"   Random write "   87381.33 $


iozone test complete.
"""

HEADINGS = """\
                                                              random    random     bkwd    record\
    stride                                    $
              kB  reclen    write  rewrite    read    reread    read     write     read   rewrite\
      read   fwrite frewrite    fread  freread
"""

WIDE_TABLE = """\
              64      32       64       32       21       16       13       11        9         8\
         7        6        6        5        5
              64      64        5        4        4        4        4        3        3         3\
         3        3        3        3        2
             128      32        5        5        4        4        4        4        4         4\
         4        4        3        3        3
             128      64        3        3        3        3        3        3        3         3\
         3        3        3        3        2
             128     128        2        2        2        2        2        2        2         2\
         2        2        2        2        2

iozone test complete.
"""

EMPTY_COLUMNS = """\
           65536       4    65536    32768                      21845    16384                  \
                                               $

iozone test complete.
"""

TWO_NUMBERS = """\
→Min process = 1 $
→Max process = 2 $
→Throughput test with 1 process
→Each process writes a 512 kByte file in 4 kByte records

→Children see throughput for  1 readers →→=     512.00 kB/sec
→Parent sees throughput for  1 readers →→=     341.33 kB/sec
→Min throughput per process →→→=     512.00 kB/sec $
→Max throughput per process →→→=     512.00 kB/sec
→Avg throughput per process →→→=     512.00 kB/sec
→Min xfer →→→→→=     512.00 kB
→Child[0] xfer count =     512.00 kB, Throughput =     512.00 kB/sec

→Throughput test with 2 processes
→Each process writes a 512 kByte file in 4 kByte records

→Children see throughput for  2 readers →→=     384.00 kB/sec
→Parent sees throughput for  2 readers →→=     307.20 kB/sec
→Min throughput per process →→→=     128.00 kB/sec $
→Max throughput per process →→→=     256.00 kB/sec
→Avg throughput per process →→→=     192.00 kB/sec
→Min xfer →→→→→=     256.00 kB
→Child[0] xfer count =     512.00 kB, Throughput =     256.00 kB/sec
→Child[1] xfer count =     256.00 kB, Throughput =     128.00 kB/sec



iozone test complete.
"""

SETTINGS = {
    "-i 0": [],
    "-i 0 -j 5": [],
    "-i 0 -w -c -e -I -o": [
        "Setting no_unlink",
        "Include close in write timing",
        "Include fsync in write timing",
        "O_DIRECT feature enabled",
        "O_SYNC feature enabled",
    ],
    "-i 0 -B -+d -+n": [
        "mmap feature enabled",
        "No retest option selected",
        ">>> I/O Diagnostic mode enabled. <<<",
    ],
    "-i 0 -H 4": ["POSIX Async I/O. Depth 4"],
    "-i 0 -k 64": ["POSIX Async I/O (no bcopy). Depth 64"],
    "-i 0 -U /mnt": ["Pages of the files dropped before each test, for /mnt"],
    "-i 8 -t 2 -x -+p 70": ["Mixed workload of 70 percent readers", "Stonewalling disabled"],
}

PUBLISHED = (
    "→File size set to 1024 kB",
    "→Record Size 4 kB",
    "→Include fsync in write timing",
    "→O_DIRECT feature enabled",
    "→Excel chart generation enabled",
    "→Output is in kBytes/sec",
    "→Processor cache size set to 1024 kBytes.",
    "→File stride size set to 17 * record size.",
    "→Throughput test with 4 processes",
    "→Each process writes a 1024 kByte file in 4 kByte records",
    "→Children see throughput for  4 initial writers →=########### kB/sec",
    "→Parent sees throughput for  4 rewriters →=########### kB/sec",
    "→Children see throughput for  4 readers →→=########### kB/sec",
    "→Parent sees throughput for 4 re-readers →=########### kB/sec",
    "→Children see throughput for 4 random readers →=########### kB/sec",
    "→Parent sees throughput for 4 random writers →=########### kB/sec",
    "→Children see throughput for 4 reverse readers →=########### kB/sec",
    "→Parent sees throughput for 4 stride readers →=########### kB/sec",
    "→Children see throughput for  4 fwriters →=########### kB/sec",
    "→Parent sees throughput for  4 fwriters →→=########### kB/sec",
    "→Parent sees throughput for  4 freaders →→=########### kB/sec",
    "→Children see throughput for 4 pwrite writers →=########### kB/sec",
    "→Children see throughput for 4 pread readers →=########### kB/sec",
    "→Min throughput per process →→→=########### kB/sec $",
    "→Max throughput per process →→→=########### kB/sec",
    "→Avg throughput per process →→→=########### kB/sec",
    "→Min xfer →→→→→=########### kB",
    "→Child[1] xfer count =########### kB, Throughput =########### kB/sec",
    "iozone test complete.",
)
"""Lines of published outputs, with the sizes of a run of ours and without figures."""


class TestText:
    """The text of whole runs, and lines as published outputs have them."""

    def test_the_run_of_a_handout(self) -> None:
        assert visible(printed(HANDOUT)) == HANDOUT_TEXT

    @pytest.mark.parametrize(
        ("line", "rows"),
        [
            ("-a -n 64k -g 128k -y 32k -q 128k", WIDE_TABLE),
            ("-i 0 -i 2 -s 64m", EMPTY_COLUMNS),
        ],
    )
    def test_the_wide_table(self, line: str, rows: str) -> None:
        _, _, table = visible(printed(line)).partition("* record size.\n")
        assert table == HEADINGS + rows

    def test_phases_with_a_column_of_their_own_are_behind_the_usual_ones(self) -> None:
        _, _, table = printed("-i 0 -i 9 -s 64m").partition("* record size.\n")
        above, below, row = table.split("\n")[:3]
        assert below.endswith("  freread   pwrite repwrite")
        assert row.endswith("    21845    16384")
        assert len(above) == len(below) == len(row)

    def test_several_numbers_of_threads(self) -> None:
        text = visible(printed("-l 1 -u 2 -i 1 -+n -C"))
        assert text.partition("* record size.\n")[2] == TWO_NUMBERS

    def test_bounds_of_the_automatic_mode(self) -> None:
        text = printed("-a -z -i 0 -n 128k -g 1m -y 8k -q 64k")
        assert (
            "\n\n\tAuto Mode\n"
            "\tUsing minimum file size of 128 kilobytes.\n"
            "\tUsing maximum file size of 1024 kilobytes.\n"
            "\tUsing Minimum Record Size 8 kB\n"
            "\tUsing Maximum Record Size 64 kB\n"
            "\tCross over of record size disabled.\n"
            "\tCommand line used: "
        ) in text

    @pytest.mark.parametrize("line", SETTINGS)
    def test_settings(self, line: str) -> None:
        _, _, text = printed(line).partition("\tFile size set to 512 kB\n")
        settings, _, _ = text.partition("\tCommand line used: ")
        assert [setting.strip() for setting in settings.splitlines()] == SETTINGS[line]

    def test_facts_that_a_machine_does_not_show_are_left_out(self) -> None:
        line = "-i 0"
        machine = replace(MACHINE, cache_kib=None, cache_line_bytes=None)
        where = replace(facts(line), world="simulated", subject="hdd-7200", disk=None, began=None)
        text = header(options(shlex.split(line)), replace(where, machine=machine))
        assert "\tSIMULATED on hdd-7200\n\tMachine = " in text
        assert "Disk" not in text
        assert "Run began" not in text
        assert "Processor cache" not in text

    def test_the_lines_of_a_test_are_there_when_it_has_ended(self) -> None:
        chosen = options(shlex.split("-t 1 -i 0 -i 1"))
        lines = IozoneLines(chosen)
        texts = [lines.add(measured) for measured in results(chosen)]
        words = ["initial writers", "rewriters", "readers", "re-readers"]
        for text, word in zip(texts, words, strict=True):
            assert text.startswith("\n\tChildren see throughput for ")
            assert f"1 {word} \t" in text
            assert text.count("\n") == 7

    def test_a_row_is_there_when_its_tests_have_ended(self) -> None:
        chosen = options(shlex.split("-a -i 0 -n 64k -g 64k -y 32k"))
        lines = IozoneLines(chosen)
        texts = [lines.add(measured) for measured in results(chosen)]
        assert [text.split() for text in texts] == [
            *([], ["64", "32", "64", "32"]),
            *([], ["64", "64", "21", "16"]),
        ]

    def test_figures_of_any_size_stay_apart(self) -> None:
        chosen = options(shlex.split("-i 0 -s 1024g -r 1g"))
        lines = IozoneLines(chosen)
        ((first, point), (second, _)) = plan(chosen)
        fast = Worker(point.size, point.records, 1)
        assert lines.add(MeasuredTest(first, point, 1, (fast,))) == ""
        row = lines.add(MeasuredTest(second, point, 1, (fast,)))
        rate = str((point.size >> 10) * SECOND)
        assert row.split() == [str(1 << 30), str(1 << 20), rate, rate]

    def test_many_threads_and_long_words_still_have_a_tab(self) -> None:
        text = printed("-t 100 -i 11")
        assert "for 100 re-pwritev writers \t= " in text

    @pytest.mark.parametrize("published", PUBLISHED)
    def test_a_line_of_published_outputs(self, published: str) -> None:
        phases = " ".join(f"-i {phase}" for phase in range(13))
        text = visible(printed(f"-R -C -e -I -t 4 -s 1m -r 4k {phases}"))
        figure = re.compile(r" +\d+\.\d\d\b")
        lines = [figure.sub(lambda digits: "#" * len(digits[0]), x) for x in text.splitlines()]
        assert published in lines


class TestUnits:
    """Figures in each unit, as they are defined."""

    WORKERS = (Worker(8 << 20, 2048, 4 * SECOND), Worker(4 << 20, 1024, 2 * SECOND))

    @pytest.fixture
    def measured(self) -> MeasuredTest:
        ((test, point),) = plan(options(shlex.split("-i 0 -+n -t 2 -s 8m")))
        return MeasuredTest(test, point, 6 * SECOND, self.WORKERS)

    def test_kilobytes_per_second(self, measured: MeasuredTest) -> None:
        values = figures(measured, "kB")
        assert (values.children, values.parent) == (4096, 2048)
        assert (values.least, values.greatest, values.average) == (2048, 2048, 2048)
        assert values.least_amount == 4096
        assert values.workers == ((8192, 2048), (4096, 2048))

    def test_operations_per_second(self, measured: MeasuredTest) -> None:
        values = figures(measured, "ops")
        assert (values.children, values.parent, values.average) == (1024, 512, 512)
        assert values.least_amount == 1024

    def test_microseconds_per_operation(self, measured: MeasuredTest) -> None:
        values = figures(measured, "us")
        assert (values.children, values.parent) == (1953.125, 1953.125)
        assert (values.least, values.greatest, values.average) == (1953.125,) * 3

    def test_a_worker_that_was_stopped_at_once_has_no_rate(self, measured: MeasuredTest) -> None:
        workers = (self.WORKERS[0], Worker(0, 0, 0))
        stopped = MeasuredTest(measured.test, measured.point, 0, workers)
        for unit in ("kB", "ops", "us"):
            values = figures(stopped, unit)
            assert (values.least, values.least_amount, values.workers[1]) == (0, 0, (0, 0))
        assert figures(stopped, "kB").children == 2048

    @pytest.mark.parametrize(
        ("flag", "line", "words"),
        [
            ("", "=     256.00 kB/sec", "kBytes/sec"),
            ("-O", "=      64.00 ops/sec", "ops/sec"),
            ("-N", "=   15625.00 microseconds/op", "microseconds/op"),
        ],
    )
    def test_lines_name_the_unit(self, flag: str, line: str, words: str) -> None:
        text = printed(f"{flag} -R -t 1 -i 1 -i 0 -s 1m")
        assert f"for 1 re-readers \t{line}\n" in text
        assert f"\tOutput is in {words}\n" in text
        assert f'"Output is in {words}"\n' in text


class TestParsers:
    """Widely used scripts read all of it."""

    def test_a_test_suite_for_distributions(self) -> None:
        for line, column, value in (("-i 0", 2, 65536), ("-i 0 -i 1", 4, 21845)):
            text = printed(f"{line} -s 64m -r 4k")
            assert parsers.distribution_suite(text, column) == [value]

    def test_a_wrapper_that_cuts_by_blanks(self) -> None:
        found = parsers.cut_by_blanks(printed("-i 0 -i 1 -i 2 -r 512k -s 512m -t 2"))
        tests = ["initial writers", "rewriters", "readers", "re-readers", "random", "random"]
        assert [result[:2] for result in found] == [("2", test) for test in tests]
        assert found[0][2:] == (
            "786432.00 kB/sec",
            "262144.00 kB/sec",
            "524288.00 kB/sec",
            "393216.00 kB/sec",
        )

    def test_a_lab_that_reads_the_last_lines(self) -> None:
        assert parsers.last_lines(printed(HANDOUT)) == {
            "Initialwrite": "524288.00",
            "Rewrite": "262144.00",
            "Read": "174762.67",
            "Re-read": "131072.00",
            "Randomread": "104857.60",
            "Randomwrite": "87381.33",
        }

    def test_a_line_of_awk(self) -> None:
        text = printed(HANDOUT)
        assert parsers.fields(text, "Children see throughput for  1 readers") == 174762.67
        assert parsers.fields(text, "Parent sees throughput for 1 random writers") == 80659.69

    def test_a_converter_of_the_wide_table(self) -> None:
        headings, rows, about = parsers.wide_table(printed("-a -n 64m -g 128m -y 4m -q 8m"))
        assert headings[:8] == [
            *("kB", "reclen", "write", "rewrite", "read", "reread", "random read", "random write")
        ]
        assert headings[8:11] == ["bkwd read", "record rewrite", "stride read"]
        sizes = [("65536", "4096"), ("65536", "8192"), ("131072", "4096"), ("131072", "8192")]
        assert [(row[0], row[1]) for row in rows] == sizes
        assert {len(row) for row in rows} == {len(headings)}
        assert about == {
            "version": __version__.rpartition(".")[0],
            "build": "x86_64",
            "unit": "kBytes/sec",
            "resolution": "0.000000001",
            "stride": "17",
        }

    def test_a_script_that_joins_headings(self) -> None:
        headings = parsers.overlapping_headings(printed("-a -n 64m -g 64m -y 4m -q 4m"))
        assert headings == parsers.wide_table(printed("-a -n 64m -g 64m -y 4m -q 4m"))[0]

    def test_a_script_for_spreadsheets(self) -> None:
        line = "-a -R -n 64k -g 256k -y 64k -q 256k"
        text = printed(f"{line} {' '.join(f'-i {phase}' for phase in (*range(8), *range(9, 13)))}")
        names = [
            *("Writer", "Re-writer", "Reader", "Re-Reader", "Random read", "Random write"),
            *("Backward read", "Record rewrite", "Stride read", "Fwrite", "Re-Fwrite", "Fread"),
            *("Re-Fread", "Pwrite", "Re-Pwrite", "Pread", "Re-Pread", "Pwritev", "Re-Pwritev"),
            *("Preadv", "Re-Preadv"),
        ]
        for name in names:
            records, rows = parsers.spreadsheet(text, name)
            assert records == [64, 128, 256]
            assert {size: len(row) for size, row in rows.items()} == {64: 1, 128: 2, 256: 3}
        assert parsers.spreadsheet(text, "Writer")[1][64] == [64]
        assert parsers.unit(text) == "kbytes"
        assert parsers.unit(printed("-O -i 0")) == "ops"
        assert parsers.unit(printed("-N -i 0")) == "microseconds"
