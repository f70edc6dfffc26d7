//! The files that an agent works on, and its copies on each.

use std::ops::Range;

use crate::amount::Count;
use crate::diagnose::{JobError, Origin};
use crate::keys::keys;
use crate::kinds::{Choice, Each, Text};
use crate::reader::Reader;
use crate::rows::Rows;
use crate::units::size_text;
use crate::workload::files::FILE;
use crate::workload::job_files::JobFiles;

/// Most copies of an agent on a file.
pub(crate) const COPIES_MOST: u64 = 1 << 16;

keys! {
    /// Keys of an agent that say where it works.
    KEYS:
    /// The files of the agent: all of a name (`data`), one of them (`data.0`), or a list. It may be
    /// left out if the job has at most one `[[file]]` section.
    NAMES file: Vec<String> = Each(&Text("the name of a file"));
    /// Number of agents of this kind on each of the files. Each is a stream of its own, with random
    /// numbers of its own.
    COPIES copies: u32 = Count(1, COPIES_MOST), or 1;
    /// Regions of the copies on a file: each copy works on the whole region, or each on a slice of
    /// its own.
    SHARE share: Parts = Choice(&[("whole", Parts::Whole), ("slices", Parts::Slices)]), or Parts::Whole;
}

/// The region that the copies of an agent on one file work on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Parts {
    /// Each copy works on the whole region.
    Whole,
    /// Each copy works on a slice of its own; all slices are equally large, as far as blocks allow.
    Slices,
}

/// The files of an agent, and its copies on each.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct AgentFiles {
    /// Names as they were written; empty: the files of the only section.
    names: Vec<String>,
    /// Indices of the files among those of the job; empty if the job has none.
    numbers: Vec<u32>,
    copies: u32,
    copies_origin: Origin,
    parts: Parts,
    parts_origin: Origin,
}

impl AgentFiles {
    /// Reads the files and copies of an agent in a job with these files.
    pub(crate) fn read(reader: &Reader<'_>, files: &JobFiles) -> Result<Self, JobError> {
        let names = reader.find(&NAMES)?.unwrap_or_default();
        let origin = reader.place(&NAMES);
        let numbers = match (&files.sections[..], &names[..]) {
            ([], []) => Vec::new(),
            ([], [name, ..]) => {
                let message = format!("the agent names the file `{name}`, and the job has none");
                let hint = format!("add a section `[[{}]]`, or leave `file` out", FILE.name);
                return Err(JobError::new(message).at(origin).hint(hint));
            }
            ([file], []) => (0..file.count).collect(),
            (several, []) => {
                let names: Vec<String> =
                    several.iter().map(|file| format!("`{}`", file.name)).collect();
                let message =
                    "the job has several `[[file]]` sections, and this agent names no file";
                let hint = format!("add `file = \"…\"`: one of {}, or a list", names.join(", "));
                return Err(JobError::new(message).at(reader.origin(&NAMES)).hint(hint));
            }
            (_, names) => numbers(names, origin, files)?,
        };
        Ok(Self {
            names,
            numbers,
            copies: reader.get(&COPIES)?,
            copies_origin: reader.place(&COPIES).clone(),
            parts: reader.get(&SHARE)?,
            parts_origin: reader.place(&SHARE).clone(),
        })
    }

    /// Adds the keys that are given to `rows`: most agents need none.
    pub(crate) fn write(&self, rows: Rows) -> Rows {
        rows.maybe(&NAMES, Some(&self.names).filter(|names| !names.is_empty()))
            .maybe(&COPIES, Some(&self.copies).filter(|copies| **copies != 1))
            .maybe(&SHARE, Some(&self.parts).filter(|parts| **parts != Parts::Whole))
    }

    /// Returns the indices of its files; 0, the target, if the job has no files.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> {
        let target = self.numbers.is_empty().then_some(0);
        self.numbers.iter().copied().chain(target)
    }

    /// Number of agents on all of its files.
    pub(crate) fn agents(&self) -> u64 {
        u64::from(self.copies) * self.numbers.len().max(1) as u64
    }

    /// Returns where the number of copies was written.
    pub(crate) fn copies_origin(&self) -> &Origin {
        &self.copies_origin
    }

    /// Returns the parts of `region` that its copies on a file work on, in their order. Borders
    /// between slices are multiples of `step`.
    pub(crate) fn parts(
        &self,
        region: Range<u64>,
        step: u64,
    ) -> impl Iterator<Item = Range<u64>> + use<> {
        let (copies, parts) = (u64::from(self.copies), self.parts);
        let bytes = region.end - region.start;
        let border = move |number: u64| match number {
            all if all == copies => bytes,
            part => {
                let at = (u128::from(bytes) * u128::from(part) / u128::from(copies)) as u64;
                at - at % step
            }
        };
        (0..copies).map(move |copy| match parts {
            Parts::Whole => region.clone(),
            Parts::Slices => region.start + border(copy)..region.start + border(copy + 1),
        })
    }

    /// Returns the error for a slice of `bytes` that has no room for a request of `longest`; `None`
    /// if the copies share the whole region.
    pub(crate) fn too_small(&self, bytes: u64, longest: u64) -> Option<JobError> {
        let slices = self.parts == Parts::Slices && self.copies > 1;
        slices.then(|| {
            let (holds, size, copies) = (size_text(bytes), size_text(longest), self.copies);
            let message =
                format!("a slice of {copies} holds {holds}, less than one request of {size}");
            let hint = "lower `copies` or `size`, make `region` or the file larger, or let them \
                        share the whole";
            JobError::new(message).at(&self.parts_origin).hint(hint)
        })
    }
}

/// Returns the indices of the files called `names`, which were written at `origin`.
fn numbers(names: &[String], origin: &Origin, files: &JobFiles) -> Result<Vec<u32>, JobError> {
    let mut numbers: Vec<u32> = Vec::new();
    for name in names {
        for number in files.named(name, origin)? {
            if numbers.contains(&number) {
                let message = format!("file `{name}` is named twice");
                return Err(JobError::new(message).at(origin).hint("name each file once"));
            }
            numbers.push(number);
        }
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::Source;
    use crate::tree;

    fn copies(copies: u32, share: &str) -> AgentFiles {
        let text = format!("copies = {copies}\nshare = \"{share}\"\n");
        let node = tree::parse(&Source::file("job.toml", &text)).unwrap();
        AgentFiles::read(&Reader::new(&node, "this agent", &[KEYS]).unwrap(), &JobFiles::default())
            .unwrap()
    }

    #[test]
    fn slices_cover_the_region_and_do_not_overlap() {
        for (count, bytes, step) in [(3, 100_000, 4096), (1, 5000, 4096), (7, 7, 1)] {
            let parts: Vec<_> = copies(count, "slices").parts(1000..1000 + bytes, step).collect();
            assert_eq!((parts[0].start, parts.last().unwrap().end), (1000, 1000 + bytes));
            assert!(parts.windows(2).all(|two| two[0].end == two[1].start), "{parts:?}");
            assert!(parts.iter().all(|part| (part.start - 1000) % step == 0), "{parts:?}");
        }
        let whole: Vec<_> = copies(2, "whole").parts(8..16, 4).collect();
        assert_eq!(whole, [8..16, 8..16]);
    }
}
