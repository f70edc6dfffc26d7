//! The workload of a job: agents, programs, a trace or merges. Each kind is a file with its sections; what
//! decides between the kinds is here.

pub(crate) mod agent_files;
pub(crate) mod agents;
pub(crate) mod arrivals;
pub(crate) mod extent;
pub(crate) mod files;
pub(crate) mod lanes;
pub(crate) mod merge;
pub(crate) mod places;
pub(crate) mod programs;
pub(crate) mod quota;
pub(crate) mod region;
pub(crate) mod sizes;
pub(crate) mod spread;
pub(crate) mod starts;
pub(crate) mod timings;
pub(crate) mod trace_devices;
pub mod traces;
pub(crate) mod verify;

use penstock_core::{ClassId, Span};
use serde_json::{Value as Json, json};

use self::agents::{AGENT, AgentSpec};
use self::extent::{Extent, Lying};
use self::files::{FILE, FileSpec, Surroundings};
use self::lanes::{FileTarget, LaneDevice};
use self::merge::{MERGE, MergeSpec};
use self::programs::{CPU, PROGRAM, ProgramsSpec};
use self::traces::{RULE, TRACE, TraceSpec};
use crate::classes::{CLASS, Class};
use crate::devices::DeviceSpec;
use crate::diagnose::JobError;
use crate::keys::{Declared, Keys, required, without};
use crate::page_cache::PAGE_CACHE;
use crate::reader::Reader;
use crate::schema::build::with;
use crate::text::Lines;

/// Sections of workloads, in the order in which they are written.
pub(crate) const SECTIONS: Keys = &[&FILE, &AGENT, &CPU, &PROGRAM, &MERGE, &TRACE, &RULE];

/// What to do about agents in a job with programs.
const NOT_BOTH: &str = "a job has one or the other: leave one out, or make the agent a program, \
                        `phases = [{ write = \"4KiB\" }]` in place of op and size";

/// The workload of a job.
#[derive(Clone, PartialEq, Debug)]
pub enum WorkloadSpec {
    /// Agents, and the files that they work on.
    Agents(AgentsSpec),
    /// Programs on processors.
    Programs(ProgramsSpec),
    /// A trace to play.
    Trace(TraceSpec),
    /// Merges side by side.
    Merge(MergeSpec),
}

/// Agents and the files that they work on, both in the order of the job.
#[derive(Clone, PartialEq, Debug)]
pub struct AgentsSpec {
    /// None: all agents work on the target.
    pub files: Vec<FileSpec>,
    /// Those that are to run.
    pub agents: Vec<AgentSpec>,
}

/// The kind of a job's workload, by the sections that the job has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkloadKind {
    Agents,
    Programs,
    Trace,
    Merge,
}

impl WorkloadKind {
    /// The kind of the job that `reader` reads, without keys of another kind. `duration` is the key
    /// of the job's length.
    pub(crate) fn of(reader: &Reader<'_>, duration: &dyn Declared) -> Result<Self, JobError> {
        if reader.node(&MERGE).is_some() {
            let why = "belongs to a job with agents; this one has merges";
            let hint = "they end with their last write; to end sooner, set `stop` to a time";
            reader.refuse(&[duration], why, hint)?;
            let hint = "a job has agents, programs, a trace or merges";
            reader.refuse(&[&AGENT, &PROGRAM, &CPU, &TRACE, &RULE], why, hint)?;
            reader.refuse(&[&FILE], why, "merges lie on the disks of the device")?;
            reader.refuse(&[&PAGE_CACHE], why, "what merges ask for is direct")?;
            return Ok(Self::Merge);
        }
        if reader.node(&TRACE).is_some() {
            let why = "belongs to a job with agents; this one plays a trace";
            reader.refuse(&[duration], why, "to end sooner, set `stop` to a time")?;
            let hint = "a job has agents, programs, a trace or merges";
            reader.refuse(&[&AGENT, &PROGRAM, &CPU], why, hint)?;
            reader.refuse(&[&FILE], why, "its devices are placed by `layout` and `on`")?;
            reader.refuse(&[&PAGE_CACHE], why, "a trace holds what went past the page cache")?;
            return Ok(Self::Trace);
        }
        reader.refuse(&[&RULE], "belongs to a job with a trace", "agents name their class")?;
        if reader.node(&PROGRAM).is_some() {
            let why = "belongs to a job with agents; this one has programs";
            reader.refuse(&[&AGENT], why, NOT_BOTH)?;
            reader.refuse(&[&FILE], why, "programs work on the one device of the job")?;
            reader.refuse(&[&PAGE_CACHE], why, "what programs ask for is direct")?;
            return Ok(Self::Programs);
        }
        let hint = "a program is a section: `[[program]]`";
        reader.refuse(&[&CPU], "belongs to a job with programs", hint)?;
        Ok(Self::Agents)
    }

