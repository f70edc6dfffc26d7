//! Kinds of quantities with units: their bounds, and the words that are allowed instead of a
//! quantity.

use std::num::NonZeroU32;

use penstock_core::Span;
use serde_json::{Value as Json, json};

use crate::describe;
use crate::diagnose::JobError;
use crate::kinds::{Kind, value_of, word_of, words};
use crate::nearest::nearest;
use crate::text::quoted;
use crate::tree::Node;
use crate::units::{self, OFF, Quantity, Share, pattern};

/// An integer type that holds a quantity in base units. The bounds of a kind keep its values within
/// the type.
pub(crate) trait BaseUnits: Copy {
    fn from_amount(amount: u64) -> Self;
    fn amount(self) -> u64;
}

macro_rules! base_units {
    ($($number:ty),+) => {$(
        impl BaseUnits for $number {
            fn from_amount(amount: u64) -> Self {
                amount as Self
            }

            fn amount(self) -> u64 {
                self.into()
            }
        }
    )+};
}
base_units!(u8, u32, u64);

impl BaseUnits for NonZeroU32 {
    fn from_amount(amount: u64) -> Self {
        Self::new(amount as u32).expect("a kind above zero")
    }

    fn amount(self) -> u64 {
        self.get().into()
    }
}

impl BaseUnits for Span {
    fn from_amount(amount: u64) -> Self {
        Self::from_ns(amount)
    }

    fn amount(self) -> u64 {
        self.ns()
    }
}

impl BaseUnits for Share {
    fn from_amount(amount: u64) -> Self {
        Self::billionths(amount as u32)
    }

    fn amount(self) -> u64 {
        self.of(1_000_000_000)
    }
}

/// A quantity with its unit, between two bounds.
#[derive(Clone, Copy)]
pub(crate) struct Amount {
    quantity: &'static Quantity,
    /// Reads a text as base units.
    parse: fn(&str) -> Result<u64, JobError>,
    text: fn(u64) -> String,
    /// Names in schemas of any amount and of an amount above zero.
    defined: [&'static str; 2],
    least: u64,
    most: u64,
    /// Hints for an amount that is too small and for one that is too large.
    hints: [&'static str; 2],
}

/// A size in bytes.
pub(crate) const SIZE: Amount =
    Amount::new(&units::SIZE, units::parse_size, units::size_text, ["size", "size-above-zero"]);
/// A length of time.
pub(crate) const TIME: Amount = Amount::new(
    &units::DURATION,
    |text| units::parse_duration(text).map(Span::ns),
    |ns| units::duration_text(Span::from_ns(ns)),
    ["time", "time-above-zero"],
);
/// A percentage.
pub(crate) const SHARE: Amount = Amount::new(
    &units::SHARE,
    |text| units::parse_share(text).map(BaseUnits::amount),
    |part| units::share_text(BaseUnits::from_amount(part)),
    ["share", "share-above-zero"],
);
/// A transfer rate in bytes a second.
pub(crate) const TRANSFER: Amount = Amount::new(
    &units::TRANSFER,
    units::parse_transfer,
    units::transfer_text,
    ["transfer-rate"; 2],
);

impl Amount {
    const fn new(
        quantity: &'static Quantity,
        parse: fn(&str) -> Result<u64, JobError>,
        text: fn(u64) -> String,
        defined: [&'static str; 2],
    ) -> Self {
        Self { quantity, parse, text, defined, least: 0, most: u64::MAX, hints: [""; 2] }
    }

    pub(crate) const fn above_zero(self) -> Self {
        Self { least: 1, ..self }
    }

    pub(crate) const fn at_least(self, least: u64) -> Self {
        Self { least, ..self }
    }

    pub(crate) const fn at_most(self, most: u64) -> Self {
        Self { most, ..self }
    }

    /// Sets the hint for amounts outside the bounds.
    pub(crate) const fn hint(self, hint: &'static str) -> Self {
        Self { hints: [hint; 2], ..self }
    }

    /// Sets the hints for amounts that are too small and for amounts that are too large.
    pub(crate) const fn hints(self, small: &'static str, large: &'static str) -> Self {
        Self { hints: [small, large], ..self }
    }

    fn bounded(&self, node: &Node) -> Result<u64, JobError> {
        let amount = self.quantity.read(node, self.parse)?;
        let (name, least, most) = (self.quantity.name, self.least, self.most);
        if (least..=most).contains(&amount) {
            return Ok(amount);
        }
        let expected = match least {
            1 if amount == 0 => format!("{name} above zero"),
            0 | 1 => format!("{name} of at most `{}`", (self.text)(most)),
            _ if most == u64::MAX => format!("{name} of at least `{}`", (self.text)(least)),
            _ => format!("{name} from `{}` to `{}`", (self.text)(least), (self.text)(most)),
        };
        let error = node.expected(&expected);
        Err(match self.hints[usize::from(amount > most)] {
            "" => error,
            hint => error.hint(hint),
        })
    }

    fn defined(&self) -> &'static str {
        self.defined[usize::from(self.least > 0)]
    }

    /// Returns the schema definitions of any amount, which matches `pattern`, and of an amount
    /// above zero.
    pub(crate) fn definitions(&self, pattern: &str) -> [(&'static str, Json); 2] {
        let any = json!({"type": "string", "pattern": pattern});
        [(self.defined[1], above_zero(pattern)), (self.defined[0], any)]
    }

    /// Refers to the schema definition.
    pub(crate) fn reference(&self) -> Json {
        describe::defined(self.defined())
    }
}

impl<T: BaseUnits> Kind<T> for Amount {
    fn read(&self, node: &Node) -> Result<T, JobError> {
        self.bounded(node).map(T::from_amount)
    }

    fn text(&self, value: &T) -> String {
        quoted(&(self.text)(value.amount()))
    }

    fn schema(&self) -> Json {
        self.reference()
    }
}

/// A quantity, or one of the words that stand for something else.
pub(crate) struct OrWord<T: 'static, Q> {
    pub(crate) words: &'static [(&'static str, T)],
    pub(crate) amount: Amount,
    pub(crate) value: fn(Q) -> T,
    /// Returns the quantity of a value that has no word.
    pub(crate) quantity: fn(&T) -> Option<Q>,
}

