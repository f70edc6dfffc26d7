//! Opens the place that `--on`, or the job itself, names.

use penstock_jobs::Job;
use penstock_jobs::devices::{self, DeviceSpec};
use penstock_live::Speed;

use crate::ask::engines::RunEngine;
use crate::ask::loops;
use crate::ask::options::Options;
use crate::ask::target_options::{BLOCK, EMULATED, TargetOptions};
use crate::failure::Failure;
use crate::place::block::BlockServer;
use crate::place::kind::Kind;
use crate::place::lane_models::LaneModels;
use crate::place::lane_targets::{self, LaneTargets};
use crate::place::live_target::Live;
use crate::place::refusals::Asked;
use crate::place::target::Creation;
use crate::place::{Backend, NULL, Place, queues};

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
        let kind = Kind::named(on, target);
        let model = (kind == Kind::Model).then(|| devices::find(on)).transpose()?;
        let name = model.as_ref().map_or(on, |spec| &spec.name);
        asked.iter().try_for_each(|request| kind.check(name, request, speed))?;
        if let Some(spec) = model {
            target.check_without_a_target(&format!("the model {}", spec.name))?;
            return Ok(Some(Self::modelled(spec)));
        }
        let jobs: Vec<&Job> = asked.iter().map(|request| request.job).collect();
        let place = match (kind, on.strip_prefix(EMULATED)) {
            (_, Some(what)) => Self::emulated(on, what, &jobs, target, progress)?,
            (Kind::Block, _) => {
                target.check_serving(on)?;
                let device = on.strip_prefix(BLOCK).unwrap_or(on);
                if device.is_empty() {
                    let message = format!("{on} lacks a name; expected {BLOCK}DEVICE[@SPEED]");
                    return Err(Failure::wrong(message, "as block:hdd-7200"));
                }
                self::model(device)?;
                let engine = engine_for(asked, target)?;
                let server = BlockServer::start(&target.server, device)?;
                Self::live(Live::served(on, server, engine)?)
            }
            (Kind::Null, _) => {
                target.check_without_a_target(on).map(|()| Self::new(NULL, Backend::Null))?
            }
            _ => {
                let engine = engine_for(asked, target)?;
                Self::live(Live::open(on, &jobs, engine, target, progress)?)
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
            Kind::Targets.check(&name, request, options.speed.as_deref())?;
            if request.job.workload.lane_names().len() > 1 {
                loops::check(request.job, options)?;
            }
        }
        let engine = engine_for(asked, &options.target)?;
        let jobs: Vec<&Job> = asked.iter().map(|request| request.job).collect();
        LaneTargets::open(&jobs, engine, &options.target, progress).map(Self::on_targets)
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
                return Ok(Self::modelled(first.spec.clone()));
            }
            return Ok(Self::mapped_on(LaneModels::new(mapped)));
        }
        let none = || Failure::wrong("the job names no device", "name one with --on");
        job.device.clone().map(Self::modelled).ok_or_else(none)
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
        Ok(Self::new(name, Backend::Emulated { spec, speed, over }))
    }
}

/// The engine that serves all of `asked`.
fn engine_for(asked: &[Asked<'_>], options: &TargetOptions) -> Result<RunEngine, Failure> {
    let jobs: Vec<&Job> = asked.iter().map(|request| request.job).collect();
    let engine = RunEngine::of(&jobs, options.engine.as_deref())?;
    asked.iter().try_for_each(|request| engine.check_one(request.job, &request.policies))?;
    Ok(engine)
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
