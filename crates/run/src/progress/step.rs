//! How far long work has come, for those who watch it.

use penstock_core::Span;
use serde::Serialize;

use crate::progress::snapshot::Snapshot;
use crate::result::{ClassResult, World};

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
        /// Its round, from 0, if there are rounds.
        #[serde(skip_serializing_if = "Option::is_none")]
        round: Option<u32>,
        /// Number of the run, from 0.
        number: usize,
        /// How many there are.
        of: usize,
        /// Share of the run's time that is over.
        fraction: f64,
        /// Name of the modelled device, or path of the target.
        device: &'a str,
        /// Whether it is a model.
        world: World,
        /// What it waits for.
        #[serde(skip)]
        patience: Patience,
        /// How it goes, if a person watches.
        #[serde(skip_serializing_if = "Option::is_none")]
        now: Option<&'a Snapshot>,
    },
    /// A policy's run has ended.
    Finished {
        /// Its name.
        policy: &'a str,
        /// Its round, from 0, if there are rounds.
        #[serde(skip_serializing_if = "Option::is_none")]
        round: Option<u32>,
        /// Number of the run, from 0.
        number: usize,
        /// How many there are.
        of: usize,
        /// What each class got.
        classes: &'a [ClassResult],
    },
}

/// What a run waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Patience {
    /// A model, which always answers.
    Model,
    /// A real target, for as long as its commands may be in flight; without a limit, for ever.
    Target(Option<Span>),
}
