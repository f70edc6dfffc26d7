//! What a place refuses: jobs, policies and options that do not go with it.

use penstock_jobs::devices;
use penstock_jobs::{AgentSpec, Job, Stop};

use crate::ask::candidate::{self, Chosen};
use crate::ask::target_options::{EMULATED, TargetOptions};
use crate::failure::Failure;
use crate::place::{NULL, Place, queues, target};

/// A job and the policies that it runs under.
pub(crate) struct Asked<'a> {
    pub(crate) job: &'a Job,
    pub(crate) policies: Vec<Chosen>,
}

/// The kind of place that `--on` names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PlaceKind {
    Model,
    Emulated,
    Target,
    /// One target for each file.
    Targets,
    Null,
}

impl PlaceKind {
    pub(super) fn of(on: &str, options: &TargetOptions) -> Self {
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
    pub(super) fn check(
        self,
        on: &str,
        asked: &Asked<'_>,
        speed: Option<&str>,
    ) -> Result<(), Failure> {
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

impl Place {
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
