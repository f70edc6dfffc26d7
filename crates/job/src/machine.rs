//! What this machine is, for the result that it made.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::result::Machine;

/// Describes the machine. Whatever cannot be read is called unknown.
pub(crate) fn machine(engine: Option<&'static str>) -> Machine {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    Machine {
        cpu: model.map_or("unknown", |(_, name)| name.trim()).to_owned(),
        cpus: std::thread::available_parallelism().map_or(1, usize::from),
        kernel: format!("Linux {}", release.trim()),
        began_unix_s: engine.map(|_| unix_seconds()),
        engine,
    }
}

#[allow(clippy::disallowed_methods, reason = "when a result was made decides nothing in it")]
fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
