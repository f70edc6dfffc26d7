//! Things that killed runs have left behind, and their removal.
//!
//! Each kind of thing has a function that finds it and, if asked, removes it. A run that ended
//! normally has removed its own.

use std::path::Path;

use penstock_live::queue_settings::{self, LeftBehind};
use penstock_live::{
    LoopDevice, Tracefs, half_made, loop_devices, remove_instance, remove_unfinished_output,
    unfinished_outputs,
};

use super::check::{Check, State};

/// The action on things that are found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Leftovers {
    Report,
    Remove,
}

pub(super) fn checks(path: &Path, what: Leftovers) -> Vec<Check> {
    let mut checks = loops(what);
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

fn loops(what: Leftovers) -> Vec<Check> {
    const NAME: &str = "loop device";
    let finding = |one: &LoopDevice| {
        let over = format!("{} over {}", one.node.display(), one.file.display());
        let check = match what {
            Leftovers::Report => {
                let advice = "remove it with `penstock doctor --clean`";
                Check::limited(NAME, format!("{over}, of a run that is gone"), advice)
            }
            Leftovers::Remove => match one.remove() {
                Ok(()) => Check::ok(NAME, format!("removed: {over}, of a run that is gone")),
                Err(error) => {
                    let found = format!("{over} cannot be removed: {error}");
                    Check::limited(NAME, found, "as root, if it is not in use: `losetup -d`")
                }
            },
        };
        let removed = what == Leftovers::Remove && check.state == State::Ok;
        check
            .fact("node", one.node.display().to_string())
            .fact("file", one.file.display().to_string())
            .fact("removed", removed)
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
    const NAME: &str = "unfinished output";
    let shown = file.display();
    let check = match what {
        Leftovers::Report => {
            let found = format!("{shown}, of a command that is gone");
            Check::limited(NAME, found, "remove it with `penstock doctor --clean`")
        }
        Leftovers::Remove => match remove_unfinished_output(file) {
            Ok(()) => Check::ok(NAME, format!("removed: {shown}, of a command that is gone")),
            Err(error) => {
                let found = format!("{shown} cannot be removed: {error}");
                Check::limited(NAME, found, "remove it by hand")
            }
        },
    };
    let removed = what == Leftovers::Remove && check.state == State::Ok;
    check.fact("file", shown.to_string()).fact("removed", removed)
}

/// Checks an instance of the kernel's tracing of a killed capture.
fn traced(instance: &Path, what: Leftovers) -> Check {
    const NAME: &str = "tracing instance";
    let shown = instance.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let check = match what {
        Leftovers::Report => {
            let found = format!("{shown}, of a capture that is gone");
            Check::limited(NAME, found, "remove it with `penstock doctor --clean`")
        }
        Leftovers::Remove => match remove_instance(instance) {
            Ok(()) => Check::ok(NAME, format!("removed: {shown}, of a capture that is gone")),
            Err(error) => {
                let found = format!("{shown} cannot be removed: {error}");
                Check::limited(NAME, found, "as root: `penstock doctor --clean`")
            }
        },
    };
    let removed = what == Leftovers::Remove && check.state == State::Ok;
    check.fact("instance", shown).fact("removed", removed)
}

/// Checks a disk whose settings a killed run changed.
fn changed(left: &LeftBehind, what: Leftovers) -> Check {
    const NAME: &str = "disk settings";
    let LeftBehind { disk, scheduler, .. } = left;
    let check = match what {
        Leftovers::Report => {
            let found = format!("those of {disk} are of a run that is gone");
            let advice = "put its own back with `penstock doctor --clean`";
            Check::limited(NAME, found, advice)
        }
        Leftovers::Remove => match queue_settings::restore_left_behind(left) {
            Ok(()) => Check::ok(NAME, format!("put back: {disk}, under {scheduler}")),
            Err(error) => {
                let found = format!("those of {disk} cannot be put back: {error}");
                Check::limited(NAME, found, "as root: `penstock doctor --clean`")
            }
        },
    };
    let removed = what == Leftovers::Remove && check.state == State::Ok;
    check.fact("disk", disk.as_str()).fact("scheduler", scheduler.as_str()).fact("removed", removed)
}
