//! Where a job runs: on a model in virtual time, on a model that answers in real time, on a real
//! target, or on nothing at all.

use std::num::NonZeroU32;

use penstock_core::Seed;
use penstock_live::{Engine, Null, Speed, Target};
use penstock_spec::devices::{self, DeviceSpec};
use penstock_spec::{Extent, Job, LaneDevice, Stop};

use crate::candidate::{self, Chosen};
use crate::engines;
use crate::failure::Failure;
use crate::lane::Lane;
use crate::lane_models::LaneModels;
use crate::options::Options;
use crate::queues;
use crate::result::{FileResult, World};
use crate::step::Step;
use crate::target::{self, Named};
use crate::target_options::TargetOptions;

/// What begins an emulated device.
pub(crate) const EMULATED: &str = "emulated:";

/// The target that does nothing.
const NULL: &str = "null";

/// Where a job runs.
#[derive(Clone)]
pub(crate) enum Place {
    /// On a model, in virtual time.
    Modelled(DeviceSpec),
    /// On models of different kinds, one for each file or each device of a trace, in virtual time.
    Mapped(LaneModels),
    /// On a model that answers in real time.
    Emulated {
        /// As it was written.
        name: String,
        spec: DeviceSpec,
        speed: Speed,
        /// The file that keeps the data.
        over: Option<Live>,
    },
    /// On a real target.
    Live(Live),
    /// On nothing, in real time.
    Null,
}

/// A real target and how it is driven.
#[derive(Clone)]
pub(crate) struct Live {
    pub(crate) target: Target,
    pub(crate) engine: Engine,
    /// Whether an argument names the engine: what agents say gives way.
    named_engine: bool,
    path: String,
    /// By this session.
    made: bool,
}

/// What `on` stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PlaceKind {
    Model,
    Emulated,
    Target,
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

    /// That `asked` can run on what is called `on`, at `speed` if one was given.
    fn check(self, on: &str, asked: &Asked<'_>, speed: Option<&str>) -> Result<(), Failure> {
        let Asked { job, policies } = asked;
        if self != Self::Model {
            candidate::can_run_live(policies, on)?;
        }
        if self != Self::Target {
            candidate::can_run_without_a_target(policies, on, self == Self::Null)?;
        }
        if self == Self::Null {
            not_buffered(job, on)?;
        }
        if self != Self::Model {
            one_file(job, on)?;
            no_programs(job, on)?;
            no_speed(on, speed)?;
        }
        Ok(())
    }
}

/// A job and who is to decide in it.
pub(crate) struct Asked<'a> {
    pub(crate) job: &'a Job,
    pub(crate) policies: Vec<Chosen>,
}

impl Asked<'_> {
    /// That a policy of ours has not to serve agents that name different engines.
    fn check_engine(&self) -> Result<(), Failure> {
        engines::check_one(self.job, &self.policies)
    }
}

