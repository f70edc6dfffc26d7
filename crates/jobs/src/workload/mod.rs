//! Reads the workload of a job: agents, programs, a trace or merges. Each kind is a file with its
//! sections; this file decides between the kinds.

pub(crate) mod active;
mod agent_checks;
mod agent_copies;
pub(crate) mod agent_files;
pub(crate) mod agents;
pub(crate) mod arrivals;
pub(crate) mod extent;
pub(crate) mod file_places;
pub(crate) mod files;
pub(crate) mod job_files;
pub(crate) mod lanes;
pub(crate) mod merge;
pub(crate) mod merge_kinds;
pub(crate) mod order;
mod order_checks;
pub(crate) mod places;
pub(crate) mod priority;
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
use self::extent::{Extent, FileExtent};
use self::file_places::Surroundings;
use self::files::{FILE, FileSpec};
use self::job_files::JobFiles;
use self::lanes::{FileTarget, LaneDevice};
use self::merge::{MERGE, MergeSpec};
use self::programs::{CPU, PROGRAM, ProgramsSpec};
use self::traces::{RULE, TRACE, TraceSpec};
use crate::classes::{CLASS, Class};
use crate::describe::with;
use crate::devices::DeviceSpec;
use crate::diagnose::JobError;
use crate::keys::{Declared, Keys, required, without};
use crate::page_cache::PAGE_CACHE;
use crate::reader::Reader;
use crate::text::Lines;

/// Sections of workloads, in the order in which they are written.
pub(crate) const SECTIONS: Keys = &[&FILE, &AGENT, &CPU, &PROGRAM, &MERGE, &TRACE, &RULE];

/// Hint for agents in a job with programs.
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
    /// Files; if there are none, all agents work on the target.
    pub files: JobFiles,
    /// The agents.
    pub agents: Vec<AgentSpec>,
}

/// Kind of a job's workload, which the sections of the job decide.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum WorkloadKind {
    Agents,
    Programs,
    Trace,
    Merge,
}

impl WorkloadKind {
    /// Returns the kind of the job's workload, and refuses keys of other kinds. `duration` is the
    /// key of the job's length.
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

    /// Returns the classes of the job. Merges have one each if the job names none.
    pub(crate) fn classes(
        self,
        reader: &Reader<'_>,
        named: Vec<Class>,
    ) -> Result<Vec<Class>, JobError> {
        if self == Self::Merge && named.is_empty() { merge::classes(reader) } else { Ok(named) }
    }

