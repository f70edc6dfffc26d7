//! Options of a gate, and the start of its dispatcher.

use std::num::NonZeroU32;
use std::ops::ControlFlow;
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};

use penstock_core::{ClassInfo, Device, Queued, Seed, Served, Span};
use penstock_jobs::devices::DeviceSpec;
use penstock_jobs::diagnose::JobError;
use penstock_jobs::{Class, params, policies, timeout_in};
use penstock_live::{
    Cargo, Emulated, Engine, EngineError, Handover, LiveClock, Settings, Speed, Stage, Stopwatch,
    Target, User,
};
use penstock_policy::{Entry, Params, size_priority};

use super::by_class::{ByClass, SharedCounters};
use super::carrier::Carrier;
use super::counters::Counters;
use super::dispatcher::GateLoop;
use super::files::Files;
use super::inbox::{Inbox, Order};
use super::levels::Levels;
use super::register::Register;
use crate::ask::engines;
use crate::ask::target_options::TargetOptions;
use crate::failure::Failure;
use crate::foresee::law;
use crate::place::target::contents;
use crate::place::{geometry, open, target};
use crate::record::recorded::Recorded;
use crate::record::{Header, Recorder};

/// The options of a gate.
#[derive(Clone, Debug)]
pub struct GateOptions {
    /// The files behind the gate; none, if it stands before a model alone.
    pub files: Vec<GateFile>,
    /// The name of its policy.
    pub policy: String,
    /// Parameters of the policy, as `split=64KiB`.
    pub sets: Vec<String>,
    /// A model that answers in real time, over the file or alone: `DEVICE[@SPEED]`.
    pub emulate: Option<String>,
    /// The name of the engine for the files; the first engine that works if not given.
    pub engine: Option<String>,
    /// Maximum number of commands in flight over all files.
    pub depth: u32,
    /// Time that a command may take at a file, as `30s` or `off`, before the gate ends with an
    /// error; 30 s if not given.
    pub timeout: Option<String>,
    /// Classes of work, one of which each request then names; if there are none, requests are told apart by
    /// their length alone.
    pub classes: Vec<Class>,
    /// Called ten times a second on a thread that waits; `true` ends its wait with an error. The
    /// request may still be carried out.
    pub interrupted: Option<fn() -> bool>,
}

impl Default for GateOptions {
    /// `size-priority` before 32 commands in flight, as in jobs.
    fn default() -> Self {
        let (files, sets) = (Vec::new(), Vec::new());
        let policy = size_priority::ENTRY.name.into();
        let (emulate, engine, timeout, interrupted) = (None, None, None, None);
        let (depth, classes) = (32, Vec::new());
        Self { files, policy, sets, emulate, engine, depth, timeout, classes, interrupted }
    }
}

impl GateOptions {
    /// Opens its files for `user`.
    pub(crate) fn targets(&self, user: User) -> Result<Vec<Target>, Failure> {
        self.files.iter().map(|file| file.open(user)).collect()
    }
}

/// A file of a gate.
#[derive(Clone, Debug, Default)]
pub struct GateFile {
    /// The path.
    pub path: PathBuf,
    /// Its size, if it is to be created.
    pub create: Option<String>,
    /// Whether it is the application's own, whatever it holds: it goes through the page cache, and
    /// grows.
    pub adopt: bool,
    /// Serial number or path of the block device at `path`, named a second time: data on it may be
    /// lost.
    pub i_will_lose_data: Option<String>,
    /// Whether the block device may hold data that no format announces.
    pub even_if_not_empty: bool,
    /// The open file of another process, which has locked it, with the first byte and the number of bytes that are
    /// used.
    pub lent: Option<(PathBuf, u64, u64)>,
}

impl GateFile {
    /// The file at `path`, with the options for a file from `options`.
    pub fn at(path: impl Into<PathBuf>, options: &TargetOptions) -> Self {
        let TargetOptions { create, even_if_not_empty, .. } = options.clone();
        let i_will_lose_data = options.i_will_lose_data.first().cloned();
        let (path, adopt, lent) = (path.into(), false, None);
        Self { path, create, adopt, i_will_lose_data, even_if_not_empty, lent }
    }

