"""The lines of `penstock iozone`: their text to the blank, and how widely used scripts read it."""

import shlex
from collections.abc import Iterator
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


def test_the_text_of_a_handout() -> None:
    text = printed("-R -i 0 -I -r 512k -s 512m -t 1 -C -F ./t")
    assert text == (
        "\tPenstock: the tests and lines of IOzone, without its program\n"
        f"\t        Version {__version__}\n"
        "\t\tBuild: Linux 6.1 x86_64\n"
        "\n"
        "\tMEASURED on ./t\n"
        "\n"
        "\tRun began: Sat Nov 28 12:00:05 2026\n"
        "\n"
        "\tO_DIRECT feature enabled\n"
        "\tRecord Size 512 kB\n"
        "\tFile size set to 524288 kB\n"
        "\tExcel chart generation enabled\n"
        "\tCommand line used: penstock iozone -R -i 0 -I -r 512k -s 512m -t 1 -C -F ./t\n"
        "\tOutput is in kBytes/sec\n"
        "\tTime Resolution = 0.000000001 seconds.\n"
        "\tProcessor cache size set to 1024 kBytes.\n"
        "\tProcessor cache line size set to 64 bytes.\n"
        "\tFile stride size set to 17 * record size.\n"
        "\tThroughput test with 1 process\n"
        "\tEach process writes a 524288 kByte file in 512 kByte records\n"
        "\n"
        "\tChildren see throughput for  1 initial writers \t=  524288.00 kB/sec\n"
        "\tParent sees throughput for  1 initial writers \t=  349525.33 kB/sec\n"
        "\tMin throughput per process \t\t\t=  524288.00 kB/sec \n"
        "\tMax throughput per process \t\t\t=  524288.00 kB/sec\n"
        "\tAvg throughput per process \t\t\t=  524288.00 kB/sec\n"
        "\tMin xfer \t\t\t\t\t=  524288.00 kB\n"
        "\tChild[0] xfer count =  524288.00 kB, Throughput =  524288.00 kB/sec\n"
        "\n"
        "\tChildren see throughput for  1 rewriters \t=  262144.00 kB/sec\n"
        "\tParent sees throughput for  1 rewriters \t=  209715.20 kB/sec\n"
        "\tMin throughput per process \t\t\t=  262144.00 kB/sec \n"
        "\tMax throughput per process \t\t\t=  262144.00 kB/sec\n"
        "\tAvg throughput per process \t\t\t=  262144.00 kB/sec\n"
        "\tMin xfer \t\t\t\t\t=  524288.00 kB\n"
        "\tChild[0] xfer count =  524288.00 kB, Throughput =  262144.00 kB/sec\n"
        "\n\n\n"
        '"Throughput report Y-axis is type of test X-axis is number of processes"\n'
        '"Record size = 512 kBytes "\n'
        '"Output is in kBytes/sec"\n'
        "\n"
        '"  Initial write "  524288.00 \n'
        "\n"
        '"        Rewrite "  262144.00 \n'
        "\n"
        "\n"
        "iozone test complete.\n"
    )


PUBLISHED = {
    "-i 1 -t 12": (
        "\tChildren see throughput for 12 readers \t\t= ",
        "\tParent sees throughput for 12 readers \t\t= ",
        "\tChildren see throughput for 12 re-readers \t= ",
        "\tParent sees throughput for 12 re-readers \t= ",
    ),
    "-i 6 -i 7 -t 4": (
        "\tChildren see throughput for  4 fwriters \t= ",
        "\tParent sees throughput for  4 fwriters \t\t= ",
        "\tChildren see throughput for  4 freaders \t= ",
        "\tParent sees throughput for  4 freaders \t\t= ",
    ),
    "-i 2 -i 3 -i 5 -i 8 -i 9 -i 10 -t 5": (
        "\tChildren see throughput for 5 reverse readers \t= ",
        "\tParent sees throughput for 5 reverse readers \t= ",
        "\tChildren see throughput for 5 stride readers \t= ",
        "\tChildren see throughput for 5 random readers \t= ",
        "\tChildren see throughput for 5 mixed workload \t= ",
        "\tChildren see throughput for 5 random writers \t= ",
        "\tChildren see throughput for 5 pwrite writers \t= ",
        "\tChildren see throughput for 5 pread readers \t= ",
        '"   Reverse Read " ',
        '"    Stride read " ',
        '"    Random read " ',
        '" Mixed workload " ',
        '"   Random write " ',
        '"         Pwrite " ',
        '"          Pread " ',
    ),
}
"""Beginnings of lines in published outputs, in their order there."""


@pytest.mark.parametrize("line", PUBLISHED)
def test_lines_begin_as_in_published_outputs(line: str) -> None:
    text = printed(f"{line} -R -s 1m")
    places = [text.index(f"\n{begin}") for begin in PUBLISHED[line]]
    assert places == sorted(places)


def test_the_wide_table_is_that_of_published_outputs() -> None:
    lines = printed("-a -n 64m -g 64m -y 4m -q 4m").splitlines()
    at = lines.index("\tFile stride size set to 17 * record size.")
    above, below, row = lines[at + 1 : at + 4]
    assert above == (
        "                                                              random    random     bkwd"
        "    record    stride                                    "
    )
    assert below == (
        "              kB  reclen    write  rewrite    read    reread    read     write     read"
        "   rewrite      read   fwrite frewrite    fread  freread"
    )
    assert row == (
        "           65536    4096    65536    32768    21845    16384    13107    10923     9362"
        "      8192      7282     6554     5958     5461     5041"
    )


def test_tests_that_did_not_run_have_empty_columns() -> None:
    text = printed("-i 0 -i 2 -s 64m -r 4m")
    row = next(line for line in text.splitlines() if line.startswith("           65536"))
    assert row == ("           65536    4096    65536    32768                      21845    16384")
    assert text.endswith("\n\niozone test complete.\n")


def test_the_report_by_sizes() -> None:
    text = printed("-a -R -n 16m -g 32m -y 32k -q 64k -i 0 -+n")
    assert text.endswith(
        "\n\niozone test complete.\n"
        "Excel output is below:\n"
        "\n"
        '"Writer report"\n'
        '        "32"  "64" \n'
        '"16384"   16384  8192 \n'
        '"32768"   0  10923 \n'
    )


def test_one_line_for_each_test_as_soon_as_it_ended() -> None:
    chosen = options(shlex.split("-i 0 -i 1 -s 1m"))
    lines = IozoneLines(chosen)
    first, second, third, last = map(lines.add, results(chosen))
    assert first.count("\n") == 2
    assert (second, third) == ("      512", "      341")
    assert last == "      256\n"


def test_several_numbers_of_threads_have_a_column_each() -> None:
    text = printed("-R -l 1 -u 2 -i 0 -+n -s 1m")
    assert text.count("Throughput test with 1 process\n") == 1
    assert text.count("Throughput test with 2 processes\n") == 1
    assert "\tMin process = 1 \n\tMax process = 2 \n" in text
    assert '"  Initial write "    1024.00      768.00 \n' in text


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
