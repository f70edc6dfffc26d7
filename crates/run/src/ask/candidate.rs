//! The policy of a run: one of the registry with its parameters, or an external one.
//!
//! An external policy is code that the caller hands over, for example from another language.
//! Penstock knows only its name: it has no parameters in a job, a replay cannot find it again, and
//! it may be slow, so it runs over a model only. Unlike a built-in policy it may fail: then it
//! [quits](Quit), and its run ends at the next turn.

use std::cell::OnceCell;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use penstock_core::{ClassId, Policy, Served, Time};
use penstock_jobs::Job;
use penstock_jobs::diagnose::quote;
use penstock_jobs::kernel_tunables::KERNEL;
use penstock_jobs::nearest::suggest;
use penstock_jobs::params;
use penstock_live::queue_settings::Setting;
use penstock_policy::{ALL, Entry, Facts, POLICIES, Params, USUAL, fcfs};
use serde_json::{Value, json};

use crate::failure::Failure;

/// A policy that the user asks for.
#[derive(Clone, Debug)]
pub enum Candidate {
    /// A policy of the registry, by its name.
    Named(String),
    /// An external policy.
    Foreign(Foreign),
}

impl From<&str> for Candidate {
    fn from(name: &str) -> Self {
        Self::Named(name.into())
    }
}

/// An external policy.
#[derive(Clone)]
pub struct Foreign {
    /// Its name in results.
    pub name: String,
    /// Makes it for a run.
    pub build: Build,
}

