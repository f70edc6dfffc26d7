//! A tree of values, each with the place where it was written.
//!
//! The tree is made from TOML, changed by `--set`, and read by key. A value of a file has its TOML
//! type; a value of `--set` is a word until a reader asks for a type.

use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnose::{JobError, Origin, Source, quote};
use crate::fio;
use crate::nearest::suggest;

/// A value and the place where it was written.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

/// A value.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// A string of a file.
    Text(String),
    /// The text behind the `=` of `--set`, whose type is decided when it is read.
    Word(String),
    Integer(i128),
    Float(f64),
    Boolean(bool),
    /// A date or a time of day: TOML has them, jobs do not.
    Moment,
    List(Vec<Node>),
    Table(Table),
}

/// Values by key, in the order in which they were written.
#[derive(Clone, Default, Debug)]
pub(crate) struct Table {
    pub(crate) entries: Vec<KeyValue>,
}

/// A key, where it was written, and its value.
#[derive(Clone, Debug)]
pub(crate) struct KeyValue {
    pub(crate) key: String,
    pub(crate) origin: Origin,
    pub(crate) node: Node,
}

/// Parses a TOML text.
pub(crate) fn parse(source: &Arc<Source>) -> Result<Node, JobError> {
    let table = DeTable::parse(source.text()).map_err(|error| {
        let end = source.text().len();
        let origin = Origin::new(source, error.span().unwrap_or(end..end));
        if fio::is_job_file(source.text()) {
            return JobError::new("this looks like a job of fio").hint(fio::HINT).at(&origin);
        }
        syntax(error.message(), &origin)
    })?;
    Ok(Node { value: entries(table.get_ref(), source)?, origin: Origin::new(source, 0..0) })
}

/// An empty table, in which each key has its default.
pub(crate) fn empty() -> Node {
    parse(&Source::file("defaults", "")).expect("it is TOML")
}

/// Rewrites frequent errors of the parser in the words of a job's author.
fn syntax(message: &str, origin: &Origin) -> JobError {
    let text = quote(origin.text());
    let error = match message.lines().next().unwrap_or("") {
        "duplicate key" => {
            let hint = if origin.header() {
                "keep one; what may stand more than once has two brackets: `[[agent]]`"
            } else {
                "keep one of the two"
            };
            JobError::new(format!("the key {text} is given twice")).hint(hint)
        }
        unquoted if unquoted.contains("must be quoted") => match origin.text() {
            "" => JobError::new("a value is missing").hint("write `key = \"value\"`"),
            _ => JobError::new(format!("expected a value, found {text} without quotes"))
                .hint(format!("write `\"{}\"`", text.trim_matches('`'))),
        },
        _ => {
            // The parser's message may have several lines.
            let message = message.lines().collect::<Vec<_>>().join(", ");
            JobError::new(message).hint("the file is TOML: `key = \"value\"`")
        }
    };
    error.at(origin)
}

fn entries(table: &DeTable<'_>, source: &Arc<Source>) -> Result<Value, JobError> {
    let mut written: Vec<_> = table.iter().collect();
    written.sort_by_key(|(key, _)| key.span().start);
    let entry = |(key, value): (&Spanned<_>, _)| {
        let origin = Origin::new(source, key.span());
        Ok(KeyValue {
            key: String::from(key.get_ref() as &str),
            origin,
            node: node(value, source)?,
        })
    };
    let entries = written.into_iter().map(entry).collect::<Result<_, JobError>>()?;
    Ok(Value::Table(Table { entries }))
}

