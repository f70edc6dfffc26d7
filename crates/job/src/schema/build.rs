//! The parts that schemas are made of.

use serde_json::{Map, Value, json};

/// A key of a table.
pub(super) struct Field {
    key: &'static str,
    schema: Value,
}

/// The key `key`, which means `doc` and holds what `schema` says.
pub(super) fn field(key: &'static str, doc: impl Into<String>, mut schema: Value) -> Field {
    schema["description"] = Value::String(doc.into());
    Field { key, schema }
}

impl Field {
    /// What it is when nobody says.
    pub(super) fn or(mut self, default: impl Into<Value>) -> Self {
        self.schema["default"] = default.into();
        self
    }
}

/// A table with these keys and no other; `keys` are those that the parser knows.
pub(super) fn table<'a>(keys: impl IntoIterator<Item = &'a str>, fields: Vec<Field>) -> Value {
    let declared: Vec<&str> = fields.iter().map(|field| field.key).collect();
    let known: Vec<&str> = keys.into_iter().collect();
    assert_eq!(declared, known, "the schema has the parser's keys");
    let properties: Map<String, Value> =
        fields.into_iter().map(|field| (field.key.to_owned(), field.schema)).collect();
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

/// `schema` with the keys of `more` as well.
pub(super) fn with(mut schema: Value, more: Value) -> Value {
    let (Value::Object(all), Value::Object(more)) = (&mut schema, more) else {
        unreachable!("schemas here are objects")
    };
    all.extend(more);
    schema
}

/// What `$defs` has under this name.
pub(super) fn defined(name: &str) -> Value {
    json!({"$ref": format!("#/$defs/{name}")})
}

/// A quantity where a word may stand instead: the reader tells the two by the first letter.
pub(super) fn from_digit(name: &str) -> Value {
    with(defined(name), json!({"pattern": "^[0-9]"}))
}

/// A text that is not empty.
pub(super) fn text() -> Value {
    json!({"type": "string", "minLength": 1})
}

/// A whole number between two bounds.
pub(super) fn count(least: u64, most: u64) -> Value {
    json!({"type": "integer", "minimum": least, "maximum": most})
}

/// True or false.
pub(super) fn switch() -> Value {
    json!({"type": "boolean"})
}

/// One of these words.
pub(super) fn words<'a>(words: impl IntoIterator<Item = &'a str>) -> Value {
    json!({"enum": words.into_iter().collect::<Vec<_>>()})
}

/// What fits one of these.
pub(super) fn any(schemas: impl Into<Vec<Value>>) -> Value {
    json!({"anyOf": schemas.into()})
}

/// A list of these.
pub(super) fn list(item: &Value) -> Value {
    json!({"type": "array", "items": item})
}

/// One value, or a list of them.
pub(super) fn each(item: Value) -> Value {
    let list = list(&item);
    any([item, list])
}

/// Two values.
pub(super) fn pair(item: &Value) -> Value {
    json!({"type": "array", "items": item, "minItems": 2, "maxItems": 2})
}

/// A condition: `key` is given, and is `word`.
pub(super) fn is(key: &str, word: &str) -> Value {
    json!({"required": [key], "properties": {key: {"const": word}}})
}

/// Refuses each of `keys`.
pub(super) fn without(keys: &[&str]) -> Value {
    let refused: Map<String, Value> = keys.iter().map(|&key| (key.into(), false.into())).collect();
    json!({"properties": refused})
}

/// Asks for each of `keys`.
pub(super) fn required(keys: &[&str]) -> Value {
    json!({"required": keys})
}
