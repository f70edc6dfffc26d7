"""The schemas of jobs and devices: schemas they are, and they say what the parser says.

The parser is asked for a policy that does not exist: it complains of that last, so a job that gets
there is one.
"""

import itertools
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator, meta

from command import ROOT, penstock
from penstock import _native
from penstock.errors import PenstockError
from penstock.job import plain
from penstock.session import Variant, compare
from penstock.target import Target
from schema_samples import BASE, SAMPLES, UNITS

Json: TypeAlias = Any
"""A part of a job or of a schema."""

NO_POLICY = "error: unknown policy `nop`"

SCHEMAS = {kind: json.loads(_native.schema(kind)) for kind in ("job", "device")}
JOB, DEVICE = map(Draft202012Validator, SCHEMAS.values())

LEFT_TO_THE_PARSER = re.compile(
    "|".join(
        [
            "unknown class `",
            "the job has .*; or name a device",
            "has no device of its own",
            "cannot read the device file",
            # Quantities: how large they may be, and what fractions of binary units are whole.
            "is too large",
            "is not a whole number of",
            "expected a size of at most `",
            "expected a size from `",
            "the device may take .* of memory",
            "more than one a nanosecond",
            # One value next to another.
            "the region is empty",
            "no batch would last for a wait",
            "the warm-up lasts",
            "the run stops at",
            "blocks are (read|written) at once",
            "blocks of memory no job can end",
            "jobs, and .* named: each job",
            "jobs of .* runs of .* blocks; at most",
            "the (agent|program) st(ops|arts) at",
            "the offsets ascend",
            "`done:` belongs",
            "closed agents keep",
            # Two keys that state one fact, and sizes next to each other.
            "and the arrivals of the agent say",
            "a stride of .* is shorter than",
            "the zones cover",
            "has no effect with mode",
            "the device takes (no time|more than a hundred years)",
            "the drive takes more than a hundred years",
            "the stripe unit is larger than a disk",
            "the write buffer holds less than one program",
            "a seek to the next cylinder is not the shortest",
            "the drive is smaller than",
            "seek times: ",
            # Bounds of quantities.
            "expected a length of time of at most",
            "expected a transfer rate from",
            "expected a percentage of at least",
            "write-back begins at",
            # The geometry of a drive, one part next to another.
            "the zones? ",
            "a capacity of .* leaves",
            "a longer seek takes",
            "the knee at",
            "a table of seek times needs",
            "no such drive",
            # Which agents a class has.
            "has no last request",
            "is buffered: a cache sends",
            # Files by their names, and how many there are.
            "there is no file ",
            "two files are called",
            "file `.*` is named twice",
            "names no file",
            "the agent names the file",
            "the job has .* files; at most",
            "agents with their copies",
            # Which classes there are.
            "expected a value for each class, found [0-9]",
        ]
    )
)
"""What no schema can say, in the parser's words."""

VALUES: list[Any] = [
    {},
    {"zz": 1},
    [],
    ["0%", "10%"],
    ["10KiB", "20KiB"],
    [0, 0],
    [1, 0.5],
    ["a"],
    True,
    -1,
    0,
    1,
    8,
    1 << 33,
    0.5,
    2.5,
    "",
    "a",
    "off",
    "on",
    "auto",
    "none",
    "drive",
    "half",
    "closed",
    "turns",
    "fixed",
    "hdd",
    "ssd",
    "read",
    "random",
    "cfq",
    "afap",
    "flash",
    "x.toml",
    ".toml",
    "0%",
    "100%",
    "101%",
    "0s",
    " 5ms",
    "5ms",
    "0.1ns",
    "0B",
    "64KiB",
    "64 KiB ",
    "64kib",
    "3GiB",
    "0/s",
    "20/s",
    "0MB/s",
    "2GB/s",
]
"""What is put in the place of every value: something of each kind, right somewhere."""


def refusal(text: str) -> str | None:
    """What the parser has against a job, if anything."""
    with pytest.raises(PenstockError) as caught:
        compare(Variant(name="job.toml", text=text, policies=["nop"]), Target())
    said = str(caught.value)
    return None if said.startswith(NO_POLICY) else said


