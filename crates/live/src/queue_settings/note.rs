//! Notes of the old settings of disks, one for each disk.

use std::fs::File;
use std::io::{self, Read};

/// The reason why the settings of a disk are held. What is held for a run is put back before what is held for as
/// long as the disk is served.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Purpose {
    Run,
    Serving,
}

impl Purpose {
    pub(super) const ALL: [Self; 2] = [Self::Run, Self::Serving];

    /// Returns the beginning of a note's name; the disk follows.
    pub(super) const fn note(self) -> &'static str {
        match self {
            Self::Run => "queue.",
            Self::Serving => "served.",
        }
    }
}

/// The old value of an attribute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Noted {
    pub(super) why: Why,
    /// The scheduler under which it was read.
    pub(super) under: String,
    /// The path of the attribute in the queue's folder.
    pub(super) attribute: String,
    pub(super) value: String,
}

/// The reason why an old value was noted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Why {
    /// A switch of the scheduler may change the attribute.
    Switch,
    /// The attribute was about to be set.
    Set,
}

impl Noted {
    /// Parses a line of a note; `None` for a line that was not finished.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let mut words = line.strip_suffix('\n')?.splitn(4, ' ');
        let why = match words.next()? {
            "switch" => Why::Switch,
            "set" => Why::Set,
            _ => return None,
        };
        let mut word = || words.next().map(str::to_owned);
        Some(Self { why, under: word()?, attribute: word()?, value: word()? })
    }

    pub(super) fn line(&self) -> String {
        let why = match self.why {
            Why::Switch => "switch",
            Why::Set => "set",
        };
        format!("{why} {} {} {}\n", self.under, self.attribute, self.value)
    }
}

/// Reads the old values of a note.
pub(super) fn read_note(note: &mut File) -> io::Result<Vec<Noted>> {
    let mut text = String::new();
    note.read_to_string(&mut text)?;
    Ok(text.split_inclusive('\n').filter_map(Noted::parse).collect())
}
