"""The schema of results: every result that the engine writes is one by it, and has all that it has.

The types of results in Python are written from it.
"""

import json
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import pytest
from jsonschema_rs import Draft202012Validator, meta

import result_types
from command import JOB, ROOT, penstock
from penstock import _native
from penstock.results.steps import Step
from penstock.session import Variant, compare
from penstock.target import Target
from scripted import Fifo

Json: TypeAlias = Any
"""A part of a result or of its schema."""

SCHEMA = json.loads(_native.schema("result"))
RESULT = Draft202012Validator(SCHEMA)

FAULTY = f"""
{JOB.replace('device = "hdd-7200"', "")}
[device]
model = "fixed"
base = "1ms"
capacity = "1GiB"
faults = {{ errors = "50%" }}
"""

MODELLED: dict[str, dict[str, Json]] = {
    "every policy, in detail": {"policies": [], "detail": True},
    "flash": {"target": Target(on="flash"), "detail": True},
    "an array": {"target": Target(on=str(ROOT / "examples/devices/raid0.toml"))},
    "rounds": {"repeat": 2},
    "settings": {"sets": ["agent.1.arrivals.depth=3"]},
    "a class alone": {"policies": ["alone:batch", "fcfs"]},
    "a weight without effect": {"text": f"{JOB}\n[class.heavy]\nweight = 3\n"},
    "errors": {"text": FAULTY},
    "files": {
        "text": (ROOT / "examples/four-disks.toml").read_text(),
        "sets": ["duration=1s", "file.data.on.2=flash"],
    },
    "an array without arms": {"text": f'{FAULTY}array = {{ level = "jbod", disks = 2 }}\n'},
    "nothing to measure": {"sets": ["duration=1ms"], "detail": True},
    "programs": {
        "text": (ROOT / "papers/online-batch/job.toml").read_text(),
        "policies": ["size-priority"],
        "detail": True,
    },
    "merges": {
        "text": (ROOT / "examples/merge/five-sorts.toml").read_text(),
        "sets": ["merge.run=50blocks"],
    },
    "a mix": {"sets": ["duration=1s", "agent.0.mix=0.5"]},
    "a mix with flushes and discards": {
        "sets": [
            *("duration=1s", "agent.0.mix=0.5", "agent.0.flush=5"),
            *("agent.1.op=trim", "agent.1.class=tellers"),
        ],
    },
    "a page cache": {
        "text": (ROOT / "examples/buffered.toml").read_text(),
        "sets": ["duration=3s", "warmup=1s"],
    },
    "files on one device": {
        "text": (ROOT / "examples/four-disks.toml").read_text(),
        "sets": [
            *("duration=300ms", "device=openpower-710", "file.data.count=2"),
            "file.data.device=disk.0",
        ],
    },
    "a survey": {"policies": ["fcfs"], "survey": True},
    "emulated": {"target": Target(on="emulated:flash"), "sets": ["duration=100ms"]},
    "no device": {"target": Target(on="null"), "sets": ["duration=100ms"]},
}
"""What a session of one job is asked, but for what is usual."""

COMMANDS: dict[str, tuple[str | Path, ...]] = {
    "a command": ("compare", "JOB", "--policies", "noop,cfq", "--set", "duration=1s"),
    "a workbook too": ("run", "JOB", "--policy", "cfq", "--xlsx", "OUT.xlsx"),
    "a measured trace": (
        *("replay", ROOT / "tests/data/traces/sample.measured"),
        *("--format", "measured", "--on", "ibm18es"),
    ),
    "a trace": (
        *("replay", ROOT / "tests/data/traces/sample.msr", "--on", "flash"),
        *("--fit", "scale", "--layout", "side-by-side"),
    ),
    "a trace on several devices": (
        *("replay", ROOT / "tests/data/traces/sample.msr", "--on", "flash"),
        *("--fit", "scale", "--layout", "each"),
    ),
}
"""What is typed, `--json` left out."""

OF_THE_MACHINE = {
    ("Class", "added_ns"),
    ("Class", "kernel_weight"),
    ("Emulation", "head_start_ns"),
    ("Run", "remarks"),
    ("Run", "schedulers"),
    ("Schedule", "processor_wait_s"),
}
"""What a machine may lack, or always have."""


class Counting(Fifo):
    """A policy that counts."""

    def counters(self) -> dict[str, int]:
        return {"queued": len(self.queue)}


def written(**asked: Json) -> str:
    """A result as the engine writes it."""
    usual: dict[str, Json] = {"policies": ["noop"], "sets": ["duration=1s"], "text": JOB}
    asked = {"target": Target(), **usual, **asked}
    variant = Variant(name="job", **{name: asked.pop(name) for name in usual})
    return compare(variant, asked.pop("target"), **asked)


def compared(**asked: Json) -> Json:
    """A result."""
    return json.loads(written(**asked))


def stopped(act: Callable[[], object], **asked: Json) -> Json:
    """The result of a run that `act` ends, called when it has begun."""
    done: list[Step] = []

    def progress(step: Step) -> None:
        if step["step"] == "running" and step["fraction"] > 0 and not done:
            done.append(step)
            act()

    return compared(**{"sets": ["duration=100h"], "progress": progress, **asked})


