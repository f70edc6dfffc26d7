//! Splits a job file of fio into sections and their options, each with its place.

use std::sync::Arc;

use crate::diagnose::{JobError, Origin, Source, quote};
use crate::fio;

/// An option as it was written.
#[derive(Clone)]
pub(super) struct FioOption {
    /// Its name.
    pub(super) name: String,
    /// Its value; empty for a switch that is on.
    pub(super) value: String,
    /// The whole option.
    pub(super) origin: Origin,
}

/// A section with the options that apply to it; of several options with one name the last counts.
#[derive(Clone)]
pub(super) struct Section {
    /// Its name.
    pub(super) name: String,
    /// Place of its header.
    pub(super) origin: Origin,
    /// The options of the global sections before it, then its own.
    pub(super) options: Vec<FioOption>,
}

impl FioOption {
    /// Whether it switches something off, or says that there is none.
    pub(super) fn is_off(&self) -> bool {
        matches!(self.value.as_str(), "0" | "none")
    }

    /// Returns the error for a value that is not what was `expected`.
    pub(super) fn wrong(&self, expected: &str) -> JobError {
        let value = match self.value.as_str() {
            "" => "nothing".into(),
            value => quote(value),
        };
        let error = JobError::new(format!("`{}`: expected {expected}, found {value}", self.name));
        error.at(&self.origin).hint(if self.value.contains('$') {
            "variables and keywords as `${SIZE}` or `$ncpus` are not replaced here: write the value"
        } else if self.value.starts_with('(') {
            "expressions are not computed here: write the value"
        } else {
            "`fio --cmdhelp=OPTION` says which values an option has"
        })
    }
}

impl Section {
    /// Returns the last of the options with these names.
    pub(super) fn find(&self, names: &[&str]) -> Option<&FioOption> {
        self.options.iter().rev().find(|option| names.contains(&option.name.as_str()))
    }

    /// Whether the switch with one of these names is on.
    pub(super) fn on(&self, names: &[&str]) -> bool {
        self.find(names).is_some_and(|option| !option.is_off())
    }

    /// Whether its buffers lie in huge pages, which fio uses on request only.
    pub(super) fn has_huge_pages(&self) -> bool {
        self.find(&["mem", "iomem"]).is_some_and(|option| option.value.contains("huge"))
    }
}

/// Returns the sections of `source`.
///
/// # Errors
/// A line is neither a section nor an option, an option comes before any section, the file has an
/// `include`, or it has no option of fio at all.
pub(super) fn sections(source: &Arc<Source>) -> Result<Vec<Section>, JobError> {
    let mut global: Vec<FioOption> = Vec::new();
    let mut sections: Vec<Section> = Vec::new();
    // Whether options belong to all sections or to the last one; `None` before the first header.
    let mut to_all = None;
    let mut known = false;
    let mut at = 0;
    for raw in source.text().split_inclusive('\n') {
        let (start, line) = (at + (raw.len() - raw.trim_start().len()), raw.trim());
        at += raw.len();
        let origin = Origin::new(source, start..start + line.len());
        if line.is_empty() || line.starts_with([';', '#']) {
            continue;
        }
        let line = without_comment(line);
        if let Some(rest) = line.strip_prefix('[') {
            let name = header(rest).map_err(|error| error.at(&origin))?;
            to_all = Some(name == fio::GLOBAL);
            if name != fio::GLOBAL {
                sections.push(Section { name: name.into(), origin, options: global.clone() });
            }
            continue;
        }
        if line.split_whitespace().next().map(|word| word.trim_start_matches('%'))
            == Some("include")
        {
            let hint = "put the text of that file in the place of this line";
            return Err(JobError::new("other files are not included").at(&origin).hint(hint));
        }
        let (name, value) = line.split_once('=').unwrap_or((line, ""));
        let (name, value) = (name.trim(), value.trim());
        if name.is_empty() || name.contains(char::is_whitespace) {
            let hint = "a job file of fio has sections, `[name]`, and options, `name=value`";
            return Err(JobError::new("this is not an option").at(&origin).hint(hint));
        }
        let option = FioOption { name: name.into(), value: value.into(), origin };
        known |= fio::fate(name).is_some();
        match (to_all, sections.last_mut()) {
            (Some(false), Some(section)) => section.options.push(option),
            (Some(_), _) => global.push(option),
            (None, _) => {
                let hint = "options stand below a header: `[global]`, or the name of a job";
                let message = "an option above all sections";
                return Err(JobError::new(message).at(&option.origin).hint(hint));
            }
        }
    }
    let file = Origin::new(source, 0..0);
    let hint = "a job file of fio has a section for each job, with options as `rw=randread`";
    match (sections.is_empty(), known) {
        (false, true) => Ok(sections),
        (true, _) => {
            Err(JobError::new("the file has no section with a job of fio").at(&file).hint(hint))
        }
        (false, false) => Err(JobError::new("the file has no option of fio").at(&file).hint(hint)),
    }
}

/// Returns the name in a header; `rest` is the text behind the bracket.
fn header(rest: &str) -> Result<&str, JobError> {
    match rest.strip_suffix(']') {
        Some(name) if name.starts_with('[') => {
            let hint = "it looks like a job of Penstock: `penstock run` takes it as it is";
            Err(JobError::new("this is not a job file of fio").hint(hint))
        }
        Some(name) if !name.is_empty() => Ok(name),
        _ => {
            let hint = "a section is `[name]`, on a line of its own";
            Err(JobError::new("this is not the header of a section").hint(hint))
        }
    }
}

/// Strips the comment at the end of a line.
fn without_comment(line: &str) -> &str {
    let ends = |at: &usize| line[..*at].ends_with(char::is_whitespace);
    let comment = line.match_indices([';', '#']).map(|(at, _)| at).find(ends);
    line[..comment.unwrap_or(line.len())].trim_end()
}
