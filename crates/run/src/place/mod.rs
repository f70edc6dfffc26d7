//! Places where a job runs: a model in virtual time, a model that answers in real time, a real
//! target, or the null target.

pub(crate) mod cached_devices;
pub(crate) mod extents;
pub(crate) mod lane;
pub(crate) mod lane_models;
pub(crate) mod lane_targets;
pub(crate) mod live_target;
pub(crate) mod model_data;
pub(crate) mod queues;
pub(crate) mod target;

use std::num::NonZeroU32;

use penstock_core::Seed;
use penstock_jobs::devices::{self, DeviceSpec};
use penstock_jobs::{AgentSpec, Extent, Job, LaneDevice, Stop};
use penstock_live::{Engine, Null, Speed};

use self::lane_targets::LaneTargets;
use self::target::Creation;
use crate::ask::candidate::{self, Chosen};
use crate::ask::engines::RunEngine;
use crate::ask::loops;
use crate::ask::options::Options;
use crate::ask::target_options::{EMULATED, TargetOptions};
use crate::failure::Failure;
use crate::place::lane::Lane;
use crate::place::lane_models::LaneModels;
use crate::place::live_target::Live;
use crate::result::{FileResult, World};

/// The name of the target that does nothing.
const NULL: &str = "null";

/// A place where a job runs.
#[derive(Clone)]
pub(crate) enum Place {
    /// A model in virtual time.
    Modelled(DeviceSpec),
    /// Models of different kinds in virtual time, one for each file or each device of a trace.
    Mapped(LaneModels),
    /// A model that answers in real time.
    Emulated {
        /// The name as the user wrote it.
        name: String,
        spec: DeviceSpec,
        speed: Speed,
        /// The file that keeps the data.
        over: Option<Live>,
    },
    /// A real target.
    Live(Live),
    /// Real targets, one for each file.
    Targets(LaneTargets),
    /// No target, in real time.
    Null,
}

/// The kind of place that `--on` names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PlaceKind {
    Model,
    Emulated,
    Target,
    /// One target for each file.
    Targets,
    Null,
}

impl PlaceKind {
    fn of(on: &str, options: &TargetOptions) -> Self {
        if on.starts_with(EMULATED) {
            return Self::Emulated;
        }
        if on == NULL {
            return Self::Null;
        }
        let known = devices::is_one(on);
        if known || !target::is_one(on, options) { Self::Model } else { Self::Target }
    }

    /// Returns an error if the job or one of its policies cannot run on this kind of place. `on` is
    /// its name in messages; `speed` is the speed, if one was given.
    fn check(self, on: &str, asked: &Asked<'_>, speed: Option<&str>) -> Result<(), Failure> {
        let Asked { job, policies } = asked;
        if self != Self::Model {
            candidate::can_run_live(policies, on)?;
        }
        if !matches!(self, Self::Target | Self::Targets) {
            candidate::can_run_without_a_target(policies, on, self == Self::Null)?;
        }
        if self == Self::Null {
            not_buffered(job, on)?;
        }
        if matches!(self, Self::Emulated | Self::Target) {
            one_file(job, on)?;
        }
        if self != Self::Model {
            no_programs(job, on)?;
            no_speed(on, speed)?;
        }
        Ok(())
    }
}

/// A job and the policies that it runs under.
pub(crate) struct Asked<'a> {
    pub(crate) job: &'a Job,
    pub(crate) policies: Vec<Chosen>,
}

