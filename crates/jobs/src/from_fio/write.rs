//! A job made of a job file of fio, as TOML.

use penstock_core::{IoPrio, Span};
use penstock_workload::{Arrivals, Ops};

use crate::classes::{self, CLASS};
use crate::diagnose::JobError;
use crate::from_fio::agent::Made;
use crate::from_fio::lines::{FioOption, Section};
use crate::from_fio::notes::Notes;
use crate::from_fio::part::Volume;
use crate::from_fio::values::number;
use crate::job;
use crate::live::{self, LIVE};
use crate::rows::Rows;
use crate::stop::Stop;
use crate::text::Lines;
use crate::units::Share;
use crate::workload::agent_files;
use crate::workload::agents::{self, AGENT};
use crate::workload::places;
use crate::workload::quota;
use crate::workload::region::{Edge, Region};
use crate::workload::spread::SpreadSpec;

/// The job of these agents, of the section of each.
pub(super) fn job(
    sections: &[&Section],
    made: &[Made],
    notes: &mut Notes,
) -> Result<String, JobError> {
    let duration = duration(made);
    let seeds: Vec<&FioOption> =
        sections.iter().filter_map(|one| one.find(&["randseed"])).collect();
    let seed = seeds.first().map(|given| number(given, u64::MAX)).transpose()?;
    for other in seeds.iter().filter(|other| other.value != seeds[0].value) {
        notes.on(other, format!("a job has one seed: {}", seeds[0].value));
    }
    let warmup = warmup(sections, made, notes);
    let durable = sections.iter().any(|section| section.on(&["end_fsync", "fsync_on_close"]));
    let mut out = Lines::default();
    Rows::of(&[job::KEYS])
        .maybe(&job::SEED, seed.as_ref())
        .maybe(&job::DURATION, duration.as_ref())
        .maybe(&job::WARMUP, warmup.as_ref())
        .maybe(&job::STOP, Some(&Stop::Durable).filter(|_| durable))
        .section(None, &mut out);
    let keeps_pages = keeps_pages(sections, made, notes);
    Rows::of(&[live::KEYS])
        .maybe(&live::PAGES, Some(&false).filter(|_| keeps_pages))
        .maybe(&live::NOWAIT, Some(&true).filter(|_| nowait(sections, notes)))
        .maybe(&live::FSYNC, Some(&true).filter(|_| fsync(sections, notes)))
        .put(&live::HUGE_PAGES, &sections.iter().any(|section| section.has_huge_pages()))
        .section(Some(&format!("[{}]", LIVE.name)), &mut out);
    for (at, one) in made.iter().enumerate() {
        if made[..at].iter().all(|other| other.class != one.class) {
            Rows::of(&[classes::KEYS])
                .maybe(&classes::IOPRIO, Some(&one.ioprio).filter(|prio| **prio != IoPrio::DEFAULT))
                .section(Some(&format!("[{}.{}]", CLASS.name, one.class)), &mut out);
        }
    }
    for one in made {
        one.write(duration, &mut out);
    }
    Ok(out.done())
}

/// How long the job is, if all of its sections have an end in time.
fn duration(made: &[Made]) -> Option<Span> {
    let mut ends = made.iter().map(|one| one.times.end);
    ends.try_fold(Span::ZERO, |last, end| Some(last.max(end?)))
}

/// The warm-up, if a section has a `ramp_time`: until the first section counts.
fn warmup(sections: &[&Section], made: &[Made], notes: &mut Notes) -> Option<Span> {
    let ramps: Vec<&FioOption> =
        sections.iter().filter_map(|one| one.find(&["ramp_time"])).collect();
    let first = made.iter().map(|one| one.times.counts).min().filter(|_| !ramps.is_empty())?;
    if made.iter().any(|one| one.times.counts != first) {
        for ramp in ramps {
            notes.on(ramp, "a job has one warm-up: it ends when the first section begins to count");
        }
    }
    Some(first).filter(|first| *first > Span::ZERO)
}

/// Whether pages that a target has in memory stay there.
fn keeps_pages(sections: &[&Section], made: &[Made], notes: &mut Notes) -> bool {
    let given = sections.iter().filter_map(|section| section.find(&["invalidate"]));
    let given: Vec<&FioOption> = given.filter(|given| given.is_off()).collect();
    if given.is_empty() || made.iter().all(|one| !one.buffered) {
        return false;
    }
    if given.len() < sections.len() {
        for given in &given {
            notes.on(given, "the pages of the target stay for all sections");
        }
    }
    true
}

