//! Things that killed runs have left behind, and their removal.
//!
//! Each kind of thing has a function that finds it and, if asked, removes it. A run that ended
//! normally has removed its own.

use std::io;
use std::path::Path;

use penstock_live::queue_settings::{self, LeftBehind};
use penstock_live::{
    LeftGroups, LoopDevice, Tracefs, half_made, left_groups, loop_devices, remove_instance,
    remove_unfinished_output, unfinished_outputs,
};

use super::check::Check;

/// The action on things that are found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Leftovers {
    Report,
    Remove,
}

pub(super) fn checks(path: &Path, what: Leftovers) -> Vec<Check> {
    let mut checks = loops(what);
    checks.extend(left_groups().iter().map(|groups| grouped(groups, what)));
    checks.extend(queue_settings::left_behind().iter().map(|left| changed(left, what)));
    let tracefs = Tracefs::mount().ok();
    let instances = tracefs.iter().flat_map(Tracefs::left);
    checks.extend(instances.map(|instance| traced(&instance, what)));
    checks.extend(half_made(path).iter().map(|file| half(file)));
    checks.extend(unfinished_outputs(path).iter().map(|file| unfinished(file, what)));
    if checks.is_empty() {
        checks.push(Check::ok("leftovers", "none of a run that was killed"));
    }
    checks
}

/// A thing that was left behind, in words.
struct Left<'a> {
    /// The kind of thing.
    name: &'static str,
    /// The thing, and whose it is.
    found: &'a str,
    /// The command that removes it.
    advice: &'static str,
    /// The words for a thing that was removed.
    removed: &'a str,
    /// The words for a thing that cannot be removed; the error follows.
    stays: &'a str,
    /// Another way to remove it.
    by_hand: &'static str,
}

impl Left<'_> {
    /// Reports it, or removes it by `remove`.
    fn check(&self, what: Leftovers, remove: impl FnOnce() -> io::Result<()>) -> Check {
        let (check, removed) = match what {
            Leftovers::Report => (Check::limited(self.name, self.found, self.advice), false),
            Leftovers::Remove => match remove() {
                Ok(()) => (Check::ok(self.name, self.removed), true),
                Err(error) => {
                    let stays = format!("{}: {error}", self.stays);
                    (Check::limited(self.name, stays, self.by_hand), false)
                }
            },
        };
        check.fact("removed", removed)
    }
}

/// The advice for what is simply removed.
const CLEAN: &str = "remove it with `penstock doctor --clean`";

fn loops(what: Leftovers) -> Vec<Check> {
    let finding = |one: &LoopDevice| {
        let over = format!("{} over {}", one.node.display(), one.file.display());
        let left = Left {
            name: "loop device",
            found: &format!("{over}, of a run that is gone"),
            advice: CLEAN,
            removed: &format!("removed: {over}, of a run that is gone"),
            stays: &format!("{over} cannot be removed"),
            by_hand: "as root, if it is not in use: `losetup -d`",
        };
        left.check(what, || one.remove())
            .fact("node", one.node.display().to_string())
            .fact("file", one.file.display().to_string())
    };
    loop_devices().iter().map(finding).collect()
}

fn half(file: &Path) -> Check {
    let found = format!("{}: its creation did not finish", file.display());
    let advice = "remove it, unless somebody is making it now";
    Check::limited("half-made file", found, advice).fact("file", file.display().to_string())
}

/// Checks a report, a picture or another output that was being written.
fn unfinished(file: &Path, what: Leftovers) -> Check {
    let shown = file.display().to_string();
    let left = Left {
        name: "unfinished output",
        found: &format!("{shown}, of a command that is gone"),
        advice: CLEAN,
        removed: &format!("removed: {shown}, of a command that is gone"),
        stays: &format!("{shown} cannot be removed"),
        by_hand: "remove it by hand",
    };
    left.check(what, || remove_unfinished_output(file)).fact("file", shown)
}

/// Checks an instance of the kernel's tracing of a killed capture.
fn traced(instance: &Path, what: Leftovers) -> Check {
    let shown = instance.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let left = Left {
        name: "tracing instance",
        found: &format!("{shown}, of a capture that is gone"),
        advice: CLEAN,
        removed: &format!("removed: {shown}, of a capture that is gone"),
        stays: &format!("{shown} cannot be removed"),
        by_hand: "as root: `penstock doctor --clean`",
    };
    left.check(what, || remove_instance(instance)).fact("instance", shown)
}

/// Checks control groups of the classes of a killed run.
fn grouped(groups: &LeftGroups, what: Leftovers) -> Check {
    let shown = groups.group.display().to_string();
    let left = Left {
        name: "control groups",
        found: &format!("{shown}, of a run that is gone"),
        advice: CLEAN,
        removed: &format!("removed: {shown}, of a run that is gone"),
        stays: &format!("{shown} cannot be removed"),
        by_hand: "as root: `penstock doctor --clean`",
    };
    left.check(what, || groups.remove()).fact("group", shown)
}

/// Checks a disk whose settings a killed run changed.
fn changed(disk: &LeftBehind, what: Leftovers) -> Check {
    let LeftBehind { disk: name, scheduler, .. } = disk;
    let left = Left {
        name: "disk settings",
        found: &format!("those of {name} are of a run that is gone"),
        advice: "put its own back with `penstock doctor --clean`",
        removed: &format!("put back: {name}, under {scheduler}"),
        stays: &format!("those of {name} cannot be put back"),
        by_hand: "as root: `penstock doctor --clean`",
    };
    left.check(what, || queue_settings::restore_left_behind(disk))
        .fact("disk", name.as_str())
        .fact("scheduler", scheduler.as_str())
}
