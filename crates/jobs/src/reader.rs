//! Tables as they are read, by key.

use crate::diagnose::{JobError, Origin, quote};
use crate::fio;
use crate::keys::{Declared, Given, Key, Keys, Maybe, names};
use crate::nearest::{nearest, suggest};
use crate::tree::{KeyValue, Node, Table, Value};

/// Reads a table by key. It finds unknown keys first: a misspelt key would otherwise be reported
/// as a missing one.
pub(crate) struct Reader<'a> {
    what: &'a str,
    table: &'a Table,
    origin: &'a Origin,
    known: Vec<&'a str>,
}

impl<'a> Reader<'a> {
    /// A reader of `node`, called `what`, that may hold these keys.
    pub(crate) fn new(node: &'a Node, what: &'a str, groups: &[Keys]) -> Result<Self, JobError> {
        Self::with(node, what, names(groups))
    }

    /// The same by names, for what the registry of policies declares.
    pub(crate) fn with(
        node: &'a Node,
        what: &'a str,
        known: Vec<&'a str>,
    ) -> Result<Self, JobError> {
        let reader = Self::unchecked(node, what, known)?;
        reader.check(|key| format!("unknown key {key} in {what}"))
    }

    /// A reader of sections: a table whose keys are names of `what`.
    pub(crate) fn sections(
        node: &'a Node,
        what: &'a str,
        known: Vec<&'a str>,
    ) -> Result<Self, JobError> {
        Self::unchecked(node, what, known)?.check(|key| format!("unknown {what} {key}"))
    }

    fn unchecked(node: &'a Node, what: &'a str, known: Vec<&'a str>) -> Result<Self, JobError> {
        let Value::Table(table) = &node.value else {
            let hint = "a table is written `{ key = value, … }`, or as a section";
            return Err(node.expected(&format!("a table for {what}")).hint(hint));
        };
        Ok(Self { what, table, origin: &node.origin, known })
    }

    fn check(self, found: impl FnOnce(&str) -> String) -> Result<Self, JobError> {
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
                Err(JobError::new(found(&quote(&entry.key))).at(&entry.origin).hint(hint))
            }
        }
    }

    /// The value of `key`, or what it is when it is not given.
    pub(crate) fn get<T>(&self, key: &Key<T>) -> Result<T, JobError> {
        match (self.node(key), &key.absent) {
            (Some(node), _) => key.kind.read(node),
            (None, Given::Usual(usual)) => Ok(usual()),
            (None, Given::Needed(example)) => Err(self.missing(key, example)),
        }
    }

    /// That `key` is not given, of which `example` is a value.
    pub(crate) fn missing(&self, key: &dyn Declared, example: &str) -> JobError {
        let missing = format!("missing key `{}` in {}", key.name(), self.what);
        let hint = format!("add `{} = {example}`", key.name());
        JobError::new(missing).at(self.origin).hint(hint)
    }

    /// The value of `key`, if it is given.
    pub(crate) fn find<T>(&self, key: &Key<T, Maybe>) -> Result<Option<T>, JobError> {
        self.node(key).map(|node| key.kind.read(node)).transpose()
    }

    /// What was written as `key`, if it is given.
    pub(crate) fn node(&self, key: &dyn Declared) -> Option<&'a Node> {
        self.named(key.name())
    }

    /// The same of a name that the registry of policies declares.
    pub(crate) fn named(&self, name: &str) -> Option<&'a Node> {
        debug_assert!(self.known.contains(&name), "{name} is not among the keys of {}", self.what);
        self.table.get(name).map(|entry| &entry.node)
    }

    /// Where `key` was written; the table, if it was not.
    pub(crate) fn origin(&self, key: &dyn Declared) -> &'a Origin {
        self.table.get(key.name()).map_or(self.origin, |entry| &entry.origin)
    }

    /// Where the value of `key` was written; the table, if it was not.
    pub(crate) fn place(&self, key: &dyn Declared) -> &'a Origin {
        self.node(key).map_or(self.origin, |node| &node.origin)
    }

    /// Refuses the first of `keys` that is given, since `cause` excludes them. If an argument set
    /// `cause`, what the file says of them gives way.
    pub(crate) fn exclude(
        &self,
        cause: &dyn Declared,
        keys: &[&dyn Declared],
        why: &str,
        hint: &str,
    ) -> Result<(), JobError> {
        let given =
            |key: &&&dyn Declared| !self.place(cause).is_set() || self.place(**key).is_set();
        let stay: Vec<_> = keys.iter().filter(given).copied().collect();
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
                let found = format!("`{}` {why}", entry.key);
                Err(JobError::new(found).at(&entry.origin).hint(hint))
            }
        }
    }
}