impl Place {
    /// Opens the place that `options` name, for all jobs of `asked`; `None` if each job has its own
    /// device.
    pub(crate) fn open(
        asked: &[Asked<'_>],
        options: &Options,
        progress: &mut Creation<'_>,
    ) -> Result<Option<Self>, Failure> {
        let (target, speed) = (&options.target, options.speed.as_deref());
        let Some(on) = target.on.as_deref() else {
            let on_targets =
                |request: &Asked<'_>| Ok(!request.job.workload.file_targets()?.is_empty());
            let on_targets = asked.iter().map(on_targets).collect::<Result<Vec<_>, Failure>>()?;
            if on_targets.contains(&true) {
                return Self::of_files(asked, options, progress).map(Some);
            }
            for request in asked {
                let place = Self::own(request.job)?;
                place.check(request, speed)?;
                target.check_without_a_target(&format!("the model {}", place.name()))?;
            }
            return Ok(None);
        };
        let kind = PlaceKind::of(on, target);
        let model = (kind == PlaceKind::Model).then(|| devices::find(on)).transpose()?;
        let name = model.as_ref().map_or(on, |spec| &spec.name);
        asked.iter().try_for_each(|request| kind.check(name, request, speed))?;
        if let Some(spec) = model {
            target.check_without_a_target(&format!("the model {}", spec.name))?;
            return Ok(Some(Self::Modelled(spec)));
        }
        let jobs: Vec<&Job> = asked.iter().map(|request| request.job).collect();
        let place = match (kind, on.strip_prefix(EMULATED)) {
            (_, Some(what)) => Self::emulated(on, what, &jobs, target, progress)?,
            (PlaceKind::Null, _) => target.check_without_a_target(on).map(|()| Self::Null)?,
            _ => {
                let engine = engine_for(asked, target)?;
                Self::Live(Live::open(on, &jobs, engine, target, progress)?)
            }
        };
        Ok(Some(place))
    }

    /// Opens the targets that the jobs of `asked` name for their files.
    fn of_files(
        asked: &[Asked<'_>],
        options: &Options,
        progress: &mut Creation<'_>,
    ) -> Result<Self, Failure> {
        for request in asked {
            let files = request.job.workload.file_targets()?;
            let name = lane_targets::name(&files);
            PlaceKind::Targets.check(&name, request, options.speed.as_deref())?;
            if files.len() > 1 {
                loops::check(request.job, options)?;
            }
        }
        let engine = engine_for(asked, &options.target)?;
        let jobs: Vec<&Job> = asked.iter().map(|request| request.job).collect();
        LaneTargets::open(&jobs, engine, &options.target, progress).map(Self::Targets)
    }

    /// The modelled device that `job` names, or the models of its files or of the devices of its
    /// trace.
    pub(crate) fn own(job: &Job) -> Result<Self, Failure> {
        if let Some(file) = job.workload.file_targets()?.first() {
            let message = format!("file {} is on {}, a real target", file.file, file.path);
            return Err(Failure::wrong(message, "name a model with --on, as in --on hdd-7200"));
        }
        let mapped = job.workload.lane_devices(job.device.as_ref())?;
        if let [first, rest @ ..] = &mapped[..] {
            let alike = rest.iter().all(|other| other.spec == first.spec);
            if alike && !job.workload.files().is_empty() {
                return Ok(Self::Modelled(first.spec.clone()));
            }
            return Ok(Self::Mapped(LaneModels::new(mapped)));
        }
        let none = || Failure::wrong("the job names no device", "name one with --on");
        job.device.clone().map(Self::Modelled).ok_or_else(none)
    }

    /// Returns an error if the job or one of its policies cannot run here.
    pub(crate) fn check(&self, asked: &Asked<'_>, speed: Option<&str>) -> Result<(), Failure> {
        let kind = match self {
            Self::Modelled(_) | Self::Mapped(_) => PlaceKind::Model,
            Self::Emulated { .. } => PlaceKind::Emulated,
            Self::Live(_) => PlaceKind::Target,
            Self::Targets(_) => PlaceKind::Targets,
            Self::Null => PlaceKind::Null,
        };
        kind.check(self.name(), asked, speed)?;
        match self {
            Self::Live(_) | Self::Targets(_) => {
                self.targets()[0].check_engine(asked.job, &asked.policies)
            }
            _ => Ok(()),
        }
    }

    /// The model that all runs use and how fast it answers; `None` if there is no such model.
    pub(crate) fn model(&self) -> Option<(&DeviceSpec, Speed)> {
        match self {
            Self::Modelled(spec) => Some((spec, Speed::ONE)),
            Self::Emulated { spec, speed, .. } => Some((spec, *speed)),
            Self::Mapped(_) | Self::Live(_) | Self::Targets(_) | Self::Null => None,
        }
    }

    /// The model below each of `lanes` lanes, each with its own queue; the one model, if there are
    /// no lanes. Empty if the place is no model.
    pub(crate) fn models(&self, lanes: usize) -> Vec<&DeviceSpec> {
        match self {
            Self::Modelled(spec) => vec![spec; lanes.max(1)],
            Self::Mapped(models) => models.devices().iter().map(|device| &device.spec).collect(),
            _ => Vec::new(),
        }
    }

    /// Keeps only the models of the devices that `lanes` use.
    pub(crate) fn playing(self, lanes: &[Lane]) -> Self {
        match self {
            Self::Mapped(models) => Self::Mapped(models.of(lanes)),
            other => other,
        }
    }

    /// The device of each of `files` files, one behind the other in the address space of a run; the
    /// one device, if there are no files.
    ///
    /// # Errors
    /// The devices have more bytes than an address can name.
    pub(crate) fn extents(&self, files: usize) -> Result<Vec<Extent>, Failure> {
        let sizes = match self {
            Self::Targets(all) => all.targets().iter().map(Live::size).collect(),
            Self::Null => vec![(Null::CAPACITY, 1); files.max(1)],
            Self::Emulated { .. } | Self::Live(_) => {
                queues::one_target(self.name(), files)?;
                return Ok(vec![Extent::whole(self.capacity(), self.block())]);
            }
            Self::Modelled(_) | Self::Mapped(_) => sizes(&self.models(files)),
        };
        extents::behind_each_other(sizes)
    }

    /// The model of each device, by name of the file or of the trace's device; empty if all are of
    /// one kind.
    pub(crate) fn mapped(&self) -> &[LaneDevice] {
        if let Self::Mapped(models) = self { models.devices() } else { &[] }
    }

    /// Checks that each of `lanes` lanes can have its own queue here, and that neither `asked` nor
    /// the option for which `of_one_queue` is the reason needs a single queue.
    pub(crate) fn check_queues(
        &self,
        asked: &Asked<'_>,
        lanes: usize,
        of_one_queue: Option<&str>,
    ) -> Result<(), Failure> {
        if let Stop::Sent(class) = asked.job.stop {
            self.check_sent(asked, &asked.job.classes[class.index()].name)?;
        }
        let models = self.models(lanes);
        if models.is_empty() {
            // Each file was checked before to need only its own loop.
            let of_trace = asked.job.workload.files().is_empty();
            return if of_trace { queues::one_target(self.name(), lanes) } else { Ok(()) };
        }
        queues::check(&models, lanes, asked.job, &asked.policies, of_one_queue)
    }

    /// Checks that a single Penstock queue sends the requests of `class`.
    fn check_sent(&self, asked: &Asked<'_>, class: &str) -> Result<(), Failure> {
        if let Self::Modelled(spec) = self {
            queues::check_single(
                spec,
                &format!("stop = \"sent:{class}\" counts what one queue sends"),
            )?;
        }
        let Some(kernel) = asked.policies.iter().find(|policy| policy.kernel().is_some()) else {
            return Ok(());
        };
        let message = format!("stop = \"sent:{class}\", and {} has no queue here", kernel.name());
        Err(Failure::wrong(message, "stop at a time, or with `last-arrival`"))
    }

    /// Opens the emulated device called `name`; `what` is its `DEVICE[@SPEED][:PATH]`.
    fn emulated(
        name: &str,
        what: &str,
        jobs: &[&Job],
        options: &TargetOptions,
        progress: &mut Creation<'_>,
    ) -> Result<Self, Failure> {
        let (model, path) = model_and_path(what);
        if path == Some("") {
            return Err(nameless(what));
        }
        let (spec, speed) = self::model(model)?;
        // Agents use the model, which alone uses the file.
        let engine = RunEngine::of(&[], options.engine.as_deref());
        let open = |path| Live::open(path, jobs, engine?, options, progress);
        let over = path.map(open).transpose()?;
        if over.is_none() {
            options.check_without_a_target(&format!("{name} without a file"))?;
        }
        Ok(Self::Emulated { name: name.into(), spec, speed, over })
    }

    /// The part of the place that `job` views.
    pub(crate) fn viewed(&self, job: &Job) -> Result<Self, Failure> {
        let mut place = self.clone();
        match &mut place {
            Self::Live(live) | Self::Emulated { over: Some(live), .. } => {
                *live = live.viewed(job)?;
            }
            Self::Targets(all) => {
                *all = all.of(job)?;
                if let Some(only) = all.only() {
                    return Ok(Self::Live(only.clone()));
                }
            }
            _ => {}
        }
        Ok(place)
    }

    /// Returns `job` with everything that the place decides: the device, and parameters of policies
    /// that mean something else on a real device.
    pub(crate) fn configure(&self, job: &Job) -> Job {
        let mut job = job.clone();
        match self {
            // The job itself names the device of each.
            Self::Mapped(_) => {}
            Self::Targets(_) => job.workload.drop_file_models(),
            Self::Live(live) if live.is_of_file(&job) => job.workload.drop_file_models(),
            _ => job.workload.drop_lane_devices(),
        }
        match self {
            Self::Modelled(spec) | Self::Emulated { spec, .. } => job.device = Some(spec.clone()),
            Self::Mapped(_) => {}
            Self::Live(_) | Self::Targets(_) => {
                job.policies = candidate::on_a_real_device(&job.policies);
                let most = self.engine().map_or(u32::MAX, Engine::most_in_flight);
                job.live.depth.get_or_insert(job.live.target_depth().min(most));
                // The machine has its own page cache.
                job.page_cache = None;
            }
            Self::Null => job.live.depth = Some(job.live.target_depth()),
        }
        job
    }

    /// Removes the files that were made for runs that did not take place: wrong input leaves
    /// nothing behind.
    pub(crate) fn discard(&self) {
        self.targets().iter().for_each(Live::discard);
    }

    /// Keeps its files from now on, even if later runs fail.
    pub(crate) fn keep(&mut self) {
        match self {
            Self::Live(live) | Self::Emulated { over: Some(live), .. } => live.keep(),
            Self::Targets(all) => all.targets_mut().iter_mut().for_each(Live::keep),
            _ => {}
        }
    }

    /// Checks that the requests of `job` are multiples of the unit of direct I/O.
    pub(crate) fn check_units(&self, job: &Job) -> Result<(), Failure> {
        if matches!(self, Self::Emulated { .. }) {
            return Ok(());
        }
        for (number, live) in (0..).zip(self.targets()) {
            let unit = live.target.unit();
            let several = matches!(self, Self::Targets(_));
            let here =
                |agent: &&AgentSpec| !several || agent.file_numbers().any(|file| file == number);
            let mut agents = job.workload.agents().iter().filter(here);
            agents.try_for_each(|agent| agent.fits_units(unit, &live.path))?;
            let merges = job.workload.merges();
            merges.map_or(Ok(()), |merges| merges.fits_units(unit, &live.path))?;
        }
        Ok(())
    }

    /// The real targets, one for each file if there are several.
    pub(crate) fn targets(&self) -> &[Live] {
        match self {
            Self::Live(live) | Self::Emulated { over: Some(live), .. } => {
                std::slice::from_ref(live)
            }
            Self::Targets(all) => all.targets(),
            _ => &[],
        }
    }

    pub(crate) fn world(&self) -> World {
        match self {
            Self::Modelled(_) | Self::Mapped(_) => World::Simulated,
            Self::Emulated { .. } => World::Emulated,
            Self::Live(_) | Self::Targets(_) | Self::Null => World::Measured,
        }
    }

    /// Whether runs take place in real time.
    pub(crate) fn is_real(&self) -> bool {
        !matches!(self, Self::Modelled(_) | Self::Mapped(_))
    }

    /// The name in results.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Modelled(spec) => &spec.name,
            Self::Mapped(models) => models.name(),
            Self::Emulated { name, .. } => name,
            Self::Live(live) => &live.path,
            Self::Targets(all) => all.name(),
            Self::Null => NULL,
        }
    }

