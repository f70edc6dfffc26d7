//! The preparation of real targets for a run: files are laid out anew and caches dropped, as the job says.

use std::io::ErrorKind;
use std::ops::ControlFlow;

use penstock_jobs::{CachedPages, Job};
use penstock_live::drop_all_cached;

use crate::failure::Failure;
use crate::place::Place;
use crate::progress::report::Progress;
use crate::progress::snapshot::Snapshot;

/// The remark on a run before which the caches of the machine were dropped.
const DROPPED_ALL: &str = "the page cache, dentries and inodes of the whole machine were dropped before the run, as \
                           live.page_cache = \"drop-all\" says";

/// Prepares the targets of `place` for a run of `job`. Returns remarks for its result; `None` if
/// `progress` stopped it.
pub(super) fn prepare(
    job: &Job,
    place: &Place,
    progress: &mut dyn Progress,
) -> Result<Option<Vec<String>>, Failure> {
    let mut remarks = Vec::new();
    for live in place.targets().iter().filter(|_| job.live.lay_out) {
        if live.target.is_owned_file() {
            let mut report = |_, _| {
                let goes_on = progress.update(0.0, None);
                if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            };
            if !live.target.lay_out(&mut report)? {
                return Ok(None);
            }
        } else if live.target.is_only_read() {
            remarks.push(format!("{} was not laid out anew: it is only read", live.path));
        }
    }
    if job.live.cached_pages == CachedPages::DropAll && place.is_real() {
        drop_all_cached().map_err(|error| match error.kind() {
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Failure::cannot(
                format_args!("cannot drop the caches of the machine: {error}"),
                "only root may, where /proc is writable; live.page_cache = \"drop\" drops those of \
                 the target",
            ),
            _ => Failure::here("drop the caches of the machine", &error),
        })?;
        remarks.push(DROPPED_ALL.into());
    }
    Ok(Some(remarks))
}

/// The progress of a run that was stopped before it began.
pub(super) struct Stopped;

impl Progress for Stopped {
    fn update(&mut self, _: f64, _: Option<&Snapshot>) -> bool {
        false
    }
}
