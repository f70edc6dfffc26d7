//! Counters that a policy reports: each has a name, a kind, and a class if it counts only that.

use core::fmt;

/// Whether the value of a counter only grows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moves {
    /// It only grows: its increase over a period counts the events of that period.
    Total,
    /// It goes up and down: each value holds for one instant.
    Level,
}

/// A counter of a policy, without its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counter<'a> {
    /// The name, which ends with the unit if there is one.
    pub name: &'a str,
    /// Name of the class that it is about; `None` if it is about the whole policy.
    pub class: Option<&'a str>,
    /// Whether its value only grows.
    pub moves: Moves,
}

impl<'a> Counter<'a> {
    /// A count that only grows.
    pub const fn total(name: &'a str) -> Self {
        Self { name, class: None, moves: Moves::Total }
    }

    /// A value that goes up and down.
    pub const fn level(name: &'a str) -> Self {
        Self { name, class: None, moves: Moves::Level }
    }

    /// Makes it a counter of the class named `class`.
    #[must_use]
    pub const fn for_class(self, class: &'a str) -> Self {
        Self { class: Some(class), ..self }
    }
}

/// The name in results: counters of a class are prefixed with `class.NAME.`.
impl fmt::Display for Counter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.class {
            Some(class) => write!(f, "class.{class}.{}", self.name),
            None => f.write_str(self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn the_name_of_a_class_counter_begins_with_its_class() {
        assert_eq!(Counter::total("cycles").to_string(), "cycles");
        let counter = Counter::level("estimate_ns").for_class("web");
        assert_eq!(counter.to_string(), "class.web.estimate_ns");
    }
}
