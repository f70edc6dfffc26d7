//! Remarks and counts about the layers below a real target: the kernel's schedulers, and whatever
//! makes figures differ from those of the bare disk.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use penstock_live::{Below, Disk, Target};

use crate::measures::values::ratio;
use crate::result::{AskedResult, BelowResult, KernelDiskResult, KernelResult, RunResult};

/// A disk is worth a remark if the bytes that it moved differ from those asked for by at least this
/// share of the latter.
const APART: f64 = 0.05;

/// A difference of fewer bytes is never worth a remark: journals and logs write a little all the
/// time.
const SOME: u64 = 16 << 20;

/// End of the remark on several targets on one disk.
const SHARED: &str = "their files share what it can do, although each has a queue of its own";

/// The schedulers in front of the disks below a target, as results have them.
pub(crate) type Schedulers = BTreeMap<String, Option<String>>;

/// The layers below targets when a run began.
pub(crate) struct DiskSnapshot {
    targets: Vec<(Target, Below)>,
    at: Instant,
}

impl DiskSnapshot {
    /// Takes a snapshot of the layers below `target`.
    pub(crate) fn take(target: &Target) -> Self {
        Self::take_all([target])
    }

    /// Takes a snapshot of the layers below `targets`.
    #[allow(clippy::disallowed_methods)] // as long as the kernel has counted, which no clock of a run knows
    pub(crate) fn take_all<'a>(targets: impl IntoIterator<Item = &'a Target>) -> Self {
        let targets = targets.into_iter().map(|target| (target.clone(), Below::of(target)));
        Self { targets: targets.collect(), at: Instant::now() }
    }

    /// The disks and their schedulers.
    pub(crate) fn schedulers(&self) -> Schedulers {
        self.targets.iter().flat_map(|(_, below)| schedulers(below)).collect()
    }

    /// Facts that a reader of the figures must know, in words.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let memory = self.targets.iter().filter_map(|(target, below)| {
            let (path, what) = (target.path().display(), below.memory.as_ref()?);
            Some(format!(
                "{path} lies in memory ({what}): the figures are of memory, not of a disk"
            ))
        });
        let mut left: Vec<_> =
            self.targets.iter().flat_map(|(_, below)| below.left_behind()).collect();
        let mut known = BTreeSet::new();
        left.retain(|left| known.insert(left.disk.clone()));
        let left = left.into_iter().map(|left| {
            let (disk, own) = (&left.disk, &left.scheduler);
            format!(
                "{disk} was not under its own scheduler {own}, since a run was killed that had \
                 switched it: `penstock doctor --clean` gives it back"
            )
        });
        let places: Vec<Schedulers> =
            self.targets.iter().map(|(_, below)| schedulers(below)).collect();
        memory.chain(left).chain(on_one_disk(&places, "targets", SHARED)).collect()
    }

    /// The schedulers and the remarks as a result.
    pub(crate) fn result(&self) -> BelowResult {
        BelowResult { schedulers: self.schedulers(), remarks: self.remarks() }
    }

    /// Adds schedulers, remarks and the kernel's counts to `result`, whose run has just ended.
    pub(crate) fn written_to(&self, result: RunResult) -> RunResult {
        let now = Self::take_all(self.targets.iter().map(|(target, _)| target));
        let kernel = self.counted(&now, result.asked);
        let (before, after) = (self.schedulers(), now.schedulers());
        let changed = before.iter().filter_map(|(disk, scheduler)| {
            let now = after.get(disk).filter(|&now| now != scheduler)?;
            let name = |scheduler: &Option<String>| scheduler.clone().unwrap_or("none".into());
            let (from, to) = (name(scheduler), name(now));
            Some(format!(
                "{disk} went from the scheduler {from} to {to} during the run: something else \
                 switches schedulers, as udev rules or tuned do"
            ))
        });
        let difference = kernel.as_ref().and_then(difference_remark);
        let remarks = result.remarks.into_iter().chain(self.remarks()).chain(changed);
        let remarks = remarks.chain(difference).collect();
        RunResult { remarks, schedulers: before, kernel, ..result }
    }

    /// The disks below all targets. A disk below several targets comes several times.
    fn disks(&self) -> impl Iterator<Item = &Disk> {
        self.targets.iter().flat_map(|(_, below)| &below.disks)
    }

    /// The kernel's counts until the snapshot `now`, next to what the run `asked` for.
    fn counted(&self, now: &Self, asked: AskedResult) -> Option<KernelResult> {
        let lasted = self.at.elapsed().as_secs_f64();
        let counts = |disk: &Disk| {
            let then = self.disks().find(|known| known.name == disk.name)?.counters?;
            let since = disk.counters?.since(then);
            let counted = KernelDiskResult {
                reads: since.reads.requests,
                reads_merged: since.reads.merged,
                read_bytes: since.reads.bytes,
                writes: since.writes.requests,
                writes_merged: since.writes.merged,
                write_bytes: since.writes.bytes,
                in_flight: ratio(since.queued.as_secs_f64(), lasted),
            };
            Some((disk.name.clone(), counted))
        };
        let disks: BTreeMap<_, _> = now.disks().filter_map(counts).collect();
        (!disks.is_empty()).then_some(KernelResult { asked, disks })
    }
}

