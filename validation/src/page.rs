//! The page: every check with its bound, what came out, and whether it holds.

use std::fmt::Write;

use crate::{Case, Section};

const HEAD: &str = include_str!("head.md");
const TAIL: &str = include_str!("tail.md");

/// The page about `sections`.
pub fn page(sections: &[Section]) -> String {
    let mut out = String::from(HEAD);
    for Section { title, about, cases } in sections {
        let columns = "| case | DiskSim mean | model | off | bound | p50, p90, p95 off | bound | p99 off | holds |";
        let _ = write!(
            out,
            "\n## {title}\n\n{about}\n\n{columns}\n|---|---|---|---|---|---|---|---|---|\n"
        );
        for case in cases {
            let _ = writeln!(out, "{}", row(case));
        }
    }
    out + TAIL
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
        if case.holds() { "yes" } else { "**no**" },
    )
}

/// Four significant digits of a positive number.
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