    pub(super) fn open(&self, user: User) -> Result<Target, Failure> {
        let Self { path, create, adopt, i_will_lose_data, even_if_not_empty, lent } = self;
        if let Some((file, start, len)) = lent {
            return Ok(Target::lent(path, file, *start, *len)?);
        }
        let device = std::fs::metadata(path).is_ok_and(|meta| meta.file_type().is_block_device());
        let create = create.as_deref().map(target::created).transpose()?;
        let apart = |one: &str, other: &str| {
            let message = format!("{}: {one} does not go with {other}", path.display());
            Err(Failure::wrong(message, "leave one of them out"))
        };
        if *even_if_not_empty && i_will_lose_data.is_none() {
            return Err(target::named_for_nothing(path.display()));
        }
        match (i_will_lose_data, adopt, create) {
            (Some(_), _, _) if !device && user == User::Application => {
                apart("i_will_lose_data", "what is no block device")
            }
            (_, true, Some(_)) => apart("adopt", "create"),
            (_, true, _) if device => apart("adopt", "a block device"),
            (_, _, Some(_)) if device => apart("create", "a block device"),
            (named, ..) if device => {
                Ok(Target::open_device(path, named.as_deref(), contents(*even_if_not_empty))?)
            }
            (_, true, _) => Ok(Target::adopt(path)?),
            (named, false, create) => {
                let user = match user {
                    User::Application => user,
                    _ => match (user, target::user(path, named.as_deref())?) {
                        (User::Server, User::RunOverData) => User::Application,
                        (User::Server, _) => User::Server,
                        (_, run) => run,
                    },
                };
                Ok(Target::open_with(path, create, user, &mut |_, _| ControlFlow::Continue(()))?)
            }
        }
    }
}

/// A policy of the registry with its parameters.
#[derive(Clone)]
struct GatePolicy {
    entry: &'static Entry,
    params: Params,
}

impl GatePolicy {
    fn new(options: &GateOptions, real: bool) -> Result<Self, Failure> {
        let entry = params::policy(&options.policy)?;
        let params = policies::set(entry, &options.sets)?;
        let params = law::with_costs(params, Seed(0))?;
        let params = if real { entry.real(params) } else { params };
        Ok(Self { entry, params })
    }

    /// The longest request that counts as short.
    fn threshold(&self) -> u32 {
        (self.entry.facts.short)(&self.params).unwrap_or(SHORT)
    }
}

/// Bytes of the longest short request, if the policy does not define one.
const SHORT: u32 = 64 << 10;

/// The parts from which the dispatcher's thread builds its stack.
struct Parts {
    targets: Vec<Target>,
    model: Option<(DeviceSpec, Speed)>,
    engine: Engine,
    depth: u32,
    timeout: Option<Span>,
    decider: GatePolicy,
    kinds: Kinds,
}

/// The requests of a gate: what its opener tells apart, and how many and how long they are.
pub(super) struct Kinds {
    pub(super) classes: Vec<ClassInfo>,
    /// Number of books in which they are counted.
    pub(super) books: usize,
    /// Whether latencies are taken window by window too.
    pub(super) windows: bool,
    /// Bytes of the longest request that carries data.
    pub(super) longest: u32,
    /// Most requests at once.
    pub(super) most: u32,
    /// Where the policy's counters go if it is to see the requests of a class as those of one stream.
    pub(super) by_class: Option<SharedCounters>,
    /// Where events and decisions are recorded; `None` for no record.
    pub(super) record: Option<PathBuf>,
}

/// The dispatcher's inbox and clock, or why it did not start.
type Started = Result<(Arc<Inbox<Order>>, Stopwatch), Failure>;

/// The parts of an open gate, whose dispatcher runs.
pub(super) struct Opened {
    pub(super) files: Files,
    pub(super) inbox: Arc<Inbox<Order>>,
    pub(super) stopwatch: Stopwatch,
    pub(super) counters: Arc<Mutex<Counters>>,
    pub(super) levels: Levels,
    /// The longest request that counts as short, in bytes.
    pub(super) threshold: u32,
    pub(super) dispatcher: Handover<()>,
}