    /// Sets the path or the device of each of `files`.
    pub(crate) fn locate(&self, files: &mut [FileResult]) {
        for (number, file) in files.iter_mut().enumerate() {
            match self {
                Self::Live(live) => file.path = Some(live.path.clone()),
                Self::Targets(all) => file.path = Some(all.targets()[number].path.clone()),
                Self::Mapped(models) => {
                    file.device = Some(models.devices()[number].spec.name.clone());
                }
                Self::Modelled(_) | Self::Emulated { .. } | Self::Null => {
                    file.device = Some(self.name().into());
                }
            }
        }
    }

    pub(crate) fn engine(&self) -> Option<Engine> {
        self.targets().first().map(Live::engine)
    }

    /// Bytes that a job may use.
    pub(crate) fn capacity(&self) -> u64 {
        let model = |spec: &DeviceSpec| spec.build(Seed(0)).capacity();
        let file = |live: &Live| live.target.capacity();
        let sum = |sum: u64, live: &Live| sum.saturating_add(file(live));
        match self {
            Self::Modelled(spec) => model(spec),
            Self::Mapped(models) => models.capacity(),
            Self::Emulated { spec, over, .. } => {
                model(spec).min(over.as_ref().map_or(u64::MAX, file))
            }
            Self::Live(live) => file(live),
            Self::Targets(all) => all.targets().iter().fold(0, sum),
            Self::Null => Null::CAPACITY,
        }
    }