def interrupt() -> None:
    raise KeyboardInterrupt


@cache
def results() -> dict[str, Json]:
    """Results of every kind that this machine can make, by what they are of."""
    found = {name: compared(**asked) for name, asked in MODELLED.items()}
    found["counters of a policy"] = compared(policies=[("counting", Counting())])
    found["an interrupted run"] = stopped(interrupt)
    (ROOT / "demo-data").mkdir(exist_ok=True)
    with TemporaryDirectory(dir=ROOT / "demo-data") as folder:
        disk = Path(folder) / "disk.img"
        live = {"target": Target(on=str(disk), options={"create": "16MiB", "engine": "threads"})}
        job = Path(folder) / "job.toml"
        job.write_text(JOB)
        for name, words in COMMANDS.items():
            places: dict[str | Path, Path] = {"JOB": job, "OUT.xlsx": Path(folder) / "out.xlsx"}
            ended = penstock(*(places.get(word, word) for word in words), "--json")
            assert ended.code == 0, ended.err
            found[name] = json.loads(ended.out)
        found["a file"] = compared(**live, sets=["duration=300ms"])
        found["files on targets"] = compared(
            text=(ROOT / "examples/four-disks.toml").read_text(),
            target=Target(options={"create": "1MiB"}),
            sets=[
                *("duration=300ms", "file.data.size=1MiB", "file.data.count=2"),
                f"file.data.path={folder}/disk%d.img",
            ],
        )
        verify = ["duration=300ms", "agent.0.verify=both"]
        found["a file whose data is verified"] = compared(**live, sets=verify)
        found["an interrupted run on a file"] = stopped(interrupt, **live)
        found["a file that is cut"] = stopped(lambda: os.truncate(disk, 4096), **live)
    return found


def members(schema: Json, value: Json, name: str = "Comparison") -> Iterator[tuple[str, str, bool]]:
    """Optional members of all objects in `value`: the name of its type, its key, if it is there."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        yield from members(SCHEMA["$defs"][name], value, name)
    elif isinstance(value, list):
        for one in value:
            yield from members(schema.get("items", {}), one, name)
    elif isinstance(value, dict):
        for one in schema.get("anyOf", ()):
            yield from members(one, value, name)
        properties = schema.get("properties", {})
        for key in properties.keys() - set(schema.get("required", ())):
            yield name, key, key in value
        for key, one in value.items():
            yield from members(
                properties.get(key, schema.get("additionalProperties", {})), one, name
            )


def test_it_is_a_schema_that_says_what_it_is_of() -> None:
    assert meta.is_valid(SCHEMA)
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert SCHEMA["title"] == "A result of Penstock"


def test_every_object_is_closed_and_every_field_is_explained() -> None:
    for name, schema in {"Comparison": SCHEMA, **SCHEMA["$defs"]}.items():
        assert schema["description"], name
        for key, one in schema.get("properties", {}).items():
            assert one["description"], f"{name}.{key}"
        if "properties" in schema:
            assert schema["additionalProperties"] is False, name


def test_every_result_is_one_by_the_schema() -> None:
    for name, result in results().items():
        wrong = [f"{name}: {error.message}" for error in RESULT.iter_errors(result)]
        assert wrong == []


def test_what_is_left_out_at_times_is_there_at_times() -> None:
    found = {one for result in results().values() for one in members(SCHEMA, result)}
    every = {(name, key) for name, key, _ in found}
    assert {key for key in every if (*key, True) not in found} <= OF_THE_MACHINE
    assert {key for key in every if (*key, False) not in found} <= OF_THE_MACHINE
    optional = {
        (name, key)
        for name, schema in {"Comparison": SCHEMA, **SCHEMA["$defs"]}.items()
        for key in schema.get("properties", {}).keys() - set(schema.get("required", ()))
    }
    assert optional <= every, "no result has such an object"


@pytest.mark.parametrize(
    "change",
    [
        lambda result: result.update(more=1),
        lambda result: result["runs"][0].pop("schedule"),
        lambda result: result["runs"][0].update(round=None),
        lambda result: result["runs"][0]["classes"][0].update(requests=-1),
        lambda result: result["runs"][0]["params"].update(split=[1]),
        lambda result: result.update(world="real"),
    ],
)
def test_what_is_no_result_is_refused(change: Callable[[Json], object]) -> None:
    result = compared()
    assert RESULT.is_valid(result)
    change(result)
    assert not RESULT.is_valid(result)


@pytest.mark.parametrize("module", result_types.MODULES, ids=lambda module: module.name)
def test_the_types_in_python_are_of_this_schema(module: result_types.Module) -> None:
    assert module.file.read_text() == module.text(), "write it anew: make accept"


def test_the_detail_is_taken_out_and_nothing_else_changes() -> None:
    detailed, plain = (written(policies=["noop", "cfq"], detail=one) for one in (True, False))
    assert detailed != plain
    assert _native.without_detail(detailed) == plain
    assert _native.without_detail(plain) == plain
    with pytest.raises(_native.Failure, match="this is no result"):
        _native.without_detail("[]")