/// Makes an external policy; gets what the policy serves, and the flag to set when it quits.
pub type Build = Arc<dyn Fn(&Served<'_>, QuitFlag) -> Box<dyn Policy> + Send + Sync>;

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Foreign").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Set by an external policy when it quits. After that the policy is called only for the rest of
/// the current instant, in which it must name a wake-up at once.
pub type QuitFlag = Rc<OnceCell<Quit>>;

/// The reason why an external policy quits.
#[derive(Clone, Debug)]
pub enum Quit {
    /// It was interrupted: the result so far is returned, marked as interrupted.
    Interrupted,
    /// It failed.
    Failed {
        /// The time of the failure.
        at: Time,
        /// The failure, as the rest of a sentence about the policy.
        what: String,
        /// How to correct it.
        hint: String,
    },
}

/// A candidate whose name has been resolved.
pub(crate) enum Chosen {
    Known(&'static Entry, Params),
    Foreign(Foreign),
    /// No Penstock policy: each class by itself, under this scheduler of the kernel, with these
    /// tunables.
    Kernel(String, Vec<Setting>),
    /// Each class by itself, on a device whose requests another process sends through this policy; and the name.
    Served(&'static Entry, Params, String),
    /// A class with the device to itself, unscheduled.
    Alone(ClassId, String),
}

/// The name for the scheduler that each disk already has.
pub(crate) const AS_IS: &str = "as-is";

/// Prefix of the name of a policy behind a served device.
const SERVED: &str = "served:";

/// Prefix of the name of a class that runs alone.
const ALONE: &str = "alone:";

impl Chosen {
    /// Whether it is an external policy.
    pub(crate) fn is_foreign(&self) -> bool {
        matches!(self, Self::Foreign(_))
    }

    /// Resolves `candidates`, or the usual policies of the registry if there are none, with their
    /// parameters from the job.
    ///
    /// # Errors
    /// An unknown name, or an external policy whose name is already taken.
    pub(crate) fn all(job: &Job, candidates: &[Candidate]) -> Result<Vec<Self>, Failure> {
        let known = |entry: &'static Entry| Ok(Self::Known(entry, job.params(entry.name)?));
        let named = |name: &str| known(params::policy(name)?);
        if candidates.is_empty() {
            return USUAL.iter().map(|name| named(name)).collect();
        }
        let mut all: Vec<Self> = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            all.push(match candidate {
                Candidate::Named(name) if name == ALL => {
                    all.extend(POLICIES.iter().map(known).collect::<Result<Vec<_>, _>>()?);
                    continue;
                }
                Candidate::Named(name) => {
                    if let Some(scheduler) = name.strip_prefix(KERNEL) {
                        Self::kernel_of(job, name, scheduler)?
                    } else if let Some(class) = name.strip_prefix(ALONE) {
                        Self::alone(job, class)?
                    } else if let Some(policy) = name.strip_prefix(SERVED) {
                        let entry = params::policy(policy)?;
                        Self::Served(entry, job.params(entry.name)?, name.clone())
                    } else {
                        named(name)?
                    }
                }
                Candidate::Foreign(foreign) => {
                    foreign.check(&all)?;
                    Self::Foreign(foreign.clone())
                }
            });
        }
        Ok(all)
    }

    fn kernel_of(job: &Job, name: &str, scheduler: &str) -> Result<Self, Failure> {
        let of_it = job.kernel.iter().filter(|tunables| tunables.scheduler == scheduler);
        let values = of_it.flat_map(|tunables| &tunables.values).cloned();
        let settings: Vec<Setting> = values.map(|(key, value)| Setting { key, value }).collect();
        if let (AS_IS, Some(Setting { key, .. })) = (scheduler, settings.first()) {
            let message = format!("{name} leaves the disk as it is, and {key} would be set");
            return Err(Failure::wrong(message, "name the scheduler, as in kernel:mq-deadline"));
        }
        Ok(Self::Kernel(name.into(), settings))
    }

    fn alone(job: &Job, class: &str) -> Result<Self, Failure> {
        let names = || job.classes.iter().map(|class| class.name.as_str());
        let index = names().position(|name| name == class).ok_or_else(|| {
            let found = format!("unknown class {} of {ALONE}CLASS", quote(class));
            Failure::wrong(found, suggest(class, names()))
        })?;
        Ok(Self::Alone(ClassId(index as u16), format!("{ALONE}{class}")))
    }

    /// Its name in results.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Known(entry, _) => entry.name,
            Self::Foreign(Foreign { name, .. })
            | Self::Kernel(name, _)
            | Self::Served(.., name)
            | Self::Alone(_, name) => name,
        }
    }

    /// The name of the kernel's scheduler above which each class is by itself, and its tunables; `None` if a policy
    /// stands between.
    pub(crate) fn kernel(&self) -> Option<(&str, &[Setting])> {
        match self {
            Self::Kernel(name, settings) => Some((name.strip_prefix(KERNEL)?, settings)),
            Self::Served(..) => Some((AS_IS, &[])),
            _ => None,
        }
    }

    /// Its parameters as results report them.
    pub(crate) fn params_json(&self) -> Value {
        match self {
            Self::Known(_, params) | Self::Served(_, params, _) => params::params_json(params),
            Self::Kernel(_, settings) => settings
                .iter()
                .map(|Setting { key, value }| (key.clone(), json!(value)))
                .collect::<serde_json::Map<_, _>>()
                .into(),
            Self::Foreign(_) | Self::Alone(..) => json!({}),
        }
    }

    /// The longest command that it makes by merging, in bytes; 0 if it does not merge.
    pub(crate) fn longest(&self) -> u32 {
        let Self::Known(entry, params) = self else { return 0 };
        (entry.facts.merges)(params).unwrap_or(0)
    }

    /// Whether `fact` may apply to the policy. For an external policy it may, and for the scheduler that a disk
    /// already has.
    pub(crate) fn heeds(&self, fact: fn(&Facts) -> bool) -> bool {
        match self {
            Self::Known(entry, _) | Self::Served(entry, ..) => fact(&entry.facts),
            Self::Foreign(_) => true,
            Self::Kernel(name, _) => {
                let scheduler = name.trim_start_matches(KERNEL);
                scheduler == AS_IS || kernel_heeds(scheduler, fact)
            }
            Self::Alone(..) => false,
        }
    }

    /// Makes the policy for a run in which it serves `served`.
    pub(crate) fn build(&self, served: &Served<'_>, quit: &QuitFlag) -> Box<dyn Policy> {
        match self {
            Self::Known(entry, params) => (entry.build)(params, served),
            Self::Foreign(foreign) => (foreign.build)(served, quit.clone()),
            Self::Kernel(..) | Self::Served(..) | Self::Alone(..) => {
                (fcfs::ENTRY.build)(&Params::NONE, served)
            }
        }
    }
}

