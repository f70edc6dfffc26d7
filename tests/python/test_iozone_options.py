"""Command lines of IOzone: how they are read, what is planned, and what is refused with why."""

import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest

from command import ROOT, penstock
from penstock.errors import PenstockError
from penstock.iozone import measure
from penstock.iozone.flags import ABSENT, BY_NAME, FLAGS
from penstock.iozone.options import IozoneOptions, options
from penstock.iozone.phases import BY_KEY, ORDER_OF_SEVERAL, PHASES, TESTS
from penstock.iozone.plan import plan, points

K, M = 1 << 10, 1 << 20


def read(
    line: str, *, on: str | None = None, scheduler: str | None = None, sets: Sequence[str] = ()
) -> IozoneOptions:
    """The options of a line."""
    return options(shlex.split(line), on=on, scheduler=scheduler, sets=sets)


def keys(line: str) -> list[str]:
    """The tests of a line at its first point."""
    steps = plan(read(line))
    return [test.key for test, point in steps if point == steps[0][1]]


class TestReading:
    """Options are read as IOzone reads them."""

    def test_the_line_of_a_handout(self) -> None:
        line = "-R -i 0 -i 1 -i 2 -I -r 512k -s 512m -t 1 -F ./t -b r.xls"
        chosen = read(line)
        assert (chosen.mode, chosen.threads, chosen.files) == ("throughput", range(1, 2), ("./t",))
        assert (chosen.record, chosen.size, chosen.phases) == (512 * K, 512 * M, (0, 1, 2))
        assert chosen.report
        assert chosen.direct
        assert chosen.workbook == Path("r.xlsx")
        assert chosen.notes == ("-b r.xls: the workbook is written as r.xlsx",)
        first = ["write", "rewrite", "read", "reread", "random_read", "random_write"]
        assert keys(line) == first

    @pytest.mark.parametrize(
        ("stuck", "apart"),
        [
            ("-r512k -s1g -t4 -i0 -i2", "-r 512k -s 1g -t 4 -i 0 -i 2"),
            ("-Rb out.xlsx -i0", "-R -b out.xlsx -i 0"),
            ("-azRi0", "-a -z -R -i 0"),
            ("-wcOIr4k -i0", "-w -c -O -I -r 4k -i 0"),
            ("-+d+n -i0", "-+d -+n -i 0"),
            ("-t2 -i8 -i0 -+p70", "-t 2 -i 8 -i 0 -+p 70"),
            ("-t2 -F./a ./b -i0", "-i 0 -F ./a ./b -t 2"),
            ("-t2 -F ./a -F ./b -i0", "-F ./a ./b -i 0 -t 2"),
            ("-s 1G -r 64K -i0", "-s 1g -r 64k -i 0"),
            ("-i 1 -i 0", "-i 0 -i 1 -i 0"),
        ],
    )
    def test_a_value_may_be_stuck_and_letters_may_share_a_dash(
        self, stuck: str, apart: str
    ) -> None:
        assert read(stuck) == read(apart)

    def test_a_size_without_a_letter_is_kib_and_a_note_says_so(self) -> None:
        chosen = read("-s 512 -r 4 -i 0")
        assert (chosen.size, chosen.record) == (512 * K, 4 * K)
        assert chosen.notes == (
            "-r 4 has no unit and is 4 KiB, as in IOzone",
            "-s 512 has no unit and is 512 KiB, as in IOzone",
        )

    def test_files_have_the_names_of_iozone_if_none_are_given(self) -> None:
        assert read("-i 0").files == ("iozone.tmp",)
        assert read("-i 0 -f there").files == ("there",)
        assert read("-i 0 -u 3 -l 2").files == tuple(f"iozone.DUMMY.{n}" for n in range(3))

    def test_what_cannot_be_as_in_iozone_is_noted(self) -> None:
        assert read("-i 0 -U /mnt").notes == (
            "-U /mnt: nothing is unmounted; the pages of the files are dropped before each test",
        )
        assert read("-i 0 -t 1 -F a b c").notes == (
            "-F names more files than there are threads: the last 2 are not used",
        )

    def test_every_option_that_is_declared_changes_something(self) -> None:
        values = {"SIZE": "128k", "N": "7", "FILE…": "a", "MOUNTPOINT": "/", "PERCENT": "70"}
        modes = {"-F": "-t1", "-x": "-t1", "-C": "-t1", "-+p": "-t1 -i8"}
        modes |= dict.fromkeys(("-n", "-g", "-y", "-q", "-z"), "-a") | {"-l": "-u9", "-u": "-l1"}
        without = {"-l": "-l1 -u9", "-u": "-l1 -u1"}
        for flag in FLAGS:
            value = values.get(flag.metavar or "", "out.xlsx") if flag.metavar else ""
            mode = modes.get(flag.name, "-a" if flag.name == "-i" else "")
            before = read(without.get(flag.name, mode) + (" -i0" if flag.name != "-i" else ""))
            chosen = read(f"{mode} {flag.name} {value}" + (" -i0" if flag.name != "-i" else ""))
            # Threads, and the name of the machine, are there anyway.
            assert (chosen == before) == (flag.name in ("-T", "-M")), flag.name


