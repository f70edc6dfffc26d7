//! Jobs changed by `--set`: refused with a message, or read back alike and run whole.

use penstock_jobs::Job;
use penstock_jobs::devices::Model;
use penstock_workload::Arrivals;

use super::figures;
use super::run::{Bench, count, reads_back};
use crate::generate::{Case, Draw};

/// Bytes for the arguments.
const ARGUMENTS: usize = 80;

/// Returns the case that `bytes` encode, as text.
pub fn set_text(bytes: &[u8]) -> String {
    let (bench, sets) = drawn(bytes);
    format!("{}# changed by {sets:?}", bench.case())
}

/// Draws a case, and the arguments that change it.
fn drawn(bytes: &[u8]) -> (Bench, Vec<String>) {
    let draw = &mut Draw::new(bytes);
    let own = draw.bytes(ARGUMENTS);
    let bench = Bench::new(Case::drawn(draw));
    let text = bench.job(&[]).map_or(String::new(), |job| job.text());
    let sets = Case::sets(&mut Draw::new(own), &text);
    (bench, sets)
}

/// Changes the job that `bytes` encode by arguments: no panic. An accepted job reads back and, if
/// it is small, runs.
pub fn set(bytes: &[u8]) {
    let (bench, sets) = drawn(bytes);
    let Some(job) = bench.job(&sets) else { return };
    reads_back(&job);
    if !is_small(&job) {
        return;
    }
    let Some(comparison) = bench.run(&sets, &bench.options()) else { return };
    for run in &comparison.runs {
        figures::sound(&job, run);
    }
    count(comparison.runs.len());
}

/// Whether a run of `job` will take little time and memory.
fn is_small(job: &Job) -> bool {
    const DEPTH: u32 = 10_000;
    const SIZE: u32 = 4 << 20;
    const COPIES: u64 = 64;
    const FILES: usize = 16;
    const MEMORY: u64 = 1 << 28;
    let agents = job.workload.agents().iter().all(|agent| {
        let deep = matches!(agent.arrivals, Arrivals::Closed { depth, .. } if depth > DEPTH);
        let small = agent.sizes.possible().all(|size| size <= SIZE);
        small && !deep && agent.agents() <= COPIES
    });
    let cache = job.page_cache.is_none_or(|cache| cache.memory <= MEMORY);
    let device = job.device.as_ref().is_none_or(|device| {
        let disks = device.array.is_none_or(|array| array.disks <= 16);
        disks
            && match &device.model {
                Model::Fixed(spec) => spec.depth <= DEPTH,
                Model::Hdd(spec) => spec.queue.depth <= DEPTH,
                Model::Ssd(spec) => spec.facts.dies <= DEPTH,
                Model::Linear(_) => true,
            }
    });
    let split = job.params("size-priority").ok().and_then(|params| params.len("split"));
    let files = job.workload.file_names().len() <= FILES;
    agents && files && cache && device && split.is_none_or(|split| split >= 512)
}
