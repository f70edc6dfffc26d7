//! Writes the converted job as TOML.

use penstock_core::{IoPrio, Span};
use penstock_workload::{Arrivals, Ops};

use crate::classes::{self, CLASS};
use crate::diagnose::JobError;
use crate::from_fio::agent::FioAgent;
use crate::from_fio::lines::{FioOption, Section};
use crate::from_fio::notes::Notes;
use crate::from_fio::part::Volume;
use crate::from_fio::values::number;
use crate::job;
use crate::live::{self, CachedPages, LIVE};
use crate::rows::Rows;
use crate::stop::Stop;
use crate::text::Lines;
use crate::units::Share;
use crate::workload::agent_files;
use crate::workload::agents::{self, AGENT};
use crate::workload::order;
use crate::workload::places;
use crate::workload::quota;
use crate::workload::region::{Edge, Region};
use crate::workload::spread::SpreadSpec;

/// Returns the job of these agents, each with its section.
pub(super) fn job(
    sections: &[&Section],
    agents: &[FioAgent],
    notes: &mut Notes,
) -> Result<String, JobError> {
    let duration = duration(agents);
    let seeds: Vec<&FioOption> =
        sections.iter().filter_map(|section| section.find(&["randseed"])).collect();
    let seed = seeds.first().map(|option| number(option, u64::MAX)).transpose()?;
    for other in seeds.iter().filter(|other| other.value != seeds[0].value) {
        notes.on(other, format!("a job has one seed: {}", seeds[0].value));
    }
    let warmup = warmup(sections, agents, notes);
    let durable = sections.iter().any(|section| section.on(&["end_fsync", "fsync_on_close"]));
    let mut out = Lines::default();
    Rows::of(&[job::KEYS])
        .maybe(&job::SEED, seed.as_ref())
        .maybe(&job::DURATION, duration.as_ref())
        .maybe(&job::WARMUP, warmup.as_ref())
        .maybe(&job::STOP, Some(&Stop::Durable).filter(|_| durable))
        .section(None, &mut out);
    let keeps_pages = keeps_pages(sections, agents, notes);
    Rows::of(&[live::KEYS])
        .maybe(&live::PAGES, Some(&CachedPages::Keep).filter(|_| keeps_pages))
        .maybe(&live::NOWAIT, Some(&true).filter(|_| nowait(sections, notes)))
        .maybe(&live::FSYNC, Some(&true).filter(|_| fsync(sections, notes)))
        .put(&live::HUGE_PAGES, &sections.iter().any(|section| section.has_huge_pages()))
        .section(Some(&format!("[{}]", LIVE.name)), &mut out);
    for (at, agent) in agents.iter().enumerate() {
        if agents[..at].iter().all(|other| other.class != agent.class) {
            Rows::of(&[classes::KEYS])
                .maybe(
                    &classes::IOPRIO,
                    Some(&agent.ioprio).filter(|prio| **prio != IoPrio::DEFAULT),
                )
                .section(Some(&format!("[{}.{}]", CLASS.name, agent.class)), &mut out);
        }
    }
    for agent in agents {
        agent.write(duration, &mut out);
    }
    Ok(out.done())
}

/// Returns the duration of the job, if all sections have an end in time.
fn duration(agents: &[FioAgent]) -> Option<Span> {
    let mut ends = agents.iter().map(|agent| agent.times.end);
    ends.try_fold(Span::ZERO, |last, end| Some(last.max(end?)))
}

/// Returns the warm-up, if a section has a `ramp_time`: until the first section is measured.
fn warmup(sections: &[&Section], agents: &[FioAgent], notes: &mut Notes) -> Option<Span> {
    let ramps: Vec<&FioOption> =
        sections.iter().filter_map(|section| section.find(&["ramp_time"])).collect();
    let first =
        agents.iter().map(|agent| agent.times.counts).min().filter(|_| !ramps.is_empty())?;
    if agents.iter().any(|agent| agent.times.counts != first) {
        for ramp in ramps {
            notes.on(ramp, "a job has one warm-up: it ends when the first section begins to count");
        }
    }
    Some(first).filter(|first| *first > Span::ZERO)
}

/// Whether pages of the target stay in memory.
fn keeps_pages(sections: &[&Section], agents: &[FioAgent], notes: &mut Notes) -> bool {
    let given = sections.iter().filter_map(|section| section.find(&["invalidate"]));
    let off: Vec<&FioOption> = given.filter(|option| option.is_off()).collect();
    if off.is_empty() || agents.iter().all(|agent| !agent.buffered) {
        return false;
    }
    if off.len() < sections.len() {
        for option in &off {
            notes.on(option, "the pages of the target stay for all sections");
        }
    }
    true
}

/// Whether requests that would have to wait fail.
fn nowait(sections: &[&Section], notes: &mut Notes) -> bool {
    in_all(sections.iter().map(|section| section.find(&["nowait"])), notes)
}

/// Whether flushes are `fsync`: all sections that flush must have it.
fn fsync(sections: &[&Section], notes: &mut Notes) -> bool {
    let flushes = |section: &&&Section| section.find(&["fsync", "fdatasync"]).is_some();
    in_all(sections.iter().filter(flushes).map(|section| section.find(&["fsync"])), notes)
}

/// Whether a switch is on in all sections. Notes say that it is off if only some sections have it
/// on.
fn in_all<'a>(options: impl Iterator<Item = Option<&'a FioOption>>, notes: &mut Notes) -> bool {
    let options: Vec<_> = options.map(|option| option.filter(|option| !option.is_off())).collect();
    let set: Vec<&FioOption> = options.iter().flatten().copied().collect();
    if set.len() < options.len() {
        for option in &set {
            notes.on(option, "a run has one setting of this: no section has it");
        }
    }
    !set.is_empty() && set.len() == options.len()
}

impl FioAgent {
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
            .maybe(&order::AFTER, Some(&self.times.after).filter(|after| !after.is_empty()))
            .maybe(&order::ENDS_CLASS, Some(&self.ends_copies).filter(|ends| **ends))
            .maybe(&agent_files::COPIES, Some(&self.copies).filter(|copies| **copies > 1))
            .maybe(&agent_files::SHARE, Some(&parts).filter(|_| self.part.slices))
            .section(Some(&format!("[[{}]]", AGENT.name)), out);
    }
}
