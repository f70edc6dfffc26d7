"""Writes the types of what `--json` prints, in python/penstock/results, from the schemas.

`make accept` calls it, and `test_result_schema.py` compares.
"""

import json
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from command import ROOT
from penstock import _native

Schema: TypeAlias = Mapping[str, Any]

FOLDER = ROOT / "python/penstock/results"

WIDTH = 100

HEAD = '''\
"""{about} in JSON, as types. tests/python/result_types.py writes this file.

Fields are declared and explained in {where}.
Names follow fio's where fio has one; a key that may be left out is `NotRequired`.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict
'''


class Module(NamedTuple):
    """A module of types, made of a schema."""

    name: str
    schema: str
    """The kind of the schema."""
    root: str
    """What the whole is called."""
    about: str
    where: str

    @property
    def file(self) -> Path:
        """Where it is written."""
        return FOLDER / self.name


MODULES = (
    Module("json_types.py", "result", "Comparison", "Results", "crates/run/src/result"),
    Module("merge_types.py", "merge", "Merges", "Merges", "crates/run/src/merge/result.rs"),
)

PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def written(module: Module) -> str:
    """The whole file: words and values, then the result itself and what it is made of."""
    schema = json.loads(_native.schema(module.schema))
    defined = schema["$defs"]
    plain = {name: one for name, one in defined.items() if "properties" not in one}
    # A union may name what stands below it: it is text.
    aliases = sorted(plain, key=lambda name: "anyOf" not in plain[name])
    objects = {module.root: schema} | {
        name: one for name, one in defined.items() if name not in plain
    }
    return "\n\n".join(
        [
            HEAD.format(about=module.about, where=module.where)
            + "\n"
            + "\n".join(_alias(name, plain[name]) for name in aliases),
            *(_class(name, one) for name, one in objects.items()),
        ]
    )


def _class(name: str, schema: Schema) -> str:
    first, _, rest = schema["description"].partition(". ")
    lines = [f"class {name}(TypedDict):", *_doc([first.rstrip(".") + ".", rest], "    "), ""]
    required = schema["required"]
    for key in dict.fromkeys([*required, *schema["properties"]]):
        one = schema["properties"][key]
        kind = annotation(one) if key in required else f"NotRequired[{annotation(one)}]"
        lines += [f"    {key}: {kind}", *_doc([one["description"]], "    ")]
    return "\n".join(lines) + "\n"


def _alias(name: str, schema: Schema) -> str:
    kind = f'"{annotation(schema)}"' if "anyOf" in schema else annotation(schema)
    words = [f"`{one['const']}`: {one['description']}" for one in schema.get("oneOf", ())]
    about = " ".join([schema["description"], *words])
    return "\n".join([f"{name}: TypeAlias = {kind}", *_doc([about], "")]) + "\n"


def _doc(parts: Sequence[str], indent: str) -> list[str]:
    """A docstring of these paragraphs."""
    text = [one for one in parts if one]
    if len(text) == 1:
        return _wrapped(f'"""{text[0]}"""', indent)
    paragraphs = [
        line for one in (f'"""{text[0]}', *text[1:]) for line in ("", *_wrapped(one, indent))
    ]
    return [*paragraphs[1:], f'{indent}"""']


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent)


def annotation(schema: Schema) -> str:
    """What may stand there."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "oneOf" in schema:
        return f"Literal[{', '.join(json.dumps(one['const']) for one in schema['oneOf'])}]"
    if "anyOf" in schema:
        return " | ".join(map(annotation, schema["anyOf"]))
    kind = schema["type"]
    if isinstance(kind, list):
        return " | ".join(annotation({**schema, "type": one}) for one in kind)
    if kind == "array" and "prefixItems" in schema:
        return f"tuple[{', '.join(map(annotation, schema['prefixItems']))}]"
    if kind == "array":
        return f"list[{annotation(schema['items'])}]"
    if kind == "object":
        return f"dict[str, {annotation(schema['additionalProperties'])}]"
    return PLAIN[kind]


def main() -> None:
    """Write them."""
    for module in MODULES:
        module.file.write_text(written(module))


if __name__ == "__main__":
    main()
