"""Writes the types of what `--json` prints, in python/penstock/results, from the schemas.

For each schema a module of `TypedDict`s; for results also `typed.py`, the frozen dataclasses that
programs get. `make accept` calls it, and `test_result_schema.py` compares.
"""

import json
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from penstock import _native

Schema: TypeAlias = Mapping[str, Any]

FOLDER = Path(__file__).resolve().parents[1] / "python/penstock/results"

WIDTH = 100

PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


class Module(NamedTuple):
    """A module of types, made of a schema."""

    name: str
    text: Callable[[], str]
    """Returns the whole file."""

    @property
    def file(self) -> Path:
        """Where it is written."""
        return FOLDER / self.name


# The JSON as it is: a `TypedDict` for each object.

HEAD = '''\
"""{about} in JSON, as types. tools/result_types.py writes this file.

Fields are declared and explained in {where}.
Names follow fio's where fio has one; a key that may be left out is `NotRequired`.
"""

from typing import {used}
'''

TYPING = ("Literal", "NotRequired", "TypeAlias", "TypedDict")
"""Names of `typing` that types are made of."""


def json_types(kind: str, root: str, about: str, where: str) -> str:
    """The types of a schema: words and values, then parts after their own parts, `root` last."""
    schema, defined = _schema(kind)
    plain = {name: part for name, part in defined.items() if "properties" not in part}
    # A union may name what stands below it: it is text.
    aliases = sorted(plain, key=lambda name: "anyOf" not in plain[name])
    objects = {root: schema} | {name: part for name, part in defined.items() if name not in plain}
    # As text, each annotation would be compiled whenever a command starts.
    parts_of = {name: sorted(_targets(objects[name]) & objects.keys()) for name in objects}
    words = "\n".join(_alias(name, plain[name]) for name in aliases)
    order = TopologicalSorter(parts_of).static_order()
    parts = [_typed_dict(name, objects[name]) for name in order]
    text = "\n\n".join([f"\n{words}" if words else "", *parts])
    used = ", ".join(name for name in TYPING if name in text)
    return HEAD.format(about=about, where=where, used=used) + text


def _schema(kind: str) -> tuple[Schema, Mapping[str, Schema]]:
    """The schema of a kind, and the parts that it defines, by their names."""
    schema = json.loads(_native.schema(kind))
    return schema, schema["$defs"]


def _typed_dict(name: str, schema: Schema) -> str:
    first, _, rest = schema["description"].partition(". ")
    lines = [f"class {name}(TypedDict):", *_doc([first.rstrip(".") + ".", rest], "    "), ""]
    for key, member, required in _members(schema):
        kind = annotation(member) if required else f"NotRequired[{annotation(member)}]"
        lines += [f"    {key}: {kind}", *_doc([member["description"]], "    ")]
    return "\n".join(lines) + "\n"


def _members(schema: Schema) -> Iterator[tuple[str, Schema, bool]]:
    """The members of an object with their names; whether each is always there, those first."""
    required = schema["required"]
    for key in dict.fromkeys([*required, *schema["properties"]]):
        yield key, schema["properties"][key], key in required


def _alias(name: str, schema: Schema) -> str:
    kind = f'"{annotation(schema)}"' if "anyOf" in schema else annotation(schema)
    words = [f"`{value['const']}`: {value['description']}" for value in schema.get("oneOf", ())]
    about = " ".join([schema["description"], *words])
    return "\n".join([f"{name}: TypeAlias = {kind}", *_doc([about], "")]) + "\n"


def _doc(paragraphs: Sequence[str], indent: str) -> list[str]:
    """The lines of a docstring."""
    text = [paragraph for paragraph in paragraphs if paragraph]
    if len(text) == 1:
        return _wrapped(f'"""{text[0]}"""', indent)
    lines = [
        line
        for paragraph in (f'"""{text[0]}', *text[1:])
        for line in ("", *_wrapped(paragraph, indent))
    ]
    return [*lines[1:], f'{indent}"""']


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent)


