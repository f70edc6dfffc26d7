//! The machine itself: kernel, processors, memory, and what this process may do.

use std::fs;
use std::path::Path;

use super::check::{Check, bytes};
use super::roots::Roots;
use crate::measures::machine;

/// The bit of the capability to lock memory without a limit.
pub(super) const CAP_IPC_LOCK: u32 = 14;

/// Capabilities that are useful here: the bit, the name, and the use.
const USEFUL: [(u32, &str, &str); 2] = [
    (CAP_IPC_LOCK, "CAP_IPC_LOCK", "locked memory without a limit"),
    (21, "CAP_SYS_ADMIN", "kernel tracing"),
];

/// Share of the busy time of the processors above which what the host took of it is a finding.
const STOLEN: f64 = 0.01;

pub(super) fn checks(roots: &Roots) -> Vec<Check> {
    let machine = machine::machine(false, None);
    let kernel = Check::ok("kernel", &machine.kernel).fact("release", machine.kernel);
    let cpus = cpus(machine.cpus, &machine.cpu, stolen(&roots.proc));
    let cpus = cpus.fact("count", machine.cpus).fact("model", machine.cpu);
    vec![kernel, cpus, memory(roots), privileges(&roots.proc)]
}

fn cpus(count: usize, model: &str, stolen: Option<f64>) -> Check {
    let found = format!("{count} × {model}");
    let check = match stolen {
        Some(share) if share > STOLEN => {
            let share = 100.0 * share;
            let found = format!("{found}; the host took {share:.1} % of the time they had work");
            let advice = "nothing moves meanwhile, so it counts in the tails of latencies: measure \
                          with few busy threads, and compare rounds that alternate";
            Check::limited("CPUs", found, advice)
        }
        _ if count == 1 => {
            let advice = "a live run shares it with everything else: look at the lateness";
            Check::limited("CPUs", found, advice)
        }
        _ => Check::ok("CPUs", found),
    };
    check.fact("stolen_share", stolen)
}

/// Share of the processors' busy time since the start that the host of a virtual machine took.
fn stolen(proc: &Path) -> Option<f64> {
    let text = fs::read_to_string(proc.join("stat")).ok()?;
    let times = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let times: Vec<f64> = times.split_whitespace().map_while(|time| time.parse().ok()).collect();
    let [user, nice, system, _idle, _waiting, irq, softirq, steal, ..] = times[..] else {
        return None;
    };
    let busy = user + nice + system + irq + softirq + steal;
    (busy > 0.0).then_some(steal / busy)
}

fn memory(roots: &Roots) -> Check {
    let text = fs::read_to_string(roots.proc.join("meminfo")).unwrap_or_default();
    let kib = |key: &str| field(&text, key)?.strip_suffix("kB")?.trim().parse::<u64>().ok();
    let (total, free) = (kib("MemTotal"), kib("MemAvailable"));
    let found = match (total, free) {
        (Some(total), Some(free)) => {
            format!("{}, of which {} are free", bytes(total << 10), bytes(free << 10))
        }
        (Some(total), None) => bytes(total << 10),
        (None, _) => {
            let advice = "nothing needs it to be known";
            return Check::limited("memory", "not reported by /proc/meminfo", advice);
        }
    };
    let is_returned = returns_free_pages(&roots.sys);
    let check = if is_returned {
        let found = format!("{found}; the host of this virtual machine gets free pages back");
        let advice = "what fills the page cache waits until the host has found memory: for a \
                      measurement of buffered I/O start the machine without free page reporting";
        Check::limited("memory", found, advice)
    } else {
        Check::ok("memory", found)
    };
    let bytes = |kib: Option<u64>| kib.map(|kib| kib << 10);
    check
        .fact("total_bytes", bytes(total))
        .fact("available_bytes", bytes(free))
        .fact("returned_when_free", is_returned)
}

/// Whether a balloon of a virtual machine reports free pages to the host, which then takes them.
///
/// Source: Virtual I/O Device version 1.2, section 5.5.3.
fn returns_free_pages(sys: &Path) -> bool {
    const PAGE_REPORTING: usize = 5;
    let balloons = fs::read_dir(sys.join("bus/virtio/drivers/virtio_balloon"));
    balloons.into_iter().flatten().flatten().any(|balloon| {
        let bits = fs::read(balloon.path().join("features")).unwrap_or_default();
        bits.get(PAGE_REPORTING) == Some(&b'1')
    })
}

fn privileges(proc: &Path) -> Check {
    let text = fs::read_to_string(proc.join("self/status")).unwrap_or_default();
    let user = field(&text, "Uid").and_then(|ids| ids.split_whitespace().nth(1)?.parse().ok());
    let name = match user {
        Some(0_u64) => "root".to_owned(),
        Some(user) => format!("user {user}"),
        None => "a user that /proc does not name".to_owned(),
    };
    let lacking: Vec<_> = USEFUL.iter().filter(|(bit, ..)| !has(proc, *bit)).collect();
    let check = if lacking.is_empty() {
        Check::ok("privileges", format!("{name}, nothing lacks"))
    } else {
        let each = |(_, name, what): &&(u32, &str, &str)| format!("{name} ({what})");
        let found =
            format!("{name}, without {}", lacking.iter().map(each).collect::<Vec<_>>().join(", "));
        let advice = "simulations and live runs on files need none of it; run as root for the rest";
        Check::limited("privileges", found, advice)
    };
    let names: Vec<&str> = lacking.iter().map(|(_, name, _)| *name).collect();
    check.fact("user", user).fact("lacking", names)
}

/// Whether this process has the capability with the number `bit`.
pub(super) fn has(proc: &Path, bit: u32) -> bool {
    let text = fs::read_to_string(proc.join("self/status")).unwrap_or_default();
    let effective = field(&text, "CapEff").and_then(|hex| u64::from_str_radix(hex, 16).ok());
    effective.is_some_and(|bits| bits >> bit & 1 == 1)
}

/// The value behind `key:` in a text of `/proc`.
fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    let found = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    found.map(str::trim)
}