/// Whether `fact` applies to the kernel's scheduler of this name: it does if it applies to its model.
pub(crate) fn kernel_heeds(scheduler: &str, fact: fn(&Facts) -> bool) -> bool {
    penstock_policy::find(scheduler).is_some_and(|model| fact(&model.facts))
}

/// Checks that a record of a run under `policies` can be replayed.
pub(crate) fn can_be_recorded(policies: &[Chosen], rounds: Option<u32>) -> Result<(), Failure> {
    match policies {
        _ if rounds.is_some() => {
            let hint = "leave the record out, or run once";
            Err(Failure::wrong("a record is of one run", hint))
        }
        [Chosen::Known(..)] => Ok(()),
        [other] => {
            let message =
                format!("only built-in policies can be recorded, and {} is not one", other.name());
            let hint = "a replay could not find it again: leave the record out";
            Err(Failure::wrong(message, hint))
        }
        _ => {
            let hint = "name one policy, or leave the record out";
            Err(Failure::wrong("a record is of one policy", hint))
        }
    }
}

/// Checks that none of `policies` needs a real target; on `null`, threads can be measured without
/// one.
pub(crate) fn can_run_without_a_target(
    policies: &[Chosen],
    on: &str,
    null: bool,
) -> Result<(), Failure> {
    let needs = |policy: &&Chosen| match policy {
        Chosen::Served(..) => true,
        _ => policy.kernel().is_some_and(|(name, _)| !null || name != AS_IS),
    };
    let Some(kernel) = policies.iter().find(needs) else { return Ok(()) };
    let message = format!("{} schedules a real disk, and {on} is not one", kernel.name());
    Err(Failure::wrong(message, "name a file on one with --on, as in --on ./data.img"))
}

/// The parameters of all `policies` on a real device.
pub(crate) fn on_a_real_device(policies: &[(&'static str, Params)]) -> Vec<(&'static str, Params)> {
    let real = |(name, params): &(&'static str, Params)| {
        let entry = penstock_policy::find(name).expect("parameters are of a policy");
        (*name, entry.real(params.clone()))
    };
    policies.iter().map(real).collect()
}

/// Checks that a live run on `target` would not wait for an external policy.
pub(crate) fn can_run_live(policies: &[Chosen], target: &str) -> Result<(), Failure> {
    for policy in policies {
        if let Chosen::Foreign(Foreign { name, .. }) = policy {
            let message =
                format!("policy {name} is from outside and runs over a model, not {target}");
            let hint = "a live run must not wait for it: name a modelled device, as hdd-7200";
            return Err(Failure::wrong(message, hint));
        }
    }
    Ok(())
}

impl Foreign {
    /// Checks that its name identifies it, also among `others`.
    fn check(&self, others: &[Chosen]) -> Result<(), Failure> {
        let name = &self.name;
        if name.trim().is_empty() || name.chars().any(char::is_control) {
            let hint = "a name is some words on one line";
            return Err(Failure::wrong(format_args!("a policy is called {name:?}"), hint));
        }
        let hint = "give it another name: results tell policies apart by their names";
        if penstock_policy::find(name).is_some() {
            let message = format!("a policy from outside is called {name}, as a built-in one is");
            return Err(Failure::wrong(message, hint));
        }
        if others.iter().any(|other| other.name() == name) {
            return Err(Failure::wrong(format_args!("two policies are called {name}"), hint));
        }
        Ok(())
    }
}
