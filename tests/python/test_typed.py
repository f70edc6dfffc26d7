"""The dataclasses of results: what the JSON omits, and what they have besides its fields."""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import NoneType
from typing import Any, Literal, Self, TypeAlias, get_args, get_origin

import pytest

import penstock
import result_types
from penstock import _native
from penstock.results import json_types
from penstock.results.build import build

Json: TypeAlias = Any
Hint: TypeAlias = Any

SCHEMA = json.loads(_native.schema("result"))

NULL = {"type": "null"}


def least(schema: Json, path: str = "") -> Json:
    """A result with nothing that may be left out, and null where that may stand."""
    if "$ref" in schema:
        return least(SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], path)
    if NULL in schema.get("anyOf", ()) or "null" in schema.get("type", ()):
        return None
    if "properties" in schema:
        return {key: least(schema["properties"][key], key) for key in schema["required"]}
    if "oneOf" in schema:
        return schema["oneOf"][0]["const"]
    if path == "percentile":
        return {f"{percent:.6f}": 1 for percent in (50, 95, 99, 99.9)}
    kind = schema["type"]
    return (
        [least(schema["items"])]
        if kind == "array"
        else {"object": {}, "string": "", "boolean": True}.get(kind, 1)
    )


def fits(hint: Hint, value: object, of: type) -> bool:
    """Whether a value is what an annotation in `of` says."""
    hint = of if hint is Self else hint
    origin: Hint = get_origin(hint)
    inner = get_args(hint)
    if isinstance(hint, type) and is_dataclass(hint):
        return isinstance(value, hint) and all(
            fits(field.type, getattr(value, field.name), hint) for field in fields(hint)
        )
    if origin is None:
        return hint == json_types.Value or isinstance(
            value, (int, float) if hint is float else hint
        )
    if origin is Literal:
        return value in inner
    if isinstance(value, tuple):
        return origin is tuple and all(fits(inner[0], one, of) for one in value)
    if isinstance(value, Mapping):
        return origin is Mapping and all(fits(inner[1], one, of) for one in value.values())
    return any(fits(one, value, of) for one in inner)


def test_what_is_left_out_is_what_the_annotations_allow() -> None:
    result = build(penstock.Comparison, {**least(SCHEMA), "json": ""})
    assert fits(penstock.Comparison, result, NoneType)
    (run,) = result.runs
    assert (run.round, run.ended, run.schedule, run.device_stats) == (None, None, None, None)
    assert (run.interrupted, run.remarks, run.policy_stats) == (False, (), {})
    assert run.against_measured is None


def test_what_is_always_there_may_not_be_missing() -> None:
    result = least(SCHEMA)
    del result["runs"][0]["device_busy"]
    with pytest.raises(KeyError, match="device_busy"):
        penstock.Comparison.from_json(json.dumps(result))


def test_classes_and_percentiles_have_names() -> None:
    result = least(SCHEMA)
    (run,) = result["runs"]
    run["classes"][0]["name"] = "tellers"
    run["classes"][0]["lat_ns"]["percentile"]["99.000000"] = 7
    built = penstock.Comparison.from_json(json.dumps(result)).runs[0]
    assert (built["tellers"].lat_ns.p50, built["tellers"].lat_ns.p99) == (1, 7)
    with pytest.raises(KeyError, match="batch"):
        built["batch"]


def test_what_a_trace_with_measured_times_adds_is_one_attribute() -> None:
    result = least(SCHEMA)
    figures = {"rms_ms": 1.0, "rms_relative": 2.0, "mean_ms": 3.0, "measured_mean_ms": 4.0}
    result["runs"][0].update(figures)
    built = penstock.Comparison.from_json(json.dumps(result)).runs[0].against_measured
    assert built is not None
    assert {field.name: getattr(built, field.name) for field in fields(built)} == figures


def test_a_comparison_has_the_members_of_the_schema() -> None:
    known = {field.name for field in fields(penstock.Comparison)}
    lifted = {f"job_{key}" for key in SCHEMA["$defs"]["Job"]["properties"]}
    # `Comparison.judged` has the verdict, of any baseline.
    assert known == (SCHEMA["properties"].keys() - {"job", "verdict"}) | lifted | {"json"}


def test_a_new_field_of_the_schema_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    for part in ("Run", "Class", "Held", "EachDisk", "Machine"):
        changed = json.loads(json.dumps(SCHEMA))
        more = {"type": "integer", "description": "One more."}
        changed["$defs"][part]["properties"]["more"] = more
        monkeypatch.setattr(result_types, "_schema", lambda _, one=changed: (one, one["$defs"]))
        assert "more: int | None" in str(result_types.Dataclasses()), part