/// A quantity, or `off`.
pub(crate) const fn or_off<Q: BaseUnits>(amount: Amount) -> OrWord<Option<Q>, Q> {
    OrWord { words: &[(OFF, None)], amount, value: Some, quantity: |value| *value }
}

impl<T: Clone + PartialEq, Q: BaseUnits> Kind<T> for OrWord<T, Q> {
    fn read(&self, node: &Node) -> Result<T, JobError> {
        let names: Vec<&'static str> = self.words.iter().map(|(word, _)| *word).collect();
        match word(node, &names, self.amount.quantity, "")? {
            Some(word) => Ok(value_of(self.words, word)),
            None => self.amount.read(node).map(self.value),
        }
    }

    fn text(&self, value: &T) -> String {
        match (word_of(self.words, value), (self.quantity)(value)) {
            (Some(word), _) => quoted(word),
            (None, quantity) => self.amount.text(&quantity.expect("a word or a quantity")),
        }
    }

    fn schema(&self) -> Json {
        describe::any([words(self.words), describe::from_digit(self.amount.defined())])
    }
}

/// Returns the word of `words` that was written; `None` for a quantity, which begins with a digit.
/// `alternatives` is what else the message offers, before the words.
pub(crate) fn word(
    node: &Node,
    words: &[&'static str],
    quantity: &Quantity,
    alternatives: &str,
) -> Result<Option<&'static str>, JobError> {
    let Some(text) = node.word() else { return Ok(None) };
    if let Some(word) = words.iter().find(|word| **word == text) {
        return Ok(Some(word));
    }
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        return Ok(None);
    }
    let quoted = words.join("` or `");
    let expected = node.expected(&format!("{}{alternatives} or `{quoted}`", quantity.name));
    Err(expected.hint(match nearest(text, words.iter().copied()) {
        Some(word) => format!("did you mean `{word}`?"),
        None => quantity.for_example(),
    }))
}

/// A whole number between two bounds.
pub(crate) struct Count(pub(crate) u64, pub(crate) u64);

impl<T: BaseUnits> Kind<T> for Count {
    fn read(&self, node: &Node) -> Result<T, JobError> {
        node.count(self.0, self.1).map(T::from_amount)
    }

    fn text(&self, value: &T) -> String {
        value.amount().to_string()
    }

    fn schema(&self) -> Json {
        describe::count(self.0, self.1)
    }
}

/// The name of rates in schemas.
const RATE: &str = "rate-above-zero";

/// Returns the schema definition of a rate above zero, which matches `pattern`.
pub(crate) fn rate_definition(pattern: &str) -> (&'static str, Json) {
    (RATE, above_zero(pattern))
}

/// Describes a text that matches `pattern` and is not zero.
fn above_zero(pattern: &str) -> Json {
    json!({"type": "string", "pattern": pattern, "not": {"pattern": pattern::zero()}})
}

/// A rate above zero; the hint is for a rate of zero.
pub(crate) struct Rate(pub(crate) &'static str);

impl Kind<f64> for Rate {
    fn read(&self, node: &Node) -> Result<f64, JobError> {
        match units::RATE.read(node, units::parse_rate)? {
            rate if rate > 0.0 => Ok(rate),
            _ => Err(node.expected("a rate above zero").hint(self.0)),
        }
    }

    fn text(&self, value: &f64) -> String {
        quoted(&units::rate_text(*value))
    }

    fn schema(&self) -> Json {
        describe::defined(RATE)
    }
}