impl Place {
    /// Opens what `options` name, for `asked` among others; none if each job has its own device.
    pub(crate) fn open(
        asked: &[Asked<'_>],
        options: &Options,
        progress: &mut dyn FnMut(Step<'_>) -> bool,
    ) -> Result<Option<Self>, Failure> {
        let (target, speed) = (&options.target, options.speed.as_deref());
        let Some(on) = target.on.as_deref() else {
            for one in asked {
                let place = Self::own(one.job)?;
                place.check(one, speed)?;
                no_file(&format!("the model {}", place.name()), target)?;
            }
            return Ok(None);
        };
        let kind = PlaceKind::of(on, target);
        let model = (kind == PlaceKind::Model).then(|| devices::find(on)).transpose()?;
        let name = model.as_ref().map_or(on, |spec| &spec.name);
        asked.iter().try_for_each(|one| kind.check(name, one, speed))?;
        if kind == PlaceKind::Target && target.engine.is_none() {
            asked.iter().try_for_each(Asked::check_engine)?;
        }
        if let Some(spec) = model {
            no_file(&format!("the model {}", spec.name), target)?;
            return Ok(Some(Self::Modelled(spec)));
        }
        let jobs: Vec<&Job> = asked.iter().map(|one| one.job).collect();
        let place = match (kind, on.strip_prefix(EMULATED)) {
            (_, Some(what)) => Self::emulated(on, what, &jobs, target, progress)?,
            (PlaceKind::Null, _) => no_file(on, target).map(|()| Self::Null)?,
            _ => Self::Live(Live::open(on, &jobs, target, progress)?),
        };
        Ok(Some(place))
    }

    /// The modelled device that `job` names, or those of its files or for the devices of its trace.
    pub(crate) fn own(job: &Job) -> Result<Self, Failure> {
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

    /// That `asked` can run here.
    pub(crate) fn check(&self, asked: &Asked<'_>, speed: Option<&str>) -> Result<(), Failure> {
        let kind = match self {
            Self::Modelled(_) | Self::Mapped(_) => PlaceKind::Model,
            Self::Emulated { .. } => PlaceKind::Emulated,
            Self::Live(_) => PlaceKind::Target,
            Self::Null => PlaceKind::Null,
        };
        kind.check(self.name(), asked, speed)?;
        if matches!(self, Self::Live(live) if !live.named_engine) {
            asked.check_engine()
        } else {
            Ok(())
        }
    }

    /// The model that all runs are on, if it is one, and how fast it answers.
    pub(crate) fn model(&self) -> Option<(&DeviceSpec, Speed)> {
        match self {
            Self::Modelled(spec) => Some((spec, Speed::ONE)),
            Self::Emulated { spec, speed, .. } => Some((spec, *speed)),
            Self::Mapped(_) | Self::Live(_) | Self::Null => None,
        }
    }

    /// What each of `lanes` is on, with a queue of its own; the one model, if there are none. Empty if it
    /// is no model.
    pub(crate) fn models(&self, lanes: usize) -> Vec<&DeviceSpec> {
        match self {
            Self::Modelled(spec) => vec![spec; lanes.max(1)],
            Self::Mapped(models) => models.devices().iter().map(|device| &device.spec).collect(),
            _ => Vec::new(),
        }
    }

    /// The same for those of a trace's devices that are among `lanes`.
    pub(crate) fn playing(self, lanes: &[Lane]) -> Self {
        match self {
            Self::Mapped(models) => Self::Mapped(models.of(lanes)),
            other => other,
        }
    }

    /// The device of each of so many `files`, one behind the other in the address space of a run; the one
    /// device, if there are none.
    ///
    /// # Errors
    /// If they have more bytes than an address can name.
    pub(crate) fn extents(&self, files: usize) -> Result<Vec<Extent>, Failure> {
        let models = self.models(files);
        if models.is_empty() {
            queues::one_target(self.name(), files)?;
            return Ok(vec![Extent::whole(self.capacity(), self.block())]);
        }
        let mut base = 0_u64;
        let mut extents = Vec::with_capacity(models.len());
        for (number, spec) in models.iter().enumerate() {
            // Those of one kind are alike, and there may be many.
            let (capacity, block) = match number.checked_sub(1) {
                Some(before) if models[before] == *spec => {
                    let Extent { capacity, block, .. } = extents[before];
                    (capacity, block)
                }
                _ => {
                    let device = spec.build(Seed(0));
                    (device.capacity(), device.block())
                }
            };
            let behind = base.checked_add(capacity);
            let behind = behind.ok_or_else(|| queues::too_many_bytes(models.len()))?;
            extents.push(Extent { base, capacity, block });
            base = behind;
        }
        Ok(extents)
    }

    /// What its devices are mapped to, by name of the file or of the trace's device; empty if all are of
    /// one kind.
    pub(crate) fn mapped(&self) -> &[LaneDevice] {
        if let Self::Mapped(models) = self { models.devices() } else { &[] }
    }

    /// That it can be there `lanes` times, each with a queue of its own, and that `asked` and a
    /// record need no more than one queue.
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
            return queues::one_target(self.name(), lanes);
        }
        queues::check(&models, lanes, asked.job, &asked.policies, of_one_queue)
    }

    /// That one queue of ours sends the requests of `class`.
    fn check_sent(&self, asked: &Asked<'_>, class: &str) -> Result<(), Failure> {
        if let Self::Modelled(spec) = self {
            queues::one(spec, &format!("stop = \"sent:{class}\" counts what one queue sends"))?;
        }
        let Some(kernel) = asked.policies.iter().find(|policy| policy.kernel().is_some()) else {
            return Ok(());
        };
        let message = format!("stop = \"sent:{class}\", and {} has no queue here", kernel.name());
        Err(Failure::wrong(message, "stop at a time, or with `last-arrival`"))
    }

    /// `DEVICE[@SPEED][:PATH]`.
    fn emulated(
        name: &str,
        what: &str,
        jobs: &[&Job],
        options: &TargetOptions,
        progress: &mut dyn FnMut(Step<'_>) -> bool,
    ) -> Result<Self, Failure> {
        let (model, path) = model_and_path(what);
        if path == Some("") {
            return Err(nameless(what));
        }
        let (spec, speed) = self::model(model)?;
        let open = |path| Live::open(path, jobs, options, progress);
        let over = path.map(open).transpose()?;
        if over.is_none() {
            no_file(&format!("{name} without a file"), options)?;
        }
        Ok(Self::Emulated { name: name.into(), spec, speed, over })
    }

    /// The part of it that `job` views.
    pub(crate) fn viewed(&self, job: &Job) -> Result<Self, Failure> {
        let mut place = self.clone();
        if let Self::Live(live) | Self::Emulated { over: Some(live), .. } = &mut place {
            live.target = target::viewed(&live.target, job)?;
        }
        Ok(place)
    }

    /// `job` with everything that the place decides: the device, and parameters of policies that
    /// stand for something else on a real one.
    pub(crate) fn configure(&self, job: &Job) -> Job {
        let mut job = job.clone();
        if !matches!(self, Self::Mapped(_)) {
            job.workload.drop_lane_devices();
        }
        match self {
            Self::Modelled(spec) | Self::Emulated { spec, .. } => job.device = Some(spec.clone()),
            // The job says itself what each is on.
            Self::Mapped(_) => {}
            Self::Live(live) => {
                job.policies = candidate::on_a_real_device(&job.policies);
                let most = live.engine.most_in_flight();
                job.live.depth.get_or_insert(job.live.target_depth().min(most));
                // The machine has its own.
                job.page_cache = None;
            }
            Self::Null => job.live.depth = Some(job.live.target_depth()),
        }
        job
    }

    /// Removes a file that was made for runs that did not take place: after wrong input nothing
    /// stays behind.
    pub(crate) fn discard(&self) {
        if let Some(Live { target, made: true, .. }) = self.live() {
            let _ = std::fs::remove_file(target.path());
        }
    }

    /// Keeps its file from here on, whatever becomes of later runs.
    pub(crate) fn keep(&mut self) {
        if let Self::Live(live) | Self::Emulated { over: Some(live), .. } = self {
            live.made = false;
        }
    }

    /// That direct I/O moves as many bytes as `job` asks for.
    pub(crate) fn check_units(&self, job: &Job) -> Result<(), Failure> {
        let Self::Live(live) = self else { return Ok(()) };
        let (unit, agents) = (live.target.unit(), job.workload.agents());
        agents.iter().try_for_each(|agent| agent.fits_units(unit, &live.path))?;
        let merges = job.workload.merges();
        Ok(merges.map_or(Ok(()), |merges| merges.fits_units(unit, &live.path))?)
    }

    /// The real target, if there is one.
    pub(crate) fn live(&self) -> Option<&Live> {
        match self {
            Self::Live(live) | Self::Emulated { over: Some(live), .. } => Some(live),
            _ => None,
        }
    }

    pub(crate) fn world(&self) -> World {
        match self {
            Self::Modelled(_) | Self::Mapped(_) => World::Simulated,
            Self::Emulated { .. } => World::Emulated,
            Self::Live(_) | Self::Null => World::Measured,
        }
    }

    /// Whether it takes place in real time.
    pub(crate) fn is_real(&self) -> bool {
        !matches!(self, Self::Modelled(_) | Self::Mapped(_))
    }

    /// As results call it.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Modelled(spec) => &spec.name,
            Self::Mapped(models) => models.name(),
            Self::Emulated { name, .. } => name,
            Self::Live(live) => &live.path,
            Self::Null => NULL,
        }
    }

