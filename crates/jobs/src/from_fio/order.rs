//! Computes when the sections of a job file of fio begin and end, as far as that is known before
//! they run.
//!
//! A section that waits for others begins when they have ended. That is known if all of them are
//! `time_based` with a `runtime`; else it depends on the device, and the section comes `after` the
//! classes of the others, unless it has times that would count from then: it is left out. A
//! `startdelay` counts from the beginning of the job, and `ramp_time` comes before the `runtime`.

use penstock_core::Span;

use crate::diagnose::JobError;
use crate::from_fio::lines::{FioOption, Section};
use crate::from_fio::notes::Notes;
use crate::from_fio::values::{span, time};

const SECOND: u64 = 1_000_000_000;

/// Times of a section.
#[derive(Clone, Default)]
pub(super) struct Times {
    /// Classes after which it begins, if the time of that is not known.
    pub(super) after: Vec<String>,
    /// Time at which it begins, if it is known.
    pub(super) start: Span,
    /// Time from which its requests are measured.
    pub(super) counts: Span,
    /// Latest time at which it ends, if it has a `runtime`.
    pub(super) end: Option<Span>,
    /// Whether only the time ends it.
    pub(super) time_based: bool,
}

/// Sections so far.
#[derive(Default)]
pub(super) struct Order {
    ends: Vec<End>,
    /// Common begin of the sections that do not wait for others.
    group: Begin,
}

/// The end of a section.
struct End {
    section: String,
    /// The class of its agent.
    class: String,
    /// Its time, if it is known.
    time: Option<Span>,
}

/// The begin of a section: when others have ended.
#[derive(Clone)]
struct Begin {
    /// Its time, if it is known.
    time: Option<Span>,
    /// Classes of the others.
    after: Vec<String>,
}

impl Default for Begin {
    fn default() -> Self {
        Self { time: Some(Span::ZERO), after: Vec::new() }
    }
}

impl Begin {
    /// Adds an `end` that the section waits for.
    fn behind(mut self, end: &End) -> Self {
        self.time = self.time.zip(end.time).map(|(time, end)| time.max(end));
        if !self.after.contains(&end.class) {
            self.after.push(end.class.clone());
        }
        self
    }
}

impl Order {
    /// Returns the times of the next section; `None`, with a note, if they cannot be stated.
    pub(super) fn next(
        &mut self,
        section: &Section,
        notes: &mut Notes,
    ) -> Result<Option<Times>, JobError> {
        let wall = section.find(&["stonewall", "wait_for_previous"]);
        let wall = wall.filter(|option| !option.is_off());
        if wall.is_some() {
            self.group = self.ends.iter().fold(Begin::default(), Begin::behind);
        }
        let waits = section.find(&["wait_for"]);
        let named = |end: &&End| waits.is_some_and(|waits| end.section == waits.value);
        let begin = self.ends.iter().filter(named).fold(self.group.clone(), Begin::behind);
        let Some(time) = begin.time else {
            let after = Times { after: begin.after, ..Times::default() };
            let Some(timed) = section.find(&["startdelay", "ramp_time", "runtime", "timeout"])
            else {
                return Ok(Some(after));
            };
            let why = format!(
                "it begins when others have ended, and when that is depends on the device; \
                 `{}` would count from then; `--section` makes a job of it alone",
                timed.name
            );
            let origin = wall.or(waits).map_or(&section.origin, |option| &option.origin);
            notes.left_out(section, origin, &why);
            return Ok(None);
        };
        times(section, time, notes).map(Some)
    }

    /// Notes that `section` became an agent of `class` with these times: others may wait for it.
    pub(super) fn taken(&mut self, section: &Section, class: &str, times: &Times) {
        let time = times.end.filter(|_| times.time_based);
        self.ends.push(End { section: section.name.clone(), class: class.into(), time });
    }
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
        after: Vec::new(),
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