/// Whether requests fail that would have to wait.
fn nowait(sections: &[&Section], notes: &mut Notes) -> bool {
    in_all(sections.iter().map(|section| section.find(&["nowait"])), notes)
}

/// Whether flushes are `fsync`: if all sections that flush have it.
fn fsync(sections: &[&Section], notes: &mut Notes) -> bool {
    let flushes = |section: &&&Section| section.find(&["fsync", "fdatasync"]).is_some();
    in_all(sections.iter().filter(flushes).map(|section| section.find(&["fsync"])), notes)
}

/// Whether a switch is on wherever it may be; if it is on in some sections only, the notes say that it is off.
fn in_all<'a>(found: impl Iterator<Item = Option<&'a FioOption>>, notes: &mut Notes) -> bool {
    let found: Vec<_> = found.map(|given| given.filter(|given| !given.is_off())).collect();
    let given: Vec<&FioOption> = found.iter().flatten().copied().collect();
    if given.len() < found.len() {
        for given in &given {
            notes.on(given, "a run has one setting of this: no section has it");
        }
    }
    !given.is_empty() && given.len() == found.len()
}

impl Made {
    fn write(&self, duration: Option<Span>, out: &mut Lines) {
        let op = if let Ops::Only(op) = self.ops { Some(op) } else { None };
        let mix = if let Ops::Mix { reads } = self.ops { Some(reads) } else { None };
        let (total, count, passes) = match self.volume {
            Volume::Total(total) => (Some(total), None, None),
            Volume::Count(count) => (None, Some(count), None),
            Volume::Passes(passes) => (None, None, Some(passes)),
            Volume::Endless => (None, None, None),
        };
        let plain = self.arrivals == Arrivals::closed(self.buffers, Span::ZERO);
        let parts =
            if self.part.slices { agent_files::Parts::Slices } else { agent_files::Parts::Whole };
        let (from, to) = (self.part.from, self.part.to);
        let whole = from == Edge::At(0) && to == Edge::Share(Share::WHOLE);
        let region = Region::between(from, to);
        let spread = Some(&self.spread).filter(|spread| **spread != SpreadSpec::Uniform);
        let stop = self.times.end.filter(|end| Some(*end) != duration);
        Rows::of(agents::ALL_KEYS)
            .put(&agents::CLASS, &self.class)
            .maybe(&agents::OP, op.as_ref())
            .maybe(&agents::MIX, mix.as_ref())
            .maybe(&agents::FLUSH, self.flush.as_ref())
            .maybe(&agents::SYNC, Some(&self.sync).filter(|sync| **sync))
            .put(&agents::CALL, &self.one_at_a_time)
            .maybe(&agents::BUFFERS, Some(&self.buffers).filter(|_| !self.one_at_a_time))
            .maybe(&agents::ENGINE, self.engine.as_ref())
            .put(&agents::CACHE, &self.buffered)
            .put(&agents::BYTES, &self.sizes)
            .put(&places::PATTERN, &self.pattern)
            .maybe(&places::SPREAD, spread)
            .maybe(&places::ALIGN, self.align.as_ref())
            .maybe(&places::GAP, Some(&self.gap).filter(|gap| **gap > 0))
            .maybe(&places::REGION, Some(&region).filter(|_| !whole))
            .maybe(&quota::TOTAL, total.as_ref())
            .maybe(&quota::COUNT, count.as_ref())
            .maybe(&quota::PASSES, passes.as_ref())
            .maybe(&agents::ARRIVALS, Some(&(self.arrivals.clone(), None)).filter(|_| !plain))
            .maybe(&agents::START, Some(&self.times.start).filter(|start| **start > Span::ZERO))
            .maybe(&agents::STOP, stop.as_ref())
            .maybe(&agent_files::COPIES, Some(&self.copies).filter(|copies| **copies > 1))
            .maybe(&agent_files::SHARE, Some(&parts).filter(|_| self.part.slices))
            .section(Some(&format!("[[{}]]", AGENT.name)), out);
    }
}
