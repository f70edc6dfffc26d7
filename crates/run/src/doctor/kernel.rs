//! Checks of the kernel's facilities that this process may use.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;

use penstock_live::{NoWeights, Tracefs, WEIGHING, group_for};

use super::check::Check;
use super::roots::Roots;

pub(super) fn checks(roots: &Roots) -> Vec<Check> {
    let mut checks = vec![switch(&roots.proc), tracing(roots)];
    checks.extend([loop_devices(&roots.dev), fuse(&roots.dev), weights(&roots.proc)]);
    checks
}

/// The switch that forbids `io_uring`.
fn switch(proc: &Path) -> Check {
    const NAME: &str = "io_uring_disabled";
    let open = "as root: `sysctl kernel.io_uring_disabled=0`";
    let text = fs::read_to_string(proc.join("sys/kernel/io_uring_disabled")).unwrap_or_default();
    let check = match text.trim() {
        "" => Check::ok(NAME, "this kernel has no such switch, or hides it"),
        "0" => Check::ok(NAME, "0: open to everybody"),
        "1" => Check::limited(NAME, "1: open to root and to a group", open),
        "2" => Check::no(NAME, "2: closed to everybody", open),
        other => Check::limited(NAME, format!("{other}: of unknown meaning"), open),
    };
    check.fact("value", text.trim().parse::<u64>().ok())
}

/// The kernel's own record of block I/O.
fn tracing(roots: &Roots) -> Check {
    const NAME: &str = "kernel tracing";
    let places = ["kernel/tracing", "kernel/debug/tracing"].map(|place| roots.sys.join(place));
    if places.iter().any(|place| place.join("events/block").is_dir()) {
        return Check::ok(NAME, "tracefs is mounted, and its block events can be read");
    }
    if roots.sys == Path::new("/sys") && Tracefs::mount().is_ok() {
        return Check::ok(NAME, "tracefs is not mounted, and can be for one process");
    }
    let denied = |place: &&std::path::PathBuf| {
        fs::read_dir(place).is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
    };
    if places.iter().any(|place| denied(&place)) {
        return Check::no(NAME, "tracefs is not readable for you", "it needs root");
    }
    let types = fs::read_to_string(roots.proc.join("filesystems")).unwrap_or_default();
    if types.lines().any(|line| line.ends_with("tracefs")) {
        let mount = "as root: `mount -t tracefs tracefs /sys/kernel/tracing`";
        return Check::no(NAME, "tracefs is not mounted, or has no block events", mount);
    }
    Check::no(NAME, "no tracefs: the kernel has none, or hides it", "take a kernel with tracing")
}

/// Checks loop devices, which runs on `loop:PATH` need.
fn loop_devices(dev: &Path) -> Check {
    const NAME: &str = "loop devices";
    match File::options().read(true).write(true).open(dev.join("loop-control")) {
        Ok(_) => Check::ok(NAME, "can be made"),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            Check::limited(NAME, "are there, but not for you", "they need root")
        }
        Err(error) => {
            let found = format!("cannot be made: {error}");
            Check::no(NAME, found, "only runs on `loop:PATH` need them; as root: `modprobe loop`")
        }
    }
}

/// Checks whether classes can have weights under a scheduler of the kernel.
fn weights(proc: &Path) -> Check {
    const NAME: &str = "cgroup weights";
    let Err(why) = group_for(proc, WEIGHING) else {
        return Check::ok(NAME, format!("kernel:{WEIGHING} divides by the weights of classes"));
    };
    let advice = match &why {
        NoWeights::Refused { .. } => {
            return Check::limited(NAME, "are there, but not for you", "they need root");
        }
        NoWeights::NotDivided { .. } => "as root: `modprobe bfq`, if the kernel has it",
        NoWeights::NoController | NoWeights::OnlyProcesses => {
            "only kernel:bfq uses them; boot with `systemd.unified_cgroup_hierarchy=0`, or mount the \
             controller: `mount -t cgroup -o blkio blkio FOLDER`, where no group of version 2 uses it"
        }
    };
    Check::no(NAME, why.to_string(), advice)
}

/// Checks FUSE, which served block devices need.
fn fuse(dev: &Path) -> Check {
    const NAME: &str = "FUSE";
    match File::options().read(true).write(true).open(dev.join("fuse")) {
        Ok(_) => Check::ok(NAME, "is there: models can be served as block devices"),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            Check::limited(NAME, "is there, but not for you", "`penstock serve` needs root")
        }
        Err(error) => {
            let found = format!("cannot be used: {error}");
            Check::no(NAME, found, "only `penstock serve` needs it; as root: `modprobe fuse`")
        }
    }
}