    /// The classes of a job that names `given`: of merges, one for each if it names none.
    pub(crate) fn classes(
        self,
        reader: &Reader<'_>,
        given: Vec<Class>,
    ) -> Result<Vec<Class>, JobError> {
        if self == Self::Merge && given.is_empty() { merge::classes(reader) } else { Ok(given) }
    }

    /// Reads the workload of a job with these classes that runs for `duration`, in these
    /// surroundings.
    pub(crate) fn read(
        self,
        reader: &Reader<'_>,
        classes: &[Class],
        duration: Span,
        around: Surroundings<'_>,
    ) -> Result<WorkloadSpec, JobError> {
        Ok(match self {
            Self::Agents => {
                let files = reader.node(&FILE).map(|node| files::read(node, around)).transpose()?;
                let files = files.unwrap_or_default();
                let agents = agents::read(reader, classes, duration, &files)?;
                WorkloadSpec::Agents(AgentsSpec { files, agents })
            }
            Self::Programs => {
                WorkloadSpec::Programs(ProgramsSpec::read(reader, classes, duration)?)
            }
            Self::Merge => WorkloadSpec::Merge(MergeSpec::read(reader, classes)?),
            Self::Trace => WorkloadSpec::Trace(TraceSpec::read(reader, classes, around.folder)?),
        })
    }
}

impl WorkloadSpec {
    /// Its agents, if it has agents.
    pub fn agents(&self) -> &[AgentSpec] {
        if let Self::Agents(spec) = self { &spec.agents } else { &[] }
    }

    /// The files that its agents work on, if they have any.
    pub fn files(&self) -> &[FileSpec] {
        if let Self::Agents(spec) = self { &spec.files } else { &[] }
    }

    /// What each of these files is called.
    pub fn file_names(&self) -> Vec<String> {
        files::names(self.files())
    }

    /// Where the files of its agents lie on these devices, one for each; on the one device, if there are
    /// none.
    pub(crate) fn lie(&self, devices: &[Extent]) -> Result<Vec<Lying>, JobError> {
        files::lie(self.files(), devices)
    }

    /// How many requests of `class` there are, if its agents say so.
    pub fn requests(&self, class: ClassId) -> Option<u64> {
        let counts = self.agents().iter().filter(|agent| agent.class == class);
        let of = |agent: &AgentSpec| Some(agent.requests()?.saturating_mul(agent.agents()));
        let all = counts.map(of).try_fold(0_u64, |all, count| Some(all.saturating_add(count?)));
        all.filter(|all| *all > 0)
    }

    /// Its programs, if it has programs.
    pub fn programs(&self) -> Option<&ProgramsSpec> {
        if let Self::Programs(programs) = self { Some(programs) } else { None }
    }

    /// Its trace, if it plays one.
    pub fn trace(&self) -> Option<&TraceSpec> {
        if let Self::Trace(trace) = self { Some(trace) } else { None }
    }

    /// Its merges, if it has merges.
    pub fn merges(&self) -> Option<&MergeSpec> {
        if let Self::Merge(merges) = self { Some(merges) } else { None }
    }

