//! The layers below a target: disks, the kernel's schedulers in front of them, or memory.
//!
//! Use it to state what a result measured. Layers that are not listed are missing: a container may hide all
//! of them.

use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use crate::kernel::sysfs::{Disk, Stack, Sysfs};
use crate::queue_settings::{LeftBehind, left_behind};
use crate::targets::{self, Target};

/// The greatest depth of files on devices on files on devices.
const LAYERS_MOST: usize = 8;

/// The layers below a target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Below {
    /// The disks: first those that hold the target, then those below the files of loop devices.
    pub disks: Vec<Disk>,
    /// The memory that holds the target, `tmpfs` or the name of a device, if it is in memory.
    pub memory: Option<String>,
}

impl Below {
    /// Returns the layers below `target` now.
    pub fn of(target: &Target) -> Self {
        // The open file, not its path: a loop device is made of a file in another place.
        let open = PathBuf::from(format!("/proc/self/fd/{}", target.file().as_raw_fd()));
        let memory = Some(target.file_system().to_owned()).filter(|name| in_memory(name));
        let mut below = Self { disks: Vec::new(), memory };
        below.descend(&Sysfs::new("/sys"), &open, LAYERS_MOST);
        below
    }

    /// Adds the layers below `path`.
    fn descend(&mut self, sysfs: &Sysfs, path: &Path, layers: usize) {
        let stack = sysfs.under(path).ok().flatten();
        for disk in stack.into_iter().flat_map(|Stack { disks, .. }| disks) {
            if layers == 0 || self.disks.iter().any(|known| known.name == disk.name) {
                continue;
            }
            let file = disk.backing_file.clone();
            if self.memory.is_none() {
                let file_system =
                    file.as_deref().and_then(targets::file_system).filter(|name| in_memory(name));
                self.memory =
                    file_system.or_else(|| is_memory(&disk.name).then(|| disk.name.clone()));
            }
            self.disks.push(disk);
            if let Some(file) = file {
                self.descend(sysfs, &file, layers - 1);
            }
        }
    }

    /// Returns the disks under another scheduler than their own, because the run that switched it was killed.
    pub fn left_behind(&self) -> Vec<LeftBehind> {
        let mut left = left_behind();
        left.retain(|left| {
            let disk = self.disks.iter().find(|disk| disk.name == left.disk);
            disk.is_some_and(|disk| disk.in_force() != Some(&left.scheduler))
        });
        left
    }
}

/// Returns whether a file system of this type keeps its files in memory.
fn in_memory(file_system: &str) -> bool {
    matches!(file_system, "tmpfs" | "ramfs")
}

/// Returns whether a device of this name is memory: `ram0`, `zram0`.
fn is_memory(device: &str) -> bool {
    let number = device.strip_prefix("zram").or_else(|| device.strip_prefix("ram"));
    number.is_some_and(|number| number.parse::<u32>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::sysfs::fake::Tree;

    #[test]
    fn a_loop_device_leads_to_the_disk_below_its_file() {
        // The file is on the file system of the tree, which has some number.
        let tree = Tree::new("below");
        tree.file("image", "");
        let image = tree.root().join("image");
        let at = |path: &Path| rustix::fs::stat(path).unwrap();
        let number = |n: u64| format!("{}:{}", rustix::fs::major(n), rustix::fs::minor(n));
        let device = at(&image).st_dev;
        if rustix::fs::major(device) == 0 {
            return eprintln!("skipped: temporary files lie on no device");
        }
        let made_of = format!("{}\n", image.display());
        tree.device("virtual/loop7", "7:7", &[("loop/backing_file", &made_of)]);
        tree.device("pci/penq", &number(device), &[("queue/scheduler", "none [kyber]\n")]);
        let sysfs = Sysfs::new(tree.root());
        let mut below = Below { disks: sysfs.stack(7, 7).unwrap().disks, memory: None };
        below.descend(&sysfs, &image, LAYERS_MOST);
        let names: Vec<_> = below.disks.iter().map(|disk| (&*disk.name, disk.in_force())).collect();
        assert_eq!(names, [("loop7", None), ("penq", Some("kyber"))]);
    }

    #[test]
    fn memory_is_known_by_its_names() {
        for name in ["ram0", "zram12"] {
            assert!(is_memory(name), "{name}");
        }
        for name in ["ram", "ramp1", "sda", "zramx", "program1"] {
            assert!(!is_memory(name), "{name}");
        }
    }
}
