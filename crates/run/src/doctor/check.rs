//! A finding of the doctor.

use serde::Serialize;
use serde_json::{Map, Value};

/// A finding.
#[derive(Debug, Serialize)]
pub struct Check {
    /// Group of the check: `machine`, `engines`, `path`, `kernel`, `time`, `leftovers`.
    pub group: &'static str,
    /// Name of the thing that was checked.
    pub name: String,
    /// State of that thing.
    pub state: State,
    /// Description of the finding.
    pub found: String,
    /// Advice, if there is something to do.
    pub advice: Option<String>,
    /// The figures of the finding, for programs; bytes and nanoseconds where the key says so.
    pub facts: Map<String, Value>,
}

/// The state of a thing that was checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// It works as it should.
    Ok,
    /// It works, with less than there could be.
    Limited,
    /// It does not work here.
    No,
}

impl Check {
    pub(super) fn new(name: impl Into<String>, state: State, found: impl Into<String>) -> Self {
        let (name, found) = (name.into(), found.into());
        Self { group: "", name, state, found, advice: None, facts: Map::new() }
    }

    pub(super) fn ok(name: impl Into<String>, found: impl Into<String>) -> Self {
        Self::new(name, State::Ok, found)
    }

    pub(super) fn limited(name: &str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::new(name, State::Limited, found).advice(advice)
    }

    pub(super) fn no(name: &str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::new(name, State::No, found).advice(advice)
    }

    /// A check with the text of an error; the error's hint is the advice.
    pub(super) fn of_error(name: &str, state: State, message: &str) -> Self {
        match message.split_once("\nhint: ") {
            Some((found, hint)) => Self::new(name, state, found).advice(hint),
            None => Self::new(name, state, message),
        }
    }

    pub(super) fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    pub(super) fn fact(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.facts.insert(key.into(), value.into());
        self
    }
}

/// Bytes to one decimal.
pub(super) fn bytes(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}
