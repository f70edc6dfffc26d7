//! What this machine can do, and why not: probed, not guessed.
//!
//! Each finding says what was found and what to do about it. Nothing is left behind, and what runs
//! that were killed left is told, or removed if that is asked for. Nothing needs root, and what cannot be read is a finding and not an error: containers hide much. `/sys`,
//! `/proc` and `/dev` are looked at below roots that a test may put elsewhere.

mod engines;
mod kernel;
mod leftovers;
mod machine;
mod storage;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use penstock_core::Span;
use penstock_live::timer_lateness;
use penstock_spec::units::duration_text;
use serde::Serialize;
use serde_json::{Map, Value};

use self::leftovers::Leftovers;
use crate::VERSION;
use crate::failure::Failure;

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

/// A finding.
#[derive(Debug, Serialize)]
pub struct Check {
    /// What it belongs to: `machine`, `engines`, `path`, `kernel`, `time`, `leftovers`.
    pub group: &'static str,
    /// What was looked at.
    pub name: String,
    /// How well it is.
    pub state: State,
    /// What was found.
    pub found: String,
    /// What to do about it, if there is something to do.
    pub advice: Option<String>,
    /// The figures of it, for programs; bytes and nanoseconds where the key says so.
    pub facts: Map<String, Value>,
}

/// How well something is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// As it should be.
    Ok,
    /// It works, with less than there could be.
    Limited,
    /// It does not work here.
    No,
}

impl Check {
    fn new(name: impl Into<String>, state: State, found: impl Into<String>) -> Self {
        let (name, found) = (name.into(), found.into());
        Self { group: "", name, state, found, advice: None, facts: Map::new() }
    }

    fn ok(name: impl Into<String>, found: impl Into<String>) -> Self {
        Self::new(name, State::Ok, found)
    }

    fn limited(name: &str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::new(name, State::Limited, found).advice(advice)
    }

    fn no(name: &str, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self::new(name, State::No, found).advice(advice)
    }

    /// What a message says: its hint is the advice.
    fn told(name: &str, state: State, message: &str) -> Self {
        match message.split_once("\nhint: ") {
            Some((found, hint)) => Self::new(name, state, found).advice(hint),
            None => Self::new(name, state, message),
        }
    }

    fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    fn fact(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.facts.insert(key.into(), value.into());
        self
    }
}

/// Where the system tells of itself.
struct Roots {
    sys: PathBuf,
    proc: PathBuf,
    dev: PathBuf,
}

impl Roots {
    fn real() -> Self {
        let [sys, proc, dev] = ["/sys", "/proc", "/dev"].map(PathBuf::from);
        Self { sys, proc, dev }
    }
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
    let what = if clean { Leftovers::Remove } else { Leftovers::Tell };
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
        let advice = "live runs ask late here: look at the lateness beside each result; a machine \
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

/// Bytes to one decimal.
fn bytes(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}
