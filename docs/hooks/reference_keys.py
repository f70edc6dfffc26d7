"""The pages of what jobs, devices, machines and studies hold: read from their JSON Schemas."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markdown_parts import cell, code, page, sentence, table

Schema = Mapping[str, Any]

PLAIN = {
    "object": "table",
    "boolean": "`true`, `false`",
    "string": "text",
    "null": "`null`",
}
"""What values without bounds are called."""

HEADINGS = ("key", "value", "default", "meaning")

UNITS = """\
| value | written | units |
|---|---|---|
| a size | `4KiB`, `1MB` | `B`; `kB`, `MB`, `GB`, `TB`, each 1,000 of the one before; `KiB`, `MiB`, `GiB`, `TiB`, each 1,024 |
| a time | `0.5ms`, `10min` | `ns`, `us` (or `µs`), `ms`, `s`, `min`, `h`, `d` |
| a rate | `20/s` | `/us`, `/ms`, `/s`, `/min`, `/h` |
| a transfer rate | `200MB/s` | a size, from `kB` to `GB` or `KiB` to `GiB`, `/s` |
| a share | `10%` | `%`, from 0 to 100 |
"""  # noqa: E501

KINDS = {
    "size": "size",
    "size-above-zero": "size above zero",
    "time": "time",
    "time-above-zero": "time above zero",
    "rate-above-zero": "rate above zero",
    "transfer-rate": "transfer rate",
    "share": "share",
    "share-above-zero": "share above zero",
    "device": "table of [device keys](device-keys.md)",
    "named-device": "a device, or the path of a device file",
}
"""How the definitions of a schema are called."""

PATTERNS = {
    "[^/]\\.toml$": "the path of a device file",
    "^done:.": '`"done:CLASS"`',
    "^[A-Za-z][A-Za-z0-9_-]*$": "a name",
}
"""What texts that fit a pattern are."""


def job_page(schema: Schema) -> str:
    """Every key of a job file, a section for each table."""
    common = {key: member for key, member in schema["properties"].items() if key != "policy"}
    return page(
        "# Job keys",
        "A job is a TOML file. Any key can be changed on the command line: `--set duration=15s`, "
        "`--set agent.0.rate=40/s` (the number counts from 0).",
        "`penstock schema job` prints the schema that this page is made of. An editor that knows "
        "TOML completes and checks a job whose first line names it: `#:schema ./job.schema.json`.",
        "Parameters of policies stand in a table for each policy, `[policy.size-priority]`, and on "
        "the command line as `--set size-priority.split=64KiB`: see [policies](policies.md).",
        "## Units",
        "Every quantity is a text with a unit. A bare number is refused.",
        UNITS,
        "## The job itself",
        table(HEADINGS, _rows(common, schema.get("required", ()))),
        *_sections(common),
    )


def device_page(schema: Schema) -> str:
    """Every key of a device, by model."""
    defined = schema["$defs"]["device"]
    models: Sequence[str] = defined["properties"]["model"]["enum"]
    properties: Mapping[str, Schema] = defined["properties"]
    lacks = {model: set(_refused(defined, model)) for model in models}
    shared = {key for key in properties if not any(key in lacks[model] for model in models)}
    required = defined.get("required", ())
    parts = ["## Every model", table(HEADINGS, _rows(_only(properties, shared), required))]
    for model in models:
        held = {key for key in properties if key not in lacks[model]} - shared
        meant = {**_only(properties, held), **dict(_meant(defined, model))}
        rows = _rows(meant, list(_required(defined, model)))
        parts += [f'## `model = "{model}"`', table(HEADINGS, rows)]
    return page(
        "# Device keys",
        "A device is a name (`penstock list devices`), a TOML file with a table `[device]`, or "
        "that table in a job. [Units](job-keys.md#units) are those of jobs.",
        "`penstock schema device` prints the schema that this page is made of.",
        *parts,
        *_sections(properties, "device."),
    )


def machine_page(schema: Schema) -> str:
    """Every key of a machine."""
    machine: Schema = schema["properties"]["machine"]
    properties: Mapping[str, Schema] = machine["properties"]
    return page(
        "# Machine keys",
        "A machine is a name (`penstock list devices`) or a TOML file with a table `[machine]`. It "
        "stands where a job with files names its device. [Units](job-keys.md#units) are those of "
        "jobs.",
        "`penstock schema machine` prints the schema that this page is made of.",
        "## The machine itself",
        table(HEADINGS, _rows(properties, machine.get("required", ()))),
        *_sections(properties, "machine."),
    )


def study_page(schema: Schema) -> str:
    """Every key of a study."""
    properties: Mapping[str, Schema] = schema["properties"]
    study = properties["study"]
    factor: Schema = properties["factor"]["additionalProperties"]
    return page(
        "# Study keys",
        "A study is a TOML file with a table `[study]` and a table `[factor.NAME]` for each "
        "factor: [Run a study](../how-to/study.md).",
        "`penstock schema study` prints the schema that this page is made of.",
        "## [study]",
        table(HEADINGS, _rows(study["properties"], study.get("required", ()))),
        "## [factor.NAME]",
        table(HEADINGS, _rows(factor["properties"], factor.get("required", ()))),
    )


def _only(properties: Mapping[str, Schema], keys: set[str]) -> dict[str, Schema]:
    return {key: member for key, member in properties.items() if key in keys}


def _refused(device: Schema, model: str) -> Iterator[str]:
    """Keys that a device of this model may not have."""
    for part in _rules(device, model):
        yield from (key for key, member in part.get("properties", {}).items() if member is False)


def _meant(device: Schema, model: str) -> Iterator[tuple[str, Schema]]:
    """Keys that mean something else in a device of another model."""
    for part in _rules(device, model):
        for key, member in part.get("properties", {}).items():
            if isinstance(member, Mapping) and "description" in member:
                yield key, member


def _required(device: Schema, model: str) -> Iterator[str]:
    """Keys that a device of this model must have, whatever else it has."""
    for part in _rules(device, model):
        yield from part.get("required", ())


def _rules(device: Schema, model: str) -> Iterator[Schema]:
    """The parts of the schema that hold for this model alone."""
    for rule in device.get("allOf", ()):
        if rule.get("if", {}).get("properties", {}).get("model", {}).get("const") == model:
            then = rule["then"]
            yield from (then, *then.get("allOf", ()))


def _rows(properties: Mapping[str, Schema], required: Sequence[str] = ()) -> Iterator[list[str]]:
    for key, member in properties.items():
        default = "required" if key in required else ""
        if "default" in member:
            default = code(_written(member["default"]))
        meaning = cell(sentence(member.get("description", "")))
        yield [code(key), cell(value(member)), default, meaning]


def _written(value: object) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, Sequence):
        return f"[{', '.join(_written(item) for item in value)}]"
    return str(value)


def value(schema: Schema) -> str:
    """The values that a key takes, in words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return KINDS.get(name, f"[{name}](#{name.lower()})")
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(value(choice) for choice in schema["anyOf"]))
    if "enum" in schema:
        return ", ".join(f"`{_written(word)}`" for word in schema["enum"])
    kind = schema.get("type")
    if isinstance(kind, list):
        return " or ".join(value({**schema, "type": type_}) for type_ in kind)
    if kind == "array" and "prefixItems" in schema:
        return f"list of {len(schema['prefixItems'])}"
    if kind == "array":
        return f"list, each a {value(schema['items'])}" if "items" in schema else "list"
    if kind in ("integer", "number"):
        return _number(schema)
    if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return f"by name, each a {value(schema['additionalProperties'])}"
    if kind == "string" and "pattern" in schema:
        pattern = schema["pattern"]
        return PATTERNS.get(pattern, f"text that fits `{pattern}`")
    return PLAIN.get(str(kind), "any value")