    /// States what each of `files` is on.
    pub(crate) fn locate(&self, files: &mut [FileResult]) {
        for (number, file) in files.iter_mut().enumerate() {
            match self {
                Self::Live(live) => file.path = Some(live.path.clone()),
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
        self.live().map(|live| live.engine)
    }

    /// Bytes that a job may use.
    pub(crate) fn capacity(&self) -> u64 {
        let model = |spec: &DeviceSpec| spec.build(Seed(0)).capacity();
        let file = |live: &Live| live.target.capacity();
        match self {
            Self::Modelled(spec) => model(spec),
            Self::Mapped(models) => models.capacity(),
            Self::Emulated { spec, over, .. } => {
                model(spec).min(over.as_ref().map_or(u64::MAX, file))
            }
            Self::Live(live) => file(live),
            Self::Null => Null::CAPACITY,
        }
    }

    /// Disks that work side by side.
    pub(crate) fn disks(&self) -> NonZeroU32 {
        match self {
            Self::Modelled(spec) | Self::Emulated { spec, .. } => disks(spec),
            Self::Mapped(models) => disks(models.first()),
            Self::Live(_) | Self::Null => NonZeroU32::MIN,
        }
    }

    /// Disks that lie behind each other in its address space, equally large; one, if it has no such.
    pub(crate) fn side_by_side(&self) -> NonZeroU32 {
        match self {
            Self::Modelled(spec) | Self::Emulated { spec, .. } => spec.side_by_side(),
            Self::Mapped(_) | Self::Live(_) | Self::Null => NonZeroU32::MIN,
        }
    }

    /// What it rounds ranges to, in bytes.
    pub(crate) fn block(&self) -> u32 {
        match self {
            Self::Modelled(spec) | Self::Emulated { spec, .. } => spec.build(Seed(0)).block(),
            Self::Mapped(models) => models.block(),
            Self::Live(live) => live.target.block(),
            Self::Null => 1,
        }
    }
}

impl Live {
    /// The target at `path`, made if `options` say so and `jobs` fit it.
    fn open(
        path: &str,
        jobs: &[&Job],
        options: &TargetOptions,
        progress: &mut dyn FnMut(Step<'_>) -> bool,
    ) -> Result<Self, Failure> {
        let engine = match &options.engine {
            Some(name) => engines::named(name)?,
            None => engines::of_agents(jobs)?,
        };
        let named_engine = options.engine.is_some();
        let Named { target, made } = target::open(path, jobs, options, progress)?;
        Ok(Self { target, engine, named_engine, path: path.into(), made })
    }

    /// The engine of a thread that asks by itself, of which `named` is what its agents say.
    pub(crate) fn engine_of(&self, named: Option<Engine>) -> Engine {
        if self.named_engine { self.engine } else { named.unwrap_or_else(engines::usual) }
    }
}

/// That `what`, which has no file, is not asked to make or drive one.
fn no_file(what: &str, options: &TargetOptions) -> Result<(), Failure> {
    let live_only = [
        ("--create", &options.create),
        ("--engine", &options.engine),
        ("--i-will-lose-data", &options.i_will_lose_data),
        ("--even-if-not-empty", &options.even_if_not_empty.then(String::new)),
        ("--read-only", &options.read_only.then(String::new)),
    ];
    match live_only.iter().find(|(_, value)| value.is_some()) {
        None => Ok(()),
        Some((option, _)) => {
            let message = format!("{option} does not go with {what}");
            Err(Failure::wrong(message, "name a file with --on, as in --on ./data.img"))
        }
    }
}

/// That no agent goes through a page cache.
fn not_buffered(job: &Job, on: &str) -> Result<(), Failure> {
    job.workload
        .agents()
        .iter()
        .try_for_each(|agent| agent.can_be_direct(on))
        .map_err(Failure::from)
}

/// That no more than one file is to be on one target.
fn one_file(job: &Job, on: &str) -> Result<(), Failure> {
    let names = job.workload.file_names();
    if names.len() <= 1 {
        return Ok(());
    }
    let count = names.len();
    let message = format!("the job has {count} files, each on a device of its own; {on} is one");
    let hint = "name a model with --on, as in --on hdd-7200, or give the job one file: count = 1";
    Err(Failure::wrong(message, hint))
}

/// That no programs are to run in real time: their processors are modelled, as their device is.
fn no_programs(job: &Job, on: &str) -> Result<(), Failure> {
    if job.workload.programs().is_none() {
        return Ok(());
    }
    let message = format!("the job has programs, whose processors are modelled; {on} is not");
    Err(Failure::wrong(message, "name a modelled device with --on, as in --on hdd-7200"))
}

/// That the options ask for no other speed than that of real time.
fn no_speed(on: &str, speed: Option<&str>) -> Result<(), Failure> {
    let Some(speed) = speed else { return Ok(()) };
    let message = format!("--speed {speed} does not go with {on}: it takes its own time");
    Err(Failure::wrong(message, "leave it out, or name a model with --on"))
}

/// Disks that work side by side in a model.
pub(crate) fn disks(spec: &DeviceSpec) -> NonZeroU32 {
    NonZeroU32::new(spec.disks()).expect("an array has disks")
}

/// The model and the path of `DEVICE[@SPEED][:PATH]`.
pub(crate) fn model_and_path(text: &str) -> (&str, Option<&str>) {
    text.split_once(':').map_or((text, None), |(model, path)| (model, Some(path)))
}

/// What `DEVICE[@SPEED]` stands for: a model, and how fast it answers in real time.
pub(crate) fn model(text: &str) -> Result<(DeviceSpec, Speed), Failure> {
    let (device, speed) = match text.split_once('@') {
        Some((device, speed)) => (device, self::speed(speed)?),
        None => (text, Speed::ONE),
    };
    if device.is_empty() {
        return Err(nameless(text));
    }
    let spec = devices::find(device)?;
    queues::one(&spec, "a device in real time has one queue")?;
    Ok((spec, speed))
}

fn nameless(what: &str) -> Failure {
    let message = format!("{EMULATED}{what} lacks a name; expected emulated:DEVICE[@SPEED][:PATH]");
    Failure::wrong(message, "as emulated:hdd-7200@10:./data.img")
}

/// How many times as fast as itself a model answers.
fn speed(text: &str) -> Result<Speed, Failure> {
    let number: Option<f64> = text.parse().ok();
    let thousandths = number.map(|n| (n * 1000.0).round()).filter(|n| (1.0..=1e9).contains(n));
    let speed = thousandths.and_then(|n| Speed::from_thousandths(n as u32));
    speed.ok_or_else(|| {
        let message = format!("found the speed {text:?}; expected a number from 0.001 to 1000000");
        Failure::wrong(message, "emulated:hdd-7200@10 is ten times as fast as the disk")
    })
}
