//! Whether a block device is free, according to `/sys` and `/proc`.
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

/// Bytes of a sector as `/sys` counts them, whatever the device has.
const SECTOR: u64 = 512;

/// The places where the kernel describes itself.
#[derive(Clone, Debug)]
pub(crate) struct Roots {
    /// `/sys`, or one that a test has made.
    pub(crate) sys: PathBuf,
    /// `/proc`, or one that a test has made.
    pub(crate) proc: PathBuf,
}

impl Roots {
    /// The machine's own.
    pub(crate) fn real() -> Self {
        Self { sys: "/sys".into(), proc: "/proc".into() }
    }
}

/// An obstacle to the use of a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Obstacle {
    /// The obstacle, to be read after "found".
    pub(crate) found: String,
    /// What to do first.
    pub(crate) hint: String,
}

/// A device as `/sys` lists it.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    folder: PathBuf,
    roots: Roots,
}

/// A device that shares bytes with the one in question.
struct Related {
    folder: PathBuf,
    /// Its description for a person.
    who: String,
}

impl Listed {
    /// The device of this number; `None` if it is not listed.
    pub(crate) fn find(roots: &Roots, number: u64) -> Option<Self> {
        let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
        let folder = fs::canonicalize(roots.sys.join(format!("dev/block/{major}:{minor}"))).ok()?;
        Some(Self { folder, roots: roots.clone() })
    }

    /// Its name in the kernel, such as `sda1`.
    pub(crate) fn name(&self) -> String {
        name(&self.folder)
    }

    /// Bytes.
    pub(crate) fn len(&self) -> Option<u64> {
        number(&self.folder, "size")?.checked_mul(SECTOR)
    }

    /// Its model, or that of its disk.
    pub(crate) fn model(&self) -> Option<String> {
        text(&self.disk().join("device/model"))
    }

    /// Its identity among others of its kind: serial numbers and worldwide names; those of its disk
    /// if it is a partition.
    pub(crate) fn serials(&self) -> Vec<String> {
        let disk = self.disk();
        let files = ["device/serial", "serial", "wwid", "device/wwid"];
        let mut serials: Vec<_> =
            files.iter().filter_map(|place| text(&disk.join(place))).collect();
        // SCSI's page of the serial number: a head of four bytes, then text.
        let page = fs::read(disk.join("device/vpd_pg80")).unwrap_or_default();
        let page = String::from_utf8_lossy(page.get(4..).unwrap_or_default());
        let page = page.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        serials.extend((!page.is_empty()).then(|| page.to_owned()));
        serials.dedup();
        serials
    }

    /// The first obstacle to its use.
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

    /// Another process that has it open for writing without exclusive access.
    pub(crate) fn writer(&self) -> Option<Obstacle> {
        let related = self.related();
        let numbers: Vec<_> = related.iter().map(|one| text(&one.folder.join("dev"))).collect();
        let which = |device: u64| {
            let number = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
            numbers.iter().position(|one| one.as_deref() == Some(&number))
        };
        let others = openers(&self.roots.proc, |device| which(device).is_some());
        let Opener { process, name, device, .. } = others.iter().find(|opener| opener.writes)?;
        let who = &related[which(*device)?].who;
        Some(Obstacle {
            found: format!("{who} open for writing in process {process} ({name})"),
            hint: format!("if nothing of that process is needed, end it first (`kill {process}`)"),
        })
    }

    fn is_partition(&self) -> bool {
        self.folder.join("partition").exists()
    }

    /// The folder of the whole disk.
    fn disk(&self) -> &Path {
        let parent = self.folder.parent().filter(|_| self.is_partition());
        parent.unwrap_or(&self.folder)
    }

    /// The device itself, and all devices that share bytes with it.
    fn related(&self) -> Vec<Related> {
        let mut related = vec![Related { folder: self.folder.clone(), who: "it".into() }];
        if self.is_partition() {
            let disk = self.disk().to_owned();
            let who = format!("{}, the disk of it,", name(&disk));
            let siblings = partitions(&disk).into_iter();
            related.push(Related { folder: disk, who });
            related.extend(siblings.filter(|other| self.overlaps(other)).map(|folder| Related {
                who: format!("{}, which overlaps it,", name(&folder)),
                folder,
            }));
        } else {
            related.extend(
                partitions(&self.folder).into_iter().map(|folder| Related {
                    who: format!("its partition {}", name(&folder)),
                    folder,
                }),
            );
        }
        related
    }

    /// Whether the partition of folder `other` is another one with bytes of this one.
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
            // Some file systems number their volumes and not their devices: then the source
            // identifies it.
            let on = |one: &&Related| one.is_number(number) || one.is_at(Path::new(&source));
            let who = &related.iter().find(on)?.who;
            let found = format!("{who} mounted at {point}");
            Some(Obstacle { found, hint: format!("if nothing on it is needed: `umount {point}`") })
        };
        Ok(mounts.lines().find_map(mount))
    }

    fn swap(&self, related: &[Related]) -> io::Result<Option<Obstacle>> {
        let swaps = match fs::read_to_string(self.roots.proc.join("swaps")) {
            // A kernel without swap.
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            answer => answer?,
        };
        let used = |line: &str| {
            let path = plain(line.split_whitespace().next()?);
            let who = &related.iter().find(|one| one.is_at(Path::new(&path)))?.who;
            let hint = format!("if it is not needed: `swapoff {path}`");
            Some(Obstacle { found: format!("{who} in use as swap"), hint })
        };
        Ok(swaps.lines().skip(1).find_map(used))
    }

    /// A loop device may be made of another device; only the loop device names it.
    fn under_a_loop(&self, related: &[Related]) -> Option<Obstacle> {
        let made_of = |device: PathBuf| {
            let file = text(&device.join("loop/backing_file"))?;
            let who = &related.iter().find(|one| one.is_at(Path::new(&file)))?.who;
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
    /// Whether it has the number `text`, as `8:1`.
    fn is_number(&self, number: &str) -> bool {
        text(&self.folder.join("dev")).is_some_and(|own| own == number)
    }

    /// Whether `path` is its node, by number or by the kernel's name.
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

/// The holders of any of them: arrays, mappings, logical volumes.
fn held(related: &[Related]) -> Option<Obstacle> {
    related.iter().find_map(|one| {
        let holders = entries(&one.folder.join("holders"));
        let names: Vec<_> = holders.iter().map(|link| name(link)).collect();
        let (who, by) = (&one.who, names.join(", "));
        (!names.is_empty()).then(|| Obstacle {
            found: format!("{who} held by {by}"),
            hint: format!("if it is not needed, stop {by} first (md, device mapper, LVM)"),
        })
    })
}

/// The folders of a disk's partitions.
fn partitions(disk: &Path) -> Vec<PathBuf> {
    let mut found = entries(disk);
    found.retain(|folder| folder.join("partition").exists());
    found
}

fn number(folder: &Path, attribute: &str) -> Option<u64> {
    text(&folder.join(attribute))?.parse().ok()
}
