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

Json: TypeAlias = Any
"""A part of a job or of a schema."""

NO_POLICY = "error: unknown policy `nop`"

SCHEMAS = {kind: json.loads(_native.schema(kind)) for kind in ("job", "device")}
JOB, DEVICE = map(Draft202012Validator, SCHEMAS.values())

LEFT_TO_THE_PARSER = re.compile(
    "|".join(
        [
            "unknown class `",
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
        ]
    )
)
"""What no schema can say, in the parser's words."""

BASE = """
duration = "10s"
[class.a]
[[agent]]
class = "a"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "closed" }
"""
"""As little as a job has; its device may follow."""

FILES = """
duration = "10s"
device = "hdd-7200"
[class.a]
[[file]]
name = "data"
count = 2
size = "1GiB"
at = "5%"
on = { 1 = "flash" }
[[file]]
name = "log"
size = "1MiB"
device = { model = "fixed", base = "1ms" }
[[agent]]
class = "a"
file = ["data.1", "log"]
copies = 2
share = "slices"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "closed" }
"""

AGENTS = """
seed = 3
duration = "10s"
warmup = "1s"
stop = "drained"
max_outstanding = 4096

[class.a]
weight = 2
prio = 1

[[agent]]
class = "a"
op = "write"
sync = true
cache = "buffered"
size = "4KiB"
pattern = "random"
region = ["0%", "1GiB"]
arrivals = { kind = "poisson", rate = "20/s", curve = [1, 0.5] }
start = "1s"
stop = "9s"

[[agent]]
class = "a"
op = "read"
size = "1MiB"
pattern = "sequential"
align = "4KiB"
first = "50%"
gap = "4KiB"
growth = { every = 100, size = "4KiB", gap = "1KiB" }
arrivals = { kind = "closed", depth = 4, think = "1ms", count = 500 }

[[agent]]
class = "a"
op = "write"
size = "1MiB"
pattern = "sequential"
arrivals = { kind = "turns", count = 10 }

[live]
depth = 8
batch = 2
timeout = "10s"
view = { start = "1MiB", length = "1GiB" }

[page_cache]
memory = "256MiB"
base = "2us"
per_mb = "50us"
dirty_background_ratio = "5%"
dirty_ratio = "10%"
dirty_expire = "1s"
dirty_writeback = "0.5s"
read_ahead = "64KiB"

[device]
name = "disk"
summary = "a disk"
model = "hdd"
drive = "ibm18es"
overheads = "0.3ms"
bus = "none"
cache = { segments = 2, blocks = 16 }
readahead = "8KiB"
write_back = true
turnaround = "1ms"
queue = { policy = "deadline", depth = 16, overhead = "in-service", fifo_batch = 4 }
faults = { errors = "0.1%", stalls = "0.5%", stall = "50ms" }
array = { level="raid0", disks=8, stripe="16KiB", max_extent="1MiB", depth=64, phase="random" }
"""

MIXED = f"""
{AGENTS.partition("[[agent]]")[0].replace('duration = "10s"', "").replace('stop = "drained"', "")}
[[agent]]
class = "a"
mix = 0.7
flush = 100
call = "async"
buffers = 16
size = [["4KiB", 60], ["64KiB", 40]]
pattern = "random"
spread = {{ zipf = {{ theta = 1.2 }} }}
total = "1GiB"
arrivals = {{ kind = "closed", think = {{ exponential = "5ms" }} }}

[[agent]]
class = "a"
op = "trim"
size = "4KiB"
pattern = "random"
spread = {{ pareto = {{ h = 0.2 }} }}
count = 100

[[agent]]
class = "a"
op = "read"
size = "4KiB"
pattern = "random"
spread = {{ normal = {{ mean = "50%", dev = "5%" }} }}
passes = 2

[[agent]]
class = "a"
op = "read"
size = "4KiB"
pattern = "random"
spread = {{ poisson = {{ mean = "1MiB" }} }}
arrivals = {{ kind = "fixed", rate = "9/s", count = 8 }}
call = "sync"

[[agent]]
class = "a"
op = "read"
size = "4KiB"
pattern = "random"
stop = "5s"

[[agent]]
class = "a"
op = "read"
size = "4KiB"
pattern = "random"
spread = {{ zoned = [["10%", 60], ["90%", 40]] }}
count = 100

[[agent]]
class = "a"
op = "write"
size = "4KiB"
pattern = "backwards"
stride = "64KiB"
passes = 1

[device]
model = "fixed"
base = "1ms"
"""

GEOMETRY = f"""
{BASE}
[device]
model = "hdd"
overheads = "drive"
bus = "none"
queue = {{ policy = "sstf", depth = 16, distance = "cylinders" }}

[device.drive]
cylinders = 100
heads = 5
rpm = 7200
capacity = "3MB"
track_skew = "1.2ms"
cylinder_skew = "2.2ms"
head_switch = "1ms"
write_settle = "0.1ms"
read_overhead = "0.2ms"
read_overhead_after_write = "0.3ms"
write_overhead = "0.4ms"
write_overhead_after_write = "0.5ms"
zones = [{{ first = 0, last = 59, sectors = 16 }}, {{ first = 60, last = 99, sectors = 8 }}]
seek = {{ single = "1ms", knee = 40, at_knee = "3ms", full = "13ms" }}
"""

MEASURED = (
    GEOMETRY.partition("seek =")[0]
    + 'seek = [{ distance = 1, takes = "1ms" }, { distance = 99, takes = "13ms" }]\n'
)

