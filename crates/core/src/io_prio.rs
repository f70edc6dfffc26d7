//! The I/O priority of a class of work, as Linux has it for processes (`ioprio_set(2)`).

use core::fmt;
use core::str::FromStr;

/// The class of an I/O priority. All work of a class goes before all work of the classes below.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum IoClass {
    /// Before everything else.
    RealTime,
    /// The class of most work.
    BestEffort,
    /// Served only when no other class has requests.
    Idle,
}

/// A class and a level within it. The least goes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct IoPrio {
    class: IoClass,
    level: u8,
}

impl IoPrio {
    /// The priority of a process that sets none: `be:4`.
    pub const DEFAULT: Self = Self { class: IoClass::BestEffort, level: 4 };
    /// The idle priority, behind all others; it has no levels.
    pub const IDLE: Self = Self { class: IoClass::Idle, level: 7 };
    /// Number of levels of a class; level 0 goes first.
    pub const LEVELS: u8 = 8;

    /// The priority `level` of `class`; `None` if there is no such level. Idle has only one level.
    pub const fn new(class: IoClass, level: u8) -> Option<Self> {
        match class {
            IoClass::Idle => Some(Self::IDLE),
            _ if level < Self::LEVELS => Some(Self { class, level }),
            _ => None,
        }
    }

    /// The class.
    pub const fn class(self) -> IoClass {
        self.class
    }

    /// The level, from 0 to 7; 0 goes first. The level of idle is 7.
    pub const fn level(self) -> u8 {
        self.level
    }

    /// The weight of a class of work that has this priority and names no weight: 80 at level 0, 10
    /// at level 7, as in the documentation of bfq.
    pub const fn weight(self) -> u32 {
        (Self::LEVELS - self.level) as u32 * 10
    }
}

impl Default for IoPrio {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl fmt::Display for IoPrio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.class {
            IoClass::RealTime => write!(f, "rt:{}", self.level),
            IoClass::BestEffort => write!(f, "be:{}", self.level),
            IoClass::Idle => f.write_str("idle"),
        }
    }
}

/// The error for a text that is no I/O priority.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoIoPrio;

impl FromStr for IoPrio {
    type Err = NoIoPrio;

    fn from_str(text: &str) -> Result<Self, NoIoPrio> {
        if text == "idle" {
            return Ok(Self::IDLE);
        }
        let (class, level) = text.split_once(':').ok_or(NoIoPrio)?;
        let class = match class {
            "rt" => IoClass::RealTime,
            "be" => IoClass::BestEffort,
            _ => return Err(NoIoPrio),
        };
        // One digit: `+4` and `04` are numbers too.
        let [digit @ b'0'..=b'9'] = level.as_bytes() else { return Err(NoIoPrio) };
        Self::new(class, digit - b'0').ok_or(NoIoPrio)
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn a_priority_prints_as_the_text_it_was_parsed_from() {
        for text in ["rt:0", "rt:7", "be:0", "be:4", "be:7", "idle"] {
            assert_eq!(text.parse::<IoPrio>().unwrap().to_string(), text);
        }
        for wrong in ["", "rt", "be:8", "be:", "be:04", "be:+4", "4", "idle:0", "be 4", "BE:4"] {
            assert_eq!(wrong.parse::<IoPrio>(), Err(NoIoPrio), "{wrong}");
        }
    }

    #[test]
    fn the_least_priority_goes_first() {
        let order =
            ["rt:0", "rt:7", "be:0", "be:4", "be:7", "idle"].map(|text| text.parse().unwrap());
        assert!(order.is_sorted_by(|a: &IoPrio, b| a < b));
        assert_eq!(order.map(IoPrio::weight), [80, 10, 80, 40, 10, 10]);
    }
}
