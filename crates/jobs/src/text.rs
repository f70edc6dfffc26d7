//! TOML, written line by line.

use std::fmt::Write;

use penstock_policy::{Params, Value};
use serde_json::Value as Json;

use crate::units::{duration_text, size_text};

/// Returns a parameter's value as TOML.
pub(crate) fn param(value: &Value) -> String {
    let Value::Group(members) = value else { return param_json(value).to_string() };
    let member = |(name, value): &(&str, Value)| format!("{name} = {}", param(value));
    format!("{{ {} }}", members.iter().map(member).collect::<Vec<_>>().join(", "))
}

/// Returns a TOML string. The text may contain anything, for example if it is a file's name.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => out = format!("{out}\\u{:04X}", u32::from(c)),
            c => out.push(c),
        }
    }
    out + "\""
}

/// Returns parameters as users write them: sizes and times with units, counts without.
pub(crate) fn params_json(params: &Params) -> Json {
    let pair = |(name, value): &(&'static str, Value)| ((*name).to_owned(), param_json(value));
    Json::Object(params.iter().map(pair).collect())
}

pub(crate) fn param_json(value: &Value) -> Json {
    match value {
        Value::Size(bytes) => size_text(*bytes).into(),
        Value::Duration(span) => duration_text(*span).into(),
        Value::Count(n) => (*n).into(),
        Value::Switch(on) => (*on).into(),
        Value::Word(word) => (*word).into(),
        Value::Device(name) => name.as_str().into(),
        Value::Group(members) => params_json(members),
        Value::List(values) => values.iter().map(param_json).collect(),
    }
}

#[derive(Default)]
pub(crate) struct Lines(String);

impl Lines {
    /// Returns the text that was written.
    pub(crate) fn done(self) -> String {
        self.0
    }

    pub(crate) fn section(&mut self, header: &str) {
        self.0 += "\n";
        self.0 += header;
        self.0 += "\n";
    }

    pub(crate) fn line(&mut self, key: &str, value: impl std::fmt::Display) {
        writeln!(self.0, "{key} = {value}").expect("a string takes everything");
    }
}
