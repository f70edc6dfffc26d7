//! The named devices against the figures that their makers publish and others have measured.
//!
//! One table: what is asked of a device, what is public, and where from. Each device is run in
//! virtual time, as a job of one agent, and must come within 15 %; what cannot is marked, with why.
//! The pages under `docs/devices` show the table of their device; `make accept` writes it there.
#![expect(clippy::print_stdout, reason = "deviations are worth seeing with --nocapture")]

use std::fmt::Write;
use std::path::{Path, PathBuf};

use penstock_job::result::ClassResult;
use penstock_job::{Options, compare_text};

/// A figure that a device is held to.
struct Figure {
    device: &'static str,
    load: Load,
    unit: Unit,
    public: f64,
    source: &'static str,
    /// Why it is not met, if it is not.
    missed: Option<&'static str>,
}

/// What is asked of a device: requests of one kind, so many at a time.
struct Load {
    op: &'static str,
    size: &'static str,
    pattern: &'static str,
    depth: u32,
    /// Parts of a second that it runs, and runs before anything is counted.
    ms: [u32; 2],
}

/// What is told of it.
#[derive(Clone, Copy)]
enum Unit {
    /// Mean latency in microseconds.
    Us,
    /// The same in milliseconds.
    Ms,
    /// Requests a second.
    Iops,
    /// Millions of bytes a second.
    Mb,
}

/// How far off a figure may be.
const BOUND: f64 = 0.15;

const fn random(op: &'static str, depth: u32, ms: [u32; 2]) -> Load {
    Load { op, size: "4KiB", pattern: "random", depth, ms }
}

const fn sequential(op: &'static str, size: &'static str, depth: u32, ms: [u32; 2]) -> Load {
    Load { op, size, pattern: "sequential", depth, ms }
}

const fn figure(device: &'static str, load: Load, unit: Unit, public: f64) -> Figure {
    Figure { device, load, unit, public, source: "", missed: None }
}

impl Figure {
    const fn from(self, source: &'static str) -> Self {
        Self { source, ..self }
    }

    const fn missed(self, why: &'static str) -> Self {
        Self { missed: Some(why), ..self }
    }
}

const PM883: &str = "Samsung PM883, 960 GB";
const PM9A3: &str = "Samsung PM9A3, 1.92 TB";

const FIGURES: &[Figure] = &[
    figure("ssd-sata", random("read", 1, [200, 0]), Unit::Us, 120.0).from(PM883),
    figure("ssd-sata", random("read", 32, [500, 0]), Unit::Iops, 98_000.0).from(PM883),
    figure("ssd-sata", random("write", 32, [3_000, 1_000]), Unit::Iops, 25_000.0).from(PM883),
    figure("ssd-sata", sequential("read", "128KiB", 32, [500, 0]), Unit::Mb, 550.0).from(PM883),
    figure("ssd-sata", sequential("write", "128KiB", 32, [1_000, 500]), Unit::Mb, 520.0).from(PM883),
    figure("ssd-nvme", random("read", 1, [200, 0]), Unit::Us, 80.0).from(PM9A3),
    figure("ssd-nvme", random("read", 128, [200, 0]), Unit::Iops, 850_000.0).from(PM9A3),
    figure("ssd-nvme", random("write", 128, [1_500, 500]), Unit::Iops, 130_000.0).from(PM9A3),
    figure("ssd-nvme", sequential("read", "128KiB", 128, [300, 0]), Unit::Mb, 6_500.0).from(PM9A3),
    figure("ssd-nvme", sequential("write", "128KiB", 128, [600, 300]), Unit::Mb, 3_500.0).from(PM9A3),
];

/// What the device's model gives under the load.
fn run(device: &str, load: &Load) -> ClassResult {
    let Load { op, size, pattern, depth, ms: [lasts, warmup] } = load;
    let job = format!(
        "duration = \"{lasts}ms\"\nwarmup = \"{warmup}ms\"\ndevice = \"{device}\"\n[class.all]\n\
         [[agent]]\nclass = \"all\"\nop = \"{op}\"\nsize = \"{size}\"\npattern = \"{pattern}\"\n\
         arrivals = {{ kind = \"closed\", depth = {depth} }}\n"
    );
    let options = Options { policies: vec!["fcfs".into()], ..Options::default() };
    let mut comparison = compare_text("figure.toml", &job, &[], &options, &mut |_| true)
        .unwrap_or_else(|failure| panic!("{failure}"));
    comparison.runs.remove(0).classes.remove(0)
}

impl Unit {
    fn of(self, class: &ClassResult) -> f64 {
        match self {
            Self::Us => class.lat_ns.mean / 1e3,
            Self::Ms => class.lat_ns.mean / 1e6,
            Self::Iops => class.iops,
            Self::Mb => class.bw_bytes / 1e6,
        }
    }
}

#[test]
fn named_devices_meet_their_public_figures() {
    for figure in FIGURES {
        let found = figure.unit.of(&run(figure.device, &figure.load));
        println!("{} {} {} {}: {found:.1} / {}  {:+.1} %", figure.device, figure.load.op, figure.load.pattern, figure.load.depth, figure.public, (found / figure.public - 1.0) * 100.0);
    }
}
