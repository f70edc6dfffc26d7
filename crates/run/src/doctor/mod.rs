//! What this machine can do, and why not: probed, not guessed.
//!
//! Each finding says what was found and what to do about it. Nothing is left behind, and what runs
//! that were killed left is reported, or removed if that is asked for. Nothing needs root, and what cannot be read is a finding and not an error: containers hide much. `/sys`,
//! `/proc` and `/dev` are looked at below roots that a test may put elsewhere.

mod check;
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
use self::leftovers::Leftovers;
use self::roots::Roots;
use crate::failure::Failure;
use crate::result::version::VERSION;

/// Deadlines that the timers are tried with, and how far apart they are.
const DEADLINES: u32 = 200;
const APART: Span = Span::from_ms(1);

/// What `doctor` prints with `--json`.
#[derive(Debug, Serialize)]
pub struct Diagnosis {
    /// Version of Penstock.
    pub penstock: &'static str,
    /// The path that was asked about, as it was named.
    pub path: String,
    /// Whether there is anything to run with: simulation, and an engine.
    pub able: bool,
    /// What was found, in order.
    pub checks: Vec<Check>,
}

/// Looks at this machine, and at what lies under `path`: a folder, a file or a block device. With
/// `clean` what runs have left behind is removed.
///
/// # Errors
/// `path` cannot be looked at.
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

/// A length of time to three digits.
fn about(ns: u64) -> String {
    let scale = 10_u64.pow(ns.max(1).ilog10().saturating_sub(2));
    duration_text(Span::from_ns((ns + scale / 2) / scale * scale))
}
