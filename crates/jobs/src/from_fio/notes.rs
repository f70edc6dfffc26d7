//! Notes on the lines of a job file of fio that have no exact counterpart in the job.

use crate::diagnose::Origin;
use crate::from_fio::lines::{FioOption, Section};

/// A note on a line that has no exact counterpart in the job.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Note {
    /// Line of fio's file, counted from 1.
    pub line: usize,
    /// The text of the line.
    pub text: String,
    /// The reason why it is not in the job, or the place where it is stated instead.
    pub why: String,
}

/// The notes of a file.
#[derive(Default)]
pub(super) struct Notes {
    all: Vec<Note>,
    /// The first section that was left out, and why.
    left_out: Option<(Origin, String)>,
}

impl Notes {
    /// Adds a note on an option.
    pub(super) fn on(&mut self, option: &FioOption, why: impl Into<String>) {
        self.at(&option.origin, why.into());
    }

    /// Adds a note on a section as a whole.
    pub(super) fn on_section(&mut self, section: &Section, why: impl Into<String>) {
        self.at(&section.origin, why.into());
    }

    /// Notes that a section is left out because of what is written at `origin`.
    pub(super) fn left_out(&mut self, section: &Section, origin: &Origin, why: &str) {
        self.left_out.get_or_insert_with(|| (origin.clone(), why.to_owned()));
        self.at(origin, format!("section `{}` is left out: {why}", section.name));
    }

    fn at(&mut self, origin: &Origin, why: String) {
        let line = origin.line_and_column().0;
        self.all.push(Note { line, text: origin.text().into(), why });
    }

    /// Returns the place and the reason of the first section that was left out.
    pub(super) fn why_left_out(&self) -> Option<&(Origin, String)> {
        self.left_out.as_ref()
    }

    /// Returns all notes by line; a note on several sections is kept once.
    pub(super) fn sorted(&self) -> Vec<Note> {
        let mut all = self.all.clone();
        all.sort();
        all.dedup();
        all
    }
}
