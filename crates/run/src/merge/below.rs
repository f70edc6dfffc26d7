//! The disks below the folders of merges, and their schedulers.

use std::collections::BTreeSet;

use super::layout::PlannedDisk;
use crate::measures::below::{DiskSnapshot, Schedulers, on_one_disk};

/// The end of the remark on folders that share a disk.
const SHARED: &str =
    "all merges use that disk, so these figures do not show the effect of placement";

/// Returns the kernel's scheduler in front of each disk below, and remarks on these disks.
pub(super) fn below(disks: &[PlannedDisk]) -> (Schedulers, Vec<String>) {
    let seen = disks.iter().filter_map(|disk| disk.files.first());
    let seen: Vec<DiskSnapshot> = seen.map(|(_, target)| DiskSnapshot::take(target)).collect();
    let below: Vec<Schedulers> = seen.iter().map(DiskSnapshot::schedulers).collect();
    // Folders on loop devices give the same remark on the disk below them; one is enough.
    let remarks: BTreeSet<String> = seen.iter().flat_map(DiskSnapshot::remarks).collect();
    let remarks = remarks.into_iter().chain(on_one_disk(&below, "folders", SHARED)).collect();
    (below.into_iter().flatten().collect(), remarks)
}