    /// Disks that work side by side.
    pub(crate) fn disks(&self) -> NonZeroU32 {
        match self {
            Self::Modelled(spec) | Self::Emulated { spec, .. } => disks(spec),
            Self::Mapped(models) => disks(models.first()),
            // Each target has its own policy, which serves one disk.
            Self::Live(_) | Self::Targets(_) | Self::Null => NonZeroU32::MIN,
        }
    }

    /// Number of equally large disks that lie behind each other in its address space; one, if it
    /// has no such layout.
    pub(crate) fn side_by_side(&self) -> NonZeroU32 {
        match self {
            Self::Modelled(spec) | Self::Emulated { spec, .. } => spec.side_by_side(),
            Self::Mapped(_) | Self::Live(_) | Self::Targets(_) | Self::Null => NonZeroU32::MIN,
        }
    }

    /// Block size to which ranges are rounded, in bytes.
    pub(crate) fn block(&self) -> u32 {
        match self {
            Self::Modelled(spec) | Self::Emulated { spec, .. } => spec.build(Seed(0)).block(),
            Self::Mapped(models) => models.block(),
            Self::Live(live) => live.target.block(),
            Self::Targets(all) => {
                all.targets().iter().map(|live| live.target.block()).max().unwrap_or(1)
            }
            Self::Null => 1,
        }
    }
}

