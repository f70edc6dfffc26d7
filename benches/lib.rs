//! Measures benchmarks: the best of several runs, because any disturbance of a run only slows it.
#![allow(clippy::print_stdout, reason = "a benchmark's output is its purpose")]
#![allow(clippy::disallowed_methods, reason = "a benchmark measures the machine's time")]

use std::hint::black_box;
use std::time::Instant;

/// Number of runs of each measurement.
pub const RUNS: usize = 7;

/// Returns the shortest time of [`RUNS`] runs of `work`, in seconds.
pub fn best_of<T>(mut work: impl FnMut() -> T) -> f64 {
    let time = |_| {
        let begun = Instant::now();
        black_box(work());
        begun.elapsed().as_secs_f64()
    };
    (0..RUNS).map(time).fold(f64::INFINITY, f64::min)
}

/// Prints one line: the name, millions a second, nanoseconds each, and the ratio to `peer`.
pub fn report(name: &str, count: u64, seconds: f64, peer: Option<(&str, f64)>) {
    let rate = count as f64 / seconds;
    print!("{name:<44} {:>8.2} M/s {:>8.1} ns", rate / 1e6, seconds * 1e9 / count as f64);
    match peer {
        Some((peer_name, per_second)) => println!("   {:>7.1} x {peer_name}", rate / per_second),
        None => println!(),
    }
}
