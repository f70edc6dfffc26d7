//! From a job to results: one workload under each policy, on a model or on a real target.

use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use penstock_core::{
    Clock, Device, Done, Limits, Queued, ReqId, Request, RunError, Seed, Tap, Time, Virtual,
    Witness, run,
};
use penstock_live::{Engine, LiveClock, LiveDevice, Pace, Paced, Settings, Stage, Target};
use serde::Serialize;

use crate::candidate::{self, Candidate, Chosen, Leave, Quit, Until};
use crate::devices::{self, DeviceSpec};
use crate::failure::Failure;
use crate::load::Load;
use crate::machine::machine;
use crate::nearest::nearest;
use crate::record::{Header, Recorder};
use crate::result::{ClassResult, Comparison, JobResult, RunResult, World};
use crate::snapshot::{Snapshot, Watch, Watched};
use crate::spec::{Job, Stop};
use crate::stack;
use crate::stats::{Progress, Stats};
use crate::units;

/// What a comparison is asked for beside its job.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Who decides, in the order in which they run; none: every policy of the registry.
    pub policies: Vec<Candidate>,
    /// A device's name, a device file, or the path of a target; the job's device if not given.
    pub on: Option<String>,
    /// Size of the owned file to create at the path, if it is missing.
    pub create: Option<String>,
    /// How a target is driven; the first engine that works if not given.
    pub engine: Option<String>,
    /// Where to record the run; for one policy only.
    pub record: Option<PathBuf>,
    /// Whether results carry whole distributions and the course over time.
    pub detail: bool,
    /// Somebody watches: steps tell how the run goes, and a model keeps step with real time, until
    /// this lets it pause.
    pub watch: Option<Arc<Pace>>,
    /// How much faster than real time a watched model goes: a number, or `max`; 1 if not given.
    pub speed: Option<String>,
}

/// How far long work has come.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "step", rename_all = "lowercase")]
pub enum Step<'a> {
    /// An owned file is being written.
    Creating {
        /// Its path.
        path: &'a str,
        /// Share that is written.
        fraction: f64,
    },
    /// A policy runs.
    Running {
        /// Its name.
        policy: &'a str,
        /// Its number, from 0.
        number: usize,
        /// How many there are.
        of: usize,
        /// Share of the run's time that is over.
        fraction: f64,
        /// Name of the modelled device, or path of the target.
        device: &'a str,
        /// Whether it is a model.
        world: World,
        /// How it goes, if somebody watches.
        #[serde(skip_serializing_if = "Option::is_none")]
        now: Option<&'a Snapshot>,
    },
    /// A policy's run has ended.
    Finished {
        /// Its name.
        policy: &'a str,
        /// Its number, from 0.
        number: usize,
        /// How many there are.
        of: usize,
        /// What each class got.
        classes: &'a [ClassResult],
    },
}

