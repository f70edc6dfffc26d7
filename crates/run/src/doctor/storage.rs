//! Checks of the storage under a path: file system, direct I/O, disks and their queues.

use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use penstock_live::{DirectIo, Disk, Stack, Sysfs, file_system, folder_of};
use serde_json::json;

use super::check::{Check, State};
use super::roots::Roots;

pub(super) fn checks(roots: &Roots, path: &Path) -> io::Result<Vec<Check>> {
    let kind = fs::metadata(path)?.file_type();
    if !(kind.is_dir() || kind.is_file() || kind.is_block_device()) {
        return Err(io::Error::other("it is no folder, no file and no disk"));
    }
    let mut checks = Vec::new();
    // Not on a device itself: that would write to it.
    if !kind.is_block_device() {
        let folder = if kind.is_dir() { path.to_owned() } else { folder_of(path).to_owned() };
        checks.extend(
            file_system(&folder)
                .map(|name| Check::ok("file system", name.clone()).fact("type", name)),
        );
        checks.push(direct(&folder));
    }
    if let Some(Stack { names, disks }) = Sysfs::new(&roots.sys).under(path)? {
        checks.extend(disks.iter().map(|one| disk(one, &names)));
    } else {
        let found = "none that /sys lists: memory, a network, or a container's layers";
        let advice = "to see a disk and its scheduler, name a path on one";
        checks.push(Check::limited("disk", found, advice));
    }
    Ok(checks)
}

fn direct(folder: &Path) -> Check {
    const NAME: &str = "direct I/O";
    match DirectIo::try_in(folder) {
        Ok(DirectIo { offset, memory, reported, .. }) => {
            let who = if reported {
                "as the kernel reports"
            } else {
                "assumed, as the kernel does not report it"
            };
            let found = format!(
                "written and read; aligned to {offset} bytes in files and {memory} in memory, {who}"
            );
            Check::ok(NAME, found)
                .fact("offset_alignment_bytes", offset)
                .fact("memory_alignment_bytes", memory)
                .fact("told", reported)
        }
        Err(error) => {
            let check = Check::of_error(NAME, State::No, &error.to_string());
            match check.advice {
                Some(_) => check,
                None => check.advice("name a folder where you may make files"),
            }
        }
    }
}

fn disk(disk: &Disk, names: &[String]) -> Check {
    let mut parts = vec![match &disk.model {
        Some(model) => format!("{} ({model})", disk.name),
        None => disk.name.clone(),
    }];
    if names.len() > 1 {
        parts.push(format!("under {}", names[0]));
    }
    if let Some(file) = &disk.backing_file {
        parts.push(format!("made of {}", file.display()));
    }
    let choice = disk.schedulers.join(", ");
    parts.push(match &disk.scheduler {
        Some(scheduler) => format!("scheduler {scheduler} of {choice}"),
        None if choice.is_empty() => "no scheduler is reported".to_owned(),
        None => format!("scheduler {choice}, without a choice"),
    });
    parts.extend(
        disk.rotational.map(|turns| if turns { "rotational" } else { "not rotational" }.into()),
    );
    parts.extend(disk.requests.map(|requests| format!("{requests} requests")));
    parts.extend(disk.hardware_queues.map(|queues| match queues {
        1 => "1 hardware queue".to_owned(),
        queues => format!("{queues} hardware queues"),
    }));
    Check::ok("disk", parts.join("; "))
        .fact("name", disk.name.as_str())
        .fact("layers", names)
        .fact("model", disk.model.as_deref())
        .fact("rotational", disk.rotational)
        .fact("scheduler", disk.scheduler.as_deref())
        .fact("schedulers", json!(disk.schedulers))
        .fact("nr_requests", disk.requests)
        .fact("hardware_queues", disk.hardware_queues)
        .fact("backing_file", disk.backing_file.as_ref().map(|file| file.display().to_string()))
}
