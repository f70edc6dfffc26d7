//! A job: the requests, their target and the duration. Read from TOML and `--set`, and checked.
//!
//! [`Job::load`] reads a file, [`Job::parse`] a text. Both find every error that does not depend on
//! the target, even in sections of policies that do not run. [`Job::agents_on`] finds errors that
//! depend on the target's size. [`Job::text`] writes a job out with every default in place, so that
//! a record of a run can carry it.

use std::ops::Range;
use std::path::{Path, PathBuf};

use penstock_core::Span;
use penstock_policy::Params;
use penstock_workload::{Agent, Program};
use serde_json::{Value as Json, json};

use crate::amount::{Count, TIME};
use crate::block::{self, BLOCK};
use crate::classes::{CLASS, Class, classes};
use crate::describe::{all, any, with, words};
use crate::devices::DeviceSpec;
use crate::diagnose::{JobError, Origin, Source};
use crate::job_device::{DEVICE, NamedPlace, device};
use crate::kernel_tunables::{self, KERNEL, KernelTunables};
use crate::keys::{Keys, keys, names, required, table_with};
use crate::live::{LIVE, Live};
use crate::page_cache::{PAGE_CACHE, PageCacheSpec};
use crate::policy_keys::POLICY;
use crate::reader::Reader;
use crate::rows::Rows;
use crate::stop::{self, Stop};
use crate::text::{self, Lines};
use crate::tree::{self, Node};
use crate::units::duration_text;
use crate::workload::agents::AgentSpec;
use crate::workload::arrivals::MAX_OUTSTANDING_MOST;
use crate::workload::extent::Extent;
use crate::workload::file_places::Surroundings;
use crate::workload::files::{self, FILE};
use crate::workload::region::whole_blocks;
use crate::workload::verify::VerifiedRanges;
use crate::workload::{self, WorkloadKind, WorkloadSpec, traces};
use crate::{devices, file, machines, params, path_text, policies, sets};

keys! {
    /// Keys of a job that stand before its sections.
    KEYS:
    /// Seed of every random number.
    SEED seed: u64 = Count(0, u64::MAX), or 1;
    /// Time at which the agents stop. A job that plays a trace or merges has none; a job in which
    /// each agent has a `total`, a `count`, `passes` or a `stop` needs none.
    DURATION duration: Span = TIME.above_zero().hint("a run of no length asks for nothing");
    /// Requests that are due before this time are not measured.
    WARMUP warmup: Span = TIME, or Span::ZERO;
    /// End of the run: when all requests have finished (`drained`), when the data that they wrote
    /// is on the device too (`durable`: a flush ends the run, and rates refer to the time until
    /// then), when no request can arrive any more (`last-arrival`), when the programs of a class
    /// have ended (`done:CLASS`), when the last request of a class has been dispatched
    /// (`sent:CLASS`), or at a time.
    STOP stop: Stop<String> = stop::KIND, or Stop::Drained;
    /// Most requests that may be outstanding at once, and most programs that may run at once.
    MAX_OUTSTANDING max_outstanding: u32 = Count(1, MAX_OUTSTANDING_MOST), or 1 << 20;
}

/// Most agents of a job, counting each copy: a run keeps about a kilobyte for each.
const AGENTS_MOST: u64 = 1 << 18;

/// Keys and sections of a job, in the order in which they are written.
const SECTIONS: &[Keys] =
    &[KEYS, &[&DEVICE, &LIVE, &BLOCK, &PAGE_CACHE, &CLASS], workload::SECTIONS, &[&POLICY]];

/// A checked job.
#[derive(Clone, PartialEq, Debug)]
pub struct Job {
    /// Name of its text: the file's path.
    pub name: String,
    /// Seed that every random number derives from.
    pub seed: u64,
    /// Time at which the agents stop; [`Span::MAX`] if the workload ends by itself, as a trace,
    /// merges and agents with a quota or a `stop` do.
    pub duration: Span,
    /// Requests that are due before this time are not measured.
    pub warmup: Span,
    /// The end of the run.
    pub stop: Stop,
    /// Requests that may be outstanding at once.
    pub max_outstanding: u32,
    /// The device, unless the command line names one.
    pub device: Option<DeviceSpec>,
    /// Options of a real target.
    pub live: Live,
    /// Most requests at once at a model that is served as a block device.
    pub block_depth: Option<u32>,
    /// The page cache, if it is described or an agent needs it.
    pub page_cache: Option<PageCacheSpec>,
    /// Classes in the order of the file; a `ClassId` is an index into them.
    pub classes: Vec<Class>,
    /// The workload.
    pub workload: WorkloadSpec,
    /// Parameters of every registered policy.
    pub policies: Vec<(&'static str, Params)>,
    /// Tunables of the kernel's schedulers.
    pub kernel: Vec<KernelTunables>,
}

impl Job {
    /// Reads the job file at `path` and applies the `--set` arguments in order.
    ///
    /// # Errors
    /// The file cannot be read, or [`Job::parse`] refuses it.
    pub fn load(path: &Path, sets: &[String]) -> Result<Self, JobError> {
        let text = file::read(path, "job file")?;
        Self::parse(&path_text::text(path), &text, sets)
    }