    /// Reads the workload of a job with these classes that runs for `duration`.
    pub(crate) fn read(
        self,
        reader: &Reader<'_>,
        classes: &[Class],
        duration: Span,
        around: Surroundings<'_>,
    ) -> Result<WorkloadSpec, JobError> {
        Ok(match self {
            Self::Agents => {
                let files =
                    reader.node(&FILE).map(|node| JobFiles::read(node, around)).transpose()?;
                let files = files.unwrap_or_default();
                let agents = agents::read(reader, classes, duration, &files)?;
                order_checks::check(&agents, classes, duration)?;
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
    /// Returns its agents; none if it is of another kind.
    pub fn agents(&self) -> &[AgentSpec] {
        if let Self::Agents(spec) = self { &spec.agents } else { &[] }
    }

    /// Returns the sections of files that its agents work on; none if it has none.
    pub fn files(&self) -> &[FileSpec] {
        self.job_files().map_or(&[], |files| &files.sections)
    }

    fn job_files(&self) -> Option<&JobFiles> {
        if let Self::Agents(spec) = self { Some(&spec.files) } else { None }
    }

    /// Whether the place of the file `number` is a share of its device, so that it depends on it.
    pub fn place_is_share(&self, number: usize) -> bool {
        self.job_files().is_some_and(|files| files.place_is_share(number))
    }

    /// Returns the names of these files.
    pub fn file_names(&self) -> Vec<String> {
        self.job_files().map_or_else(Vec::new, JobFiles::names)
    }

    /// Returns the lane of each file: files on the same device, or on the same real target, have
    /// one lane. Lanes are numbered from 0 in the order of their first files.
    pub fn file_lanes(&self) -> Vec<usize> {
        self.job_files().map_or_else(Vec::new, JobFiles::lanes)
    }

    /// Returns the name of each lane: that of the device that files share, or of its only file.
    pub fn lane_names(&self) -> Vec<String> {
        self.job_files().map_or_else(Vec::new, JobFiles::lane_names)
    }

    /// Returns the devices that several of its files share.
    pub fn shared_devices(&self) -> &[LaneDevice] {
        self.job_files().map_or(&[], JobFiles::shared)
    }

    /// Returns two files that lie on devices of their own, although their sections name the same
    /// one, or none. Files of one section are meant to lie apart.
    pub fn apart(&self) -> Option<[String; 2]> {
        self.job_files()?.apart()
    }

    /// Whether it has files and each names a device.
    pub(crate) fn all_files_have_devices(&self) -> bool {
        self.job_files().is_some_and(JobFiles::all_have_devices)
    }

    /// Returns the extents of its files over these devices, one device for each lane; the whole
    /// device if there are no files.
    pub(crate) fn layout(&self, devices: &[Extent]) -> Result<Vec<FileExtent>, JobError> {
        let whole = || Ok(devices.iter().copied().map(FileExtent::whole).collect());
        self.job_files().map_or_else(whole, |files| files.layout(devices))
    }

    /// Returns the number of requests of `class`, if its agents state it.
    pub fn requests(&self, class: ClassId) -> Option<u64> {
        let agents = self.agents().iter().filter(|agent| agent.class == class);
        let requests_of =
            |agent: &AgentSpec| Some(agent.requests()?.saturating_mul(agent.agents()));
        let sum =
            agents.map(requests_of).try_fold(0_u64, |sum, count| Some(sum.saturating_add(count?)));
        sum.filter(|sum| *sum > 0)
    }

    /// Returns its programs, if it has programs.
    pub fn programs(&self) -> Option<&ProgramsSpec> {
        if let Self::Programs(programs) = self { Some(programs) } else { None }
    }

    /// Returns its trace, if it plays one.
    pub fn trace(&self) -> Option<&TraceSpec> {
        if let Self::Trace(trace) = self { Some(trace) } else { None }
    }

    /// Returns its merges, if it has merges.
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

    /// Returns the devices of its trace's devices, or of the lanes of its files; empty if all are on
    /// devices like `usual`, the job's device.
    ///
    /// # Errors
    /// A file has no device.
    pub fn lane_devices(&self, usual: Option<&DeviceSpec>) -> Result<Vec<LaneDevice>, JobError> {
        match self {
            Self::Trace(trace) => Ok(trace.on.clone()),
            _ => self.job_files().map_or_else(|| Ok(Vec::new()), |files| files.devices(usual)),
        }
    }

    /// Returns the real targets of its files, in their order; empty if the files are on models, or
    /// if it has none.
    ///
    /// # Errors
    /// Some files are on targets, and others are not.
    pub fn file_targets(&self) -> Result<Vec<FileTarget>, JobError> {
        self.job_files().map_or_else(|| Ok(Vec::new()), JobFiles::targets)
    }

    /// Removes the models that files name; paths of real targets stay.
    pub fn drop_file_models(&mut self) {
        if let Self::Agents(spec) = self {
            spec.files.drop_models();
        }
    }

    /// Puts its files on the real target at `path`, which all share; a trace has no devices then.
    pub fn put_on_target(&mut self, path: &str) {
        self.drop_trace_devices();
        if let Self::Agents(spec) = self {
            spec.files.put_on_target(path);
        }
    }

    /// Removes the devices of its trace, so that all are on the job's device.
    pub(crate) fn drop_trace_devices(&mut self) {
        if let Self::Trace(trace) = self {
            trace.on.clear();
        }
    }

    /// Puts the devices of its trace or its files on devices like `spec`. Returns whether that is
    /// then the job's device: files that share devices have one each.
    pub fn put_on(&mut self, spec: &DeviceSpec) -> bool {
        self.drop_trace_devices();
        if let Self::Agents(agents) = self {
            agents.files.put_on(spec);
        }
        self.shared_devices().is_empty()
    }

    /// Upper bound of the streams of its requests.
    pub fn streams(&self) -> usize {
        match self {
            Self::Agents(spec) => spec.agents.iter().map(AgentSpec::agents).sum::<u64>() as usize,
            Self::Merge(merges) => merges.jobs as usize,
            // One for each process of a trace and for each task; no machine has more.
            Self::Programs(_) | Self::Trace(_) => 1 << 22,
        }
    }

    /// Whether requests arrive at the very instants of completions, before the policy decides.
    pub fn arrives_at_completions(&self) -> bool {
        matches!(self, Self::Programs(_) | Self::Merge(_))
    }

    /// Writes its sections.
    pub(crate) fn write(&self, out: &mut Lines, classes: &[Class]) {
        match self {
            Self::Agents(spec) => {
                spec.files.write(out);
                for agent in &spec.agents {
                    agent.write(out, classes);
                }
            }
            Self::Programs(programs) => programs.write(out, classes),
            Self::Trace(trace) => trace.write(out, classes),
            Self::Merge(merges) => merges.write(out),
        }
    }
}

/// Describes the sections that a job must have and may not have with its workload; `duration` is
/// the key of the job's length.
pub(crate) fn schema(duration: &dyn Declared) -> Json {
    let with_duration = |own: &[&dyn Declared], others: Keys| {
        with(required(&[&[duration, &CLASS], own].concat()), without(others))
    };
    let own = with(required(&[&CLASS, &AGENT]), without(&[&RULE, &CPU]));
    let quotas = json!({"properties": {AGENT.name: {"items": agents::ends_by_itself()}}});
    let agents = with(own, json!({"anyOf": [required(&[duration]), quotas]}));
    // The first of these sections that the job has decides.
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
