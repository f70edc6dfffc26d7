//! The experiments of papers, for Python.

use penstock_core::{Span, Time};
use penstock_run::papers::merge_placement::{self, Ring, Service};
use penstock_run::papers::online_batch::{Trial, run};
use pyo3::prelude::*;

use crate::answer::{interruptible, json, json_with_paths, raise};
use crate::target::Target;
use crate::text::{Text, strings};

/// A `penstock.papers.merge_placement.rings.Ring`. Times are nanoseconds.
#[derive(FromPyObject)]
pub(crate) struct RingModel {
    disks: u32,
    read_ns: u64,
    work_ns: u64,
    read_blocks: u32,
    write_blocks: u32,
    queued_ns: u64,
    uniform: bool,
    until_ns: u64,
    seed: u64,
    course_ns: Option<u64>,
}

/// Returns the places of the runs and outputs of a job with merges, as JSON.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "converted arguments are owned")]
pub(crate) fn merge_layout(
    py: Python<'_>,
    name: Text,
    text: Text,
    sets: Vec<Text>,
) -> PyResult<String> {
    let found = merge_placement::layout(&name.0, &text.0, &strings(sets));
    found.map(|layout| json_with_paths(&layout)).map_err(|failure| raise(py, &failure))
}

/// Runs the model of a race in rings of disks, on all cores, and returns the result of each, as
/// JSON.
#[pyfunction]
pub(crate) fn merge_rings(py: Python<'_>, rings: Vec<RingModel>) -> PyResult<String> {
    let ring = |model: RingModel| Ring {
        disks: model.disks,
        read: Span::from_ns(model.read_ns),
        work: Span::from_ns(model.work_ns),
        read_blocks: model.read_blocks,
        write_blocks: model.write_blocks,
        queued: Span::from_ns(model.queued_ns),
        service: if model.uniform { Service::Uniform } else { Service::Constant },
        until: Time::from_ns(model.until_ns),
        seed: model.seed,
        course: model.course_ns.map(Span::from_ns),
    };
    let rings: Vec<_> = rings.into_iter().map(ring).collect();
    interruptible(py, |go_on| merge_placement::rings(&rings, go_on).map(|found| json(&found)))
}

/// Runs the evaluation programs of the online-batch paper once and returns their result, as JSON.
///
/// Times of the processor are nanoseconds. A signal's handler that raises ends the run.
#[pyfunction]
#[pyo3(signature = (
    *, target, mode, online, batch, online_cpu_ns, batch_cpu_ns, cpu_priority,
    overlap_ns, writes
))]
#[expect(clippy::too_many_arguments, reason = "keywords in Python")]
pub(crate) fn online_batch(
    py: Python<'_>,
    target: Target,
    mode: String,
    online: u32,
    batch: u32,
    online_cpu_ns: u64,
    batch_cpu_ns: u64,
    cpu_priority: bool,
    overlap_ns: u64,
    writes: bool,
) -> PyResult<String> {
    let (online_cpu, batch_cpu) = (Span::from_ns(online_cpu_ns), Span::from_ns(batch_cpu_ns));
    let (target, overlap) = (target.0, Span::from_ns(overlap_ns));
    let cell =
        Trial { target, mode, online, batch, online_cpu, batch_cpu, cpu_priority, overlap, writes };
    interruptible(py, |go_on| run(&cell, go_on).map(|result| json(&result)))
}
