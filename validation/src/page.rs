//! The page: every check with its bound, its result, and whether it holds.

use std::fmt::Write;

use crate::arithmetic::Sum;
use crate::chips::ReadRate;
use crate::drives::RealDrive;
use crate::{Case, Checks, Section};

const HEAD: &str = include_str!("head.md");
const TAIL: &str = include_str!("tail.md");

/// Writes the page about the checks.
pub fn page(checks: &Checks) -> String {
    let mut out = String::from(HEAD);
    for Section { title, about, cases } in &checks.sections {
        let columns = "| case | DiskSim mean | model | off | bound | p50, p90, p95 off | bound | p99 off | holds |";
        let _ = write!(
            out,
            "\n## {title}\n\n{about}\n\n{columns}\n|---|---|---|---|---|---|---|---|---|\n"
        );
        for case in cases {
            let _ = writeln!(out, "{}", row(case));
        }
    }
    let tables = [
        ("{sums}", sums(&checks.sums)),
        ("{rates}", rates(&checks.rates)),
        ("{drives}", drives(&checks.drives)),
    ];
    out + &tables.iter().fold(TAIL.to_owned(), |tail, (mark, table)| tail.replace(mark, table))
}

fn sums(sums: &[Sum]) -> String {
    let mut out = String::from(
        "| array and requests | response | model | device time | model | holds |\n|---|---|---|---|---|---|\n",
    );
    for sum in sums {
        let Sum { what, law: [response, device], found, requests, .. } = sum;
        let [took, used] = found.map(|ns| ns as f64 / 1e6 / *requests as f64);
        let holds = holds(sum.holds());
        let _ = writeln!(
            out,
            "| {what} | {response} | {took:.5} ms | {device} | {used:.5} ms | {holds} |"
        );
    }
    out
}

fn rates(rates: &[ReadRate]) -> String {
    let mut out = String::from(
        "| reads | outstanding | rules | model | off | holds |\n|---|---|---|---|---|---|\n",
    );
    for rate in rates {
        let ReadRate { len, outstanding, expected, found } = rate;
        let (off, holds) = (signed(rate.off()), holds(rate.holds()));
        let _ = writeln!(
            out,
            "| {} KiB | {outstanding} | {expected:.0}/s | {found:.0}/s | {off} | {holds} |",
            len >> 10,
        );
    }
    out
}

fn drives(drives: &[RealDrive]) -> String {
    let mut out = String::from(
        "| drive | model | DiskSim | model, of the measured mean | with the published facts alone | mean: model, DiskSim, measured |\n|---|---|---|---|---|---|\n",
    );
    for drive in drives {
        let (name, rms, (apart, mean)) = (drive.name, drive.apart_ms(), drive.disksim);
        let (measured, modelled) = drive.means_ms();
        let (share, alone) = (rms / measured * 100.0, drive.published_apart_ms());
        let _ = writeln!(
            out,
            "| {name} | {rms:.5} ms | {apart:.5} ms | {share:.1} % | {alone:.5} ms | {modelled:.4}, {mean:.4}, {measured:.4} ms |"
        );
    }
    out.push_str(PICTURES);
    for RealDrive { name, .. } in drives {
        let _ = writeln!(
            out,
            "\n![{name}: response times, measured and modelled](validation/{name}.svg)"
        );
    }
    out
}

const PICTURES: &str = "\nLeft, the share of the requests that were answered by then. Right, at the same height, how much later (positive) or sooner the \
model answers\nthe request of that rank; the rms above is over this curve. What is beyond 2 ms lies on the edge.\n";

fn holds(holds: bool) -> &'static str {
    if holds { "yes" } else { "**no**" }
}

fn row(case: &Case) -> String {
    let Case { name, what, bounds, found, expected } = case;
    let percentiles: Vec<String> = case.percentiles_off().iter().map(|&off| signed(off)).collect();
    let bound = bounds.percentiles.map_or("–".into(), percent);
    format!(
        "| `{name}`: {what} | {} ms | {} ms | {} | {} | {} | {bound} | {} | {} |",
        digits(expected.mean),
        digits(found.mean),
        signed(case.mean_off()),
        percent(bounds.mean),
        percentiles.join(", "),
        signed(found.p99 / expected.p99 - 1.0),
        holds(case.holds()),
    )
}

/// Shows four significant digits of a positive number.
fn digits(value: f64) -> String {
    let places = (3 - value.log10().floor() as i32).max(0) as usize;
    format!("{value:.places$}")
}

fn percent(share: f64) -> String {
    format!("{} %", share * 100.0)
}

fn signed(share: f64) -> String {
    format!("{:+.2} %", share * 100.0).replace('-', "−")
}
