//! Describes values in JSON Schemas: builds the parts of schemas.

use serde_json::{Map, Value, json};

/// A table with these properties and no others.
pub(crate) fn table<'a>(properties: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    let properties: Map<String, Value> =
        properties.into_iter().map(|(key, schema)| (key.to_owned(), schema)).collect();
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

/// Adds the description and the default to `schema`.
pub(crate) fn described(mut schema: Value, meaning: &str, default: Option<Value>) -> Value {
    schema["description"] = meaning.into();
    if let Some(default) = default {
        schema["default"] = default;
    }
    schema
}

/// Adds the keys of `more` to `schema`.
pub(crate) fn with(mut schema: Value, more: Value) -> Value {
    let (Value::Object(all), Value::Object(more)) = (&mut schema, more) else {
        unreachable!("schemas here are objects")
    };
    all.extend(more);
    schema
}

/// Name of the definition of a device that is given by name or file.
pub(crate) const NAMED_DEVICE: &str = "named-device";

/// Refers to the definition with this name in `$defs`.
pub(crate) fn defined(name: &str) -> Value {
    json!({"$ref": format!("#/$defs/{name}")})
}

/// A quantity where a word is allowed too: the first letter distinguishes them.
pub(crate) fn from_digit(name: &str) -> Value {
    with(defined(name), json!({"pattern": "^[0-9]"}))
}

/// A text that is not empty.
pub(crate) fn text() -> Value {
    json!({"type": "string", "minLength": 1})
}

/// A text that matches this expression.
pub(crate) fn matching(expression: &str) -> Value {
    json!({"type": "string", "pattern": expression})
}

/// A whole number between two bounds.
pub(crate) fn count(least: u64, most: u64) -> Value {
    json!({"type": "integer", "minimum": least, "maximum": most})
}

/// True or false.
pub(crate) fn switch() -> Value {
    json!({"type": "boolean"})
}

/// A choice between these words.
pub(crate) fn words<'a>(words: impl IntoIterator<Item = &'a str>) -> Value {
    json!({"enum": words.into_iter().collect::<Vec<_>>()})
}

/// A value that matches one of these schemas.
pub(crate) fn any(schemas: impl Into<Vec<Value>>) -> Value {
    json!({"anyOf": schemas.into()})
}

/// A value that matches all of these schemas.
pub(crate) fn all(schemas: impl Into<Vec<Value>>) -> Value {
    json!({"allOf": schemas.into()})
}

/// A list of items with this schema.
pub(crate) fn list(item: &Value) -> Value {
    json!({"type": "array", "items": item})
}

/// A list of at least one item with this schema.
pub(crate) fn some(item: &Value) -> Value {
    with(list(item), json!({"minItems": 1}))
}

/// A list of two items with this schema.
pub(crate) fn pair(item: &Value) -> Value {
    json!({"type": "array", "items": item, "minItems": 2, "maxItems": 2})
}

/// A table of which exactly one key is given.
pub(crate) fn one_of(table: Value) -> Value {
    with(table, json!({"minProperties": 1, "maxProperties": 1}))
}
