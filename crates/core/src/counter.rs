//! What a policy reports of itself: a name, of which class it is, and how its value moves.

use core::fmt;

/// How the value of a counter moves in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moves {
    /// It only grows: what was added in a stretch of time says what happened in it.
    Total,
    /// It goes up and down: a value at an instant.
    Level,
}

/// One counter of a policy, without its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counter<'a> {
    /// Its name, with its unit last if it has one.
    pub name: &'a str,
    /// Name of the class that it is of, if it is of one.
    pub class: Option<&'a str>,
    /// How its value moves.
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

    /// The same of the class of this name.
    #[must_use]
    pub const fn of(self, class: &'a str) -> Self {
        Self { class: Some(class), ..self }
    }
}

/// As results name it: the counters of a class stand below its name.
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
    fn a_counter_of_a_class_stands_below_its_name() {
        assert_eq!(Counter::total("cycles").to_string(), "cycles");
        let counter = Counter::level("estimate_ns").of("web");
        assert_eq!(counter.to_string(), "class.web.estimate_ns");
    }
}
