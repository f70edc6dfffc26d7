//! Who decides in a run: a policy of the registry with its parameters, or one from outside.
//!
//! A policy from outside is code that is handed over, as from another language. Nothing is known of
//! it but its name: it has no parameters in a job, cannot be found again by a replay, and may take
//! its time, so it runs over a model only. It may also fail, which a policy of ours does not: it
//! [quits](Quit), and its run ends at the next turn.

use std::cell::OnceCell;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use penstock_core::{ClassId, Policy, Served, Time};
use penstock_jobs::Job;
use penstock_jobs::diagnose::quote;
use penstock_jobs::nearest::suggest;
use penstock_jobs::params;
use penstock_policy::{ALL, Entry, Facts, POLICIES, Params, USUAL, fcfs};
use serde_json::{Value, json};

use crate::failure::Failure;

/// A policy that is asked for.
#[derive(Clone, Debug)]
pub enum Candidate {
    /// One of the registry, by its name.
    Named(String),
    /// One from outside.
    Foreign(Foreign),
}

impl From<&str> for Candidate {
    fn from(name: &str) -> Self {
        Self::Named(name.into())
    }
}

/// A policy from outside.
#[derive(Clone)]
pub struct Foreign {
    /// As results call it.
    pub name: String,
    /// Makes it for a run.
    pub build: Build,
}

/// Makes a policy from outside: given what it serves, and where to say that it quits.
pub type Build = Arc<dyn Fn(&Served<'_>, QuitFlag) -> Box<dyn Policy> + Send + Sync>;

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Foreign").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Where a policy from outside says that it quits. A policy that has quit is asked no more than the
/// rest of one instant, in which it names a wake-up at once.
pub type QuitFlag = Rc<OnceCell<Quit>>;

/// Why a policy from outside does not go on.
#[derive(Clone, Debug)]
pub enum Quit {
    /// It was interrupted: what there is so far is the result, marked as interrupted.
    Interrupted,
    /// It failed.
    Failed {
        /// When.
        at: Time,
        /// What happened, as the rest of a sentence about it.
        what: String,
        /// What would be right.
        hint: String,
    },
}

/// A candidate that is known to be there.
pub(crate) enum Chosen {
    Known(&'static Entry, Params),
    Foreign(Foreign),
    /// No policy of ours: each class by itself, under this scheduler of the kernel.
    Kernel(String),
    /// One class with the device to itself, unscheduled.
    Alone(ClassId, String),
}

/// What begins the name of a scheduler of the kernel.
const KERNEL: &str = "kernel:";

/// The name of the scheduler that each disk has.
pub(crate) const AS_IS: &str = "as-is";

/// What begins the name of a class that runs alone.
const ALONE: &str = "alone:";

impl Chosen {
    /// Whether it is a policy from outside.
    pub(crate) fn is_foreign(&self) -> bool {
        matches!(self, Self::Foreign(_))
    }

    /// The `candidates`, or the usual ones of the registry, with their parameters from the job.
    ///
    /// # Errors
    /// An unknown name, and a name from outside that is already taken.
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
                    match (name.strip_prefix(KERNEL), name.strip_prefix(ALONE)) {
                        (Some(_), _) => Self::Kernel(name.clone()),
                        (_, Some(class)) => Self::alone(job, class)?,
                        _ => named(name)?,
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

    fn alone(job: &Job, class: &str) -> Result<Self, Failure> {
        let names = || job.classes.iter().map(|class| class.name.as_str());
        let index = names().position(|name| name == class).ok_or_else(|| {
            let found = format!("unknown class {} of {ALONE}CLASS", quote(class));
            Failure::wrong(found, suggest(class, names()))
        })?;
        Ok(Self::Alone(ClassId(index as u16), format!("{ALONE}{class}")))
    }

    /// As results call it.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Known(entry, _) => entry.name,
            Self::Foreign(Foreign { name, .. }) | Self::Kernel(name) | Self::Alone(_, name) => name,
        }
    }

    /// The scheduler of the kernel that it is.
    pub(crate) fn kernel(&self) -> Option<&str> {
        match self {
            Self::Kernel(name) => name.strip_prefix(KERNEL),
            _ => None,
        }
    }

    /// Its parameters as results report them.
    pub(crate) fn params_json(&self) -> Value {
        match self {
            Self::Known(_, params) => params::params_json(params),
            Self::Foreign(_) | Self::Kernel(_) | Self::Alone(..) => json!({}),
        }
    }

    /// The longest command that it makes by merging, in bytes.
    pub(crate) fn longest(&self) -> u32 {
        let Self::Known(entry, params) = self else { return 0 };
        (entry.facts.merges)(params).unwrap_or(0)
    }

    /// Whether weights may change what it does. Of one from outside nothing is known.
    pub(crate) fn heeds(&self, fact: fn(&Facts) -> bool) -> bool {
        match self {
            Self::Known(entry, _) => fact(&entry.facts),
            Self::Foreign(_) => true,
            Self::Kernel(_) | Self::Alone(..) => false,
        }
    }

    /// Makes it for a run in which it serves `served`.
    pub(crate) fn build(&self, served: &Served<'_>, quit: &QuitFlag) -> Box<dyn Policy> {
        match self {
            Self::Known(entry, params) => (entry.build)(params, served),
            Self::Foreign(foreign) => (foreign.build)(served, quit.clone()),
            Self::Kernel(_) | Self::Alone(..) => (fcfs::ENTRY.build)(&Params::NONE, served),
        }
    }
}

/// That a record of a run under `policies` could be replayed.
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

/// That none of `policies` needs what only a real target has; on `null` threads can be measured without one.
pub(crate) fn can_run_without_a_target(
    policies: &[Chosen],
    on: &str,
    null: bool,
) -> Result<(), Failure> {
    let needs = |policy: &&Chosen| policy.kernel().is_some_and(|name| !null || name != AS_IS);
    let Some(kernel) = policies.iter().find(needs) else { return Ok(()) };
    let message = format!("{} schedules a real disk, and {on} is not one", kernel.name());
    Err(Failure::wrong(message, "name a file on one with --on, as in --on ./data.img"))
}

/// The parameters of all `policies` where the device is real.
pub(crate) fn on_a_real_device(policies: &[(&'static str, Params)]) -> Vec<(&'static str, Params)> {
    let real = |(name, params): &(&'static str, Params)| {
        let entry = penstock_policy::find(name).expect("parameters are of a policy");
        (*name, entry.real(params.clone()))
    };
    policies.iter().map(real).collect()
}

/// That none of `policies` would be waited for by a live run on `target`.
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
    /// That its name identifies it, among `others` too.
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
