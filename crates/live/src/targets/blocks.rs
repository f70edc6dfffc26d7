//! Block devices and their queues, as `/sys/block` shows them: every attribute as it stands there.

use std::fs;
use std::path::{Path, PathBuf};

use super::device::{Listed, Roots, partitions};
use crate::kernel::sysfs::{entries, name, text};

/// A block device that is no partition.
#[derive(Clone, Debug)]
pub struct Block {
    /// Its name, as `sda`.
    pub name: String,
    /// Its size in bytes.
    pub bytes: Option<u64>,
    /// The name that its maker gave it.
    pub model: Option<String>,
    /// The file that it is made of, if it is a loop device.
    pub backing_file: Option<String>,
    /// The names of its partitions.
    pub partitions: Vec<String>,
    /// The number of commands that its driver gives it at once, where the driver says it.
    pub queue_depth: Option<String>,
    /// The files of its `queue` folder and their texts without the end of the line, in the order of
    /// their names.
    pub queue: Vec<(String, String)>,
    /// The tunables of its scheduler: the files of `queue/iosched`, as `queue` has them.
    pub tunables: Vec<(String, String)>,
    /// Obstacle to a run that writes to it; `None` if there is none but perhaps the data on it, which
    /// is not looked at.
    pub obstacle: Option<String>,
}

/// Returns all block devices that are no partitions, in the order of their names.
pub fn blocks() -> Vec<Block> {
    blocks_in(&Roots::real())
}

fn blocks_in(roots: &Roots) -> Vec<Block> {
    let folders = entries(&roots.sys.join("block"));
    let folders = folders.iter().filter_map(|link| fs::canonicalize(link).ok());
    folders.map(|folder| block(roots, &folder)).collect()
}

fn block(roots: &Roots, folder: &Path) -> Block {
    let queue = folder.join("queue");
    let listed = Listed::of_folder(roots, folder.to_owned());
    let obstacle = listed.obstacle().map(|found| found.map(|obstacle| obstacle.found));
    Block {
        name: name(folder),
        bytes: listed.len(),
        model: listed.model(),
        backing_file: text(&folder.join("loop/backing_file")),
        partitions: partitions(folder).iter().map(|folder| name(folder)).collect(),
        queue_depth: text(&folder.join("device/queue_depth")),
        tunables: attributes(&queue.join("iosched")),
        queue: attributes(&queue),
        obstacle: obstacle
            .unwrap_or_else(|error| Some(format!("no word of what is in use ({error})"))),
    }
}

/// Returns the files of a folder that can be read, each with its text.
fn attributes(folder: &Path) -> Vec<(String, String)> {
    let read = |path: &PathBuf| {
        let text = path.is_file().then(|| fs::read_to_string(path).ok()).flatten()?;
        Some((name(path), text.strip_suffix('\n').unwrap_or(&text).to_owned()))
    };
    entries(folder).iter().filter_map(read).collect()
}
