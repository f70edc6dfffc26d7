//! Progress of long work, for those who watch it.

use penstock_core::Span;
use serde::Serialize;

use crate::progress::snapshot::Snapshot;
use crate::result::{ClassResult, World};

/// A step in the progress of long work.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(tag = "step", rename_all = "lowercase")]
pub enum Step<'a> {
    /// An owned file is being written.
    Creating {
        /// Path of the file.
        path: &'a str,
        /// Share of the file that is written.
        fraction: f64,
    },
    /// A policy runs.
    Running {
        /// Name of the policy.
        policy: &'a str,
        /// Number of the round, from 0, if there are rounds.
        #[serde(skip_serializing_if = "Option::is_none")]
        round: Option<u32>,
        /// Number of the run, from 0.
        number: usize,
        /// Number of runs.
        of: usize,
        /// Share of the run's time that is over.
        fraction: f64,
        /// Name of the modelled device, or path of the target.
        device: &'a str,
        /// Whether the figures come from a model or from the machine.
        world: World,
        /// The thing that the run waits for.
        #[serde(skip)]
        patience: Patience,
        /// State of the run, if a person watches.
        #[serde(skip_serializing_if = "Option::is_none")]
        now: Option<&'a Snapshot>,
    },
    /// A policy's run has ended.
    Finished {
        /// Name of the policy.
        policy: &'a str,
        /// Number of the round, from 0, if there are rounds.
        #[serde(skip_serializing_if = "Option::is_none")]
        round: Option<u32>,
        /// Number of the run, from 0.
        number: usize,
        /// Number of runs.
        of: usize,
        /// Name of the modelled device, or path of the target.
        device: &'a str,
        /// Figures of each class.
        classes: &'a [ClassResult],
        /// State of the run at its end, if a person watches.
        #[serde(skip_serializing_if = "Option::is_none")]
        now: Option<&'a Snapshot>,
    },
}

/// The thing that a run waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Patience {
    /// A model, which always answers.
    Model,
    /// A real target, for as long as its commands may be in flight; without a limit, for ever.
    Target(Option<Span>),
}
