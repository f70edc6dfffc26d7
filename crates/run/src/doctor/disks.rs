//! The block devices of this machine and what the kernel has set for each. `penstock linux show`
//! prints them.

use std::collections::BTreeMap;

use penstock_jobs::nearest::suggest;
use penstock_live::{Block, blocks};
use serde::Serialize;

use crate::failure::Failure;
use crate::result::version::VERSION;

/// The output of `linux show --json`.
#[derive(Debug, Serialize)]
pub struct Disks {
    /// Version of Penstock.
    pub penstock: &'static str,
    /// The devices, in the order of their names.
    pub disks: Vec<DiskSettings>,
}

/// A block device, and the attributes of its queue exactly as `/sys` has them.
#[derive(Debug, Serialize)]
pub struct DiskSettings {
    /// Its name, as `sda`.
    pub name: String,
    /// Its size in bytes; null if the kernel does not report it.
    pub bytes: Option<u64>,
    /// The name that its maker gave it; null if there is none.
    pub model: Option<String>,
    /// The file that it is made of; null if it is no loop device.
    pub backing_file: Option<String>,
    /// Commands that its driver gives it at once; null if the driver does not say it.
    pub queue_depth: Option<String>,
    /// The files of `queue` in its folder of `/sys/block`, without the end of their line:
    /// `scheduler` lists its schedulers, with the one in use in brackets.
    pub queue: BTreeMap<String, String>,
    /// The tunables of the scheduler in use: the files of `queue/iosched`.
    pub tunables: BTreeMap<String, String>,
    /// Obstacle to a run that writes to it; null if there is none but perhaps the data on it, which
    /// is not looked at.
    pub obstacle: Option<String>,
}

/// Lists all block devices that are no partitions, or the one called `name`, or at `/dev/name`.
///
/// # Errors
/// There is no such device, or it is a partition.
pub fn disks(name: Option<&str>) -> Result<Disks, Failure> {
    let all = blocks();
    let Some(name) = name else { return Ok(Disks::of(all)) };
    let wanted = name.strip_prefix("/dev/").unwrap_or(name);
    let names: Vec<&str> = all.iter().map(|block| &*block.name).collect();
    if names.contains(&wanted) {
        return Ok(Disks::of(all.into_iter().filter(|block| block.name == wanted)));
    }
    if let Some(disk) = all.iter().find(|block| block.partitions.iter().any(|one| one == wanted)) {
        let message = format!("{wanted} is a partition, and its disk has the scheduler");
        return Err(Failure::wrong(message, format!("name the disk: {}", disk.name)));
    }
    let message = format!("there is no block device {wanted}");
    Err(Failure::wrong(message, suggest(wanted, names)))
}

impl Disks {
    fn of(blocks: impl IntoIterator<Item = Block>) -> Self {
        let settings = |block: Block| DiskSettings {
            name: block.name,
            bytes: block.bytes,
            model: block.model,
            backing_file: block.backing_file,
            queue_depth: block.queue_depth,
            queue: block.queue.into_iter().collect(),
            tunables: block.tunables.into_iter().collect(),
            obstacle: block.obstacle,
        };
        Self { penstock: VERSION, disks: blocks.into_iter().map(settings).collect() }
    }
}
