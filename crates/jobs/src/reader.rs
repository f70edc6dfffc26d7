//! Reads tables by key.

use crate::diagnose::{JobError, Origin, quote};
use crate::fio;
use crate::keys::{Declared, Given, Key, Keys, Maybe, names};
use crate::nearest::{nearest, suggest};
use crate::tree::{KeyValue, Node, Table, Value};

/// Reads the values of a table by key. Unknown keys are reported first: a misspelt key would
/// otherwise be reported as a missing one.
pub(crate) struct Reader<'a> {
    title: &'a str,
    table: &'a Table,
    origin: &'a Origin,
    known: Vec<&'a str>,
}

impl<'a> Reader<'a> {
    /// Creates a reader of `node`, which may hold these keys. `title` names the table in messages.
    pub(crate) fn new(node: &'a Node, title: &'a str, groups: &[Keys]) -> Result<Self, JobError> {
        Self::with(node, title, names(groups))
    }

    /// Creates a reader of keys by name, for those that the registry of policies declares.
    pub(crate) fn with(
        node: &'a Node,
        title: &'a str,
        known: Vec<&'a str>,
    ) -> Result<Self, JobError> {
        let reader = Self::unchecked(node, title, known)?;
        reader.check(|key| format!("unknown key {key} in {title}"))
    }

    /// Creates a reader of sections: a table whose keys are names of a `title`.
    pub(crate) fn sections(
        node: &'a Node,
        title: &'a str,
        known: Vec<&'a str>,
    ) -> Result<Self, JobError> {
        Self::unchecked(node, title, known)?.check(|key| format!("unknown {title} {key}"))
    }

    fn unchecked(node: &'a Node, title: &'a str, known: Vec<&'a str>) -> Result<Self, JobError> {
        let Value::Table(table) = &node.value else {
            let hint = "a table is written `{ key = value, … }`, or as a section";
            return Err(node.expected(&format!("a table for {title}")).hint(hint));
        };
        Ok(Self { title, table, origin: &node.origin, known })
    }

    fn check(self, message: impl FnOnce(&str) -> String) -> Result<Self, JobError> {
        let unknown = |entry: &&KeyValue| !self.known.contains(&entry.key.as_str());
        match self.table.entries.iter().find(unknown) {
            None => Ok(self),
            Some(entry) => {
                let known = || self.known.iter().copied();
                let of_fio = fio::instead_of(&entry.key);
                let hint = match nearest(&entry.key, known()) {
                    None => of_fio.unwrap_or_else(|| suggest(&entry.key, known())),
                    Some(_) => suggest(&entry.key, known()),
                };
                Err(JobError::new(message(&quote(&entry.key))).at(&entry.origin).hint(hint))
            }
        }
    }

    /// Returns the value of `key`, or its default.
    pub(crate) fn get<T>(&self, key: &Key<T>) -> Result<T, JobError> {
        match (self.node(key), &key.absent) {
            (Some(node), _) => key.kind.read(node),
            (None, Given::Usual(usual)) => Ok(usual()),
            (None, Given::Needed(example)) => Err(self.missing(key, example)),
        }
    }

    /// Returns the error for the missing `key`, with the value `example` in its hint.
    pub(crate) fn missing(&self, key: &dyn Declared, example: &str) -> JobError {
        let missing = format!("missing key `{}` in {}", key.name(), self.title);
        let hint = format!("add `{} = {example}`", key.name());
        JobError::new(missing).at(self.origin).hint(hint)
    }

    /// Returns the value of `key`, if it is given.
    pub(crate) fn find<T>(&self, key: &Key<T, Maybe>) -> Result<Option<T>, JobError> {
        self.node(key).map(|node| key.kind.read(node)).transpose()
    }

    /// Returns the node of `key`, if it is given.
    pub(crate) fn node(&self, key: &dyn Declared) -> Option<&'a Node> {
        self.named(key.name())
    }

    /// Returns the node of a name that the registry of policies declares.
    pub(crate) fn named(&self, name: &str) -> Option<&'a Node> {
        debug_assert!(self.known.contains(&name), "{name} is not among the keys of {}", self.title);
        self.table.get(name).map(|entry| &entry.node)
    }

    /// Returns where `key` was written; the place of the table if it was not.
    pub(crate) fn origin(&self, key: &dyn Declared) -> &'a Origin {
        self.table.get(key.name()).map_or(self.origin, |entry| &entry.origin)
    }

    /// Returns where the value of `key` was written; the place of the table if it was not.
    pub(crate) fn place(&self, key: &dyn Declared) -> &'a Origin {
        self.node(key).map_or(self.origin, |node| &node.origin)
    }

    /// Refuses the first of `keys` that is given, since `cause` excludes them. If an argument set
    /// `cause`, keys that only the file has are ignored.
    pub(crate) fn exclude(
        &self,
        cause: &dyn Declared,
        keys: &[&dyn Declared],
        why: &str,
        hint: &str,
    ) -> Result<(), JobError> {
        let counts =
            |key: &&&dyn Declared| !self.place(cause).is_set() || self.place(**key).is_set();
        let stay: Vec<_> = keys.iter().filter(counts).copied().collect();
        self.refuse(&stay, why, hint)
    }

    /// Refuses the first of `keys` that is given.
    pub(crate) fn refuse(
        &self,
        keys: &[&dyn Declared],
        why: &str,
        hint: &str,
    ) -> Result<(), JobError> {
        match keys.iter().find_map(|key| self.table.get(key.name())) {
            None => Ok(()),
            Some(entry) => {
                let message = format!("`{}` {why}", entry.key);
                Err(JobError::new(message).at(&entry.origin).hint(hint))
            }
        }
    }
}
