//! Keys of jobs and device files.
//!
//! [`keys!`] declares each key of a table once: its name, its kind, its default and its meaning.
//! [`Reader`](crate::reader::Reader), [`Rows`](crate::rows::Rows), the schema and the reference
//! page are all made of these declarations. Code that reads or writes a table names the declared
//! key, never a text.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use crate::describe::{self, described, with};
use crate::kinds::Kind;

/// A key that holds a `T`.
pub(crate) struct Key<T: 'static, A = Given<T>> {
    pub(crate) name: &'static str,
    pub(crate) meaning: &'static str,
    pub(crate) kind: &'static dyn Kind<T>,
    pub(crate) absent: A,
}

/// The outcome for a required or defaulted key when it is not given.
pub(crate) enum Given<T> {
    /// An error, whose hint has this example.
    Needed(&'static str),
    /// A default value.
    Usual(fn() -> T),
}

/// A key that may have no value.
pub(crate) struct Maybe;

/// A key, whatever it holds.
pub(crate) trait Declared {
    fn name(&self) -> &'static str;
    /// Schema of the values, without meaning and default.
    fn kind_schema(&self) -> Json;
    fn schema(&self) -> Json;
    fn needed(&self) -> bool;
}

/// The keys of a table, in the order in which they are written.
pub(crate) type Keys = &'static [&'static dyn Declared];

impl<T> Declared for Key<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn kind_schema(&self) -> Json {
        self.kind.schema()
    }

    fn schema(&self) -> Json {
        let default = match &self.absent {
            Given::Needed(_) => None,
            Given::Usual(usual) => Some(json(&self.kind.text(&usual()))),
        };
        described(self.kind.schema(), self.meaning.trim_start(), default)
    }

    fn needed(&self) -> bool {
        matches!(self.absent, Given::Needed(_))
    }
}

impl<T> Declared for Key<T, Maybe> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn kind_schema(&self) -> Json {
        self.kind.schema()
    }

    fn schema(&self) -> Json {
        described(self.kind.schema(), self.meaning.trim_start(), None)
    }

    fn needed(&self) -> bool {
        false
    }
}

/// Returns a TOML value as JSON.
fn json(text: &str) -> Json {
    let table: BTreeMap<String, Json> =
        toml::from_str(&format!("value = {text}")).expect("what is written can be read");
    table.into_values().next().expect("one value")
}

/// Returns the names of these keys, each once.
pub(crate) fn names(groups: &[Keys]) -> Vec<&'static str> {
    let mut names = Vec::new();
    for key in groups.iter().copied().flatten() {
        if !names.contains(&key.name()) {
            names.push(key.name());
        }
    }
    names
}

/// Returns the keys of `others` that are not in `own`.
pub(crate) fn foreign(own: &[Keys], others: &[Keys]) -> Vec<&'static dyn Declared> {
    let own = names(own);
    others.iter().copied().flatten().copied().filter(|key| !own.contains(&key.name())).collect()
}

/// Describes a table with these keys and no others.
pub(crate) fn table(keys: Keys) -> Json {
    table_with(keys, &[])
}

/// Describes a table with `keys` and the optional keys of `more`. Of several keys with one name,
/// the first is shown.
pub(crate) fn table_with(keys: Keys, more: &[Keys]) -> Json {
    let all = more.iter().copied().flatten().rev().chain(keys);
    with(describe::table(all.map(|key| (key.name(), key.schema()))), needed(keys))
}

/// Requires the keys that have no default.
pub(crate) fn needed(keys: Keys) -> Json {
    let needed: Vec<&str> = keys.iter().filter(|key| key.needed()).map(|key| key.name()).collect();
    if needed.is_empty() { json!({}) } else { json!({"required": needed}) }
}

/// Requires each of `keys`.
pub(crate) fn required(keys: &[&dyn Declared]) -> Json {
    json!({"required": keys.iter().map(|key| key.name()).collect::<Vec<_>>()})
}

