//! The parts that schemas are made of.

use serde_json::{Map, Value, json};

/// A key of a table.
pub(crate) struct Field {
    key: &'static str,
    schema: Value,
}

/// The key `key`, which means `doc` and holds what `schema` says.
pub(crate) fn field(key: &'static str, doc: impl Into<String>, mut schema: Value) -> Field {
    schema["description"] = Value::String(doc.into());
    Field { key, schema }
}

impl Field {
    /// The key itself.
    pub(crate) fn key(&self) -> &'static str {
        self.key
    }

    /// What it is when nobody says.
    pub(crate) fn or(mut self, default: impl Into<Value>) -> Self {
        self.schema["default"] = default.into();
        self
    }
}

/// A table with these keys and no other; `keys` are those that the parser knows.
pub(crate) fn table<'a>(keys: impl IntoIterator<Item = &'a str>, fields: Vec<Field>) -> Value {
    let declared: Vec<&str> = fields.iter().map(|field| field.key).collect();
    let known: Vec<&str> = keys.into_iter().collect();
    assert_eq!(declared, known, "the schema has the parser's keys");
    let properties: Map<String, Value> =
        fields.into_iter().map(|field| (field.key.to_owned(), field.schema)).collect();
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

/// `schema` with the keys of `more` as well.
pub(crate) fn with(mut schema: Value, more: Value) -> Value {
    let (Value::Object(all), Value::Object(more)) = (&mut schema, more) else {
        unreachable!("schemas here are objects")
    };
    all.extend(more);
    schema
}

/// What `$defs` has under this name.
pub(crate) fn defined(name: &str) -> Value {
    json!({"$ref": format!("#/$defs/{name}")})
}

/// A quantity where a word may stand instead: the reader tells the two by the first letter.
pub(crate) fn from_digit(name: &str) -> Value {
    with(defined(name), json!({"pattern": "^[0-9]"}))
}

/// A text that is not empty.
pub(crate) fn text() -> Value {
    json!({"type": "string", "minLength": 1})
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

/// One value, or a list of them.
pub(crate) fn each(item: Value) -> Value {
    let list = list(&item);
    any([item, list])
}

/// Two values.
pub(crate) fn pair(item: &Value) -> Value {
    json!({"type": "array", "items": item, "minItems": 2, "maxItems": 2})
}

/// A condition: `key` is given, and is `word`.
pub(crate) fn is(key: &str, word: &str) -> Value {
    json!({"required": [key], "properties": {key: {"const": word}}})
}

/// Refuses each of `keys`.
pub(crate) fn without(keys: &[&str]) -> Value {
    let refused: Map<String, Value> = keys.iter().map(|&key| (key.into(), false.into())).collect();
    json!({"properties": refused})
}

/// Asks for each of `keys`.
pub(crate) fn required(keys: &[&str]) -> Value {
    json!({"required": keys})
}
