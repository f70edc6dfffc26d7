//! The parts that schemas are made of.

use serde_json::{Map, Value, json};

/// A table of these properties and no other.
pub(crate) fn table<'a>(properties: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    let properties: Map<String, Value> =
        properties.into_iter().map(|(key, schema)| (key.to_owned(), schema)).collect();
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

/// `schema` with what it means, and its default.
pub(crate) fn described(mut schema: Value, meaning: &str, default: Option<Value>) -> Value {
    schema["description"] = meaning.into();
    if let Some(default) = default {
        schema["default"] = default;
    }
    schema
}

/// `schema` with the keys of `more` as well.
pub(crate) fn with(mut schema: Value, more: Value) -> Value {
    let (Value::Object(all), Value::Object(more)) = (&mut schema, more) else {
        unreachable!("schemas here are objects")
    };
    all.extend(more);
    schema
}

/// The definition of a device by its name or its file.
pub(crate) const NAMED_DEVICE: &str = "named-device";

/// What `$defs` has under this name.
pub(crate) fn defined(name: &str) -> Value {
    json!({"$ref": format!("#/$defs/{name}")})
}

/// A quantity where a word may stand instead: the first letter decides which of the two it is.
pub(crate) fn from_digit(name: &str) -> Value {
    with(defined(name), json!({"pattern": "^[0-9]"}))
}

/// A text that is not empty.
pub(crate) fn text() -> Value {
    json!({"type": "string", "minLength": 1})
}

/// A text that this expression describes.
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

/// One of these words.
pub(crate) fn words<'a>(words: impl IntoIterator<Item = &'a str>) -> Value {
    json!({"enum": words.into_iter().collect::<Vec<_>>()})
}

/// What fits one of these.
pub(crate) fn any(schemas: impl Into<Vec<Value>>) -> Value {
    json!({"anyOf": schemas.into()})
}

/// What fits all of these.
pub(crate) fn all(schemas: impl Into<Vec<Value>>) -> Value {
    json!({"allOf": schemas.into()})
}

/// A list of these.
pub(crate) fn list(item: &Value) -> Value {
    json!({"type": "array", "items": item})
}

/// A list of these that is not empty.
pub(crate) fn some(item: &Value) -> Value {
    with(list(item), json!({"minItems": 1}))
}

/// Two values.
pub(crate) fn pair(item: &Value) -> Value {
    json!({"type": "array", "items": item, "minItems": 2, "maxItems": 2})
}

/// A table of which one key is given.
pub(crate) fn one_of(table: Value) -> Value {
    with(table, json!({"minProperties": 1, "maxProperties": 1}))
}
