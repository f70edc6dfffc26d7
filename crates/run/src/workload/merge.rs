//! The merges of a job.

use std::sync::Arc;

use penstock_core::{ClassId, Seed, Source, Span, StreamId, Time};
use penstock_jobs::{Job, MergeSpec};
use penstock_workload::{Merge, Merges};

use super::load::{Load, SourceEvents, Workload, classes};
use crate::failure::Failure;
use crate::place::Place;

/// Rough guess of the time of a request. Only the progress of a run and the length of the windows
/// of its series depend on it.
const ABOUT: Span = Span::from_ms(5);

/// Loads the workload of a `job` with the merges `spec` at `place`.
pub(super) fn load(job: &Job, spec: &MergeSpec, place: &Place) -> Result<Load, Failure> {
    let disks = place.geometry().side_by_side;
    let bytes = place.geometry().capacity / u64::from(disks.get());
    let merge = spec.on(disks, bytes, place.name(), &job.classes)?;
    let requests = merge.shape.requests().saturating_mul(merge.jobs().into());
    let at_once = merge.shape.read.max(merge.shape.write);
    Ok(Load {
        classes: classes(job),
        duration: ABOUT.share(requests, disks.get().into()),
        last: Time::NEVER,
        asks_until: None,
        lanes: Vec::new(),
        files: Vec::new(),
        lane: None,
        below_cache: None,
        longest: at_once * merge.shape.block,
        measured_ns: None,
        remarks: spec.may_deadlock().into_iter().collect(),
        workload: Box::new(Arc::new(merge)),
    })
}

impl Workload for Arc<Merge> {
    fn source(&self, seed: Seed, _: u32, mut events: SourceEvents) -> Box<dyn Source> {
        let happened = move |event| events.merges.iter_mut().for_each(|tell| tell(event));
        Box::new(Merges::new(Self::clone(self), seed, happened))
    }

    fn writes(&self) -> bool {
        true
    }

    fn only(&self, class: ClassId) -> Result<Box<dyn Workload>, Failure> {
        Ok(Box::new(Self::new(Merge { only: Some(class.0.into()), ..Merge::clone(self) })))
    }

    /// Returns false: their requests follow from what came before.
    fn is_planned(&self, _: StreamId) -> bool {
        false
    }

    fn is_open(&self, _: ClassId) -> bool {
        false
    }

    fn merges(&self) -> Option<&Merge> {
        Some(self)
    }
}
