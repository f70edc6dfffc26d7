//! The named devices against the figures that their makers publish and others have measured.
//!
//! One table (`figures`): what is asked of a device, what is public, and where from. Each device is
//! run in virtual time, as a job of one agent, and must come within 15 %; a figure that it cannot
//! meet says why, and must be missed, so that the reason does not outlive its truth. The pages under
//! `docs/devices` show the tables; `make accept` writes them there.

use std::fmt::Write;
use std::path::Path;

use crate::figures::{self, FIGURES, Figure, Load, PAGES, Unit};
use penstock_run::{Options, compare_text};

/// How far off a figure may be.
const BOUND: f64 = 0.15;

/// Measures the value that the figure's device gives under its load.
fn run(figure: &Figure) -> f64 {
    let table = |facts: &str| format!("{{ {} }}", facts.trim().replace('\n', ", "));
    let device = match figure.device {
        _ if figure.queued => table(figures::QUEUED),
        figures::EVO => table(figures::EVO_FACTS),
        name => format!("\"{name}\""),
    };
    let Load { op, size, pattern, depth, region: [from, to], lasts, warmup } = figure.load;
    let job = format!(
        "duration = \"{lasts}\"\nwarmup = \"{warmup}\"\ndevice = {device}\n[class.all]\n\
         [[agent]]\nclass = \"all\"\nop = \"{op}\"\nsize = \"{size}\"\npattern = \"{pattern}\"\n\
         region = [\"{from}\", \"{to}\"]\n\
         arrivals = {{ kind = \"closed\", depth = {depth} }}\n"
    );
    let options = Options { policies: vec!["fcfs".into()], ..Options::default() };
    let mut comparison = compare_text("figure.toml", &job, &[], &options, &mut |_| true)
        .unwrap_or_else(|failure| panic!("{failure}"));
    let class = comparison.runs.remove(0).classes.remove(0);
    match figure.unit {
        Unit::Us => class.lat_ns.mean / 1e3,
        Unit::Ms => class.lat_ns.mean / 1e6,
        Unit::PerSecond => class.iops,
        Unit::MbPerSecond => class.bw_bytes / 1e6,
    }
}

/// A value to three digits, with its unit: `8.30 ms`, `98,000 a second`.
fn text(unit: Unit, value: f64) -> String {
    let digits = value.log10().floor() as i32 - 2;
    let rounded = (value / 10_f64.powi(digits)).round() * 10_f64.powi(digits);
    let mut number = format!("{rounded:.*}", digits.min(0).unsigned_abs() as usize);
    if rounded >= 1_000.0 {
        number.insert(number.len() - 3, ',');
    }
    let unit = match unit {
        Unit::Us => "µs",
        Unit::Ms => "ms",
        Unit::PerSecond => "a second",
        Unit::MbPerSecond => "MB/s",
    };
    format!("{number} {unit}")
}

/// Describes the load in words.
fn asked(figure: &Figure) -> String {
    let Load { op, size, pattern, depth, region: [from, to], .. } = figure.load;
    let what = match size {
        "1GiB" if from == "0%" => format!("one long {op}, outermost {to}"),
        "1GiB" => format!("one long {op}, from {from} to the innermost"),
        _ => {
            let size = size.replace("KiB", " KiB");
            let queue = if figure.queued { ", with a queue of 32 switched on" } else { "" };
            format!("{pattern} {op}s of {size}, depth {depth}{queue}")
        }
    };
    match figure.unit {
        Unit::Us | Unit::Ms => format!("{what}, mean"),
        _ => what,
    }
}

/// The table of a device, as its page shows it.
fn table(device: &str, results: &[(&Figure, f64)]) -> String {
    let mut out = String::from(
        "| asked | public | model | off by | source | sets |\n|---|---|---|---|---|---|\n",
    );
    let mut missed = String::new();
    for (figure, found) in results.iter().filter(|(figure, _)| figure.device == device) {
        let off = (found / figure.public - 1.0) * 100.0;
        let (public, model) = (text(figure.unit, figure.public), text(figure.unit, *found));
        let (asked, source) = (asked(figure), figure.source);
        let sets = figure.sets.map(|parameter| format!("`{parameter}`")).unwrap_or_default();
        let mark = if figure.missed.is_some() { ", not met" } else { "" };
        writeln!(out, "| {asked} | {public} | {model} | {off:+.1} %{mark} | {source} | {sets} |")
            .unwrap();
        if let Some(why) = figure.missed {
            writeln!(missed, "- {asked} ({source}): {why}.").unwrap();
        }
    }
    if missed.is_empty() { out } else { format!("{out}\nNot met:\n\n{missed}") }
}

/// The page with this table between its marks.
fn with(page: &str, device: &str, table: &str) -> String {
    let begin = format!("<!-- figures of {device} -->\n");
    let (before, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("no mark `{begin}`"));
    let (_, after) = rest.split_once("<!-- end of figures -->").expect("an end of figures");
    format!("{before}{begin}\n{table}\n<!-- end of figures -->{after}")
}

#[test]
fn named_devices_meet_their_public_figures_and_the_pages_say_so() {
    let results: Vec<(&Figure, f64)> = FIGURES.iter().map(|figure| (figure, run(figure))).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/devices");
    let accept = std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always");
    for &(device, page) in PAGES {
        let path = folder.join(page);
        let shown = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{page}: {e}"));
        let fresh = with(&shown, device, &table(device, &results));
        if accept {
            std::fs::write(&path, fresh).unwrap();
        } else {
            assert!(shown == fresh, "{page} is stale (`make accept` writes it):\n{fresh}");
        }
    }
    for (figure, found) in results {
        assert!(PAGES.iter().any(|(device, _)| *device == figure.device), "{}", figure.device);
        let off = found / figure.public - 1.0;
        let what = format!("{}, {}: {found} for {}", figure.device, asked(figure), figure.public);
        assert_eq!(off.abs() > BOUND, figure.missed.is_some(), "{what}");
    }
}