/// Starts the dispatcher of a gate over the [targets](GateOptions::targets) of `options`.
pub(super) fn open(
    options: &GateOptions,
    targets: Vec<Target>,
    kinds: Kinds,
) -> Result<Opened, Failure> {
    let model = options.emulate.as_deref().map(open::model).transpose()?;
    let decider = GatePolicy::new(options, model.is_none())?;
    let engine = engines::named_or_usual(options.engine.as_deref())?;
    check(options, engine)?;
    let timeout = timeout(options)?;
    let bound = model.as_ref().map(|(spec, _)| spec.build(Seed(0)).capacity());
    let files = Files::new(targets.clone(), bound);
    let (books, classes) = (kinds.books, options.classes.len());
    let levels = Levels::new(books, classes);
    let counters = Counters::new(books, classes, levels.clone(), kinds.windows);
    let counters = Arc::new(Mutex::new(counters));
    let (depth, threshold, most) = (options.depth, decider.threshold(), kinds.most);
    let parts = Parts { targets, model, engine, depth, timeout, decider, kinds };
    let (started, starts) = sync_channel(1);
    let (shared, begun) = (Arc::clone(&counters), levels.clone());
    let dispatcher = Handover::spawn("penstock-gate", move || {
        let cargo = Cargo::default();
        let register = Register::new(begun);
        let (stack, mut clock, recorder) = match parts.build(&cargo, &register) {
            Ok(built) => built,
            Err(failure) => return drop(started.send(Err(failure))),
        };
        let Some(bell) = clock.bell() else {
            return drop(started.send(Err(cannot_be_woken(parts.engine).into())));
        };
        let inbox = Arc::new(Inbox::new(most, bell));
        let _ = started.send(Ok((Arc::clone(&inbox), clock.stopwatch())));
        let this = GateLoop { inbox, cargo, register, counters: shared, threshold, recorder };
        this.serve(stack, clock, most);
    });
    let dispatcher = dispatcher
        .map_err(|source| EngineError::System { doing: "start the gate's thread", source })?;
    let started: Started = starts.recv().expect("the thread reports how it started");
    let (inbox, stopwatch) = started?;
    Ok(Opened { files, inbox, stopwatch, counters, levels, threshold, dispatcher })
}

impl Parts {
    /// Builds the stack of the gate and its clock, on the calling thread.
    fn build(
        &self,
        cargo: &Cargo,
        register: &Register,
    ) -> Result<(impl Device + use<>, LiveClock, Option<Recorder>), Failure> {
        let Self { targets, model, engine, depth, timeout, decider, kinds } = self;
        let settings = Settings { timeout: *timeout, ..Settings::new(*depth, kinds.longest) };
        let grain = targets.iter().map(Target::unit).max().unwrap_or(1);
        let (clock, files): (LiveClock, Vec<_>) = if targets.is_empty() {
            (LiveClock::bare(), Vec::new())
        } else {
            let stage = Stage::carrying(*engine, targets.clone(), settings, cargo.clone())?;
            (stage.clock, stage.devices)
        };
        let boxed = |device| Box::new(device) as Box<dyn Device>;
        let devices: Vec<Box<dyn Device>> = match model {
            None => files.into_iter().map(boxed).collect(),
            Some((spec, speed)) => {
                let file = files.into_iter().next();
                vec![Box::new(Emulated::new(spec.build(Seed(0)), *speed, file))]
            }
        };
        let carrier = Carrier::new(devices, *depth, grain, register.clone());
        let disks = model.as_ref().map_or(NonZeroU32::MIN, |(spec, _)| geometry::disks(spec));
        let served = Served { classes: &kinds.classes, disks };
        let mut policy = (decider.entry.build)(&decider.params, &served);
        if let Some(counters) = &kinds.by_class {
            policy = Box::new(ByClass::new(policy, counters.clone()));
        }
        let Some(path) = &kinds.record else {
            return Ok((Queued::new(policy, Box::new(carrier) as Box<dyn Device>), clock, None));
        };
        let policy_and_params = (decider.entry.name, &decider.params);
        let header = Header::of_programs("programs", policy_and_params, &carrier, &served)?;
        let recorder =
            Recorder::create(path, &header).map_err(|error| Failure::unwritable(path, &error))?;
        let device = Box::new(Recorded::new(carrier, recorder.clone())) as Box<dyn Device>;
        Ok((Queued::new(Box::new(recorder.of_policy(policy)), device), clock, Some(recorder)))
    }
}

/// Checks that a gate can be opened with `options`.
fn check(options: &GateOptions, engine: Engine) -> Result<(), Failure> {
    let files = options.files.len();
    match &options.emulate {
        None if files == 0 => {
            Err(Failure::wrong("a gate without a file", "name one, or a model to emulate"))
        }
        Some(model) if files > 1 => Err(Failure::wrong(
            format_args!("found {files} files below the model {model}; expected one at most"),
            "a model is of one disk: open a gate for each",
        )),
        _ if !engine.can_be_woken() => Err(cannot_be_woken(engine).into()),
        _ => Ok(()),
    }
}

/// The time that a command may take at a file.
fn timeout(options: &GateOptions) -> Result<Option<Span>, JobError> {
    let Some(text) = &options.timeout else { return Ok(Some(Settings::TIMEOUT)) };
    timeout_in("the gate", text)
}

/// The error for an engine that blocks the thread of the gate, or whose waits cannot be ended.
fn cannot_be_woken(engine: Engine) -> EngineError {
    let reason = if engine.is_blocking() {
        "its calls block the thread that has to take requests meanwhile"
    } else {
        "other threads cannot wake the thread that waits for it"
    };
    EngineError::Missing { engine, reason: reason.into(), hint: "use io_uring or threads".into() }
}