    /// Whether it ends by itself, so that its job needs no duration.
    pub(crate) fn ends_by_itself(&self) -> bool {
        match self {
            Self::Agents(spec) => {
                spec.agents.iter().all(|agent| agent.quota.is_some() || agent.stop < Span::MAX)
            }
            Self::Programs(_) => false,
            Self::Trace(_) | Self::Merge(_) => true,
        }
    }

    /// The devices that the devices of its trace are played on, or those of its files, if they are not
    /// all such a device as the job names, which is `usual`.
    ///
    /// # Errors
    /// If a file has no device.
    pub fn lane_devices(&self, usual: Option<&DeviceSpec>) -> Result<Vec<LaneDevice>, JobError> {
        match self {
            Self::Trace(trace) => Ok(trace.on.clone()),
            _ => files::devices(self.files(), usual),
        }
    }

    /// The real targets that its files are on, one for each in their order; empty if they are on models, or
    /// if it has none.
    ///
    /// # Errors
    /// If some files are on targets, and others are not.
    pub fn file_targets(&self) -> Result<Vec<FileTarget>, JobError> {
        files::targets(self.files())
    }

    /// The same with its files on real targets alone, whatever models they name.
    pub fn drop_file_models(&mut self) {
        if let Self::Agents(spec) = self {
            files::drop_models(&mut spec.files);
        }
    }

    /// The same workload on one device, or on several of one kind.
    pub fn drop_lane_devices(&mut self) {
        match self {
            Self::Trace(trace) => trace.on.clear(),
            Self::Agents(spec) => files::drop_devices(&mut spec.files),
            Self::Programs(_) | Self::Merge(_) => {}
        }
    }

    /// The most streams that its requests can have.
    pub fn streams(&self) -> usize {
        match self {
            Self::Agents(spec) => spec.agents.iter().map(AgentSpec::agents).sum::<u64>() as usize,
            Self::Merge(merges) => merges.jobs as usize,
            // One for each process of a trace, and for each task; no machine has more.
            Self::Programs(_) | Self::Trace(_) => 1 << 22,
        }
    }

    /// Whether requests arrive at the very instants of completions, and before the policy decides
    /// there.
    pub fn arrives_at_completions(&self) -> bool {
        matches!(self, Self::Programs(_) | Self::Merge(_))
    }

    /// Writes its sections.
    pub(crate) fn write(&self, out: &mut Lines, classes: &[Class]) {
        match self {
            Self::Agents(spec) => {
                spec.files.iter().for_each(|file| file.write(out));
                for agent in &spec.agents {
                    agent.write(out, &classes[agent.class.index()].name);
                }
            }
            Self::Programs(programs) => programs.write(out, classes),
            Self::Trace(trace) => trace.write(out, classes),
            Self::Merge(merges) => merges.write(out),
        }
    }
}

/// The sections that a job must have and may not have with its workload; `duration` is the key of
/// the job's length.
pub(crate) fn schema(duration: &dyn Declared) -> Json {
    let with_duration = |own: &[&dyn Declared], others: Keys| {
        with(required(&[&[duration, &CLASS], own].concat()), without(others))
    };
    let own = with(required(&[&CLASS, &AGENT]), without(&[&RULE, &CPU]));
    let quotas = json!({"properties": {AGENT.name: {"items": agents::ends_by_itself()}}});
    let agents = with(own, json!({"anyOf": [required(&[duration]), quotas]}));
    // The first section that the job has decides.
    let kinds: [(&dyn Declared, Json); 3] = [
        (&MERGE, without(&[duration, &FILE, &AGENT, &PROGRAM, &CPU, &TRACE, &RULE, &PAGE_CACHE])),
        (&TRACE, without(&[duration, &FILE, &AGENT, &PROGRAM, &CPU, &PAGE_CACHE])),
        (&PROGRAM, with_duration(&[], &[&RULE, &FILE, &AGENT, &PAGE_CACHE])),
    ];
    kinds.into_iter().rev().fold(
        agents,
        |other, (section, rules)| json!({"if": required(&[section]), "then": rules, "else": other}),
    )
}
