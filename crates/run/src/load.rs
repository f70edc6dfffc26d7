//! Who asks in a run: the agents of a job or its trace, ready for a target of a known size.

use std::num::NonZeroU32;

use penstock_core::{ClassId, ClassInfo, Op, Prio, Seed, Source, Span, StreamId, Time};
use penstock_spec::traces::{OTHER, TraceSpec};
use penstock_spec::{Class, Job, Stop};
use penstock_workload::program::{Cpus, Starts};
use penstock_workload::trace::{Replay, Timing};
use penstock_workload::{Agent, Agents, Arrivals, Program, Programs};

use crate::failure::Failure;
use crate::measured::Measured;
use crate::program_stats::ProgramBook;
use crate::schedule::Schedule;
use crate::trace_file;

/// The workload of a job on one target. Every policy gets the same.
pub(crate) struct Load {
    kind: Kind,
    /// The classes; a `ClassId` is an index into them.
    pub(crate) classes: Vec<ClassInfo>,
    /// How long it asks, as far as that is known beforehand.
    pub(crate) duration: Span,
    /// When nobody can ask any more.
    pub(crate) last: Time,
    /// Until when it asks, whatever the device does; none if it asks so many times, or as fast as it
    /// is served.
    pub(crate) asks_until: Option<Time>,
    /// The largest request in bytes.
    pub(crate) longest: u32,
    /// What its requests took on the drive that they were recorded on, one at a time.
    pub(crate) measured: Option<Measured>,
}

enum Kind {
    Agents(Vec<Agent>),
    /// Programs, what they run on, and whose end is waited for.
    Programs(Vec<Program>, Cpus, Option<ClassId>),
    /// A trace, and whether it has a schedule.
    Trace(Replay, bool),
}

/// A class of a job as policies are given it.
fn info(class: &Class) -> ClassInfo {
    let weight = NonZeroU32::new(class.weight).expect("checked when it was read");
    ClassInfo { name: class.name.clone(), weight, prio: Prio(class.prio) }
}

impl Load {
    /// The workload of `job` on a target of `capacity` bytes in blocks of `block` bytes.
    ///
    /// # Errors
    /// What does not fit the target, and a trace that cannot be read.
    pub(crate) fn new(job: &Job, capacity: u64, block: u32) -> Result<Self, Failure> {
        let classes = job.classes.iter().map(info).collect();
        if let Some(spec) = &job.trace {
            return Self::trace(spec, classes, capacity);
        }
        if let (Some(spec), Some(programs)) = (&job.programs, job.programs_on(capacity, block)?) {
            let longest = programs.iter().map(Program::longest).max().unwrap_or(0);
            let last = programs.iter().map(|one| one.active.end).max().unwrap_or(Time::ZERO);
            let counted = |one: &&Program| matches!(one.starts, Starts::Once { .. });
            let goes_on = programs.iter().filter(|one| !counted(one));
            let asks_until = goes_on.map(|one| one.active.end).max();
            let until = match job.stop {
                Stop::Done(class) => Some(class),
                _ => None,
            };
            let kind = Kind::Programs(programs, spec.cpus, until);
            return Ok(Self {
                kind,
                classes,
                duration: job.duration,
                last,
                asks_until,
                longest,
                measured: None,
            });
        }
        let agents = job.agents_on(capacity, block)?;
        let longest = agents.iter().map(|agent| agent.size).max().unwrap_or(0);
        let last = agents.iter().map(|agent| agent.active.end).max().unwrap_or(Time::ZERO);
        let asks_until =
            agents.iter().filter(|one| !one.is_counted()).map(|one| one.active.end).max();
        let kind = Kind::Agents(agents);
        let duration = job.duration;
        Ok(Self { kind, classes, duration, last, asks_until, longest, measured: None })
    }