/// Returns a remark if there is one disk below, and it moved more or less than the run asked for.
fn difference_remark(kernel: &KernelResult) -> Option<String> {
    let mut disks = kernel.disks.iter();
    let (Some((name, disk)), None) = (disks.next(), disks.next()) else { return None };
    let moved = disk.read_bytes + disk.write_bytes;
    let asked = kernel.asked.read_bytes + kernel.asked.write_bytes;
    if moved.abs_diff(asked) < SOME || (moved as f64 - asked as f64).abs() < APART * asked as f64 {
        return None;
    }
    let [moved_mb, asked_mb] = [moved, asked].map(|bytes| bytes / 1_000_000);
    let why = if moved > asked {
        "something else used it meanwhile, or what lies between writes more than it is asked for"
    } else {
        "what lies between the target and the disk answered the rest"
    };
    Some(format!(
        "by the kernel's count {name} moved {moved_mb} MB, this run asked for {asked_mb} MB: {why}"
    ))
}

fn schedulers(below: &Below) -> Schedulers {
    let scheduler =
        |disk: &penstock_live::Disk| (disk.name.clone(), disk.in_force().map(str::to_owned));
    below.disks.iter().map(scheduler).collect()
}

/// Returns a remark for each disk that several of `places` have in common; each place is given by
/// the disks below it. Remarks call the places `noun` and end with `consequence`.
pub(crate) fn on_one_disk(places: &[Schedulers], noun: &str, consequence: &str) -> Vec<String> {
    let mut shared: BTreeMap<Vec<usize>, &str> = BTreeMap::new();
    for name in places.iter().flat_map(Schedulers::keys) {
        let has = |place: &Schedulers| place.contains_key(name);
        let sharing = (0..places.len()).filter(|&place| has(&places[place])).collect();
        shared.insert(sharing, name);
    }
    let remark = |(sharing, name): (Vec<usize>, &str)| {
        (sharing.len() > 1).then(|| {
            format!(
                "{} of {} {noun} lie on one disk, {name}: {consequence}",
                sharing.len(),
                places.len()
            )
        })
    };
    shared.into_iter().filter_map(remark).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(asked: u64, moved: &[(&str, u64)]) -> KernelResult {
        let disk = |&(name, write_bytes): &(&str, u64)| {
            let disk = KernelDiskResult {
                reads: 0,
                reads_merged: 0,
                read_bytes: 0,
                writes: 1,
                writes_merged: 0,
                write_bytes,
                in_flight: 1.0,
            };
            (name.to_owned(), disk)
        };
        let asked = AskedResult { write_bytes: asked, ..AskedResult::default() };
        KernelResult { asked, disks: moved.iter().map(disk).collect() }
    }

    #[test]
    fn a_disk_that_moved_more_or_less_is_remarked() {
        const GB: u64 = 1_000_000_000;
        assert_eq!(difference_remark(&kernel(GB, &[("sda", GB + GB / 100)])), None);
        assert_eq!(
            difference_remark(&kernel(GB / 1000, &[("sda", GB / 100)])),
            None,
            "a few megabytes"
        );
        assert_eq!(
            difference_remark(&kernel(GB, &[("sda", 2 * GB), ("sdb", 2 * GB)])),
            None,
            "mirrors"
        );
        let more = difference_remark(&kernel(GB, &[("sda", 2 * GB)])).unwrap();
        assert!(
            more.starts_with("by the kernel's count sda moved 2000 MB, this run asked for 1000")
        );
        assert!(more.contains("something else used it"));
        let less = difference_remark(&kernel(GB, &[("sda", 0)])).unwrap();
        assert!(less.contains("answered the rest"));
    }

    fn folders(names: &[&[&str]]) -> Vec<Schedulers> {
        let below = |names: &&[&str]| names.iter().map(|name| ((*name).into(), None)).collect();
        names.iter().map(below).collect()
    }

    #[test]
    fn one_remark_names_all_folders_on_a_disk() {
        assert!(on_one_disk(&folders(&[&["sda"], &["sdb"], &[]]), "folders", "so").is_empty());
        let on_loops = folders(&[&["loop0", "sda"], &["loop1", "sda"], &["sdb"]]);
        let remarks = on_one_disk(&on_loops, "folders", "they share it");
        assert_eq!(remarks.len(), 1, "{remarks:?}");
        assert_eq!(remarks[0], "2 of 3 folders lie on one disk, sda: they share it");
    }
}