/// Runs the job at `path`, changed by `sets`, under each policy of `options`.
///
/// `progress` hears of each step some times a second; when it says `false` the run ends there and
/// the result so far is returned, marked as interrupted.
///
/// # Errors
/// [`Failure`]: wrong input, an unsafe target, a machine that cannot, or a run that failed.
pub fn compare(
    path: &Path,
    sets: &[String],
    options: &Options,
    progress: &mut dyn FnMut(Step<'_>) -> bool,
) -> Result<Comparison, Failure> {
    compare_job(&Job::load(path, sets)?, sets, options, progress)
}

/// The same with the job's text at hand: errors and results call it `name`, and a device file that
/// it names lies beside `name`.
///
/// # Errors
/// [`Failure`], as from [`compare`].
pub fn compare_text(
    name: &str,
    text: &str,
    sets: &[String],
    options: &Options,
    progress: &mut dyn FnMut(Step<'_>) -> bool,
) -> Result<Comparison, Failure> {
    compare_job(&Job::parse(name, text, sets)?, sets, options, progress)
}

fn compare_job(
    job: &Job,
    sets: &[String],
    options: &Options,
    progress: &mut dyn FnMut(Step<'_>) -> bool,
) -> Result<Comparison, Failure> {
    let policies = Chosen::all(job, &options.policies)?;
    if let Some(record) = &options.record {
        candidate::can_be_recorded(&policies)?;
        Recorder::check(record).map_err(|error| Failure::unwritable(record, &error))?;
    }
    let place = Place::find(job, &policies, options, progress)?;
    let comparison = place.compare(job, sets, &policies, options, progress);
    if let (Err(_), Place::Live { target, made: true, .. }) = (&comparison, &place) {
        // Made a moment ago for a run that did not come about: wrong input leaves nothing behind.
        let _ = std::fs::remove_file(target.path());
    }
    comparison
}

/// Where a job runs.
enum Place {
    Modelled(DeviceSpec),
    /// `made`: by this run.
    Live {
        target: Target,
        engine: Engine,
        path: String,
        made: bool,
    },
}

impl Place {
    fn find(
        job: &Job,
        policies: &[Chosen],
        options: &Options,
        progress: &mut dyn FnMut(Step<'_>) -> bool,
    ) -> Result<Self, Failure> {
        let Some(on) = options.on.as_deref() else {
            let none = || Failure::wrong("the job names no device", "name one with --on");
            return Self::modelled(job.device.clone().ok_or_else(none)?, options);
        };
        let known = devices::named().any(|(name, _)| name == on);
        let file = Path::new(on).extension().is_some_and(|ending| ending == "toml");
        // A target is written like a file's name, or it is there, or it is to be made.
        let path = on.contains(['/', '.']) || Path::new(on).exists() || options.create.is_some();
        if known || file || !path {
            return Self::modelled(devices::find(on)?, options);
        }
        candidate::can_run_live(policies, on)?;
        if let Some(speed) = &options.speed {
            let message =
                format!("--speed {speed} does not go with {on}: a real file takes its own time");
            return Err(Failure::wrong(message, "leave it out, or name a model with --on"));
        }
        let engine = engine(options.engine.as_deref())?;
        let create = options.create.as_deref().map(created).transpose()?;
        if let Some(size) = create.filter(|_| !Path::new(on).exists()) {
            // A job that does not fit must not leave a file behind.
            job.agents_on(size, 1)?;
        }
        let mut told = |written: u64, of: u64| {
            let fraction = written as f64 / of as f64;
            if progress(Step::Creating { path: on, fraction }) {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        };
        let made = !Path::new(on).exists();
        let target = Target::open_with(Path::new(on), create, &mut told)?;
        Ok(Self::Live { target, engine, path: on.into(), made })
    }

    fn modelled(spec: DeviceSpec, options: &Options) -> Result<Self, Failure> {
        let live_only = [("--create", &options.create), ("--engine", &options.engine)];
        if let Some((option, _)) = live_only.iter().find(|(_, value)| value.is_some()) {
            let message = format!("{option} does not go with the model {}", spec.name);
            return Err(Failure::wrong(message, "name a file with --on, as in --on ./data.img"));
        }
        Ok(Self::Modelled(spec))
    }

    /// Runs `job` under each of `policies`.
    fn compare(
        &self,
        job: &Job,
        sets: &[String],
        policies: &[Chosen],
        options: &Options,
        progress: &mut dyn FnMut(Step<'_>) -> bool,
    ) -> Result<Comparison, Failure> {
        let load = Load::new(job, self.capacity(), self.block())?;
        // The whole configuration: the device too, wherever it was named.
        let job = &Job { device: self.spec().or(job.device.as_ref()).cloned(), ..job.clone() };
        let mut comparison = Comparison {
            penstock: crate::VERSION,
            job: JobResult { file: job.name.clone(), text: job.text(), set: sets.to_vec() },
            seed: job.seed,
            world: self.world(),
            device: self.name().into(),
            machine: machine(self.engine().map(Engine::name)),
            runs: Vec::with_capacity(policies.len()),
        };
        let of = policies.len();
        let (device, world) = (self.name(), self.world());
        let watch = Watch::new(options.watch.as_deref(), options.speed.as_deref())?;
        for (number, policy) in policies.iter().enumerate() {
            let name = policy.name();
            let mut told = Told { policy: name, number, of, device, world, progress };
            let header = |room| Header {
                penstock: crate::VERSION.into(),
                policy: policy.name().into(),
                job: job.name.clone(),
                text: job.text(),
                room,
                capacity: self.capacity(),
                block: self.block(),
            };
            let record = options.record.as_deref();
            let detail = options.detail;
            let bench = Bench { job, policy, load: &load, record, header, detail, watch };
            let result = self.run(&bench, &mut told)?;
            let interrupted = result.interrupted;
            if !interrupted {
                told.finished(&result.classes);
            }
            comparison.runs.push(result);
            if interrupted {
                break;
            }
        }
        Ok(comparison)
    }

    /// The model, if it is one.
    fn spec(&self) -> Option<&DeviceSpec> {
        match self {
            Self::Modelled(spec) => Some(spec),
            Self::Live { .. } => None,
        }
    }

    fn world(&self) -> World {
        match self {
            Self::Modelled(_) => World::Simulated,
            Self::Live { .. } => World::Measured,
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Modelled(spec) => &spec.name,
            Self::Live { path, .. } => path,
        }
    }

    fn engine(&self) -> Option<Engine> {
        match self {
            Self::Modelled(_) => None,
            Self::Live { engine, .. } => Some(*engine),
        }
    }

    fn capacity(&self) -> u64 {
        match self {
            Self::Modelled(spec) => stack::device(spec, Seed(0)).capacity(),
            Self::Live { target, .. } => target.capacity(),
        }
    }

    fn block(&self) -> u32 {
        match self {
            Self::Modelled(spec) => stack::device(spec, Seed(0)).block(),
            Self::Live { target, .. } => target.block(),
        }
    }

    fn run(
        &self,
        bench: &Bench<'_, impl Fn(u32) -> Header>,
        told: &mut Told<'_, '_>,
    ) -> Result<RunResult, Failure> {
        match self {
            Self::Modelled(spec) => {
                let device = stack::device(spec, Seed(bench.job.seed));
                match bench.watch.and_then(Watch::paced) {
                    Some((speed, pace)) => {
                        bench.run(device, &mut Paced::new(speed, pace), told, false)
                    }
                    None => bench.run(device, &mut Virtual::default(), told, false),
                }
            }
            Self::Live { target, engine, .. } => {
                let (mut clock, device) = bench.stage(*engine, target)?;
                let result = bench.run(device, &mut clock, told, true)?;
                Ok(RunResult { remarks: clock.remarks().to_vec(), ..result })
            }
        }
    }
}

/// The size that `--create` names.
fn created(text: &str) -> Result<u64, Failure> {
    units::parse_size(text).map_err(|error| {
        Failure::wrong(format_args!("--create: {}", error.message()), "write it as 256MiB")
    })
}

/// The engine called `name`, or the first that works here.
fn engine(name: Option<&str>) -> Result<Engine, Failure> {
    let Some(name) = name else {
        let works = Engine::ALL.into_iter().find(|engine| engine.probe().is_ok());
        return Ok(works.unwrap_or(Engine::Threads));
    };
    let engine = Engine::from_name(name).ok_or_else(|| {
        let known: Vec<_> = Engine::ALL.map(Engine::name).into();
        let hint = nearest(name, known.iter().copied()).map_or_else(
            || format!("engines: {}", known.join(", ")),
            |near| format!("did you mean {near}?"),
        );
        Failure::wrong(format_args!("unknown engine {name}"), hint)
    })?;
    engine.probe()?;
    Ok(engine)
}

/// One policy's run, ready to begin.
struct Bench<'a, H> {
    job: &'a Job,
    policy: &'a Chosen,
    load: &'a Load,
    record: Option<&'a Path>,
    header: H,
    detail: bool,
    watch: Option<Watch<'a>>,
}

impl<H: Fn(u32) -> Header> Bench<'_, H> {
    /// Real time, and `target` behind `engine`, for the largest command of this run.
    fn stage(&self, engine: Engine, target: &Target) -> Result<(LiveClock, LiveDevice), Failure> {
        // Merging makes commands longer than any request.
        let settings = Settings {
            batch: self.job.live.batch,
            seed: Seed(self.job.seed),
            ..Settings::new(self.job.live.depth, self.load.longest.max(self.policy.longest()))
        };
        Ok(Stage::single(engine, target.clone(), settings)?)
    }

    fn run(
        &self,
        device: impl Device,
        clock: &mut impl Clock,
        told: &mut Told<'_, '_>,
        live: bool,
    ) -> Result<RunResult, Failure> {
        let leave = Leave::default();
        let policy = self.policy.build(&self.load.classes, &leave);
        let Some(path) = self.record else {
            let mut stack = Queued::new(policy, device);
            return self.drive(&mut stack, clock, told, live, None, &leave);
        };
        let recorder = Recorder::create(path, &(self.header)(device.room()))
            .map_err(|error| Failure::unwritable(path, &error))?;
        let (above, below) = (recorder.clone(), recorder.clone());
        let decided = move |at, go, chain: &[ReqId]| above.decided(at, go, chain);
        let completed = move |_, done: &[Done]| done.iter().for_each(|done| below.completed(done));
        let device = Tap::new(device, |_, _: &Request| {}, completed);
        let mut stack = Queued::new(Witness::new(policy, decided), device);
        let result = self.drive(&mut stack, clock, told, live, Some(recorder.clone()), &leave);
        let written = recorder.finish().map_err(|error| Failure::half_written(path, &error));
        // The run's own error says more than a file that ended with it.
        result.and_then(|result| written.map(|()| result))
    }

    fn drive(
        &self,
        stack: &mut impl Device,
        clock: &mut impl Clock,
        told: &mut Told<'_, '_>,
        live: bool,
        recorder: Option<Recorder>,
        leave: &Leave,
    ) -> Result<RunResult, Failure> {
        let (warmup, duration) = (self.job.warmup, self.load.duration);
        let mut source = self.load.source();
        let names: Vec<&str> = self.load.classes.iter().map(String::as_str).collect();
        let schedule = live.then(|| self.load.schedule(warmup, self.job.live.depth));
        let mut stats = Stats::new(names.len(), warmup, duration, schedule, told, recorder);
        if self.detail {
            stats = stats.detailed();
        }
        if let Some(watch) = self.watch {
            stats = stats.watched(Watched::new(&names, duration, watch.window(duration, live)));
            if let Some((_, pace)) = watch.paced().filter(|_| !live) {
                stats = stats.paced(pace);
            }
        }
        let until = match self.job.stop {
            Stop::Drained => Time::NEVER,
            Stop::LastArrival => self.load.last,
            Stop::At(span) => Time::ZERO + span,
        };
        let limits = Limits { until, max_outstanding: self.job.max_outstanding };
        let mut observer = Until { observer: &mut stats, leave };
        let end = run(&mut source, stack, clock, &mut observer, limits);
        // What it says of itself says more than how the run ended without it.
        if let Some(Quit::Failed { at, what, hint }) = leave.get() {
            let name = self.policy.name();
            let message = format!("policy {name}, at {}: {what}", Seconds(*at));
            return Err(Failure::run(message).hint(hint));
        }
        let end = end.map_err(|error| self.failed(error, &names, stats.arrivals()))?;
        stats.ended(&mut source, end.at, until);
        Ok(RunResult {
            policy: self.policy.name().into(),
            params: self.policy.params_json(),
            duration_s: stats.measured_s(end.at),
            interrupted: end.interrupted || leave.get().is_some(),
            schedule: stats.schedule(),
            remarks: Vec::new(),
            device_busy: stats.device_busy(end.at),
            classes: stats.classes(&names, end.at),
            detail: stats.take_detail(&names, end.at),
        })
    }

    fn failed(&self, error: RunError, names: &[&str], arrivals: u64) -> Failure {
        let under = self.policy.name();
        match error {
            RunError::Overload { class, at, max_outstanding } => {
                let class = names[class.index()];
                Failure::run(format_args!(
                    "class {class} found {max_outstanding} requests outstanding at {} under {under}, \
                     after {arrivals} arrivals",
                    Seconds(at)
                ))
                .hint("the device cannot follow: lower the rate, or raise max_outstanding")
            }
            RunError::Stalled { at, outstanding } => Failure::run(format_args!(
                "{outstanding} requests are outstanding at {} under {under}, and nothing goes on",
                Seconds(at)
            ))
            .hint("this is a mistake of the policy or of the device: please report it"),
            RunError::Spinning { at } => Failure::run(format_args!(
                "time stands still at {} under {under}: the device takes no time",
                Seconds(at)
            ))
            .hint("give the device a base time, or the closed loops a think time"),
        }
    }
}

/// A point of time as a person reads it.
struct Seconds(Time);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} s", self.0.since(Time::ZERO).ns() as f64 / 1e9)
    }
}

/// Passes the progress of one policy's run on.
struct Told<'a, 'p> {
    policy: &'a str,
    number: usize,
    of: usize,
    device: &'a str,
    world: World,
    progress: &'a mut (dyn FnMut(Step<'_>) -> bool + 'p),
}

impl Told<'_, '_> {
    /// The run has ended so. Whoever wants no more is heard in the next run, which says that it was
    /// interrupted.
    fn finished(&mut self, classes: &[ClassResult]) {
        let Self { policy, number, of, .. } = *self;
        (self.progress)(Step::Finished { policy, number, of, classes });
    }
}

impl Progress for Told<'_, '_> {
    fn update(&mut self, fraction: f64, now: Option<&Snapshot>) -> bool {
        let Self { policy, number, of, device, world, .. } = *self;
        (self.progress)(Step::Running { policy, number, of, fraction, device, world, now })
    }
}
