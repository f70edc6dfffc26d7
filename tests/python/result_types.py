"""Writes python/penstock/results/json_types.py, the types of results, from their schema.

`make accept` calls it, and `test_result_schema.py` compares.
"""

import json
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from command import ROOT
from penstock import _native

Schema: TypeAlias = Mapping[str, Any]

FILE = ROOT / "python/penstock/results/json_types.py"

WIDTH = 100

HEAD = '''\
"""Results in JSON, as types. tests/python/result_types.py writes this file: change it there.

Fields are declared and explained in crates/run/src/result.rs. Names follow fio's where fio has one;
a key that may be left out is `NotRequired`.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypeAlias, TypedDict
'''

PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def module(schema: Schema) -> str:
    """The whole file: the result itself, and what it is made of."""
    types = {"Comparison": schema, **schema["$defs"]}
    written = [_class(name, one) if "properties" in one else _alias(name, one)
               for name, one in types.items()]
    return "\n\n".join([HEAD, *written])


def _class(name: str, schema: Schema) -> str:
    first, _, rest = schema["description"].partition(". ")
    lines = [f"class {name}(TypedDict):", *_doc([first.rstrip(".") + ".", rest], "    "), ""]
    for key, one in schema["properties"].items():
        kind = annotation(one)
        if key not in schema.get("required", ()):
            kind = f"NotRequired[{kind}]"
        lines += [f"    {key}: {kind}", *_doc([one.get("description", "")], "    ")]
    return "\n".join(lines) + "\n"


def _alias(name: str, schema: Schema) -> str:
    kind = annotation(schema)
    # Types may be made of one another, so names of others are not looked up where this stands.
    kind = kind if kind.startswith("Literal[") else f'"{kind}"'
    words = [f"`{one['const']}`: {one['description']}" for one in schema.get("oneOf", ())]
    about = " ".join([schema["description"], *words])
    return "\n".join([f"{name}: TypeAlias = {kind}", *_doc([about], "")]) + "\n"


def _doc(parts: Sequence[str], indent: str) -> list[str]:
    """A docstring of these paragraphs; nothing without text."""
    text = [one for one in parts if one]
    if not text:
        return []
    whole = f'{indent}"""{text[0]}"""'
    if len(text) == 1 and len(whole) <= WIDTH:
        return [whole]
    wrapped = [
        textwrap.wrap(one, WIDTH, initial_indent=indent, subsequent_indent=indent)
        for one in (f'"""{text[0]}', *text[1:])
    ]
    paragraphs = [line for lines in wrapped for line in ("", *lines)]
    return [*paragraphs[1:], f'{indent}"""']


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
    """Write the file."""
    FILE.write_text(module(json.loads(_native.schema("result"))))


if __name__ == "__main__":
    main()
