//! When the sections of a job file of fio begin and end, as far as that is known before they run.
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

/// The time of a section.
#[derive(Clone, Copy)]
pub(super) struct Times {
    /// When it begins.
    pub(super) start: Span,
    /// From where on its requests count.
    pub(super) counts: Span,
    /// When it ends at the latest, if it has a `runtime`.
    pub(super) end: Option<Span>,
    /// Whether nothing else ends it.
    pub(super) time_based: bool,
}

/// The sections so far.
#[derive(Default)]
pub(super) struct Order {
    /// Their names and when they end, if that is known.
    ends: Vec<(String, Option<Span>)>,
    /// When those began that do not wait for others: all together; nothing if that is not known.
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
    /// The time of the next section; none, with a note, if it is not known when it begins.
    pub(super) fn next(
        &mut self,
        section: &Section,
        notes: &mut Notes,
    ) -> Result<Option<Times>, JobError> {
        let wall = section.find(&["stonewall", "wait_for_previous"]);
        let wall = wall.filter(|given| !given.is_off());
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
            let origin = wall.or(waits).map_or(&section.origin, |given| &given.origin);
            notes.left_out(section, origin, why);
            self.ends.push((section.name.clone(), None));
            return Ok(None);
        };
        let times = times(section, begins, notes)?;
        self.ends.push((section.name.clone(), times.end.filter(|_| times.time_based)));
        Ok(Some(times))
    }

    /// The last section was left out: others do not wait for it.
    pub(super) fn left_out(&mut self) {
        self.ends.pop();
    }

    /// When all sections called `name` have ended; at once if there is none.
    fn end_of(&self, name: &str) -> Group {
        latest(self.ends.iter().filter(|(other, _)| other == name).map(|(_, end)| *end))
    }
}

/// The latest of some ends.
fn latest(mut ends: impl Iterator<Item = Option<Span>>) -> Group {
    let last = ends.try_fold(Span::ZERO, |last, end| Some(last.max(end?)));
    last.map_or(Group::Unknown, Group::Begins)
}

fn times(section: &Section, begins: Span, notes: &mut Notes) -> Result<Times, JobError> {
    let find = |names: &[&str]| section.find(names).map(|given| time(given, SECOND)).transpose();
    let delay = section.find(&["startdelay"]).map(|given| delay(given, notes)).transpose()?;
    let ramp = find(&["ramp_time"])?.unwrap_or(Span::ZERO);
    let runs = find(&["runtime", "timeout"])?.filter(|runs| *runs > Span::ZERO);
    let start = begins.max(delay.unwrap_or(Span::ZERO));
    Ok(Times {
        start,
        counts: start + ramp,
        end: runs.map(|runs| start + ramp + runs),
        time_based: runs.is_some() && section.on(&["time_based"]),
    })
}

/// The earliest of a range.
fn delay(given: &FioOption, notes: &mut Notes) -> Result<Span, JobError> {
    let Some((least, _)) = given.value.split_once(['-', ':']) else { return time(given, SECOND) };
    let least = span(least, SECOND);
    notes.on(given, "it begins at the earliest of these times");
    least.ok_or_else(|| given.wrong("a time, as `5`, or two, as `5-10`"))
}