class TestPlan:
    """Which tests run at which sizes, and in which order."""

    def test_the_usual_tests_are_those_of_iozone(self) -> None:
        assert keys("-s 1m") == [test.key for test in TESTS if test.phase < 8]
        first = ["write", "rewrite", "read", "reread", "backward_read", "stride_read"]
        then = ["random_read", "random_mix", "random_write", "pwrite"]
        assert keys("-t 2")[:10] == first + then

    def test_tests_that_repeat_one_can_be_left_out(self) -> None:
        assert keys("-i 0 -i 1 -+n") == ["write", "read"]

    def test_every_phase_has_tests_in_both_orders(self) -> None:
        assert {test.phase for test in TESTS} == set(PHASES)
        assert sorted(map(str, ORDER_OF_SEVERAL)) == sorted(map(str, TESTS))
        assert len(BY_KEY) == len(TESTS) == 22

    def test_automatic_mode_leaves_out_small_records_on_large_files(self) -> None:
        tested = points(read("-a"))
        assert {point.size for point in tested} == {64 * K << n for n in range(14)}
        assert {point.record for point in tested} == {4 * K << n for n in range(13)}
        assert all(point.record <= point.size for point in tested)
        assert min(point.record for point in tested if point.size == 16 * M) == 4 * K
        assert min(point.record for point in tested if point.size == 32 * M) == 64 * K
        every = points(read("-a -z"))
        assert min(point.record for point in every if point.size == 512 * M) == 4 * K

    def test_automatic_mode_has_bounds(self) -> None:
        tested = points(read("-a -n 1m -g 2m -y 512k -q 4m"))
        sizes = [(point.size // K, point.record // K) for point in tested]
        assert sizes == [(1024, 512), (1024, 1024), (2048, 512), (2048, 1024), (2048, 2048)]
        assert [point.record for point in points(read("-a -s 64m -r 4k"))] == [4 * K]

    def test_each_number_of_threads_has_all_tests(self) -> None:
        steps = plan(read("-l 1 -u 3 -i 0"))
        assert [point.threads for _, point in steps] == [1, 1, 2, 2, 3, 3]

    def test_a_file_that_is_no_multiple_of_the_record_has_whole_records(self) -> None:
        (point,) = points(read("-r 5k -s 1g -i 0"))
        assert (point.size, point.records) == (1 << 30, 209715)


REFUSED = {
    "-i 13": ("-i: found '13'; expected a phase from 0 to 12", "0 write/rewrite, 1 read/reread"),
    "-i two": ("-i: found 'two'; expected a phase", "0 write/rewrite"),
    "-r 5m -s 1m": ("-r 5120k is larger than -s 1024k", "a file has at least one record"),
    "-t 2 -F a": ("-F names 1 file, and 2 threads need 2", "name 1 more"),
    "-t 2 -F a a": ("-F names a twice", "a thread has a file of its own"),
    "-l 4 -u 2": ("-l 4 is more than -u 2", "as -l 2 -u 4"),
    "-l 4": ("there is no -u", "-l N -u M: from N to M threads"),
    "-t 2 -a": ("-t does not go with -a", "leave out one of them"),
    "-t 2 -l 1 -u 2": ("-t does not go with -l", "leave out -t or -l"),
    "-t 2 -f a": ("-f names one file", "name them with -F"),
    "-i 8": ("-i 8 has no meaning in the single stream mode", "add -t 2"),
    "-t 2 -i 0 -+p 70": ("-+p is about the mixed workload", "add -i 8"),
    "-n 1m -i 0": ("-n has no meaning in the single stream mode", "add -a"),
    "-x -i 0": ("-x has no meaning in the single stream mode", "add -t N"),
    "-a -n 2m -g 1m": ("-n 2048k is larger than -g 1024k", "as -n 1024k -g 2048k"),
    "-a -n 1m -s 1m": ("-n does not go with -s", "leave out -n"),
    "-a -n 64m -g 64m -q 32k": ("the automatic mode has nothing to test", "add -z"),
    "-O -N": ("-O does not go with -N: a figure has one unit", "leave out"),
    "-B -I": ("-B does not go with -I: a mapping goes through the page cache", "leave out"),
    "-H 4 -k 4": ("-H does not go with -k", "leave out -H or -k"),
    "-s 10x": ("-s: found '10x'; expected a size in KiB, or with one of k, m and g", "-s 512k"),
    "-s 0": ("-s: found '0'; expected a size from 1k", "-s 512k"),
    "-s \u0661k": ("-s: found '\u0661k'; expected a size", "-s 512k"),
    "-s": ("-s has no value", "as -s SIZE"),
    "-s -i 0": ("-s has no value", "as -s SIZE"),
    "-s 1m -s 2m": ("-s is given twice", "give -s once"),
    "-t 0": ("-t: found '0'; expected a whole number from 1", "-t 4"),
    "-t 2 -i 8 -+p 101": ("-+p: found '101'; expected 0 to 100", "-+p 70"),
    "-i 0 /tmp": ("the word '/tmp' belongs to no option", "files are named by -F"),
    "-+m hosts": ("-+m of IOzone is not here, because it runs on one machine", "start it"),
    "-Q": ("-Q of IOzone is not here, because no latency is kept", "--requests"),
    "-Rm": ("-m of IOzone is not here", "leave it out"),
    "-h4": ("there is no option -h here", "the nearest is -H"),
    "-+x 2": ("there is no option -+x here", "the nearest is -x"),
}


@pytest.mark.parametrize("line", REFUSED)
def test_a_wrong_line_is_refused_with_a_hint(line: str) -> None:
    message, hint = REFUSED[line]
    with pytest.raises(PenstockError) as raised:
        measure.check(read(line))
    first, second = str(raised.value).split("\n")
    assert first.startswith(f"error: {message}")
    assert second.startswith("hint: ")
    assert hint in second
    assert raised.value.exit_code == 2


def test_no_option_is_both_here_and_absent() -> None:
    assert not BY_NAME.keys() & ABSENT.keys()
    for name in ABSENT:
        with pytest.raises(PenstockError, match="is not here, because"):
            read(name)


class TestBeforeTheRun:
    """What is in the way is found before a test runs."""

    def test_reading_needs_a_file(self, tmp_path: Path) -> None:
        line = f"-i 1 -s 64k -f {tmp_path / 'data'}"
        with pytest.raises(PenstockError, match=r"-i 1 needs .*: No such file.*\n.*-i 0 -w"):
            measure.check(read(line))
        (tmp_path / "data").write_bytes(bytes(60 * K))
        with pytest.raises(PenstockError, match=r"-i 1 needs 64 KiB in .*, which has 60\n"):
            measure.check(read(line))
        (tmp_path / "data").write_bytes(bytes(64 * K))
        measure.check(read(line))
        measure.check(read("-i 1 -s 64k", on="hdd-7200"))

    def test_a_directory_is_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(PenstockError, match="is a directory\nhint: name a file in it"):
            measure.check(read(f"-i 0 -t 1 -F {tmp_path}"))

    def test_a_workbook_that_cannot_be_written(self, tmp_path: Path) -> None:
        with pytest.raises(PenstockError, match="there is no directory"):
            measure.check(read(f"-i 0 -b {tmp_path / 'none/r.xls'}"))
        (tmp_path / "r.xlsx").write_text("something else")
        with pytest.raises(PenstockError, match="is no workbook of penstock"):
            measure.check(read(f"-i 0 -b {tmp_path / 'r.xls'}"))

    def test_a_real_file_has_no_modelled_scheduler(self) -> None:
        with pytest.raises(PenstockError, match="--scheduler goes with a model, and the files are"):
            read("-i 0", scheduler="deadline")
        with pytest.raises(PenstockError, match="--set goes with a model, and the files are real"):
            read("-i 0", sets=["a=b"])


class TestCommand:
    """The verb on the command line."""

    def test_its_help_has_every_option(self) -> None:
        shown = penstock("iozone", "-h").out
        assert shown == penstock("iozone", "--help").out
        for flag in FLAGS:
            assert f"  {flag.name} " in shown
        for name in ("--on", "--scheduler", "--set", "--seed", "--json"):
            assert f"  {name} " in shown

    def test_a_wrong_line_ends_with_exit_code_2(self, tmp_path: Path) -> None:
        ended = penstock("iozone", "-t", "2", "-F", "a", "--json", cwd=tmp_path)
        assert (ended.code, ended.out) == (2, "")
        assert ended.err.startswith("error: -F names 1 file, and 2 threads need 2\nhint: ")
        assert os.listdir(tmp_path) == []

    def test_nothing_to_test_is_refused(self) -> None:
        ended = penstock("iozone", "--on", "hdd-7200")
        assert (ended.code, ended.out) == (2, "")
        assert ended.err.startswith("error: nothing says what to test\nhint: ")

    def test_a_letter_in_a_value_is_no_option(self, tmp_path: Path) -> None:
        ended = penstock("iozone", "-i0", f"-b{tmp_path}/there/h.xls")
        assert (ended.code, ended.out) == (2, "")
        assert "there is no directory" in ended.err


def test_the_page_has_every_option_of_iozone_and_every_phase() -> None:
    page = (ROOT / "docs/how-to/iozone.md").read_text()
    for flag in FLAGS:
        shown = flag.name if flag.metavar is None else f"{flag.name} {flag.metavar}"
        assert f"`{shown}`" in page
    for name in ABSENT:
        assert re.search(rf"^\|.*`{re.escape(name)}`.*\|", page, re.MULTILINE), name
    rows = re.findall(r"^\| (\d+) \| ([^|]*) \|", page, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(PHASES)
    for number, tests in rows:
        keys = [test.key.replace("re_", "re-").replace("_", " ") for test in TESTS]
        mine = [key for key, test in zip(keys, TESTS, strict=True) if test.phase == int(number)]
        assert tests.split(", ") == mine