def agree_on(text: str) -> None:
    """Check that schema and parser agree on a job, if it is TOML at all."""
    try:
        # A date is no text in TOML; in JSON there is no other way to say it.
        job = json.loads(json.dumps(tomllib.loads(text), default=lambda _: None))
    except tomllib.TOMLDecodeError:
        assert refusal(text)
    else:
        agree(job, text)


def agree(job: Json, text: str) -> None:
    """Check that schema and parser both take a job, or both refuse it."""
    said = refusal(text)
    if said is None:
        assert JOB.is_valid(job), text
    elif not LEFT_TO_THE_PARSER.search(said):
        assert not JOB.is_valid(job), f"{said}\n{text}"


def written(job: dict[str, Any]) -> str:
    """A job as TOML."""
    return "".join(f"{key} = {plain(value)}\n" for key, value in job.items())


Way: TypeAlias = tuple[str | int, ...]
"""The keys and positions that lead to a value in a job."""


def ways(value: Json, *above: str | int) -> Iterator[Way]:
    """The way to each value in a job, and to each table in it."""
    if above:
        yield above
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield from ways(item, *above, key)


def at(job: Json, *way: str | int) -> Json:
    """What lies there."""
    for step in way:
        job = job[step]
    return job


def replaced(job: Json, value: Json, *way: str | int) -> Json:
    """Return a job with another value in one place; it shares all other values with `job`."""
    if not way:
        return value
    changed = job.copy()
    changed[way[0]] = replaced(job[way[0]], value, *way[1:])
    return changed


def parameters() -> dict[str, Any]:
    """Every parameter of every policy."""
    schema = json.loads(_native.schema("job"))["properties"]["policy"]["properties"]
    return {name: _defaults(table) for name, table in schema.items()}


def _defaults(table: Json) -> dict[str, Any]:
    def default(one: Json) -> Json:
        members = [part for part in one.get("anyOf", ()) if "properties" in part]
        return _defaults(members[0]) if members else one["default"]

    return {name: default(one) for name, one in table["properties"].items()}


def messages() -> Iterator[str]:
    """The jobs with a mistake whose messages are tested."""
    source = (ROOT / "crates/jobs/tests/messages.rs").read_text()
    found = re.search(r'GOOD: &str = r#"(.*?)"#', source, re.DOTALL)
    assert found
    good = found[1]
    literal = r'("(?:[^"\\]|\\.)*")'
    for one, other in re.findall(rf"instead\(\s*{literal},\s*{literal}\s*\)", source):
        yield good.replace(json.loads(one), json.loads(other))
    for line in re.findall(rf"\bwith\(\s*{literal}\s*\)", source):
        yield f"{json.loads(line)}\n{good}"
    for table in re.findall(rf"\bdevice\(\s*{literal}\s*\)", source):
        yield f"device = {{ {json.loads(table)} }}\n{good}"


MESSAGES = list(messages())

PAPERS = [path for path in ROOT.glob("papers/*/*.toml") if path.name != "published.toml"]
EXAMPLES = [
    ROOT.glob(f"examples/{folder}*.toml") for folder in ("", "agreement/", "fairio/", "linux/")
]
JOB_FILES = sorted([*itertools.chain(*EXAMPLES), *PAPERS])
DEVICE_FILES = sorted(ROOT.glob("examples/devices/*.toml"))


@pytest.mark.parametrize("schema", SCHEMAS.values(), ids=SCHEMAS)
def test_it_is_a_schema(schema: Json) -> None:
    meta.validate(schema)


@pytest.mark.parametrize("path", JOB_FILES, ids=lambda path: path.name)
def test_the_examples_are_jobs(path: Path) -> None:
    JOB.validate(tomllib.loads(path.read_text()))


@pytest.mark.parametrize(
    "path", [*ROOT.glob("examples/devices/*.toml")], ids=lambda path: path.name
)
def test_the_examples_are_devices(path: Path) -> None:
    device = tomllib.loads(path.read_text())
    DEVICE.validate(device)
    assert not DEVICE.is_valid(device | {"zz": 1})
    assert not DEVICE.is_valid({})


