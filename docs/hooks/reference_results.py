"""Pages of what results hold: read from their JSON Schemas."""

from collections.abc import Iterator, Mapping

from markdown_parts import cell, code, page, sentence, table
from reference_keys import Schema, value


def results_page(schema: Schema) -> str:
    """Every field of a result, a section for each kind of object in it."""
    return page(
        "# Result fields",
        "`penstock run`, `penstock compare` and `penstock replay` print one JSON object with "
        "`--json`. In Python these are the attributes of a `penstock.Comparison`.",
        "`penstock schema result` prints the schema that this page is made of. How figures are "
        "measured is in the [glossary](glossary.md).",
        *_sections(schema),
    )


def merges_page(schema: Schema) -> str:
    """Every key of the results of merges of files."""
    return page(
        "# Fields of merges of files",
        "`penstock merge` prints one JSON object with `--json`. `merge` in the [result of a "
        "job](result-fields.md) is of simulated merges.",
        "`penstock schema merge` prints the schema that this page is made of.",
        *_sections(schema),
    )


def file_tests_page(schema: Schema) -> str:
    """Every key of a test of files."""
    return page(
        "# Fields of tests of files",
        "`penstock iozone` prints one JSON object with `--json`, which has such an object for each "
        "test.",
        "`penstock schema file-test` prints the schema that this page is made of.",
        *_sections(schema),
    )


def _sections(schema: Schema) -> Iterator[str]:
    """The fields of the result itself, and a section for each kind of object in it."""
    defined: Mapping[str, Schema] = schema["$defs"]
    yield "## The result itself"
    yield _fields(schema)
    yield from (_section(name, defined[name]) for name in _in_order(schema, defined))


def _in_order(schema: Schema, defined: Mapping[str, Schema]) -> Iterator[str]:
    """The parts of a result, each below the one that has it first."""
    names = dict.fromkeys(_named(schema))
    yielded: set[str] = set()
    while rest := [name for name in names if name not in yielded]:
        yielded.add(rest[0])
        yield rest[0]
        inner = dict.fromkeys(_named(defined[rest[0]]))
        names = {**inner, **names}


def _named(schema: object) -> Iterator[str]:
    """The definitions that a schema refers to."""
    if isinstance(schema, Mapping):
        if "$ref" in schema:
            yield schema["$ref"].rpartition("/")[2]
        for key, member in schema.items():
            if key != "$defs":
                yield from _named(member)
    elif isinstance(schema, list):
        for member in schema:
            yield from _named(member)


def _section(name: str, schema: Schema) -> str:
    if "properties" in schema:
        return page(f"## {name}", schema["description"], _fields(schema))
    words = [(code(word["const"]), cell(word["description"])) for word in schema.get("oneOf", ())]
    text = table(("value", "meaning"), words) or sentence(value(schema))
    return page(f"## {name}", schema["description"], text)


def _fields(schema: Schema) -> str:
    """The fields of an object: those that are always there first."""
    required, properties = schema["required"], schema["properties"]
    rows = (
        (
            code(key),
            cell(value(properties[key])),
            "" if key in required else "may be",
            cell(properties[key]["description"]),
        )
        for key in dict.fromkeys([*required, *properties])
    )
    return table(("field", "value", "left out", "meaning"), rows)
