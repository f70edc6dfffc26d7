//! The devices below the page cache of a job, and its files on them.

use penstock_device::page_cache::{Options, Topology};
use penstock_jobs::units::size_text;
use penstock_jobs::{Extent, Job};

use crate::failure::Failure;

/// The layout below the page cache of `job` over `devices`; `None` if the job has no page cache.
///
/// # Errors
/// A file that does not fit on its device, or a page cache that is too small for that many devices.
pub(crate) fn layout(job: &Job, devices: &[Extent]) -> Result<Option<Topology>, Failure> {
    let Some(cache) = job.buffered() else { return Ok(None) };
    let (memory, count) = (cache.options().memory, devices.len() as u64);
    let least = Options::LEAST_MEMORY * count;
    if memory < least {
        let [memory, least] = [memory, least].map(size_text);
        let message = format!("a page cache of {memory} over {count} devices; at least {least}");
        return Err(Failure::wrong(message, "raise `page_cache.memory`"));
    }
    let capacities = devices.iter().map(|device| device.capacity);
    Ok(Some(Topology::new(capacities, job.files_over(devices)?)))
}