def annotation(schema: Schema) -> str:
    """The type of a value of this schema, as JSON has it."""
    if "$ref" in schema:
        return _target(schema)
    if "oneOf" in schema:
        return f"Literal[{', '.join(json.dumps(value['const']) for value in schema['oneOf'])}]"
    if "anyOf" in schema:
        return " | ".join(map(annotation, schema["anyOf"]))
    kind = schema["type"]
    if isinstance(kind, list):
        return " | ".join(annotation({**schema, "type": type_}) for type_ in kind)
    if kind == "array" and "prefixItems" in schema:
        return f"tuple[{', '.join(map(annotation, schema['prefixItems']))}]"
    if kind == "array":
        return f"list[{annotation(schema['items'])}]"
    if kind == "object":
        return f"dict[str, {annotation(schema['additionalProperties'])}]"
    return PLAIN[kind]


def _target(schema: Schema) -> str:
    """The name of the part that a reference names."""
    return str(schema["$ref"].rpartition("/")[2])


def _targets(schema: object) -> set[str]:
    """The names of all parts that references in a schema name."""
    if isinstance(schema, Mapping):
        within = [_targets(value) for key, value in schema.items() if key != "$defs"]
        return {_target(schema)}.union(*within) if "$ref" in schema else set().union(*within)
    if isinstance(schema, list):
        return set().union(*map(_targets, schema))
    return set()


# Dataclasses: what programs get. Six things differ from the JSON; these tables have them all.

CLASSES = {
    "Class": "ClassResult",
    "File": "FileResult",
    "DeviceStats": "DiskStats",
    "EachDisk": "DiskStats",
}
"""Objects whose class has another name. `EachDisk` is `DeviceStats` for one disk."""

JOINED = {"DeviceStats": "EachDisk"}
"""Objects whose class has also the members of a second object, where those are there."""

LIFTED = {"Schedule": "held", "ErrorCount": "first"}
"""Objects in which the members of a member stand next to it, as `member_name`."""

BY_PERCENT = "percentile"
"""The member that dataclasses have as `percentiles`, by number."""

PERCENTILES = "The 50th, 95th, 99th and 99.9th by their percents."
"""Its documentation."""

GROUPED = {
    "Run": ("AgainstMeasured", "rms_ms", "rms_relative", "mean_ms", "measured_mean_ms"),
}
"""Members that are there or not together: one attribute has them, a class of its own."""

LEFT_OUT = {"Run": ("detail",)}
"""Members without attributes: frames and charts are made of the detail."""

MIXINS = {"Run": "ByClass", "Distribution": "Percentiles"}
"""Classes with methods, which results/mixins.py has."""

TYPED_HEAD = '''\
"""The result of a run, as frozen dataclasses. tools/result_types.py writes this file.

An attribute is the field of the same name in the JSON that `--json` prints. What the JSON omits or
has as null is None, false or empty.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from penstock.results.build import lifted, shaped
from penstock.results.json_types import Ended, Op, Value
from penstock.results.mixins import ByClass, Percentiles, against_measured, by_percent
'''


class Field(NamedTuple):
    """An attribute of a dataclass."""

    name: str
    kind: str
    about: str


