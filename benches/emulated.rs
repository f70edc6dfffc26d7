//! Compares a model that answers in real time with the same model in virtual time: one job, two
//! clocks.
//!
//! The disk takes 0.897 ms and 28.8 ms for each megabyte: the figures of the paper on online and
//! batch work. The bench prints how late its completions were and by how much the latencies of each
//! class differ. Both classes arrive on a schedule, which is the same in both worlds, so only the
//! machine's lateness differs.
#![allow(clippy::print_stdout, reason = "a benchmark's output is its purpose")]

use penstock_run::result::{Comparison, Distribution};
use penstock_run::{Options, TargetOptions, compare_text};

const JOB: &str = r#"
duration = "60s"
[device]
name = "paper"
model = "fixed"
base = "897us"
per_mb = "28.8ms"
capacity = "1GB"
[class.online]
[class.batch]
[[agent]]
class = "online"
op = "write"
size = "1000B"
pattern = "random"
arrivals = { kind = "poisson", rate = "40/s" }
[[agent]]
class = "batch"
op = "write"
size = "1000000B"
pattern = "random"
arrivals = { kind = "poisson", rate = "5/s" }
[policy.size-priority]
split = "10000B"
"#;

fn run(on: Option<&str>) -> Comparison {
    let policies = ["fcfs", "size-priority"].map(Into::into).into();
    let target = TargetOptions { on: on.map(Into::into), ..TargetOptions::default() };
    let options = Options { policies, target, ..Options::default() };
    let result = compare_text("bench.toml", JOB, &[], &options, &mut |_| true);
    result.unwrap_or_else(|failure| panic!("{failure}"))
}

fn main() {
    println!(
        "A disk of 0.897 ms + 28.8 ms/MB, emulated in real time, compared with virtual time\n"
    );
    // `--on` does not know the name of the job's own device.
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join("paper.toml");
    let from = JOB.find("[device]").expect("it has one");
    let to = JOB.find("[class.online]").expect("it has one");
    std::fs::write(&path, &JOB[from..to]).expect("the folder of what was built");
    let (model, real) = (run(None), run(Some(&format!("emulated:{}", path.display()))));
    for (model, real) in model.runs.iter().zip(&real.runs) {
        let late = real.emulation.as_ref().expect("an emulated run reports how late it was");
        println!(
            "{}: {} completions late by p50 {:.1} us, p99 {:.1} us, at most {:.1} us",
            model.policy,
            late.completions,
            late.p50_ns as f64 / 1e3,
            late.p99_ns as f64 / 1e3,
            late.max_ns as f64 / 1e3,
        );
        for (model, real) in model.classes.iter().zip(&real.classes) {
            let percent = |d: &Distribution, key: &str| d.percentile[key] as f64;
            let row = |show: fn(f64, f64) -> String| {
                let (m, r) = (&model.lat_ns, &real.lat_ns);
                let at = |key| show(percent(m, key), percent(r, key));
                [show(m.mean, r.mean), at("50.000000"), at("99.000000")]
            };
            let [mean, p50, p99] =
                row(|m, r| format!("{:.3} ms {:+.2} %", r / 1e6, (r / m - 1.0) * 100.0));
            println!(
                "  {:<8} {:>6} requests against {:>6}   mean {mean}   p50 {p50}   p99 {p99}",
                real.name, real.requests, model.requests
            );
        }
    }
}