/// Forbids each of `keys`.
pub(crate) fn without(keys: &[&dyn Declared]) -> Json {
    let refused: Map<String, Json> =
        keys.iter().map(|key| (key.name().into(), false.into())).collect();
    json!({"properties": refused})
}

/// Matches tables in which `key` is given and is one of `words`.
pub(crate) fn is(key: &dyn Declared, words: &[&str]) -> Json {
    let value = match words {
        [word] => json!({"const": word}),
        words => json!({"enum": words}),
    };
    json!({"required": [key.name()], "properties": {key.name(): value}})
}

/// A table in which the word of one key decides which other keys it may have.
pub(crate) struct Cases {
    /// The deciding key alone.
    pub(crate) head: Keys,
    /// Words, and the keys that go with them.
    pub(crate) cases: &'static [(&'static [&'static str], Keys)],
}

impl Cases {
    /// All keys.
    pub(crate) fn keys(&self) -> Vec<Keys> {
        [self.head].into_iter().chain(self.cases.iter().map(|(_, keys)| *keys)).collect()
    }

    /// Returns the keys that go with `word`.
    pub(crate) fn of(&self, word: &str) -> Keys {
        let case = self.cases.iter().find(|(words, _)| words.contains(&word));
        case.map_or(&[], |(_, keys)| keys)
    }

    /// Describes the table.
    pub(crate) fn schema(&self) -> Json {
        let rule = |&(words, keys): &(&[&str], Keys)| {
            let others = without(&foreign(&[self.head, keys], &self.keys()));
            json!({"if": is(self.head[0], words), "then": with(needed(keys), others)})
        };
        let rules = describe::all(self.cases.iter().map(rule).collect::<Vec<_>>());
        with(table_with(self.head, &self.keys()), rules)
    }
}

/// Declares the keys of a table, or one key of a table whose others are declared elsewhere.
///
/// ```text
/// keys! {
///     /// Keys of `[cpu]`.
///     KEYS:
///     /// How many there are.
///     COUNT count: u32 = Count(1, 4096), or 1;
///     /// The class of its requests.
///     CLASS class: String = Text("the name of a class"), needs "\"…\"";
///     /// When it stops.
///     STOP stop: Span = TIME;
/// }
/// ```
///
/// The sentence is the description in schemas and the reference. If they are not given, the first
/// of these keys is 1, the second is an error whose hint has the example, the third has no value.
macro_rules! keys {
    (
        $(#[$about:meta])+
        $list:ident: $(
            $(#[doc = $meaning:literal])+
            $key:ident $name:ident: $type:ty = $kind:expr
            $(, needs $example:literal)? $(, or $usual:expr)?;
        )+
    ) => {
        $($crate::keys::keys! {
            $(#[doc = $meaning])+
            $key $name: $type = $kind $(, needs $example)? $(, or $usual)?;
        })+
        $(#[$about])+
        pub(crate) const $list: $crate::keys::Keys = &[$(&$key),+];
    };
    (
        $(#[doc = $meaning:literal])+
        $key:ident $name:ident: $type:ty = $kind:expr $(, $word:ident $absent:expr)?;
    ) => {
        $(#[doc = $meaning])+
        pub(crate) const $key: $crate::keys::keys!(@type $type $(, $word)?) = $crate::keys::Key {
            name: stringify!($name),
            meaning: concat!($($meaning),+),
            kind: &$kind,
            absent: $crate::keys::keys!(@absent $($word $absent)?),
        };
    };
    (@type $type:ty) => { $crate::keys::Key<$type, $crate::keys::Maybe> };
    (@type $type:ty, $word:ident) => { $crate::keys::Key<$type> };
    (@absent) => { $crate::keys::Maybe };
    (@absent needs $example:expr) => { $crate::keys::Given::Needed($example) };
    (@absent or $usual:expr) => { $crate::keys::Given::Usual(|| $usual) };
}
pub(crate) use keys;