TRACE = """
[trace]
file = "a.gz"
format = "blkparse"
timing = { speed = 2 }
fit = "wrap"

[class.a]

[[rule]]
class = "a"
process = ["x", "y"]
pid = 7
op = ["read", "flush"]
sync = true
min_size = "8KiB"
max_size = "1MiB"
range = ["0B", "1GiB"]

[device]
model = "fixed"
base = "1ms"
per_mb = "2ms"
capacity = "1GiB"
array = { level = "raid5", disks = 8 }
"""

MAPPED = f"""
{TRACE.partition("[device]")[0]}
[trace.on.sda]
model = "fixed"
base = "1ms"

[trace.on."hm.1"]
name = "disk"
model = "hdd"
drive = "ibm18es"
"""

UNITS = f"""
{BASE}
[device]
model = "fixed"
unit = "1ms"
unit_bytes = "10kB"
"""

PROGRAMS = f"""
stop = "done:a"
{AGENTS.partition("[[agent]]")[0].replace('stop = "drained"', "")}
[cpu]
count = 4
slice = "10ms"
order = "priority"
preempt = true
pick = "lowest"

[[program]]
class = "a"
phases = [{{ cpu = "5ms" }}, {{ read = "4KiB" }}, {{ write = "4KiB" }}]
repeat = 2
pattern = "random"
region = ["0%", "1GiB"]
arrivals = {{ kind = "groups", offsets = ["0ms", "1ms"], period = "200ms" }}
start = "1s"
stop = "9s"

[[program]]
class = "a"
phases = [{{ cpu = "1ms" }}]
arrivals = {{ kind = "poisson", rate = "20/s" }}

[[program]]
class = "a"
phases = [{{ cpu = "1ms" }}]
arrivals = {{ kind = "once", count = 4, stagger = "1ms" }}

[device]
model = "fixed"
unit = "1ms"
unit_bytes = "10kB"
"""

FLASH = f"""
{BASE}
[device]
model = "ssd"
capacity = "1TB"
dies = 16
channels = 4
page = "16KiB"
planes = 2
block_pages = 768
read_time = "60us"
program_time = "0.7ms"
erase_time = "5ms"
suspend_time = "20us"
channel_rate = "1GB/s"
link_rate = "550MB/s"
link_duplex = "half"
link_overhead = "2us"
command_overhead = "20us"
command_interval = "1us"
write_buffer = "8MiB"
power_loss_protection = true
over_provisioning = "9%"
queue_depth = 32
"""

MERGES = """
seed = 3
stop = "20s"

[merge]
jobs = 3
runs = 4
run = "1000blocks"
block = "8KiB"
read = 5
write = 7
placement = "separate"
layout = "output-middle"
memory = { partition = 90 }
when_full = "defer"
depletion = { keys = 64 }
stagger = "2s"
cpu = "1us"

[device]
model = "fixed"
base = "1ms"
array = { level = "jbod", disks = 4, scheduler = "each" }
"""

LISTED = """
[merge]
jobs = 2
placement = [{ inputs = [1, 2], output = 0 }, { inputs = [1], output = 1 }]

[class.a]
[class.b]
"""

LINEAR = f"""
{BASE}
[device]
model = "linear"
seek = "40us"
turn = "16ms"
latency = "constant"
transfer = "1ms"
block = "4KiB"
per_cylinder = 64
capacity = "1GiB"
"""

SHEET = f"""
{BASE}
[device]
model = "hdd"
[device.drive]
capacity = "4TB"
rpm = 7200
single_seek = "0.8ms"
average_seek = "8.5ms"
full_seek = "16ms"
outer_rate = "200MB/s"
inner_rate = "95MB/s"
heads = 10
head_switch = "0.5ms"
write_settle = "0.1ms"
buffer = "128MiB"
"""

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
EXAMPLES = [ROOT.glob(f"examples/{folder}*.toml") for folder in ("", "fairio/", "linux/")]
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


SAMPLES = {
    "agents": AGENTS,
    "files": FILES,
    "mixed": MIXED,
    "trace": TRACE,
    "mapped": MAPPED,
    "units": UNITS,
    "flash": FLASH,
    "geometry": GEOMETRY,
    "measured": MEASURED,
    "linear": LINEAR,
    "merges": MERGES,
    "listed": LISTED,
    "sheet": SHEET,
    "programs": PROGRAMS,
}

JOBS = {
    **{name: tomllib.loads(text) for name, text in SAMPLES.items()},
    **{
        f"policy {name}": tomllib.loads(UNITS) | {"policy": {name: table}}
        for name, table in parameters().items()
    },
}
"""Jobs that have every key between them."""


def new_ways() -> dict[str, list[Way]]:
    """The ways in each job to the values that no earlier job has there, beside the same keys."""
    tried: set[str] = set()
    new: dict[str, list[Way]] = {name: [] for name in JOBS}
    for name, job in JOBS.items():
        for way in ways(job):
            table, value = at(job, *way[:-1]), at(job, *way)
            keys = [step for step in way if isinstance(step, str)]
            beside = sorted(table) if isinstance(table, dict) and table is not job else []
            place = json.dumps([keys, beside, value])
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


QUANTITIES = """
duration = "10s"
[class.a]
[[agent]]
class = "a"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "poisson", rate = "20/s" }
[device]
model = "fixed"
base = "0.3ms"
faults = { errors = "0.1%" }
"""

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
    kinds = [((), "job"), *(((kind,), kind) for kind in ("job", "device", "result", "merge"))]
    for words, kind in kinds:
        ended = penstock("schema", *words)
        assert (ended.code, ended.err) == (0, "")
        assert json.loads(ended.out) == json.loads(_native.schema(kind))


def test_another_kind_of_file_has_none() -> None:
    ended = penstock("schema", "jobs")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "error: unknown kind of file: `jobs`\nhint: did you mean `job`?\n"
