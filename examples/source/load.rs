//! The volleys of a job.

use penstock_core::{ClassId, Seed, Source, StreamId, Time};
use penstock_jobs::Job;
use penstock_jobs::workload::volley::VolleySpec;
use penstock_workload::volley::{Volley, Volleys};

use super::load::{Load, SourceEvents, Workload, classes};
use crate::failure::Failure;

/// Loads the workload of a `job` with the volleys `spec` on a target of `capacity` bytes.
pub(super) fn load(job: &Job, spec: &VolleySpec, capacity: u64) -> Load {
    let classes = classes(job);
    let end = Time::ZERO + job.duration;
    let VolleySpec { class, size, count, period } = *spec;
    let prio = classes[class.index()].prio;
    Load {
        classes,
        duration: job.duration,
        last: end,
        asks_until: Some(end),
        lanes: Vec::new(),
        lane: None,
        below_cache: None,
        remarks: Vec::new(),
        longest: size,
        measured_ns: None,
        workload: Box::new(Volley { class, prio, size, count, period, end, capacity }),
    }
}

impl Workload for Volley {
    fn source(&self, _: Seed, _: u32, _: SourceEvents) -> Box<dyn Source> {
        Box::new(Volleys::new(self.clone()))
    }

    fn writes(&self) -> bool {
        false
    }

    fn only(&self, class: ClassId) -> Result<Box<dyn Workload>, Failure> {
        let end = if class == self.class { self.end } else { Time::ZERO };
        Ok(Box::new(Self { end, ..self.clone() }))
    }

    fn is_planned(&self, _: StreamId) -> bool {
        true
    }

    fn is_open(&self, _: ClassId) -> bool {
        true
    }
}
