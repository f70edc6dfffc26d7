//! What a key may hold: how each kind is read, written and described in a schema.

use serde_json::Value as Json;

use crate::describe;
use crate::diagnose::JobError;
use crate::text::quoted;
use crate::tree::{Node, Value};

/// A kind of values that a key may hold, as a `T`.
pub(crate) trait Kind<T> {
    /// Reads the value that was written.
    fn read(&self, node: &Node) -> Result<T, JobError>;
    /// Writes the value as TOML.
    fn text(&self, value: &T) -> String;
    /// Describes the value in a schema.
    fn schema(&self) -> Json;
}

/// A choice between words, each with its meaning.
pub(crate) struct Choice<T: 'static>(pub(crate) &'static [(&'static str, T)]);

impl<T: Clone + PartialEq> Kind<T> for Choice<T> {
    fn read(&self, node: &Node) -> Result<T, JobError> {
        let names: Vec<&'static str> = self.0.iter().map(|(word, _)| *word).collect();
        node.choice(&names).map(|word| value_of(self.0, word))
    }

    fn text(&self, value: &T) -> String {
        quoted(word_of(self.0, value).expect("every choice has a word"))
    }

    fn schema(&self) -> Json {
        words(self.0)
    }
}

/// Returns the word for `value`.
pub(crate) fn word_of<T: PartialEq>(
    words: &[(&'static str, T)],
    value: &T,
) -> Option<&'static str> {
    words.iter().find(|(_, known)| known == value).map(|(word, _)| *word)
}

/// Returns the meaning of `word`.
pub(crate) fn value_of<T: Clone>(words: &[(&'static str, T)], word: &str) -> T {
    let entry = words.iter().find(|(known, _)| *known == word);
    entry.expect("one of the words").1.clone()
}

/// Describes a choice between these words.
pub(crate) fn words<T>(words: &[(&'static str, T)]) -> Json {
    describe::words(words.iter().map(|(word, _)| *word))
}

/// A text that is not empty; the field names it in messages.
pub(crate) struct Text(pub(crate) &'static str);

impl Kind<String> for Text {
    fn read(&self, node: &Node) -> Result<String, JobError> {
        node.text(self.0).map(str::to_owned)
    }

    fn text(&self, value: &String) -> String {
        quoted(value)
    }

    fn schema(&self) -> Json {
        describe::text()
    }
}

/// A single value, or a list of values.
pub(crate) struct Each<T: 'static>(pub(crate) &'static dyn Kind<T>);

impl<T> Kind<Vec<T>> for Each<T> {
    fn read(&self, node: &Node) -> Result<Vec<T>, JobError> {
        match &node.value {
            Value::List(_) | Value::Word(_) => {
                node.list("values")?.iter().map(|item| self.0.read(item)).collect()
            }
            _ => Ok(vec![self.0.read(node)?]),
        }
    }

    fn text(&self, value: &Vec<T>) -> String {
        list(value, |item| self.0.text(item))
    }

    fn schema(&self) -> Json {
        let item = self.0.schema();
        let list = describe::list(&item);
        describe::any([item, list])
    }
}

/// Returns a list as TOML.
pub(crate) fn list<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    format!("[{}]", items.iter().map(text).collect::<Vec<_>>().join(", "))
}

/// A kind that is used once, with functions of its own.
pub(crate) struct Own<T> {
    pub(crate) read: fn(&Node) -> Result<T, JobError>,
    pub(crate) text: fn(&T) -> String,
    pub(crate) schema: fn() -> Json,
}

impl<T> Kind<T> for Own<T> {
    fn read(&self, node: &Node) -> Result<T, JobError> {
        (self.read)(node)
    }

    fn text(&self, value: &T) -> String {
        (self.text)(value)
    }

    fn schema(&self) -> Json {
        (self.schema)()
    }
}

/// True or false.
pub(crate) const SWITCH: Own<bool> =
    Own { read: Node::boolean, text: bool::to_string, schema: describe::switch };

/// A section. Its content is read together with the rest of the file, and written below a header.
pub(crate) const fn section(schema: fn() -> Json) -> Own<Node> {
    let text = |_: &Node| unreachable!("a section is no value of one line");
    Own { read: |node| Ok(node.clone()), text, schema }
}
