//! What is said of the lines of a job file of fio that are not, or not quite, in the job.

use crate::diagnose::Origin;
use crate::from_fio::lines::{FioOption, Section};

/// What became of a line that is not, or not quite, in the job.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Note {
    /// The line of fio's file, from 1.
    pub line: usize,
    /// What stands there.
    pub text: String,
    /// Why it is not in the job, or where it is stated instead.
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
    /// Adds one on an option.
    pub(super) fn on(&mut self, given: &FioOption, why: impl Into<String>) {
        self.at(&given.origin, why.into());
    }

    /// Adds one on a section as a whole.
    pub(super) fn on_section(&mut self, section: &Section, why: impl Into<String>) {
        self.at(&section.origin, why.into());
    }

    /// Adds that a section is left out, because of what stands at `origin`.
    pub(super) fn left_out(&mut self, section: &Section, origin: &Origin, why: &str) {
        self.left_out.get_or_insert_with(|| (origin.clone(), why.to_owned()));
        self.at(origin, format!("section `{}` is left out: {why}", section.name));
    }

    fn at(&mut self, origin: &Origin, why: String) {
        let line = origin.line_and_column().0;
        self.all.push(Note { line, text: origin.text().into(), why });
    }

    /// Why the first section was left out, if one was.
    pub(super) fn why_left_out(&self) -> Option<&(Origin, String)> {
        self.left_out.as_ref()
    }

    /// All of them, by line; what holds for several sections is said once.
    pub(super) fn sorted(mut self) -> Vec<Note> {
        self.all.sort();
        self.all.dedup();
        self.all
    }
}
