"""The command end to end, on modelled devices."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from command import COMMAND, ROOT, interrupted, on_a_terminal, penstock, without_estimates
from forking import Ended
from penstock import __version__
from penstock.results.json_types import Class, Comparison, Distribution, Run

MAY_LACK = {
    "round",
    "seed",
    "verify",
    "rms_ms",
    "rms_relative",
    "mean_ms",
    "measured_mean_ms",
    "emulation",
    "schedulers",
    "kernel",
    "interrupted",
    "ended",
    "failure",
    "remarks",
    "merge",
    "policy_stats",
    "detail",
    "survey",
}
"""Keys of a run that are there only if there is something to say."""

PERCENTILES = ["50.000000", "95.000000", "99.000000", "99.900000"]


def compared(job: Path, *words: str) -> Comparison:
    """A comparison as JSON; nothing else may be written anywhere."""
    ended = penstock("compare", job, "--json", *words)
    assert ended.code == 0, ended.err
    assert without_estimates(ended.err) == ""
    result: Comparison = json.loads(ended.out)
    return result


def test_version() -> None:
    assert penstock("--version") == Ended(0, f"penstock {__version__}\n", "")


@pytest.mark.parametrize(
    "verb",
    [
        (),
        ("run",),
        ("compare",),
        ("replay-decisions",),
        ("list",),
        ("list", "policies"),
        ("schema",),
        ("doctor",),
    ],
)
def test_help_says_how_each_verb_is_used(verb: tuple[str, ...]) -> None:
    ended = penstock(*verb, "--help")
    assert ended.code == 0
    assert f"Usage: penstock {' '.join(verb)}".strip() in ended.out
    assert without_estimates(ended.err) == ""


class TestJson:
    """`--json` prints one object in the schema of results, and nothing else."""

    def test_its_keys_are_those_of_the_schema(self, job: Path) -> None:
        result = compared(job, "--policies", "noop,size-priority", "--set", "duration=2s")
        told = ["penstock", "job", "seed", "world", "device", "machine", "runs", "verdict"]
        assert list(result) == told
        assert (result["penstock"], result["seed"]) == (__version__, 7)
        assert (result["world"], result["device"]) == ("simulated", "hdd-7200")
        assert result["job"]["file"] == str(job)
        assert 'duration = "2s"\n' in result["job"]["text"]
        assert result["job"]["set"] == ["duration=2s"]
        assert [run["policy"] for run in result["runs"]] == ["noop", "size-priority"]
        for run in result["runs"]:
            assert set(run) == Run.__annotations__.keys() - MAY_LACK | {"policy_stats"}
            assert run["schedule"] is None
            assert [one["name"] for one in run["classes"]] == ["tellers", "batch"]
            assert sum(one["share"] for one in run["classes"]) == pytest.approx(1)
            for one in run["classes"]:
                left_out = ("programs", "ops", "kernel_weight", "added_ns")
                assert list(one) == [key for key in Class.__annotations__ if key not in left_out]
                assert one["requests"] > 0
                for distribution in (one["lat_ns"], one["wait_ns"], one["service_ns"]):
                    assert list(distribution) == list(Distribution.__annotations__)
                    assert list(distribution["percentile"]) == PERCENTILES

    def test_the_verdict_is_data_and_words(self, job: Path) -> None:
        words = ("compare", job, "--policies", "noop,size-priority", "--set", "duration=9s")
        lines = penstock(*words, "--baseline", "size-priority").out.splitlines()
        found = json.loads(penstock(*words, "--baseline", "size-priority", "--json").out)["verdict"]
        assert found["baseline"] == "size-priority"
        assert found["lines"] == lines[1 : 1 + len(found["lines"])]
        assert [one["policy"] for one in found["changes"]] == ["noop", "noop"]

    @pytest.mark.parametrize("policies", ["noop,fcfs", None])
    def test_a_baseline_that_does_not_run_is_refused_before_the_run(
        self, job: Path, policies: str | None
    ) -> None:
        chosen = ("--policies", policies) if policies else ()
        ended = penstock("compare", job, *chosen, "--baseline", "nop", "--set", "duration=9h")
        assert (ended.code, ended.out) == (2, "")
        assert ended.err.startswith("error: no policy `nop` runs that others could be compared")
        assert "noop, fcfs" in ended.err or policies is None

    def test_equal_seeds_give_equal_bytes(self, job: Path) -> None:
        words = ("compare", job, "--json", "--policies", "noop,deadline,cfq,size-priority")

        def text(*more: str) -> str:
            return re.sub(r'"began_unix_s": \d+', "", penstock(*words, *more).out)

        assert text() == text()
        assert text() != text("--set", "seed=8")

    def test_runs_do_not_depend_on_one_another(self, job: Path) -> None:
        alone = compared(job, "--policies", "cfq")["runs"]
        behind = compared(job, "--policies", "noop,cfq")["runs"]
        assert alone == behind[1:]

    def test_run_is_the_same_for_one(self, job: Path) -> None:
        ended = penstock("run", job, "--policy", "noop", "--json")
        assert json.loads(ended.out)["runs"] == compared(job, "--policies", "noop")["runs"]


class TestStdin:
    """The job `-` is what stdin says."""

    @staticmethod
    def given(written: bytes, *words: str) -> Ended:
        done = subprocess.run([*COMMAND, *words], input=written, capture_output=True, check=False)
        return Ended(done.returncode, done.stdout.decode(), done.stderr.decode())

    def test_it_runs_as_from_a_file(self, job: Path) -> None:
        words = ("--policies", "noop", "--json")
        ended = self.given(job.read_bytes(), "compare", "-", *words)
        assert ended.code == 0, ended.err
        assert ended.out.replace('"stdin"', f'"{job}"') == penstock("compare", job, *words).out

    @pytest.mark.parametrize(
        ("written", "message"),
        [
            (b"duration = 5", "error: 5 has no unit; expected a length of time\n --> stdin:1:12"),
            (b"", "error: the job has no agent, so it asks for nothing"),
            (b"\xff", "error: the job on stdin is not UTF-8"),
            (bytes((4 << 20) + 1), "error: the job on stdin is larger than 4MiB"),
        ],
        ids=["wrong", "nothing", "bytes", "too long"],
    )
    def test_what_is_no_job_is_refused(self, written: bytes, message: str) -> None:
        code, out, err = self.given(written, "run", "-", "--policy", "noop")
        assert (code, out) == (2, "")
        assert err.startswith(message)


@pytest.mark.parametrize("option", ["--policy", "--policies"])
@pytest.mark.parametrize("verb", ["run", "compare", "watch", "replay"])
def test_policies_are_named_alike_by_every_verb(job: Path, verb: str, option: str) -> None:
    what: tuple[str | Path, ...] = (job,)
    if verb == "replay":
        what = (ROOT / "examples/traces/pgbench-backup.blkparse.gz", "--on", "flash")
    pace = ("--speed", "max") if verb == "watch" else ()
    ended = penstock(verb, *what, option, "noop, fcfs", "--json", *pace)
    assert ended.code == 0, ended.err
    assert [run["policy"] for run in json.loads(ended.out)["runs"]] == ["noop", "fcfs"]


class TestTable:
    """What a person reads."""

    def test_table_and_verdict_are_data_and_nothing_is_talk(self, job: Path) -> None:
        ended = penstock("compare", job, "--policies", "noop,size-priority")
        assert ended.code == 0
        assert without_estimates(ended.err) == ""
        assert ended.out.startswith(f"SIMULATED  {job} on hdd-7200\n")
        assert ended.out.splitlines()[1].startswith("size-priority: ")

    def test_piped_it_is_plain_and_whole(self, job: Path) -> None:
        out = penstock("compare", job, "--policies", "noop,size-priority").out
        assert "\x1b" not in out
        assert "…" not in out

    def test_a_terminal_breaks_lines_between_words(self, job: Path) -> None:
        words = ("run", job, "--policy", "noop", "--set", "duration=20s")
        shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", on_a_terminal(*words).out)
        whole = penstock(*words).out
        lines = shown.splitlines()
        assert max(map(len, lines)) <= 140 < max(map(len, whole.splitlines()))
        assert shown[shown.index("SIMULATED") :].split() == whole.split()

    def test_a_reader_that_goes_away_is_no_error(self, job: Path) -> None:
        words = [*COMMAND, "run", str(job), "--policy", "noop"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
            assert running.stdout is not None
            assert running.stderr is not None
            running.stdout.close()
            assert running.stderr.read() == b""
        assert running.returncode == 0


class TestList:
    """What there is to choose from."""

    def test_policies(self) -> None:
        entries = json.loads(penstock("list", "policies", "--json").out)
        # Each has a golden table; that of another mode has its name behind the policy's.
        tables = {table.name.split(".")[0] for table in (ROOT / "tests/golden").glob("*.snap")}
        assert sorted(entry["name"] for entry in entries) == sorted(tables)
        for param in (param for entry in entries for param in entry["params"]):
            assert list(param) == ["default", "doc", "kind", "name", "source"]

    def test_policies_have_a_line_each(self) -> None:
        entries = json.loads(penstock("list", "policies", "--json").out)
        lines = penstock("list", "policies").out.splitlines()
        named = [f"{entry['name']}: {entry['summary']}" for entry in entries]
        assert lines[: len(named)] == named
        names = [line.split(": ")[0] for line in lines[len(named) :]]
        assert names == ["alone:CLASS", "kernel:NAME", "served:NAME"]

    def test_a_policy_by_name_shows_its_rule_and_its_parameters(self) -> None:
        every = json.loads(penstock("list", "policies", "--json").out)
        for entry in every:
            assert json.loads(penstock("list", "policies", entry["name"], "--json").out) == entry
            text = penstock("list", "policies", entry["name"]).out
            for param in entry["params"]:
                assert re.search(rf"^{re.escape(param['name'])} ", text, re.MULTILINE)
            # The words of its module.
            file = ROOT / "crates/policy/src" / f"{entry['name'].replace('-', '_')}.rs"
            assert file.read_text().startswith(f"//! {entry['text'].splitlines()[0]}\n")
        text = penstock("list", "policies", "mq-deadline").out
        assert text.startswith("mq-deadline: deadline in each class of I/O priority")
        assert "\n  Linux since 4.11\n" in text
        assert "\nPromise: with one class that of `deadline`" in text
        assert re.search(r"^prio_aging_expire +10s ", text, re.MULTILINE)

    def test_a_policy_that_is_unknown_is_refused_with_the_nearest(self) -> None:
        done = penstock("list", "policies", "mq-deadlin")
        assert done.code == 2
        assert "error: unknown policy `mq-deadlin`\nhint: did you mean `mq-deadline`?" in done.err

    def test_devices(self) -> None:
        entries = json.loads(penstock("list", "devices", "--json").out)
        assert entries[0]["name"] == "hdd-7200"
        text = penstock("list", "devices").out
        named = "".join(f"{one['name']}: {one['summary']}\n" for one in entries)
        assert text.startswith(named)
        names = [line.split(": ")[0] for line in text.removeprefix(named).splitlines()]
        assert names == ["emulated:DEVICE[@SPEED][:PATH]", "null"]

    def test_every_policy_and_every_device_of_the_lists_runs(self, job: Path) -> None:
        policies = json.loads(penstock("list", "policies", "--json").out)
        names = ",".join(entry["name"] for entry in policies)
        devices = json.loads(penstock("list", "devices", "--json").out)
        for device in (one for one in devices if not one["machine"]):
            words = ("--on", device["name"], "--policies", names, "--set", "duration=1s")
            assert compared(job, *words)["device"] == device["name"]


class TestWrong:
    """Wrong use and wrong input: one message on stderr, nothing on stdout, exit code 2."""

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["--policy", "nop"], "error: unknown policy `nop`\nhint: did you mean `noop`?\n"),
            (
                ["--policy", "noop", "--set", "agent.0.siez=4KiB"],
                "error: unknown key `siez`",
            ),
            (["--policy", "noop", "--set", "durration=1s"], "did you mean `duration`?"),
            (["--policy", "noop", "--set", "agent.0.size=4096"], "error: 4096 has no unit"),
            (["--policy", "noop", "--set", "noop.max_sectors=1MB/s"], "error: "),
            (["--policy", "noop", "--set", "duration"], "error: expected KEY=VALUE"),
            (["--policy", "noop", "--set", "duration=0s"], "above zero"),
            (["--policy", "noop", "--set", "agent.0.size=0B"], "expected a size"),
            (["--policy", "noop", "--set", "agent.0.region=50%,120%"], "120%"),
            (["--policy", "noop", "--set", "agent.0.region=0B,99TB"], "region"),
            (["--policy", "noop", "--on", "hdd-7201"], "did you mean `hdd-7200`?"),
            (["--policy", "noop", "--create", "1MiB"], "--create"),
            (["--policy", "noop", "--engine", "threads"], "--engine"),
            (["--policy", "noop,cfq", "--record", "r"], "error: a record is of one policy"),
            (["--policy", ","], "error: a policy without a name"),
            (["--policy", "alone:"], "error: unknown class `` of alone:CLASS"),
            (["--policy", "noop", "--on", "emulated:flash:"], "emulated:flash: lacks a name"),
            (["--policy", "noop", "--on", "emulated:flash@"], 'found the speed ""'),
            (
                ["--policy", "noop", "--set", 'live.view={start="0B"}'],
                "hint: set each of its keys, as `live.view.KEY=VALUE`",
            ),
            (
                ["--policy", "noop", "--on", "./none", "--i-will-lose-data", "x"],
                "--i-will-lose-data x does not go with ./none, which is not there",
            ),
            ([], "Missing option '--policies' / '--policy'"),
            (["--policy", "noop", "--frob"], "No such option: --frob"),
        ],
        ids=lambda value: " ".join(value) if isinstance(value, list) else "",
    )
    def test_says_what_was_found(self, job: Path, words: list[str], message: str) -> None:
        before = sorted(job.parent.iterdir())
        ended = penstock("run", job, *words)
        assert message in ended.err
        assert (ended.code, ended.out) == (2, "")
        assert sorted(job.parent.iterdir()) == before

    def test_in_a_file_it_says_where(self, job: Path) -> None:
        job.write_text(job.read_text().replace("pattern", "patern", 1))
        line = 1 + job.read_text()[: job.read_text().index("patern")].count("\n")
        ended = penstock("run", job, "--policy", "noop")
        assert (ended.code, ended.out) == (2, "")
        assert "error: unknown key `patern`" in ended.err
        assert f"--> {job}:{line}:1\n" in ended.err
        assert "^^^^^^" in ended.err
        assert "did you mean `pattern`?" in ended.err

    def test_no_policy_is_named(self, job: Path) -> None:
        for names in ("", "noop,", ","):
            ended = penstock("compare", job, "--policies", names)
            assert (ended.code, ended.out) == (2, "")
            assert ended.err.startswith("error: ")

    def test_a_job_that_is_not_there(self, tmp_path: Path) -> None:
        ended = penstock("run", tmp_path / "none.toml", "--policy", "noop")
        assert (ended.code, ended.out) == (2, "")
        assert "none.toml" in ended.err

    def test_overload_fails_naming_class_and_time(self, job: Path) -> None:
        words = ("--set", "max_outstanding=10", "--set", "agent.0.rate=1000/s")
        ended = penstock("run", job, "--policy", "noop", *words)
        assert (ended.code, ended.out) == (1, "")
        assert ended.err.startswith("error: ")
        assert "tellers" in ended.err


class TestInterrupt:
    """Ctrl-C ends a run with what there is."""

    def test_the_table_is_marked(self, job: Path) -> None:
        words = ("compare", job, "--policies", "noop,cfq", "--set", "duration=100000h")
        ended = interrupted(*words, when=r"noop \(1 of 2\)")
        assert ended.code == 130
        assert "\n  PARTIAL: interrupted;" in ended.out
        assert "interrupted: the last run is partial; 1 of 2 policies did not run" in ended.err

    def test_the_json_is_whole_and_marked(self, job: Path) -> None:
        words = ("run", job, "--policy", "noop", "--set", "duration=100000h", "--json")
        ended = interrupted(*words, when="noop")
        assert ended.code == 130
        (run,) = json.loads(ended.out)["runs"]
        assert run["interrupted"] is True
        assert 0 < run["duration_s"] < 100_000 * 3600
        assert run["classes"][0]["requests"] > 0


class TestReplay:
    """A recorded run decides alike again."""

    @pytest.fixture
    def record(self, job: Path, tmp_path: Path) -> Path:
        path = tmp_path / "record"
        words = ("--policy", "size-priority", "--set", "size-priority.split=64KiB")
        assert penstock("run", job, *words, "--record", path).code == 0
        return path

    def test_alike(self, record: Path) -> None:
        ended = penstock("replay-decisions", record)
        assert (ended.code, ended.err) == (0, "")
        assert re.fullmatch(
            rf"size-priority: all [\d,]+ decisions alike \([\d,]+ requests, recorded by penstock "
            rf"{re.escape(__version__)}\)\n",
            ended.out,
        )

    def test_with_another_constant_it_differs(self, record: Path) -> None:
        ended = penstock("replay-decisions", record, "--set", "size-priority.split=128KiB")
        assert (ended.code, ended.err) == (4, "")
        assert re.match(r"size-priority: decision [\d,]+ differs, after [\d,]+ alike", ended.out)
        assert re.search(r"^  recorded: at .* 65536 bytes", ended.out, re.MULTILINE)
        assert re.search(r"^  replayed: at .* 131072 bytes", ended.out, re.MULTILINE)

    def test_as_json(self, record: Path) -> None:
        replay = json.loads(penstock("replay-decisions", record, "--json").out)
        assert replay["alike"] == replay["decisions"] > 0
        assert replay["first_difference"] is None
        ended = penstock("replay-decisions", record, "--json", "--set", "size-priority.split=4KiB")
        assert ended.code == 4
        assert json.loads(ended.out)["first_difference"]["decision"] == 0

    def test_a_record_is_never_written_over(self, job: Path, record: Path) -> None:
        before = record.read_bytes()
        ended = penstock("run", job, "--policy", "noop", "--record", record)
        assert (ended.code, ended.out) == (2, "")
        assert str(record) in ended.err
        assert record.read_bytes() == before

    def test_something_else_is_no_record(self, job: Path, tmp_path: Path) -> None:
        for path in (job, tmp_path / "none", tmp_path):
            ended = penstock("replay-decisions", path)
            assert (ended.code, ended.out) == (2, "")
            assert ended.err.startswith("error: ")


def test_a_closed_stdout_is_reported_before_anything_runs() -> None:
    words = shlex.join([*COMMAND, "list", "policies"])
    ended = subprocess.run(
        ["sh", "-c", f"{words} >&-"], stderr=subprocess.PIPE, text=True, check=False
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith("error: stdout is closed, and results go there\nhint: ")


@pytest.mark.parametrize("words", [["list", "policies"], ["--version"], ["--help"]])
def test_output_that_cannot_be_written_is_reported(words: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [*COMMAND, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert ended.returncode == 1
    assert ended.stderr == "error: the output cannot be written: No space left on device\n"


def test_a_loop_with_many_outstanding_has_its_whole_share_after_a_warm_up(tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    agent = """
[[agent]]
class = "{name}"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = {{ kind = "closed", depth = {depth} }}
"""
    head = 'duration = "20s"\nwarmup = "10s"\ndevice = "hdd-7200"\n[class.many]\n[class.one]\n'
    agents = agent.format(name="many", depth=1024) + agent.format(name="one", depth=1)
    job.write_text(head + agents)
    (run,) = compared(job, "--policies", "fcfs")["runs"]
    many, one = run["classes"]
    # The disk serves about 80 of them a second: none that was due later completes in time.
    assert many["share"] == pytest.approx(1024 / 1025, abs=0.002)
    assert many["device_time_s"] + one["device_time_s"] == pytest.approx(
        run["duration_s"], rel=0.01
    )


class TestNamedAgents:
    """`--set` calls an agent by its name."""

    def test_a_name_stands_for_the_number(self, job: Path) -> None:
        text = job.read_text().replace("[[agent]]", '[[agent]]\nname = "writer"', 1)
        job.write_text(text)
        words = ("--policies", "noop", "--set")
        by_name = compared(job, *words, "agent.writer.rate=40/s")
        by_number = compared(job, *words, "agent.0.rate=40/s")
        assert by_name["runs"] == by_number["runs"]
        assert 'name = "writer"' in by_name["job"]["text"]

    @pytest.mark.parametrize(
        ("names", "change", "message"),
        [
            (("writer", "writer"), "duration=1s", "two agents are called `writer`"),
            (("2", "b"), "duration=1s", "`2` is no name of an agent"),
            (("writer", "b"), "agent.writr.rate=1/s", "did you mean `writer`?"),
            (("writer", "b"), "agent.writer.rte=1/s", "unknown key `rte`"),
        ],
    )
    def test_names_are_checked(
        self, job: Path, names: tuple[str, str], change: str, message: str
    ) -> None:
        text = job.read_text()
        for name in names:
            text = text.replace("[[agent]]\nclass", f'[[agent]]\nname = "{name}"\nclass', 1)
        job.write_text(text)
        ended = penstock("run", job, "--policy", "noop", "--set", change)
        assert (ended.code, ended.out) == (2, "")
        assert message in ended.err
