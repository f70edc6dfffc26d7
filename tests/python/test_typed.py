"""The dataclasses of results have all that the schema of results has, with the same types.

A result is made of the schema in which every leaf knows what it is. Where it arrives in the
dataclasses, the annotation is compared with the schema.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Self, TypeAlias, Union, get_args, get_origin

import pytest

import penstock
from penstock import _native
from penstock.results import json_types
from penstock.results.build import build

Json: TypeAlias = Any
Hint: TypeAlias = Any

SCHEMA = json.loads(_native.schema("result"))

ELSEWHERE = {
    "runs[].detail": "frames and charts are made of it, `Comparison.raw` has it",
    "verdict": "`Comparison.judged` has it, of any baseline",
}
"""What of the schema the dataclasses do not have, and why."""

NULL = {"type": "null"}

PLAIN = {"string": str, "integer": int, "number": float, "boolean": bool}


TOGETHER = {f"runs[].{field.name}" for field in fields(penstock.AgainstMeasured)}
"""What is there or not together: one attribute, which may be None, has them all."""


@dataclass(frozen=True, eq=False)
class Leaf:
    """A value of the schema that is made of no others."""

    path: str
    schema: Json
    optional: bool
    """It may be left out, or be null."""


def whole(schema: Json, path: str = "", optional: bool = False) -> Json:
    """A result with everything that the schema has, a leaf for each value."""
    if path in ELSEWHERE:
        return None
    if "$ref" in schema:
        return whole(SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]], path, optional)
    if NULL in schema.get("anyOf", ()):
        (one,) = (one for one in schema["anyOf"] if one != NULL)
        return whole(one, path, optional=True)
    if "properties" in schema:
        at = f"{path}." if path else ""
        return {
            key: whole(one, f"{at}{key}", key not in schema["required"])
            for key, one in schema["properties"].items()
        }
    if schema.get("type") == "array":
        return [whole(schema["items"], f"{path}[]")]
    if schema.get("type") == "object":
        key = "50.000000" if path.endswith("percentile") else "key"
        return {key: whole(schema["additionalProperties"], f"{path}{{}}")}
    return Leaf(path, schema, optional or "null" in schema.get("type", ()))


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
        return {"50.000000": 1}
    kind = schema["type"]
    return (
        [least(schema["items"])]
        if kind == "array"
        else {"object": {}, "string": "", "boolean": True}.get(kind, 1)
    )


def arrived(hint: Hint, value: Json, of: type) -> Iterator[tuple[Leaf, Hint]]:
    """Each leaf below an attribute of `of`, with the annotation of where it is."""
    if isinstance(value, Leaf):
        yield value, hint
        return
    hint = of if hint is Self else hint
    inner = [one for one in get_args(hint) if one is not NoneType]
    origin: Hint = get_origin(hint)
    if origin in (Union, UnionType) and len(inner) == 1:
        yield from arrived(inner[0], value, of)
    elif isinstance(value, tuple):
        for one in value:
            yield from arrived(inner[0], one, of)
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from arrived(inner[1], one, of)
    elif is_dataclass(value):
        for field in fields(value):
            yield from arrived(field.type, getattr(value, field.name), type(value))


def leaves(value: Json) -> Iterator[Leaf]:
    """Every leaf of a result."""
    if isinstance(value, Leaf):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from leaves(one)


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


def annotation(schema: Json) -> set[Hint]:
    """What may stand in an annotation of a leaf, none left out."""
    if "anyOf" in schema:
        return {json_types.Value}
    if "oneOf" in schema:
        return {Literal[tuple(one["const"] for one in schema["oneOf"])]}
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return {PLAIN[kind] for kind in kinds if kind != "null"}


def found() -> tuple[dict[Leaf, Hint], list[str]]:
    """Each leaf of the schema with its annotation, and the paths of those that no class has."""
    result = whole(SCHEMA)
    built = build(penstock.Comparison, {**result, "json": ""})
    hints = dict(arrived(penstock.Comparison, built, NoneType))
    return hints, [leaf.path for leaf in leaves(result) if leaf not in hints]


def test_everything_of_the_schema_is_in_the_dataclasses_with_its_type() -> None:
    hints, missing = found()
    assert missing == []
    for leaf, hint in hints.items():
        origin: Hint = get_origin(hint)
        parts = set(get_args(hint)) if origin in (Union, UnionType) else {hint}
        assert parts - {NoneType} == annotation(leaf.schema), leaf.path
        # False may stand for what is left out.
        may_lack = NoneType in parts or leaf.path in TOGETHER or (hint is bool and leaf.optional)
        assert may_lack == leaf.optional, leaf.path


@pytest.mark.parametrize("of", ["Run", "Class", "Held", "EachDisk", "Machine"])
def test_a_field_that_only_the_schema_has_is_missed(
    monkeypatch: pytest.MonkeyPatch, of: str
) -> None:
    monkeypatch.setitem(SCHEMA["$defs"][of]["properties"], "more", {"type": "integer"})
    _, missing = found()
    assert missing
    assert all(path.endswith(".more") for path in missing)


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