def test_a_job_written_out_with_all_defaults_is_a_job(job: Path) -> None:
    variant = Variant(name=str(job), policies=["noop"], sets=["duration=1s"])
    comparison = json.loads(compare(variant, Target()))
    text = comparison["job"]["text"]
    JOB.validate(tomllib.loads(text))


JOBS = {
    **{name: tomllib.loads(text) for name, text in SAMPLES.items()},
    **{
        f"policy {name}": tomllib.loads(UNITS) | {"policy": {name: table}}
        for name, table in parameters().items()
    },
}
"""Jobs that have every key between them."""


def new_ways() -> dict[str, list[Way]]:
    """The ways in each job to the values that no earlier job has in a table of the same keys."""
    tried: set[str] = set()
    new: dict[str, list[Way]] = {name: [] for name in JOBS}
    for name, job in JOBS.items():
        for way in ways(job):
            table, value = at(job, *way[:-1]), at(job, *way)
            keys = [step for step in way if isinstance(step, str)]
            siblings = sorted(table) if isinstance(table, dict) and table is not job else []
            place = json.dumps([keys, siblings, value])
            if place not in tried:
                tried.add(place)
                new[name].append(way)
    return new


WAYS = new_ways()


@pytest.mark.parametrize("name", JOBS)
def test_every_table_has_its_keys(name: str) -> None:
    """A key less, and an unknown one in each table: both see it."""
    job = JOBS[name]
    JOB.validate(job)
    assert refusal(written(job)) is None
    for way in ways(job):
        above = at(job, *way[:-1]).copy()
        del above[way[-1]]
        shorter = replaced(job, above, *way[:-1])
        agree(shorter, written(shorter))
        table = at(job, *way)
        if isinstance(table, dict):
            longer = replaced(job, table | {"zz": {}}, *way)
            agree(longer, written(longer))


@pytest.mark.parametrize("name", JOBS)
def test_every_value_is_taken_or_refused_by_both(name: str) -> None:
    for way in WAYS[name]:
        for value in VALUES:
            changed = replaced(JOBS[name], value, *way)
            agree(changed, written(changed))


def test_there_are_mistakes_to_try() -> None:
    assert len(MESSAGES) > 50


@pytest.mark.parametrize("text", MESSAGES)
def test_a_mistake_is_seen_by_both(text: str) -> None:
    agree_on(text)


QUANTITIES = (
    BASE.replace('{ kind = "closed" }', '{ kind = "poisson", rate = "20/s" }')
    + '[device]\nmodel = "fixed"\nbase = "0.3ms"\nfaults = { errors = "0.1%" }\n'
)

SIZES = ["", "B", "kB", "KB", "MB", "GiB", "TiB"]
TIMES = ["ns", "us", "µs", "μs", "ms", "min", "d", " s", "s ", "e3s"]
RATES = ["%", "/s", "/us", "/ns", "/h"]


@settings(max_examples=500)
@given(
    number=st.from_regex(r"\A[ \t]?[0-9]{0,4}(\.[0-9]{0,3}0{0,2})?[ \t]?\Z"),
    unit=st.sampled_from([*SIZES, *TIMES, *RATES]),
)
def test_a_quantity_is_read_alike_everywhere(number: str, unit: str) -> None:
    quantity = json.dumps(number + unit)
    agree_on(QUANTITIES.replace('"10s"', quantity))
    agree_on(QUANTITIES.replace('"4KiB"', quantity))
    agree_on(QUANTITIES.replace('"20/s"', quantity))
    agree_on(QUANTITIES.replace('"0.1%"', quantity))
    agree_on(QUANTITIES.replace('"0.3ms"', quantity))


def test_the_command_prints_the_schema_alone() -> None:
    kinds = [
        ((), "job"),
        *(((kind,), kind) for kind in ("job", "device", "result", "merge", "file-test")),
    ]
    for words, kind in kinds:
        ended = penstock("schema", *words)
        assert (ended.code, ended.err) == (0, "")
        assert json.loads(ended.out) == json.loads(_native.schema(kind))


def test_another_kind_of_file_has_none() -> None:
    ended = penstock("schema", "jobs")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "error: unknown kind of file: `jobs`\nhint: did you mean `job`?\n"