class Dataclasses:
    """The dataclasses of results; each is written before those that have it as a part."""

    def __init__(self) -> None:
        """Write those of a run and of a machine, with all their parts."""
        _, self._defined = _schema("result")
        self._written: dict[str, str] = {}
        for name in ("Run", "Machine"):
            self._write(name)

    def __str__(self) -> str:
        """The whole file."""
        return "\n\n".join([TYPED_HEAD, *self._written.values()])

    def _write(self, name: str) -> None:
        """Add the class of an object."""
        class_name = CLASSES.get(name, name)
        schema = self._defined[name]
        fields = list(self._fields(name, schema))
        if name in JOINED:
            known = {field.name for field in fields}
            joined = self._defined[JOINED[name]]
            fields += [field for field in self._fields(name, joined) if field.name not in known]
        shapes = []
        if name in LIFTED:
            shapes.append(f'lifted("{LIFTED[name]}")')
        if BY_PERCENT in schema["properties"]:
            shapes.append("by_percent")
        if name in GROUPED:
            shapes.append("against_measured")
        bases = f"({MIXINS[name]})" if name in MIXINS else ""
        self._written[class_name] = _dataclass(
            class_name + bases, schema["description"], fields, shapes
        )

    def _fields(self, owner: str, schema: Schema) -> Iterator[Field]:
        """The attributes of an object, after the classes of its parts were written."""
        group, *together = GROUPED.get(owner, ("",))
        for key, member, required in _members(schema):
            about = member["description"]
            if key in LEFT_OUT.get(owner, ()) or key in together[1:]:
                continue
            if key in together:
                yield self._group(group, [(name, schema["properties"][name]) for name in together])
            elif key == LIFTED.get(owner):
                for field in self._fields("", self._defined[_target(member)]):
                    yield field._replace(name=f"{key}_{field.name}")
            elif key == BY_PERCENT:
                values = annotation(member["additionalProperties"])
                yield Field("percentiles", f"Mapping[float, {values}]", PERCENTILES)
            else:
                yield Field(key, self._kind(owner, member, required), about)

    def _group(self, name: str, members: Sequence[tuple[str, Schema]]) -> Field:
        """The attribute for members that are there together, whose class is written."""
        fields = [Field(key, annotation(member), member["description"]) for key, member in members]
        about = "How far a run is from response times that were measured on a drive."
        self._written[name] = _dataclass(name, about, fields, [])
        return Field(
            "against_measured", f"{name} | None", "None unless a trace has measured response times."
        )

    def _kind(self, owner: str, schema: Schema, required: bool) -> str:
        """The annotation of an attribute, for a member that may be left out unless `required`."""
        if "anyOf" in schema:
            (value,) = (choice for choice in schema["anyOf"] if choice != {"type": "null"})
            return self._kind(owner, value, required=False)
        if "$ref" in schema:
            target = _target(schema)
            if "properties" not in (part := self._defined[target]):
                known = self._kind(owner, part, True) if part.get("type") == "object" else target
            else:
                known = CLASSES.get(target, target)
                if known == CLASSES.get(owner, owner):
                    return "Self"
                if known not in self._written:
                    self._write(target)
            return known if required else f"{known} | None"
        match schema["type"]:
            case "array":
                return f"tuple[{self._kind(owner, schema['items'], required=True)}, ...]"
            case "object":
                values = self._kind(owner, schema["additionalProperties"], required=True)
                return f"Mapping[str, {values}]"
            case "boolean":
                return "bool"
            case kind:
                name = annotation(schema)
                return name if required or isinstance(kind, list) else f"{name} | None"


def _dataclass(head: str, about: str, fields: Sequence[Field], shapes: Sequence[str]) -> str:
    first, _, rest = about.partition(". ")
    lines = [
        *(f"@shaped({shape})" for shape in shapes),
        "@dataclass(frozen=True, kw_only=True)",
        f"class {head}:",
        *_doc([first.rstrip(".") + ".", rest], "    "),
        "",
    ]
    for field in fields:
        lines += [f"    {field.name}: {field.kind}", *_doc([field.about], "    ")]
    return "\n".join(lines) + "\n"


MODULES = (
    Module(
        "json_types.py",
        lambda: json_types("result", "Comparison", "Results", "crates/run/src/result"),
    ),
    Module(
        "merge_types.py",
        lambda: json_types("merge", "Merges", "Merges", "crates/run/src/merge/result.rs"),
    ),
    Module(
        "file_test_types.py",
        lambda: json_types(
            "file-test", "FileTest", "A test of files", "crates/run/src/result/passes.rs"
        ),
    ),
    Module("typed.py", lambda: str(Dataclasses())),
)


def main() -> None:
    """Write them."""
    for module in MODULES:
        module.file.write_text(module.text())


if __name__ == "__main__":
    main()