    fn trace(
        spec: &TraceSpec,
        mut classes: Vec<ClassInfo>,
        capacity: u64,
    ) -> Result<Self, Failure> {
        let (trace, _) = trace_file::load(&spec.file, spec.format)?;
        let other = ClassId(classes.len() as u16);
        let mut others = false;
        let replay = Replay::new(&trace, capacity, spec.fit, spec.timing, |record| {
            let class = spec.class(&trace, record, other);
            others |= class == other;
            (class, classes.get(class.index()).map_or(Prio(0), |class| class.prio))
        });
        let replay = replay.map_err(|error| Failure::wrong_in(&spec.file, &error))?;
        if others {
            classes.push(ClassInfo::new(OTHER));
        }
        let planned = replay.last_due();
        if planned.is_some_and(|last| last >= Time::LAST) {
            let error = "its last request is due after more than a hundred years\n\
                         hint: no run lasts so long; are its times in the unit of its format?";
            return Err(Failure::wrong_in(&spec.file, &error));
        }
        let longest = trace.records.iter().map(|record| record.len).max().unwrap_or(0);
        // One that waits for the device takes as long as that does: as long as before, perhaps.
        let fast = matches!(spec.timing, Timing::Afap { .. });
        let waits = if fast { Span::ZERO } else { trace.span() };
        let duration = planned.map_or(waits, |last| last.since(Time::ZERO)).max(Span::from_ms(1));
        // The last request is heard: the run ends just behind it.
        let last = planned.unwrap_or(Time::NEVER) + Span::from_ns(1);
        let kind = Kind::Trace(replay, planned.is_some());
        let measured = (trace.one_by_one && !fast).then(|| Measured::new(&trace));
        Ok(Self { kind, classes, duration, last, asks_until: planned, longest, measured })
    }

    /// A source at its beginning; what is random in it descends from `seed`. It reports to `book`
    /// what happens to programs, of which `most` may be under way.
    pub(crate) fn source(
        &self,
        seed: Seed,
        most: u32,
        book: Option<&ProgramBook>,
    ) -> Box<dyn Source> {
        match &self.kind {
            Kind::Programs(programs, cpus, _) => {
                let book = book.cloned();
                let hear = move |event| book.iter().for_each(|book| book.hear(event));
                Box::new(Programs::new(programs.clone(), *cpus, most, seed, hear))
            }
            Kind::Agents(agents) => Box::new(Agents::new(agents.clone(), seed)),
            Kind::Trace(replay, _) => Box::new(replay.clone()),
        }
    }

    /// Whether it asks for anything but reads.
    pub(crate) fn writes(&self) -> bool {
        match &self.kind {
            Kind::Agents(agents) => agents.iter().any(|agent| agent.op != Op::Read),
            Kind::Programs(programs, ..) => programs.iter().any(Program::writes),
            Kind::Trace(replay, _) => replay.writes(),
        }
    }

    /// The same of one class only: each of its requests is asked for as if all were there.
    pub(crate) fn only(&self, class: ClassId) -> Self {
        let kind = match &self.kind {
            Kind::Agents(agents) => {
                let mut agents = agents.clone();
                // They stay in their places, and with them the random numbers of the others.
                for agent in agents.iter_mut().filter(|agent| agent.class != class) {
                    agent.active.end = agent.active.start;
                }
                Kind::Agents(agents)
            }
            Kind::Programs(programs, cpus, until) => {
                let mut programs = programs.clone();
                for program in programs.iter_mut().filter(|program| program.class != class) {
                    program.active.end = program.active.start;
                }
                // Whom nobody waits for runs until its own time is over.
                Kind::Programs(programs, *cpus, until.filter(|&until| until == class))
            }
            Kind::Trace(replay, planned) => Kind::Trace(replay.only(class), *planned),
        };
        Self { kind, classes: self.classes.clone(), measured: None, ..*self }
    }

    /// A book for what happens to its programs behind `warmup`, if it has any.
    pub(crate) fn program_book(&self, warmup: Span) -> Option<ProgramBook> {
        match &self.kind {
            Kind::Programs(_, cpus, until) => {
                Some(ProgramBook::new(self.classes.len(), cpus.count, warmup, *until))
            }
            _ => None,
        }
    }

    /// Watches how this is held behind `warmup`, by a device whose queue holds `depth` commands.
    pub(crate) fn schedule(&self, warmup: Span, depth: u32) -> Schedule<'_> {
        let planned = |stream: StreamId| match &self.kind {
            Kind::Agents(agents) => {
                matches!(agents[stream.0 as usize].arrivals, Arrivals::Open { .. })
            }
            // What they ask for follows from what came before.
            Kind::Programs(..) => false,
            Kind::Trace(_, planned) => *planned,
        };
        Schedule::new(self.classes.len(), Time::ZERO + warmup, depth, Box::new(planned))
    }
}
