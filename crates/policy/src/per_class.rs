//! Parameters with a value for each class.

use alloc::vec;
use alloc::vec::Vec;

use crate::params::{Params, Value};

/// The values of a parameter of [`Kind::PerClass`](crate::Kind::PerClass): counts, bytes or
/// nanoseconds, where 0 and every word stand for none.
#[derive(Debug)]
pub(crate) struct PerClass {
    values: Vec<u64>,
    /// Whether the only value counts for all classes.
    common: bool,
}

impl PerClass {
    /// Takes the parameter `name`.
    pub(crate) fn new(params: &Params, name: &str) -> Self {
        match params.get(name) {
            Value::List(values) => {
                Self { values: values.iter().map(amount).collect(), common: false }
            }
            value => Self { values: vec![amount(value)], common: true },
        }
    }

    /// Number of values.
    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// The value of the class with this index; 0 for a class that a list does not have.
    pub(crate) fn of(&self, class: usize) -> u64 {
        let index = if self.common { 0 } else { class };
        self.values.get(index).copied().unwrap_or(0)
    }
}

fn amount(value: &Value) -> u64 {
    match *value {
        Value::Size(amount) | Value::Count(amount) => amount,
        Value::Duration(span) => span.ns(),
        Value::Word(_) => 0,
        ref other => panic!("{other:?} is not an amount"),
    }
}
