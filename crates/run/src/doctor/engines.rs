//! Checks of the simulation and of the engines of live runs.

use std::fs;
use std::path::Path;

use penstock_jobs::Live;
use penstock_live::{Engine, registered_buffers};

use super::check::{Check, State, bytes};
use super::machine;
use super::roots::Roots;
use crate::ask::options::Options;
use crate::session::run::compare_text;

/// A second of work on a modelled device.
const TRIAL: &str = r#"
device = "flash"
duration = "1s"
[class.all]
[[agent]]
class = "all"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "closed" }
"#;

/// Bytes of the largest command for which buffers are tried: disks take this at once.
const COMMAND: u32 = 1 << 20;

const SIMULATION: &str = "simulation";
const BUFFERS: &str = "registered buffers";

pub(super) fn checks(roots: &Roots) -> Vec<Check> {
    let mut checks = vec![simulation()];
    for engine in Engine::ALL {
        let check = match engine.probe() {
            Ok(()) => Check::ok(engine.name(), works(engine)),
            Err(error) => Check::of_error(engine.name(), State::No, &error.to_string()),
        };
        let works = check.state == State::Ok;
        checks.push(check);
        if engine == Engine::Uring && works {
            checks.push(buffers(&roots.proc));
        }
    }
    checks
}

/// Whether the machine can run anything: the simulation works, and an engine.
pub(super) fn able(checks: &[Check]) -> bool {
    let works = |name: &str| checks.iter().any(|c| c.name == name && c.state != State::No);
    works(SIMULATION) && Engine::ALL.iter().any(|engine| works(engine.name()))
}

const fn works(engine: Engine) -> &'static str {
    match engine {
        Engine::Uring => "a ring was set up; it waits with a time limit and knows every command",
        Engine::Aio => "a context was set up; two system calls carry many commands each",
        Engine::Threads => "a worker was started; a blocking call for each command in flight",
        Engine::PosixAio => "calls of the C library, which serves each file on a thread of its own",
        Engine::Psync => "`pread` and `pwrite`: one command at a time",
        Engine::Vsync => "`preadv` and `pwritev`: one call for commands behind each other",
        Engine::Mmap => "copies from and to mapped files, through the page cache alone",
    }
}

fn simulation() -> Check {
    let options = Options { policies: vec!["noop".into()], ..Options::default() };
    match compare_text("doctor", TRIAL, &[], &options, &mut |_| true) {
        Ok(comparison) => {
            let requests: u64 = comparison
                .runs
                .iter()
                .flat_map(|run| &run.classes)
                .map(|class| class.requests)
                .sum();
            let found = format!("{requests} requests in a second of model time");
            Check::ok(SIMULATION, found).fact("requests", requests)
        }
        Err(failure) => Check::of_error(SIMULATION, State::No, &failure.to_string()),
    }
}

/// Checks registered buffers, which the ring knows beforehand and which save processor time.
fn buffers(proc: &Path) -> Check {
    let limit = locked_memory(proc);
    let allowed = match limit {
        Some(Limit::None) => "; locked memory has no limit".to_owned(),
        _ if machine::has(proc, machine::CAP_IPC_LOCK) => {
            "; locked memory has no limit for this process".to_owned()
        }
        Some(Limit::Bytes(limit)) => format!("; the limit on locked memory is {}", bytes(limit)),
        None => String::new(),
    };
    let depth = Live::default().target_depth();
    let check = match registered_buffers(depth, COMMAND) {
        Ok(size) => Check::ok(BUFFERS, format!("{} registered{allowed}", bytes(size)))
            .fact("registered_bytes", size),
        Err(error) => {
            let found = format!("none for {depth} commands of 1 MiB: {error}{allowed}");
            let advice = "runs work, with more processor time; raise the limit on locked memory \
                          (`ulimit -l`)";
            Check::limited(BUFFERS, found, advice)
        }
    };
    let limit = limit.and_then(|limit| match limit {
        Limit::Bytes(limit) => Some(limit),
        Limit::None => None,
    });
    check.fact("locked_memory_limit_bytes", limit)
}

#[derive(Clone, Copy)]
enum Limit {
    Bytes(u64),
    None,
}

fn locked_memory(proc: &Path) -> Option<Limit> {
    let text = fs::read_to_string(proc.join("self/limits")).ok()?;
    let rest = text.lines().find_map(|line| line.strip_prefix("Max locked memory"))?;
    match rest.split_whitespace().next()? {
        "unlimited" => Some(Limit::None),
        number => number.parse().ok().map(Limit::Bytes),
    }
}
