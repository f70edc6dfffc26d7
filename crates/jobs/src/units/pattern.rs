//! Describes quantities as regular expressions for schemas. Units and exactness come from the
//! tables that the parser uses.
//!
//! A pattern refuses no text that the parser accepts. It also accepts amounts that are too large,
//! and fractions of binary and of long units that are not whole in the base unit: a pattern cannot
//! recognise these.

use super::{DURATION, Quantity, RATE, SHARE, SIZE, TRANSFER};

/// Matches a size.
pub(crate) fn size() -> String {
    exact(&SIZE)
}

/// Matches a length of time.
pub(crate) fn duration() -> String {
    exact(&DURATION)
}

/// Matches a transfer rate.
pub(crate) fn transfer() -> String {
    exact(&TRANSFER)
}

/// Matches a percentage up to the whole.
pub(crate) fn share() -> String {
    let [(unit, multiple)] = SHARE.units else { unreachable!("a share has one unit") };
    let some = decimals(*multiple);
    format!(r"^\s*0*(100(\.0+)?|[0-9]{{1,2}}{some})\s*{unit}\s*$")
}

/// Matches a rate: its number may have any decimals.
pub(crate) fn rate() -> String {
    let units: Vec<&str> = RATE.units.iter().map(|&(name, _)| name).collect();
    format!(r"^\s*[0-9]+(\.[0-9]+)?\s*({})\s*$", units.join("|"))
}

/// Matches zero of any quantity.
pub(crate) fn zero() -> &'static str {
    r"^\s*[0.]+\s*[^0-9.\s]"
}

fn exact(quantity: &Quantity) -> String {
    let unit = |(name, multiple): &(&str, u64)| format!(r"{}\s*{name}", decimals(*multiple));
    let units: Vec<String> = quantity.units.iter().map(unit).collect();
    format!(r"^\s*[0-9]+({})\s*$", units.join("|"))
}

/// Matches the decimals that a number before a unit may have, without trailing zeros.
///
/// A fraction whose last digit is not zero lacks a factor of two or of five. The larger of the
/// unit's powers of two and five is therefore the most decimals that can give a whole number.
fn decimals(multiple: u64) -> String {
    let fives = std::iter::successors(Some(multiple), |n| n.is_multiple_of(5).then_some(n / 5));
    match multiple.trailing_zeros().max(fives.count() as u32 - 1) {
        0 => r"(\.0+)?".into(),
        most => format!(r"(\.[0-9]{{1,{most}}}0*)?"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_those_that_can_come_out_whole() {
        assert_eq!(decimals(1), r"(\.0+)?");
        assert_eq!(decimals(1_000), r"(\.[0-9]{1,3}0*)?");
        assert_eq!(decimals(1 << 20), r"(\.[0-9]{1,20}0*)?");
        assert_eq!(decimals(60_000_000_000), r"(\.[0-9]{1,11}0*)?");
    }
}