    /// Reads the job `text`, called `name`, and applies the `--set` arguments in order. Device
    /// files that the job names are relative to the folder of `name`, those that `--set` names to
    /// the working directory.
    ///
    /// # Errors
    /// The job is wrong: unknown names, missing units, impossible combinations.
    pub fn parse(name: &str, text: &str, sets: &[String]) -> Result<Self, JobError> {
        let mut root = tree::parse(&Source::file(name, text))?;
        let known = names(SECTIONS);
        for argument in sets {
            // A device that is given by its name has no keys to change yet.
            let device = changed_device(argument, &root)?;
            sets::spell_out(&mut root, &device, &folder(name))?;
            sets::apply(&mut root, argument, &known, device.len())?;
        }
        read(name, &root)
    }

    /// Returns the parameters of a policy: those of the job over the defaults.
    ///
    /// # Errors
    /// No policy has this name.
    pub fn params(&self, policy: &str) -> Result<Params, JobError> {
        let name = params::policy(policy)?.name;
        let entry = self.policies.iter().find(|(known, _)| *known == name);
        entry.map(|(_, params)| params.clone()).ok_or_else(|| JobError::new("no such policy"))
    }

    /// Returns the page cache if an agent's requests go through it.
    pub fn buffered(&self) -> Option<&PageCacheSpec> {
        self.page_cache
            .as_ref()
            .filter(|_| self.workload.agents().iter().any(|agent| agent.buffered))
    }

    /// Returns the agents on one target of `capacity` bytes in blocks of `block` bytes, on which all
    /// files of the job lie.
    ///
    /// # Errors
    /// See [`Job::agents_over`].
    ///
    /// # Panics
    /// If the files of the job lie on several devices.
    pub fn agents_on(&self, capacity: u64, block: u32) -> Result<Vec<Agent>, JobError> {
        self.agents_over(&[Extent::whole(capacity, block)])
    }

    /// Returns the agents over `devices`, one device for each lane of the job's files, or one for a
    /// job without files. Each agent comes with all of its copies on each of its files. Borders that
    /// are shares are rounded down to 4 KiB, or to whole blocks if those are larger; `100%` is the
    /// end.
    ///
    /// # Errors
    /// A file does not fit on its device, or overlaps another; a region lies outside its file, is
    /// empty, or is smaller than a request.
    ///
    /// # Panics
    /// If there are fewer devices than lanes.
    pub fn agents_over(&self, devices: &[Extent]) -> Result<Vec<Agent>, JobError> {
        let layout = self.workload.layout(devices)?;
        let prio = |agent: &AgentSpec| self.classes[agent.class.index()].prio;
        let agents = self.workload.agents().iter().map(|agent| agent.on(&layout, prio(agent)));
        Ok(agents.collect::<Result<Vec<_>, _>>()?.concat())
    }

    /// Returns the verified parts of `devices`, which are those of [`Job::agents_over`].
    ///
    /// # Errors
    /// See [`Job::agents_over`]; or an agent writes without `verify` where data is verified.
    pub fn verified_over(&self, devices: &[Extent]) -> Result<VerifiedRanges, JobError> {
        let layout = self.workload.layout(devices)?;
        let specs = self.workload.agents();
        let agents = specs.iter().map(|spec| spec.on(&layout, 0)).collect::<Result<Vec<_>, _>>()?;
        let agents = specs.iter().zip(&agents).flat_map(|(spec, agents)| {
            agents.iter().map(|agent| (agent, spec.verify, spec.verify_origin()))
        });
        VerifiedRanges::of(devices, agents)
    }

    /// Whether an agent's data is verified.
    pub fn is_verified(&self) -> bool {
        self.workload.agents().iter().any(|agent| agent.verify.is_some())
    }

    /// Returns the bytes of each file on `devices`; none for a job without files.
    ///
    /// # Errors
    /// A file does not fit on its device, or overlaps another.
    ///
    /// # Panics
    /// If there are fewer devices than lanes.
    pub fn files_over(&self, devices: &[Extent]) -> Result<Vec<Range<u64>>, JobError> {
        if self.workload.files().is_empty() {
            return Ok(Vec::new());
        }
        let layout = self.workload.layout(devices)?;
        Ok(layout.iter().map(|file| file.place(0..file.size)).collect())
    }

