//! Writes tables: rows in the order in which their keys are declared.

use std::fmt::Write;

use crate::keys::{Key, Keys, names};
use crate::text::Lines;

/// The rows of a table.
pub(crate) struct Rows {
    order: Vec<&'static str>,
    rows: Vec<(&'static str, String)>,
}

impl Rows {
    /// A table with these keys and no rows yet.
    pub(crate) fn of(groups: &[Keys]) -> Self {
        Self { order: names(groups), rows: Vec::new() }
    }

    /// Adds `key` with `value`.
    #[must_use]
    pub(crate) fn put<T, A>(mut self, key: &Key<T, A>, value: &T) -> Self {
        let place = |name| self.order.iter().position(|known| *known == name);
        let own = place(key.name).expect("a key of the table");
        let at = self.rows.partition_point(|(name, _)| place(name) < Some(own));
        self.rows.insert(at, (key.name, key.kind.text(value)));
        self
    }

    /// Adds `key` if it has a value.
    #[must_use]
    pub(crate) fn maybe<T, A>(self, key: &Key<T, A>, value: Option<&T>) -> Self {
        match value {
            Some(value) => self.put(key, value),
            None => self,
        }
    }

    /// Adds a parameter that the registry of policies declares.
    #[must_use]
    pub(crate) fn param(mut self, name: &'static str, text: String) -> Self {
        self.rows.push((name, text));
        self
    }

    /// Writes the rows as a section below `header`, or at the beginning of the file.
    pub(crate) fn section(self, header: Option<&str>, out: &mut Lines) {
        if let Some(header) = header {
            out.section(header);
        }
        for (name, value) in self.rows {
            out.line(name, value);
        }
    }

    /// Returns the table in one line, `{ size = "4KiB" }`.
    pub(crate) fn inline(self) -> String {
        let mut text = String::from("{");
        for (at, (name, value)) in self.rows.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            write!(text, "{comma} {name} = {value}").expect("a string takes everything");
        }
        text + " }"
    }
}
