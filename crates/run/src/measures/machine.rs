//! Describes the machine in a result.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use penstock_core::Span;

use crate::result::Machine;

/// Describes the machine, with the current time if `real` time is measured. Whatever cannot be read
/// is called unknown.
pub(crate) fn machine(real: bool, engine: Option<&'static str>) -> Machine {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    Machine {
        cpu: model.map_or("unknown", |(_, name)| name.trim()).to_owned(),
        cpus: std::thread::available_parallelism().map_or(1, usize::from),
        kernel: format!("Linux {}", release.trim()),
        began_unix_s: real.then(unix_seconds),
        engine,
    }
}

/// Returns how long this thread was ready and had no processor; `None` if the kernel does not
/// report it. Source: the kernel's documentation of scheduler statistics, the second figure of a
/// task.
pub(crate) fn processor_wait() -> Option<Span> {
    let statistics = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    statistics.split_ascii_whitespace().nth(1)?.parse().ok().map(Span::from_ns)
}

#[allow(clippy::disallowed_methods, reason = "when a result was made decides nothing in it")]
fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