    /// Returns the programs on one target of `capacity` bytes in blocks of `block` bytes, if the
    /// job has programs.
    ///
    /// # Errors
    /// See [`Job::agents_on`].
    pub fn programs_on(&self, capacity: u64, block: u32) -> Result<Option<Vec<Program>>, JobError> {
        let (capacity, step) = whole_blocks(capacity, block);
        let programs = self.workload.programs();
        programs.map(|spec| spec.on(capacity, step, &self.classes)).transpose()
    }

    /// Returns the job as TOML with every default in place. Read back under the same name, it is
    /// equal.
    pub fn text(&self) -> String {
        let mut out = Lines::default();
        Rows::of(&[KEYS])
            .put(&SEED, &self.seed)
            .maybe(&DURATION, Some(&self.duration).filter(|duration| **duration < Span::MAX))
            .put(&WARMUP, &self.warmup)
            .put(&STOP, &self.stop.named(&self.classes))
            .put(&MAX_OUTSTANDING, &self.max_outstanding)
            .section(None, &mut out);
        if let Some(spec) = &self.device {
            spec.write(DEVICE.name, &mut out);
        }
        for device in self.workload.shared_devices() {
            device.write(DEVICE.name, &mut out);
        }
        self.live.write(&mut out);
        block::write(self.block_depth, &mut out);
        if let Some(spec) = &self.page_cache {
            spec.write(PAGE_CACHE.name, &mut out);
        }
        let unnamed =
            self.workload.merges().is_some_and(|merges| merges.has_usual_classes(&self.classes));
        for class in self.classes.iter().filter(|_| !unnamed) {
            class.write(&mut out);
        }
        self.workload.write(&mut out, &self.classes);
        for (name, params) in &self.policies {
            out.section(&format!("[{}.{name}]", POLICY.name));
            for (name, value) in params.iter() {
                out.line(name, text::param(value));
            }
        }
        for KernelTunables { scheduler, values } in &self.kernel {
            out.section(&format!("[{}.\"{KERNEL}{scheduler}\"]", POLICY.name));
            for (name, value) in values {
                out.line(name, text::quoted(value));
            }
        }
        out.done()
    }
}

/// Describes a job.
pub(crate) fn schema() -> Json {
    let of_trace = with(traces::with_devices(), required(&[&DEVICE, &traces::TRACE]));
    let of_files = with(files::with_devices(), required(&[&DEVICE, &FILE]));
    // A device file may describe a machine, whose devices the files of the job name.
    let device = any([words(devices::names()), json!({"required": [devices::MODEL.name]})]);
    let of_files = all([of_files, json!({"properties": {DEVICE.name: device}})]);
    let device_for_all = json!({"not": any([of_trace, of_files])});
    let table = with(with(table_with(&[], SECTIONS), workload::schema(&DURATION)), device_for_all);
    // Files may name devices only if the job or its machine does.
    let named = any([machines::word_schema(), machines::of_job_schema()]);
    let on_machine = json!({"properties": {DEVICE.name: named}});
    let on_machine = with(on_machine, required(&[&DEVICE]));
    let rule = json!({"if": {"not": on_machine}, "then": files::on_named_devices()});
    with(table, all([rule]))
}

/// Returns the folder of the job called `name`.
fn folder(name: &str) -> PathBuf {
    path_text::path(name).parent().unwrap_or(Path::new("")).to_owned()
}

fn read(name: &str, root: &Node) -> Result<Job, JobError> {
    let reader = Reader::new(root, "the job", SECTIONS)?;
    let seed = reader.get(&SEED)?;
    let folder = &*folder(name);
    let kind = WorkloadKind::of(&reader, &DURATION)?;
    let duration = reader.find(&DURATION)?.unwrap_or(Span::MAX);
    let warmup = warmup(&reader, duration)?;
    // A workload that ends by itself may be stopped at any time.
    let earliest = if duration == Span::MAX { Span::ZERO } else { duration };
    let max_outstanding = reader.get(&MAX_OUTSTANDING)?;
    let live = reader.node(&LIVE).map(Live::read).transpose()?.unwrap_or_default();
    let on = reader.node(&DEVICE).map(|node| NamedPlace::read(node, folder)).transpose()?;
    let devices = on.as_ref().and_then(NamedPlace::devices);
    let machine = on.as_ref().and_then(NamedPlace::machine);
    let memory = machine.map(|machine| &machine.page_cache);
    let block_depth = reader.node(&BLOCK).map(block::depth).transpose()?.flatten();
    let page_cache = reader.node(&PAGE_CACHE);
    let page_cache = page_cache.map(|node| PageCacheSpec::read(node, memory)).transpose()?;
    let classes = reader.node(&CLASS).map(classes).transpose()?.unwrap_or_default();
    let classes = kind.classes(&reader, classes)?;
    let only_set = reader.place(&DEVICE).is_set();
    let around = Surroundings { folder, devices, only_set };
    let mut workload = kind.read(&reader, &classes, duration, around)?;
    if duration == Span::MAX && !workload.ends_by_itself() {
        let missing = reader.missing(&DURATION, "\"10min\"");
        let hint = "add `duration = \"10min\"`, or a `total`, a `count`, `passes` or a `stop` to each agent";
        return Err(if workload.programs().is_some() { missing } else { missing.hint(hint) });
    }
    let memory = memory.copied();
    let device = device(&reader, on, &mut workload)?;
    let stop = reader.get(&STOP)?.resolve(reader.place(&STOP), earliest, &classes, &workload)?;
    let policies = policies::all(reader.node(&POLICY), folder, Some(&classes))?;
    let kernel = kernel_tunables::all(reader.node(&POLICY))?;
    let buffered = workload.agents().iter().any(|agent| agent.buffered);
    let job = Job {
        name: name.into(),
        seed,
        duration,
        warmup,
        stop,
        max_outstanding,
        device,
        live,
        block_depth,
        page_cache: page_cache.or_else(|| buffered.then(|| memory.unwrap_or_default())),
        classes,
        workload,
        policies,
        kernel,
    };
    check_copies(&job)?;
    check_depth(&job, reader.origin(&MAX_OUTSTANDING))?;
    Ok(job)
}

/// Limits the agents: each copy is an agent of its own, and a typing error could fill the memory.
fn check_copies(job: &Job) -> Result<(), JobError> {
    let agents = job.workload.agents();
    let all = agents.iter().map(AgentSpec::agents).fold(0, u64::saturating_add);
    let most = agents.iter().max_by_key(|agent| agent.agents());
    match most.filter(|_| all > AGENTS_MOST) {
        None => Ok(()),
        Some(agent) => {
            let message = format!(
                "the job has {all} agents with their copies on each file; at most {AGENTS_MOST} may be"
            );
            Err(JobError::new(message).at(agent.copies_origin()).hint("lower `copies`"))
        }
    }
}

/// Checks that closed loops fit `max_outstanding`: they fill their depth at once.
fn check_depth(job: &Job, origin: &Origin) -> Result<(), JobError> {
    let agents = job.workload.agents();
    let depth = agents.iter().map(AgentSpec::depth).fold(0, u64::saturating_add);
    if depth <= u64::from(job.max_outstanding) {
        return Ok(());
    }
    let most = job.max_outstanding;
    let message = format!("closed agents keep {depth} requests outstanding; at most {most} may be");
    let several = agents.iter().any(|agent| agent.agents() > 1);
    let lower = if several { "`depth`, `buffers` or `copies`" } else { "`depth` or `buffers`" };
    let key = MAX_OUTSTANDING.name;
    let hint = if depth <= MAX_OUTSTANDING_MOST {
        format!("lower their {lower}, or set `{key} = {depth}`")
    } else {
        format!("lower their {lower}: `{key}` is {MAX_OUTSTANDING_MOST} at most")
    };
    Err(JobError::new(message).at(origin).hint(hint))
}

fn warmup(reader: &Reader<'_>, duration: Span) -> Result<Span, JobError> {
    match reader.get(&WARMUP)? {
        span if span < duration => Ok(span),
        _ => {
            let duration = duration_text(duration);
            let message = format!("the warm-up lasts as long as the job ({duration}), or longer");
            let origin = reader.place(&WARMUP);
            Err(JobError::new(message).at(origin).hint("nothing would be measured"))
        }
    }
}

/// Returns the path to the device of which `argument` changes a part; empty if it changes none.
/// `root` is the job so far.
///
/// # Errors
/// It replaces devices that the job names by one.
fn changed_device(argument: &str, root: &Node) -> Result<Vec<String>, JobError> {
    let mut steps = sets::steps(argument);
    let keys: Vec<&str> = steps.iter().map(String::as_str).collect();
    let named = || root.get(DEVICE.name).is_some_and(machines::are_named);
    let depth = match &keys[..] {
        [device] if *device == DEVICE.name && named() => {
            let message = "the job names its devices, and files share them";
            let hint = "set one of them, as `device.disk0=hdd-7200`, or name a device for all \
                        with --on";
            let source = Source::set(argument);
            return Err(JobError::new(message)
                .at(&Origin::new(&source, 0..argument.len()))
                .hint(hint));
        }
        [device, ..] if *device == DEVICE.name => 1 + usize::from(named()),
        // The device's name follows that of a trace's device, of a file, or of both.
        [first, second, ..] if [*first, *second] == traces::PATH_OF_DEVICES => 3,
        [first, _, device, ..] if *first == FILE.name && *device == files::DEVICE.name => 3,
        [first, _, on, ..] if *first == FILE.name && *on == files::ON.name => 4,
        _ => 0,
    };
    steps.truncate(if steps.len() > depth { depth } else { 0 });
    Ok(steps)
}
