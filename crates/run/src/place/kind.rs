//! Kinds of places, and what each refuses: a row of a table.

use penstock_jobs::{Job, devices};

use crate::ask::candidate;
use crate::ask::target_options::{BLOCK, EMULATED, TargetOptions};
use crate::failure::Failure;
use crate::place::refusals::Asked;
use crate::place::{Backend, NULL, Place, target};
use crate::result::World;

/// A kind of place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Models in virtual time.
    Model,
    /// A model that answers in real time.
    Emulated,
    /// A model that is served as a block device.
    Block,
    /// A real target.
    Target,
    /// Real targets, one for each file.
    Targets,
    /// The target that does nothing.
    Null,
}

/// Things that a kind of place may not have.
#[derive(Clone, Copy)]
enum Lack {
    /// Policies from outside: they decide in their own time.
    OutsidePolicies,
    /// Schedulers of the kernel.
    KernelSchedulers,
    /// Schedulers of the kernel but the one that is set: there is nothing to schedule.
    SetKernelSchedulers,
    /// A page cache above it.
    PageCache,
    /// Files on more than one device.
    SeveralDevices,
    /// Programs: their processors are modelled.
    Programs,
    /// A speed at which a person watches it.
    Speed,
}

impl Kind {
    /// Returns the kind of place that `on` names.
    pub(super) fn named(on: &str, options: &TargetOptions) -> Self {
        if on.starts_with(EMULATED) {
            return Self::Emulated;
        }
        if on.starts_with(BLOCK) {
            return Self::Block;
        }
        if on == NULL {
            return Self::Null;
        }
        let known = devices::is_one(on);
        if known || !target::is_one(on, options) { Self::Model } else { Self::Target }
    }

    pub(super) const fn world(self) -> World {
        match self {
            Self::Model => World::Simulated,
            Self::Emulated | Self::Block => World::Emulated,
            Self::Target | Self::Targets | Self::Null => World::Measured,
        }
    }

    /// Lists what it may not have, in the order in which this is said.
    const fn lacks(self) -> &'static [Lack] {
        use Lack::{
            KernelSchedulers, OutsidePolicies, PageCache, Programs, SetKernelSchedulers,
            SeveralDevices, Speed,
        };
        match self {
            Self::Model => &[KernelSchedulers],
            Self::Emulated => &[OutsidePolicies, KernelSchedulers, SeveralDevices, Programs, Speed],
            Self::Target | Self::Block => &[OutsidePolicies, SeveralDevices, Programs, Speed],
            Self::Targets => &[OutsidePolicies, Programs, Speed],
            Self::Null => &[OutsidePolicies, SetKernelSchedulers, PageCache, Programs, Speed],
        }
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
        self.lacks().iter().try_for_each(|lack| match lack {
            Lack::OutsidePolicies => candidate::can_run_live(policies, on),
            Lack::KernelSchedulers => candidate::can_run_without_a_target(policies, on, false),
            Lack::SetKernelSchedulers => candidate::can_run_without_a_target(policies, on, true),
            Lack::PageCache => not_buffered(job, on),
            Lack::SeveralDevices => one_lane(job, on),
            Lack::Programs => no_programs(job, on),
            Lack::Speed => no_speed(on, speed),
        })
    }
}

impl Place {
    pub(super) fn kind(&self) -> Kind {
        match self.backend() {
            Backend::Modelled(_) | Backend::Mapped(_) => Kind::Model,
            Backend::Emulated { .. } => Kind::Emulated,
            Backend::Live(live) if live.server.is_some() => Kind::Block,
            Backend::Live(_) => Kind::Target,
            Backend::Targets(_) => Kind::Targets,
            Backend::Null => Kind::Null,
        }
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

/// Checks that all files share the single target.
fn one_lane(job: &Job, on: &str) -> Result<(), Failure> {
    let lanes = job.workload.lane_names().len();
    if lanes <= 1 {
        return Ok(());
    }
    let names = job.workload.file_names();
    let files = names.len();
    let message = if lanes == files {
        format!("the job has {files} files, each on a device of its own; {on} is one")
    } else {
        format!("the job has {files} files on {lanes} devices; {on} is one")
    };
    let name = &names[0];
    let hint = format!(
        "name a target for each, as in --on {name}=PATH, the same for files that share it, or a model \
         for all, as in --on hdd-7200"
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