/// The engine that serves all of `asked`.
fn engine_for(asked: &[Asked<'_>], options: &TargetOptions) -> Result<RunEngine, Failure> {
    let jobs: Vec<&Job> = asked.iter().map(|request| request.job).collect();
    let engine = RunEngine::of(&jobs, options.engine.as_deref())?;
    asked.iter().try_for_each(|request| engine.check_one(request.job, &request.policies))?;
    Ok(engine)
}

/// Checks that no agent goes through a page cache.
fn not_buffered(job: &Job, on: &str) -> Result<(), Failure> {
    job.workload
        .agents()
        .iter()
        .try_for_each(|agent| agent.can_be_direct(on))
        .map_err(Failure::from)
}

/// Checks that at most one file is on the single target.
fn one_file(job: &Job, on: &str) -> Result<(), Failure> {
    let names = job.workload.file_names();
    if names.len() <= 1 {
        return Ok(());
    }
    let count = names.len();
    let message = format!("the job has {count} files, each on a device of its own; {on} is one");
    let hint = format!(
        "name a target for each, as in --on {}=PATH, or a model for all, as in --on hdd-7200",
        names[0]
    );
    Err(Failure::wrong(message, hint))
}

/// Checks that no programs run in real time: their processors are modelled, as their device is.
fn no_programs(job: &Job, on: &str) -> Result<(), Failure> {
    if job.workload.programs().is_none() {
        return Ok(());
    }
    let message = format!("the job has programs, whose processors are modelled; {on} is not");
    Err(Failure::wrong(message, "name a modelled device with --on, as in --on hdd-7200"))
}

/// Checks that no speed was given, since the place runs in real time.
fn no_speed(on: &str, speed: Option<&str>) -> Result<(), Failure> {
    let Some(speed) = speed else { return Ok(()) };
    let message = format!("--speed {speed} does not go with {on}: it takes its own time");
    Err(Failure::wrong(message, "leave it out, or name a model with --on"))
}

/// The capacity and the block of each of `models`.
fn sizes(models: &[&DeviceSpec]) -> Vec<(u64, u32)> {
    let mut sizes: Vec<(u64, u32)> = Vec::with_capacity(models.len());
    for (number, spec) in models.iter().enumerate() {
        // Models of one kind are equal, and there may be many.
        let like_the_last = number.checked_sub(1).filter(|&before| models[before] == *spec);
        let built = || {
            let device = spec.build(Seed(0));
            (device.capacity(), device.block())
        };
        sizes.push(like_the_last.map_or_else(built, |before| sizes[before]));
    }
    sizes
}

/// Number of disks of a model that work in parallel.
pub(crate) fn disks(spec: &DeviceSpec) -> NonZeroU32 {
    NonZeroU32::new(spec.disks()).expect("an array has disks")
}

/// Splits `DEVICE[@SPEED][:PATH]` into model and path.
pub(crate) fn model_and_path(text: &str) -> (&str, Option<&str>) {
    text.split_once(':').map_or((text, None), |(model, path)| (model, Some(path)))
}

/// Parses `DEVICE[@SPEED]`: the model, and how fast it answers in real time.
pub(crate) fn model(text: &str) -> Result<(DeviceSpec, Speed), Failure> {
    let (device, speed) = match text.split_once('@') {
        Some((device, speed)) => (device, self::speed(speed)?),
        None => (text, Speed::ONE),
    };
    if device.is_empty() {
        return Err(nameless(text));
    }
    let spec = devices::find(device)?;
    queues::check_single(&spec, "a device in real time has one queue")?;
    Ok((spec, speed))
}

fn nameless(what: &str) -> Failure {
    let message = format!("{EMULATED}{what} lacks a name; expected emulated:DEVICE[@SPEED][:PATH]");
    Failure::wrong(message, "as emulated:hdd-7200@10:./data.img")
}

/// Parses the factor by which a model answers faster than its own time.
fn speed(text: &str) -> Result<Speed, Failure> {
    let number: Option<f64> = text.parse().ok();
    let thousandths = number.map(|n| (n * 1000.0).round()).filter(|n| (1.0..=1e9).contains(n));
    let speed = thousandths.and_then(|n| Speed::from_thousandths(n as u32));
    speed.ok_or_else(|| {
        let message = format!("found the speed {text:?}; expected a number from 0.001 to 1000000");
        Failure::wrong(message, "emulated:hdd-7200@10 is ten times as fast as the disk")
    })
}
