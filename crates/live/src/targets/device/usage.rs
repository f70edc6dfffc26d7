//! The use of a block device, according to `/sys` and `/proc`.
//!
//! An obstacle may concern the device, its partitions, the disk that it is a partition of, or
//! partitions that overlap it. A state that is not visible counts as not free.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::super::mark::GRAIN;
use crate::kernel::openers::{Opener, openers};
use crate::kernel::sysfs::{entries, name, plain, text};

/// The unit of sizes in `/sys` in bytes, whatever the device's sectors are.
const SECTOR: u64 = 512;

/// The file systems in which the kernel describes devices and processes.
#[derive(Clone, Debug)]
pub(crate) struct Roots {
    /// `/sys`, or one that a test has made.
    pub(crate) sys: PathBuf,
    /// `/proc`, or one that a test has made.
    pub(crate) proc: PathBuf,
}

impl Roots {
    /// Returns those of the machine.
    pub(crate) fn real() -> Self {
        Self { sys: "/sys".into(), proc: "/proc".into() }
    }
}

/// An obstacle to the use of a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Obstacle {
    /// The obstacle, as text after "found".
    pub(crate) found: String,
    /// A hint for the user.
    pub(crate) hint: String,
}

/// A device as `/sys` lists it.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    folder: PathBuf,
    roots: Roots,
}

/// A device that shares bytes with the listed device.
struct Related {
    folder: PathBuf,
    /// Its description for the user.
    description: String,
}

impl Listed {
    /// Returns the device with this number; `None` if it is not listed.
    pub(crate) fn find(roots: &Roots, number: u64) -> Option<Self> {
        let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
        let folder = fs::canonicalize(roots.sys.join(format!("dev/block/{major}:{minor}"))).ok()?;
        Some(Self { folder, roots: roots.clone() })
    }

    /// Returns the device that `/sys` describes in `folder`.
    pub(crate) fn of_folder(roots: &Roots, folder: PathBuf) -> Self {
        Self { folder, roots: roots.clone() }
    }

    /// Returns its name in the kernel, such as `sda1`.
    pub(crate) fn name(&self) -> String {
        name(&self.folder)
    }

    /// Returns its size in bytes.
    pub(crate) fn len(&self) -> Option<u64> {
        number(&self.folder, "size")?.checked_mul(SECTOR)
    }

    /// Returns its model, or the model of its disk.
    pub(crate) fn model(&self) -> Option<String> {
        text(&self.disk().join("device/model"))
    }

    /// Returns its serial numbers and worldwide names, or those of its disk if it is a partition.
    pub(crate) fn serials(&self) -> Vec<String> {
        let disk = self.disk();
        let files = ["device/serial", "serial", "wwid", "device/wwid"];
        let mut serials: Vec<_> =
            files.iter().filter_map(|place| text(&disk.join(place))).collect();
        // The SCSI page of the serial number has a header of four bytes, followed by text.
        let page = fs::read(disk.join("device/vpd_pg80")).unwrap_or_default();
        let page = String::from_utf8_lossy(page.get(4..).unwrap_or_default());
        let page = page.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        serials.extend((!page.is_empty()).then(|| page.to_owned()));
        serials.dedup();
        serials
    }

    /// Returns the first obstacle to its use.
    ///
    /// # Errors
    /// The tables of mounts or of swap cannot be read.
    pub(crate) fn obstacle(&self) -> io::Result<Option<Obstacle>> {
        let related = self.related();
        let obstacle = self
            .read_only()
            .or(self.mounted(&related)?)
            .or(self.swap(&related)?)
            .or_else(|| held(&related))
            .or_else(|| self.under_a_loop(&related))
            .or_else(|| self.partitioned())
            .or_else(|| self.too_small());
        Ok(obstacle)
    }

    /// Returns the obstacle that another process has it open for writing without exclusive access.
    pub(crate) fn writer(&self) -> Option<Obstacle> {
        let related = self.related();
        let numbers: Vec<_> =
            related.iter().map(|device| text(&device.folder.join("dev"))).collect();
        let index_of = |device: u64| {
            let number = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
            numbers.iter().position(|known| known.as_deref() == Some(&number))
        };
        let others = openers(&self.roots.proc, |device| index_of(device).is_some());
        let Opener { process, name, device, .. } = others.iter().find(|opener| opener.writes)?;
        let who = &related[index_of(*device)?].description;
        Some(Obstacle {
            found: format!("{who} open for writing in process {process} ({name})"),
            hint: format!("if nothing of that process is needed, end it first (`kill {process}`)"),
        })
    }

    fn is_partition(&self) -> bool {
        self.folder.join("partition").exists()
    }

    /// Returns the folder of the whole disk.
    fn disk(&self) -> &Path {
        let parent = self.folder.parent().filter(|_| self.is_partition());
        parent.unwrap_or(&self.folder)
    }

    /// Returns the device itself, and all devices that share bytes with it.
    fn related(&self) -> Vec<Related> {
        let mut related = vec![Related { folder: self.folder.clone(), description: "it".into() }];
        if self.is_partition() {
            let disk = self.disk().to_owned();
            let description = format!("{}, the disk of it,", name(&disk));
            let siblings = partitions(&disk).into_iter();
            related.push(Related { folder: disk, description });
            related.extend(siblings.filter(|other| self.overlaps(other)).map(|folder| Related {
                description: format!("{}, which overlaps it,", name(&folder)),
                folder,
            }));
        } else {
            related.extend(partitions(&self.folder).into_iter().map(|folder| Related {
                description: format!("its partition {}", name(&folder)),
                folder,
            }));
        }
        related
    }

