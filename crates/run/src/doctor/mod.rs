//! Probes what this machine can do, and why not the rest.
//!
//! Each finding says what was found and what to do about it. The probes leave nothing behind;
//! leftovers of killed runs are reported, or removed on request. No probe needs root, and an
//! unreadable source is a finding and not an error: containers hide much. `/sys`, `/proc` and
//! `/dev` are read below roots that a test may place elsewhere.

mod check;
mod disks;
mod engines;
mod kernel;
mod leftovers;
mod machine;
mod roots;
mod storage;
#[cfg(test)]
mod tests;

use std::path::Path;

use penstock_core::Span;
use penstock_jobs::units::duration_text;
use penstock_live::timer_lateness;
use serde::Serialize;

pub use self::check::{Check, State};
pub use self::disks::{
    DiskChange, DiskSettings, Disks, HeldDisk, SchedulerSettings, disks, set_disk,
};
use self::leftovers::Leftovers;
use self::roots::Roots;
use crate::failure::Failure;
use crate::result::version::VERSION;

/// Number of deadlines with which the timers are tried, and the distance between them.
const DEADLINES: u32 = 200;
const APART: Span = Span::from_ms(1);

/// The output of `doctor --json`.
#[derive(Debug, Serialize)]
pub struct Diagnosis {
    /// Version of Penstock.
    pub penstock: &'static str,
    /// The path that was checked, as the user wrote it.
    pub path: String,
    /// Whether the machine can run anything: the simulation works, and an engine.
    pub able: bool,
    /// The findings, in order.
    pub checks: Vec<Check>,
}

/// Checks this machine, and the storage under `path`: a folder, a file or a block device. With
/// `clean`, removes what killed runs have left behind.
///
/// # Errors
/// `path` cannot be read.
pub fn doctor(path: &Path, clean: bool) -> Result<Diagnosis, Failure> {
    let roots = Roots::real();
    let hint = "name a folder, a file or a block device that is there";
    let unreadable = |error| Failure::unreadable(path, &error).hint(hint);
    let of_path = storage::checks(&roots, path).map_err(unreadable)?;
    let of_engines = engines::checks(&roots);
    let able = engines::able(&of_engines);
    let what = if clean { Leftovers::Remove } else { Leftovers::Report };
    let groups = [
        ("machine", machine::checks(&roots)),
        ("engines", of_engines),
        ("path", of_path),
        ("kernel", kernel::checks(&roots)),
        ("time", vec![timers()]),
        ("leftovers", leftovers::checks(path, what)),
    ];
    let named = |(group, checks): (&'static str, Vec<Check>)| {
        checks.into_iter().map(move |check| Check { group, ..check })
    };
    let checks = groups.into_iter().flat_map(named).collect();
    Ok(Diagnosis { penstock: VERSION, path: path.display().to_string(), able, checks })
}

fn timers() -> Check {
    let late = timer_lateness(DEADLINES, APART);
    let (p50, p99, max) = (late.p50_ns(), late.p99_ns(), late.max_ns());
    let found = format!(
        "late by p50 {}, p99 {}, at most {}, at {DEADLINES} deadlines {} apart",
        about(p50),
        about(p99),
        about(max),
        duration_text(APART)
    );
    let check = if p99 < APART.ns() {
        Check::ok("timers", found)
    } else {
        let advice = "live runs ask late here: look at the lateness in each result; a machine \
                      with an idle CPU wakes sooner";
        Check::limited("timers", found, advice)
    };
    check.fact("p50_ns", p50).fact("p99_ns", p99).fact("max_ns", max)
}

/// Formats a duration with three digits.
fn about(ns: u64) -> String {
    let scale = 10_u64.pow(ns.max(1).ilog10().saturating_sub(2));
    duration_text(Span::from_ns((ns + scale / 2) / scale * scale))
}
