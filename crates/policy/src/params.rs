//! Parameters of policies, declared once: read from job files and shown in lists and results.

use alloc::string::String;
use alloc::vec::Vec;

use penstock_core::Span;

/// A parameter of a policy.
#[derive(Debug)]
pub struct Param {
    /// Its name in a job; kernel tunables keep the kernel's names.
    pub name: &'static str,
    /// The values that it may have.
    pub kind: Kind,
    /// The value if the job sets none.
    pub default: Value,
    /// Its effect, in one sentence.
    pub doc: &'static str,
    /// The source of its default.
    pub source: &'static str,
}

/// The values that a parameter may have.
#[derive(Debug)]
pub enum Kind {
    /// A size of at least one byte, with its unit.
    Size,
    /// A size, or one of these words.
    SizeOr(&'static [&'static str]),
    /// A size, one of these words, or a table of these parameters. If `auto` is one of the words,
    /// it stands for the table on a real device.
    SizeOrGroup(&'static [&'static str], &'static [Param]),
    /// A length of time, with its unit.
    Duration,
    /// A length of time, or one of these words.
    DurationOr(&'static [&'static str]),
    /// A length of time above zero, or one of these words.
    PositiveDurationOr(&'static [&'static str]),
    /// A whole number not below this minimum.
    Count(u64),
    /// A whole number from a minimum to a maximum.
    CountIn(u64, u64),
    /// A whole number not below this minimum, or one of these words.
    CountOr(u64, &'static [&'static str]),
    /// True or false.
    Switch,
    /// A choice among these words.
    Choice(&'static [&'static str]),
    /// A value of this kind for all classes, or a list with one for each class in the order of the
    /// job.
    PerClass(&'static Self),
    /// A table of parameters, or the word `off`.
    Group(&'static [Param]),
    /// A table of parameters, the word `off`, or a device whose costs fill the table when a run
    /// begins.
    GroupOrDevice(&'static [Param]),
}

/// A parameter's value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// Bytes.
    Size(u64),
    /// A length of time.
    Duration(Span),
    /// A whole number.
    Count(u64),
    /// True or false.
    Switch(bool),
    /// A word that its kind allows.
    Word(&'static str),
    /// A value for each class.
    List(Vec<Self>),
    /// The members of a group. As a default, an empty group stands for the defaults of its members.
    Group(Params),
    /// A device: its name, or the path of its file.
    Device(String),
}

/// Values by name, in the order of their declaration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Params(Vec<(&'static str, Value)>);

impl Params {
    /// No values.
    pub const NONE: Self = Self(Vec::new());

    /// The default values of `params`.
    pub fn defaults(params: &'static [Param]) -> Self {
        let default = |param: &'static Param| match (&param.kind, &param.default) {
            (Kind::Group(members), Value::Group(_)) => Value::Group(Self::defaults(members)),
            (_, value) => value.clone(),
        };
        Self(params.iter().map(|param| (param.name, default(param))).collect())
    }

    /// Appends the values of `others`, which has none of the same names.
    #[must_use]
    pub fn and(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    /// The values, in order.
    pub fn iter(&self) -> impl Iterator<Item = &(&'static str, Value)> {
        self.0.iter()
    }

    /// Sets `name`, which must be declared.
    pub fn set(&mut self, name: &str, value: Value) {
        let entry = self.0.iter_mut().find(|(known, _)| *known == name);
        entry.unwrap_or_else(|| panic!("no parameter {name}")).1 = value;
    }

    /// Sets `name` in a chain of calls, for tests and for building by hand.
    #[must_use]
    pub fn with(mut self, name: &str, value: Value) -> Self {
        self.set(name, value);
        self
    }

    /// The value of `name`, which must be declared.
    pub fn get(&self, name: &str) -> &Value {
        let entry = self.0.iter().find(|(known, _)| *known == name);
        &entry.unwrap_or_else(|| panic!("no parameter {name}")).1
    }

    /// The size `name` in bytes; `None` if it is a word.
    pub fn size(&self, name: &str) -> Option<u64> {
        match *self.get(name) {
            Value::Size(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The size `name` as the length of a command, limited to the longest possible one.
    pub fn len(&self, name: &str) -> Option<u32> {
        self.size(name).map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX))
    }

    /// The length of time `name`.
    pub fn duration(&self, name: &str) -> Span {
        match *self.get(name) {
            Value::Duration(span) => span,
            ref other => panic!("{name} is {other:?}, not a length of time"),
        }
    }

    /// The length of time `name`; `None` if it is a word.
    pub fn duration_or(&self, name: &str) -> Option<Span> {
        match *self.get(name) {
            Value::Duration(span) => Some(span),
            _ => None,
        }
    }

    /// The whole number `name`.
    pub fn count(&self, name: &str) -> u32 {
        match *self.get(name) {
            Value::Count(n) => u32::try_from(n).unwrap_or(u32::MAX),
            ref other => panic!("{name} is {other:?}, not a number"),
        }
    }

    /// The whole number `name`; `None` if it is a word.
    pub fn count_or(&self, name: &str) -> Option<u32> {
        match *self.get(name) {
            Value::Count(n) => Some(u32::try_from(n).unwrap_or(u32::MAX)),
            _ => None,
        }
    }

    /// Whether the switch `name` is on.
    pub fn switch(&self, name: &str) -> bool {
        *self.get(name) == Value::Switch(true)
    }

    /// Whether `name`, which need not be declared, is `word`.
    pub fn has(&self, name: &str, word: &str) -> bool {
        self.0.iter().any(|(known, value)| {
            *known == name && matches!(value, Value::Word(value) if *value == word)
        })
    }

    /// Whether `name` is `word`.
    pub fn is(&self, name: &str, word: &str) -> bool {
        matches!(self.get(name), Value::Word(value) if *value == word)
    }

    /// The device `name`, which need not be declared: its name or the path of its file.
    pub fn device(&self, name: &str) -> Option<&str> {
        self.0.iter().find_map(|(known, value)| match value {
            Value::Device(device) if *known == name => Some(device.as_str()),
            _ => None,
        })
    }

    /// The members of the group `name`; `None` if it is off.
    pub fn group(&self, name: &str) -> Option<&Self> {
        match self.get(name) {
            Value::Group(members) => Some(members),
            _ => None,
        }
    }
}