    /// Returns whether `other` is the folder of another partition that shares bytes with this one.
    fn overlaps(&self, other: &Path) -> bool {
        let range = |folder: &Path| {
            let start = number(folder, "start")?;
            Some(start..start + number(folder, "size")?)
        };
        let (Some(ours), Some(theirs)) = (range(&self.folder), range(other)) else { return true };
        other != self.folder && ours.start < theirs.end && theirs.start < ours.end
    }

    fn read_only(&self) -> Option<Obstacle> {
        let read_only = text(&self.folder.join("ro"))? != "0";
        read_only.then(|| Obstacle {
            found: "a block device that is read-only".into(),
            hint: "name another device, or let this one be written to".into(),
        })
    }

    fn mounted(&self, related: &[Related]) -> io::Result<Option<Obstacle>> {
        let mounts = fs::read_to_string(self.roots.proc.join("self/mountinfo"))?;
        let mount = |line: &str| {
            let (own, other) = line.split_once(" - ")?;
            let mut own = own.split(' ').skip(2);
            let (number, point) = (own.next()?, plain(own.nth(1)?));
            let source = plain(other.split(' ').nth(1)?);
            // The number of some file systems is that of a volume and not of a device: then the source
            // identifies the device.
            let is_mounted =
                |device: &&Related| device.is_number(number) || device.is_at(Path::new(&source));
            let who = &related.iter().find(is_mounted)?.description;
            let found = format!("{who} mounted at {point}");
            Some(Obstacle { found, hint: format!("if nothing on it is needed: `umount {point}`") })
        };
        Ok(mounts.lines().find_map(mount))
    }

    fn swap(&self, related: &[Related]) -> io::Result<Option<Obstacle>> {
        let swaps = match fs::read_to_string(self.roots.proc.join("swaps")) {
            // The kernel has no swap.
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            answer => answer?,
        };
        let used = |line: &str| {
            let path = plain(line.split_whitespace().next()?);
            let who = &related.iter().find(|device| device.is_at(Path::new(&path)))?.description;
            let hint = format!("if it is not needed: `swapoff {path}`");
            Some(Obstacle { found: format!("{who} in use as swap"), hint })
        };
        Ok(swaps.lines().skip(1).find_map(used))
    }

    /// Returns the obstacle that a loop device is made of it, which only the loop device shows.
    fn under_a_loop(&self, related: &[Related]) -> Option<Obstacle> {
        let made_of = |device: PathBuf| {
            let file = text(&device.join("loop/backing_file"))?;
            let who = &related.iter().find(|device| device.is_at(Path::new(&file)))?.description;
            let upper = name(&device);
            let hint = format!("if it is not needed: `losetup -d /dev/{upper}`");
            Some(Obstacle { found: format!("{who} in use under {upper}"), hint })
        };
        entries(&self.roots.sys.join("block")).into_iter().find_map(made_of)
    }

    fn partitioned(&self) -> Option<Obstacle> {
        let partitions = partitions(&self.folder);
        let names: Vec<_> = partitions.iter().map(|folder| name(folder)).collect();
        (!names.is_empty()).then(|| Obstacle {
            found: format!("a block device with partitions ({})", names.join(", ")),
            hint: "name one of them, or remove all of them and their table first (`wipefs -a`)"
                .into(),
        })
    }

    fn too_small(&self) -> Option<Obstacle> {
        let len = self.len().unwrap_or(0);
        (len < GRAIN).then(|| Obstacle {
            found: format!("a block device of {len} bytes"),
            hint: format!("name one of {GRAIN} bytes at least"),
        })
    }
}

impl Related {
    /// Returns whether it has the number `number`, as `8:1`.
    fn is_number(&self, number: &str) -> bool {
        text(&self.folder.join("dev")).is_some_and(|own| own == number)
    }

    /// Returns whether `path` is its node, by number or by the kernel's name.
    fn is_at(&self, path: &Path) -> bool {
        let node = fs::metadata(path).ok().filter(|meta| meta.file_type().is_block_device());
        match node.map(|meta| meta.rdev()) {
            Some(n) => {
                self.is_number(&format!("{}:{}", rustix::fs::major(n), rustix::fs::minor(n)))
            }
            None => path == Path::new("/dev").join(name(&self.folder)),
        }
    }
}

/// Returns the obstacle that an array, a mapping or a logical volume holds one of the devices.
fn held(related: &[Related]) -> Option<Obstacle> {
    related.iter().find_map(|device| {
        let holders = entries(&device.folder.join("holders"));
        let names: Vec<_> = holders.iter().map(|link| name(link)).collect();
        let (who, by) = (&device.description, names.join(", "));
        (!names.is_empty()).then(|| Obstacle {
            found: format!("{who} held by {by}"),
            hint: format!("if it is not needed, stop {by} first (md, device mapper, LVM)"),
        })
    })
}

/// Returns the folders of a disk's partitions.
pub(crate) fn partitions(disk: &Path) -> Vec<PathBuf> {
    let mut folders = entries(disk);
    folders.retain(|folder| folder.join("partition").exists());
    folders
}

fn number(folder: &Path, attribute: &str) -> Option<u64> {
    text(&folder.join(attribute))?.parse().ok()
}