def _number(schema: Schema) -> str:
    name = "whole number" if schema["type"] == "integer" else "number"
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None and most is not None:
        return f"{name}, {least:,} to {most:,}"
    return name if least is None else f"{name}, {least:,} or more"


def _sections(properties: Mapping[str, Schema], above: str = "") -> Iterator[str]:
    """A section for each table below, and for the tables in it."""
    for key, member in properties.items():
        repeated = member.get("type") == "array"
        for schema in _tables(member):
            inner: dict[str, Schema] = dict(schema.get("properties", {}))
            path = f"{above}{key}"
            for named in schema.get("patternProperties", {}).values():
                inner, path = dict(named.get("properties", {})), f"{path}.NAME"
            if not inner:
                continue
            heading = f"[[{path}]]" if repeated and not above else f"[{path}]"
            yield page(
                f"{'#' * min(above.count('.') + 2, 4)} `{heading}`",
                sentence(member.get("description", "")),
                table(HEADINGS, _rows(inner, schema.get("required", ()))),
            )
            yield from _sections(inner, f"{path}.")


def _tables(schema: Schema) -> list[Schema]:
    """The tables that may stand there: one, or all that a word in them tells apart, as one."""
    if schema.get("type") == "array":
        return _tables(schema.get("items", {}))
    if schema.get("type") == "object":
        return [schema]
    objects = [choice for choice in schema.get("anyOf", ()) if choice.get("type") == "object"]
    return [_merged(objects)] if objects else []


def _merged(tables: Sequence[Schema]) -> Schema:
    """The keys that all of these have; a key with one word in each has all these words."""
    first = tables[0]
    if len(tables) == 1:
        return first
    properties: dict[str, Schema] = {}
    for key, member in first["properties"].items():
        if all(key in part["properties"] for part in tables):
            words = [part["properties"][key].get("const") for part in tables]
            merged = {name: value for name, value in member.items() if name != "const"}
            properties[key] = {**merged, "enum": words} if None not in words else member
    return {"properties": properties, "required": first.get("required", ())}