fn node(written: &Spanned<DeValue<'_>>, source: &Arc<Source>) -> Result<Node, JobError> {
    let origin = Origin::new(source, written.span());
    let value = match written.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => {
            let parsed = i128::from_str_radix(number.as_str(), number.radix());
            Value::Integer(parsed.map_err(|_| {
                JobError::new(format!("the number {} is too large", quote(number.as_str())))
                    .at(&origin)
            })?)
        }
        DeValue::Float(number) => Value::Float(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Boolean(truth) => Value::Boolean(*truth),
        DeValue::Datetime(_) => Value::Moment,
        DeValue::Array(list) => {
            Value::List(list.iter().map(|item| node(item, source)).collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => entries(table, source)?,
    };
    Ok(Node { value, origin })
}

impl Table {
    /// Returns the entry of `key`.
    pub(crate) fn get(&self, key: &str) -> Option<&KeyValue> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// Returns the value of `key` for a change; inserts `new` if there is none.
    pub(crate) fn get_or_insert(&mut self, key: &str, origin: &Origin, new: Value) -> &mut Node {
        let at = self.entries.iter().position(|entry| entry.key == key).unwrap_or_else(|| {
            let node = Node { value: new, origin: origin.clone() };
            self.entries.push(KeyValue { key: key.into(), origin: origin.clone(), node });
            self.entries.len() - 1
        });
        &mut self.entries[at].node
    }

    /// Sets `key`, which was written at `origin`.
    pub(crate) fn put(&mut self, key: &str, origin: &Origin, node: Node) {
        match self.entries.iter_mut().find(|entry| entry.key == key) {
            Some(entry) => (entry.origin, entry.node) = (origin.clone(), node),
            None => self.entries.push(KeyValue { key: key.into(), origin: origin.clone(), node }),
        }
    }
}

impl Node {
    /// Describes the value for a message that expected another one.
    pub(crate) fn describe(&self) -> String {
        match &self.value {
            Value::Text(text) => format!("the text {}", quote(text)),
            Value::Word(word) if word.is_empty() => "nothing".into(),
            Value::Word(word) => quote(word),
            Value::Integer(number) => format!("the number {number}"),
            Value::Float(number) => format!("the number {number}"),
            Value::Boolean(truth) => format!("`{truth}`"),
            Value::Moment => "a date or a time of day".into(),
            Value::List(_) => "a list".into(),
            Value::Table(_) => "a table".into(),
        }
    }

    /// Returns the error for a value that should be `expected`.
    pub(crate) fn expected(&self, expected: &str) -> JobError {
        let message = format!("expected {expected}, found {}", self.describe());
        JobError::new(message).at(&self.origin)
    }

    /// Returns the value of `key`, if this is a table that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        let Value::Table(table) = &self.value else { return None };
        table.get(key).map(|entry| &entry.node)
    }

    /// Returns the text, if the value is one.
    pub(crate) fn word(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) | Value::Word(text) => Some(text),
            _ => None,
        }
    }

    /// Returns a text that is not empty; `expected` names it in the error.
    pub(crate) fn text(&self, expected: &str) -> Result<&str, JobError> {
        let text = self.word().filter(|text| !text.is_empty());
        text.ok_or_else(|| self.expected(expected).hint("write it in quotes: \"…\""))
    }

    /// Reads true or false.
    pub(crate) fn boolean(&self) -> Result<bool, JobError> {
        match &self.value {
            Value::Boolean(truth) => Ok(*truth),
            Value::Word(word) if word == "true" => Ok(true),
            Value::Word(word) if word == "false" => Ok(false),
            _ => Err(self.expected("`true` or `false`").hint("write one of them, without quotes")),
        }
    }

    /// Reads a whole number between two bounds.
    pub(crate) fn count(&self, least: u64, most: u64) -> Result<u64, JobError> {
        let number = match &self.value {
            Value::Integer(number) => Some(*number),
            Value::Word(word) => word.parse().ok(),
            _ => None,
        };
        let number = number.ok_or_else(|| {
            let hint = "a number of things carries no unit and no quotes, as in `16`";
            self.expected("a whole number").hint(hint)
        })?;
        let range = match most {
            most if most < u64::from(u32::MAX) => format!("from {least} to {most}"),
            _ if number < i128::from(least) => format!("of at least {least}"),
            _ => format!("of at most {most}"),
        };
        let count = u64::try_from(number).ok().filter(|count| (least..=most).contains(count));
        count.ok_or_else(|| {
            let nearest = if number < i128::from(least) { least } else { most };
            let hint = format!("the nearest that may be is `{nearest}`");
            self.expected(&format!("a whole number {range}")).hint(hint)
        })
    }

    /// Reads a number from 0 to `most`.
    pub(crate) fn factor(&self, most: f64) -> Result<f64, JobError> {
        self.number(&format!("a number from 0 to {most}"), |number| (0.0..=most).contains(&number))
    }

    /// Reads a number without a unit for which `fits` holds; `expected` names it in the error.
    pub(crate) fn number(
        &self,
        expected: &str,
        fits: impl Fn(f64) -> bool,
    ) -> Result<f64, JobError> {
        let number = match &self.value {
            Value::Integer(number) => Some(*number as f64),
            Value::Float(number) => Some(*number),
            Value::Word(word) => word.parse().ok(),
            _ => None,
        };
        let hint = "a factor carries no unit and no quotes, as in `0.5`";
        number.filter(|number| fits(*number)).ok_or_else(|| self.expected(expected).hint(hint))
    }

    /// Reads one of `words`.
    pub(crate) fn choice(&self, words: &[&'static str]) -> Result<&'static str, JobError> {
        let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        let expected = || self.expected(&quoted.join(" or "));
        let word = self.word().ok_or_else(expected)?;
        let choice = words.iter().find(|known| **known == word);
        choice.copied().ok_or_else(|| expected().hint(suggest(word, words.iter().copied())))
    }

    /// Returns the items of a list; a word is a list with commas.
    pub(crate) fn list(&self, expected: &str) -> Result<Vec<Self>, JobError> {
        match &self.value {
            Value::List(items) => Ok(items.clone()),
            Value::Word(word) if word.starts_with('[') => Err(self
                .expected(expected)
                .hint("lists of --set are values with commas, no brackets")),
            Value::Word(word) => Ok(self.split(word)),
            _ => Err(self.expected(expected)),
        }
    }

    /// Splits a word at its commas, each part with its place. A comma in double quotes belongs to
    /// its part.
    fn split(&self, word: &str) -> Vec<Self> {
        let (mut at, mut quoted) = (0, false);
        let part = |part: &str| {
            let origin = self.origin.part(at..at + part.len());
            at += part.len() + 1;
            let word = part.trim();
            let bare = word.strip_prefix('"').and_then(|word| word.strip_suffix('"'));
            Self { value: Value::Word(bare.unwrap_or(word).into()), origin }
        };
        let between = |letter: char| {
            quoted ^= letter == '"';
            letter == ',' && !quoted
        };
        word.split(between).map(part).collect()
    }
}
