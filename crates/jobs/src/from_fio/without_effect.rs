//! Finds the lines of a job file of fio that change nothing here, and so in fio, without a note.
//!
//! A line has no effect if the job and its notes are the same with any other value in it: a mix of
//! a section that only reads, the number of requests of one that only the time ends, a line that a
//! later one replaces. Nothing has to be known of the option, so that none is forgotten.

use std::collections::BTreeSet;

use crate::fio::{self, Fate};
use crate::from_fio::lines::{FioOption, Section};
use crate::from_fio::notes::Note;

/// Values of which every option that has a counterpart takes at least two.
const VALUES: [&str; 17] = [
    "0",
    "1",
    "3",
    "8192",
    "1000",
    "4k-8k",
    "4k/50:8k/50",
    "write",
    "randread",
    "poisson",
    "linear",
    "libaio",
    "mmap",
    "zipf:1.1",
    "random",
    "mmaphuge",
    "malloc",
];

/// Returns the options without effect, each once: those of `sections` without one of the `notes`.
/// `alike` says whether other sections become the same job, with the same notes; `None` if they are
/// refused.
pub(super) fn find(
    sections: &[Section],
    notes: &[Note],
    alike: impl Fn(&[Section]) -> Option<bool>,
) -> Vec<FioOption> {
    let mut seen: BTreeSet<usize> = notes.iter().map(|note| note.line).collect();
    let options = sections.iter().flat_map(|section| &section.options);
    let unused = options.filter(|option| {
        seen.insert(line(option))
            && matches!(fio::fate(&option.name), Some(Fate::Ours(_)))
            && !option.is_off()
            && {
                let mut tries =
                    VALUES.iter().filter_map(|value| alike(&with(sections, option, value)));
                tries.next() == Some(true) && tries.all(|alike| alike)
            }
    });
    unused.cloned().collect()
}

/// Returns `sections` with this value in the line of `option`.
fn with(sections: &[Section], option: &FioOption, value: &str) -> Vec<Section> {
    let mut changed = sections.to_vec();
    for other in changed.iter_mut().flat_map(|section| &mut section.options) {
        if line(other) == line(option) {
            value.clone_into(&mut other.value);
        }
    }
    changed
}

fn line(option: &FioOption) -> usize {
    option.origin.line_and_column().0
}
