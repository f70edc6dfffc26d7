//! Computes when the sections of a job file of fio begin and end, as far as that is known before
//! they run.
//!
//! A section that waits for others begins when they have ended. That is known if all of them are
//! `time_based` with a `runtime`; else it depends on the device, and the section is left out. A
//! `startdelay` counts from the beginning of the job, and `ramp_time` comes before the `runtime`.

use penstock_core::Span;

use crate::diagnose::JobError;
use crate::from_fio::lines::{FioOption, Section};
use crate::from_fio::notes::Notes;
use crate::from_fio::values::{span, time};

const SECOND: u64 = 1_000_000_000;

/// Times of a section.
#[derive(Clone, Copy)]
pub(super) struct Times {
    /// Time at which it begins.
    pub(super) start: Span,
    /// Time from which its requests are measured.
    pub(super) counts: Span,
    /// Latest time at which it ends, if it has a `runtime`.
    pub(super) end: Option<Span>,
    /// Whether only the time ends it.
    pub(super) time_based: bool,
}

/// Times of the sections so far.
#[derive(Default)]
pub(super) struct Order {
    /// Names of sections, with the time at which they end if it is known.
    ends: Vec<(String, Option<Span>)>,
    /// Common begin of the sections that do not wait for others.
    group: Group,
}

#[derive(Clone, Copy)]
enum Group {
    Begins(Span),
    Unknown,
}

impl Default for Group {
    fn default() -> Self {
        Self::Begins(Span::ZERO)
    }
}

impl Order {
    /// Returns the times of the next section; `None`, with a note, if its begin is not known.
    pub(super) fn next(
        &mut self,
        section: &Section,
        notes: &mut Notes,
    ) -> Result<Option<Times>, JobError> {
        let wall = section.find(&["stonewall", "wait_for_previous"]);
        let wall = wall.filter(|option| !option.is_off());
        if wall.is_some() {
            self.group = latest(self.ends.iter().map(|(_, end)| *end));
        }
        let waits = section.find(&["wait_for"]);
        let begins = match (self.group, waits) {
            (Group::Begins(begins), Some(waits)) => match self.end_of(&waits.value) {
                Group::Begins(end) => Group::Begins(begins.max(end)),
                Group::Unknown => Group::Unknown,
            },
            (group, _) => group,
        };
        let Group::Begins(begins) = begins else {
            let why = "it begins when others have ended, and when that is depends on the device; \
                 `--section` makes a job of it alone";
            let origin = wall.or(waits).map_or(&section.origin, |option| &option.origin);
            notes.left_out(section, origin, why);
            self.ends.push((section.name.clone(), None));
            return Ok(None);
        };
        let times = times(section, begins, notes)?;
        self.ends.push((section.name.clone(), times.end.filter(|_| times.time_based)));
        Ok(Some(times))
    }

    /// Forgets the last section, which was left out: others do not wait for it.
    pub(super) fn left_out(&mut self) {
        self.ends.pop();
    }

    /// Returns the time at which all sections called `name` have ended; zero if there is none.
    fn end_of(&self, name: &str) -> Group {
        latest(self.ends.iter().filter(|(other, _)| other == name).map(|(_, end)| *end))
    }
}

/// Returns the latest end; unknown if one of them is.
fn latest(mut ends: impl Iterator<Item = Option<Span>>) -> Group {
    let last = ends.try_fold(Span::ZERO, |last, end| Some(last.max(end?)));
    last.map_or(Group::Unknown, Group::Begins)
}

fn times(section: &Section, begins: Span, notes: &mut Notes) -> Result<Times, JobError> {
    let find = |names: &[&str]| section.find(names).map(|option| time(option, SECOND)).transpose();
    let delay = section.find(&["startdelay"]).map(|option| delay(option, notes)).transpose()?;
    let ramp = find(&["ramp_time"])?.unwrap_or(Span::ZERO);
    let runs = find(&["runtime", "timeout"])?.filter(|runs| *runs > Span::ZERO);
    let start = begins.max(delay.unwrap_or(Span::ZERO));
    if let Some(option) = section.find(&["startdelay"])
        && start > delay.unwrap_or(Span::ZERO)
    {
        notes.on(option, "it has no effect: the delay is over when the section begins");
    }
    Ok(Times {
        start,
        counts: start + ramp,
        end: runs.map(|runs| start + ramp + runs),
        time_based: runs.is_some() && section.on(&["time_based"]),
    })
}

/// Reads a start delay; of a range its earliest time.
fn delay(option: &FioOption, notes: &mut Notes) -> Result<Span, JobError> {
    let Some((least, _)) = option.value.split_once(['-', ':']) else { return time(option, SECOND) };
    let least = span(least, SECOND);
    notes.on(option, "it begins at the earliest of these times");
    least.ok_or_else(|| option.wrong("a time, as `5`, or two, as `5-10`"))
}
