//! Published figures of the named devices, and their sources.

/// A figure that a device is held to.
pub(crate) struct Figure {
    pub(crate) device: &'static str,
    /// Whether it is asked of [`QUEUED`] in its place.
    pub(crate) queued: bool,
    pub(crate) load: Load,
    pub(crate) unit: Unit,
    pub(crate) public: f64,
    pub(crate) source: &'static str,
    /// The parameter that was taken from it, if one was: then it proves nothing.
    pub(crate) sets: Option<&'static str>,
    /// Why it is not met, if it is not.
    pub(crate) missed: Option<&'static str>,
}

/// A load on a device: requests of one kind, with a number at a time.
#[derive(Clone, Copy)]
pub(crate) struct Load {
    pub(crate) op: &'static str,
    pub(crate) size: &'static str,
    pub(crate) pattern: &'static str,
    pub(crate) depth: u32,
    pub(crate) region: [&'static str; 2],
    pub(crate) lasts: &'static str,
    /// Load that runs before anything is counted.
    pub(crate) warmup: &'static str,
}

/// The statistic of it, and its unit.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    /// Mean latency in microseconds.
    Us,
    /// Mean latency in milliseconds.
    Ms,
    /// Requests a second.
    PerSecond,
    /// Millions of bytes a second.
    MbPerSecond,
}

use Unit::{MbPerSecond, Ms, PerSecond, Us};

const WHOLE: [&str; 2] = ["0%", "100%"];

const fn random(op: &'static str, depth: u32, lasts: &'static str) -> Load {
    let (size, pattern) = ("4KiB", "random");
    Load { op, size, pattern, depth, region: WHOLE, lasts, warmup: "0s" }
}

const fn stream(op: &'static str, size: &'static str, depth: u32, lasts: &'static str) -> Load {
    Load { op, size, pattern: "sequential", depth, region: WHOLE, lasts, warmup: "0s" }
}

/// Long commands one after another, so that the pauses of the disk between two are not counted.
const fn track(op: &'static str, from: &'static str, to: &'static str) -> Load {
    Load { region: [from, to], ..stream(op, "1GiB", 1, "60s") }
}

impl Load {
    const fn after(self, warmup: &'static str) -> Self {
        Self { warmup, ..self }
    }
}

const fn of(
    device: &'static str,
    source: &'static str,
    load: Load,
    unit: Unit,
    public: f64,
) -> Figure {
    Figure { device, queued: false, load, unit, public, source, sets: None, missed: None }
}

impl Figure {
    const fn queued(self) -> Self {
        Self { queued: true, ..self }
    }

    const fn sets(self, parameter: &'static str) -> Self {
        Self { sets: Some(parameter), ..self }
    }

    const fn missed(self, why: &'static str) -> Self {
        Self { missed: Some(why), ..self }
    }
}

const HDD: &str = "hdd-7200";
const NCQ: &str = "hdd-7200-ncq";
const TEN: &str = "hdd-10k";
const SATA: &str = "ssd-sata";
const NVME: &str = "ssd-nvme";
/// No named device, but a test of the model: a drive for people, without power-loss protection.
pub(crate) const EVO: &str = "870-evo";

/// Samsung's 870 EVO at 1 TB: what of `docs/devices/ssd-sata.md` is other on this drive.
pub(crate) const EVO_FACTS: &str = r#"
model = "ssd"
capacity = "1TB"
dies = 16
read_time = "45us"
program_time = "524us"
suspend_time = "20us"
channel_rate = "1.2GB/s"
link_rate = "560MB/s"
link_duplex = "half"
link_overhead = "2.75us"
command_overhead = "18.5us"
over_provisioning = "9%"
"#;

/// `hdd-7200` with a queue, and with what a command costs where a queue hides none of it, as
/// `hdd-7200-ncq` has both.
pub(crate) const QUEUED: &str = r#"
model = "hdd"
drive = "hdd-7200"
overheads = "0.3ms"
bus = "none"
cache = "none"
queue = { policy = "sptf", depth = 32, overhead = "in-service" }
"#;

/// The page that shows a device's figures.
pub(crate) const PAGES: &[(&str, &str)] = &[
    (HDD, "hdd-7200.md"),
    (NCQ, "hdd-7200.md"),
    (TEN, "hdd-10k.md"),
    (SATA, "ssd-sata.md"),
    (EVO, "ssd-sata.md"),
    (NVME, "ssd-nvme.md"),
];

const ULTRASTAR: &str = "HGST, Ultrastar 7K8";
const BARRACUDA: &str = "measured, Seagate ST2000DM006";
const Z10: &str = "IBM, Ultrastar 146Z10, 4.5.7";
const PM883: &str = "Samsung, PM883";
const PM9A3: &str = "Samsung, PM9A3";
const SERIES: &str = "Samsung, PM9A3, at most";
const EVO_SHEET: &str = "Samsung, 870 EVO";

pub(crate) const FIGURES: &[Figure] = &[
    of(HDD, ULTRASTAR, random("read", 1, "100s"), PerSecond, 80.0),
    of(HDD, ULTRASTAR, random("read", 32, "100s"), PerSecond, 200.0).queued(),
    of(HDD, ULTRASTAR, track("read", "0%", "5%"), MbPerSecond, 205.0),
    of(HDD, BARRACUDA, random("read", 1, "100s"), Ms, 17.5)
        .missed("an arm that takes 13 ms where this one takes 8.5: one drive cannot be both"),
    of(HDD, BARRACUDA, random("read", 32, "100s"), PerSecond, 94.0),
    of(HDD, BARRACUDA, track("read", "0%", "5%"), MbPerSecond, 143.0)
        .missed("a drive of less dense tracks"),
    of(NCQ, ULTRASTAR, random("read", 1, "100s"), PerSecond, 80.0),
    // So near the bound that in a shorter run chance decides.
    of(NCQ, ULTRASTAR, random("read", 32, "1000s"), PerSecond, 200.0),
    of(NCQ, ULTRASTAR, track("read", "0%", "5%"), MbPerSecond, 205.0)
        .sets("outer_sustained_rate_mb_s"),
    of(TEN, Z10, random("read", 1, "100s"), Ms, 8.3).sets("overheads"),
    of(TEN, Z10, random("write", 1, "100s"), Ms, 9.3),
    of(TEN, Z10, track("read", "0%", "5%"), MbPerSecond, 66.7).sets("outer_sustained_rate_mb_s"),
    of(TEN, Z10, track("read", "98%", "100%"), MbPerSecond, 33.4).sets("inner_sustained_rate_mb_s"),
    of(SATA, PM883, random("read", 1, "100ms"), Us, 120.0).sets("command_overhead"),
    of(SATA, PM883, random("read", 32, "300ms"), PerSecond, 98_000.0).sets("link_overhead"),
    of(SATA, PM883, random("write", 32, "3s").after("1s"), PerSecond, 25_000.0)
        .sets("over_provisioning"),
    of(SATA, PM883, stream("read", "128KiB", 32, "300ms"), MbPerSecond, 550.0).sets("link_rate"),
    of(SATA, PM883, stream("write", "128KiB", 32, "2s").after("1s"), MbPerSecond, 520.0),
    of(EVO, EVO_SHEET, random("read", 1, "100ms"), PerSecond, 13_000.0).sets("command_overhead"),
    of(EVO, EVO_SHEET, random("write", 1, "100ms"), PerSecond, 36_000.0),
    of(EVO, EVO_SHEET, random("read", 32, "300ms"), PerSecond, 98_000.0),
    of(EVO, EVO_SHEET, random("write", 32, "1s").after("500ms"), PerSecond, 88_000.0)
        .missed("a burst into an SLC buffer, which the model has not; this is what it sustains"),
    of(EVO, EVO_SHEET, stream("read", "128KiB", 32, "300ms"), MbPerSecond, 560.0).sets("link_rate"),
    of(EVO, EVO_SHEET, stream("write", "128KiB", 32, "2s").after("1s"), MbPerSecond, 530.0),
    of(NVME, PM9A3, random("read", 1, "100ms"), Us, 80.0).sets("command_overhead"),
    of(NVME, PM9A3, random("read", 128, "100ms"), PerSecond, 850_000.0).sets("command_interval"),
    of(NVME, PM9A3, random("write", 128, "800ms").after("400ms"), PerSecond, 130_000.0)
        .sets("over_provisioning"),
    of(NVME, SERIES, stream("read", "128KiB", 128, "200ms"), MbPerSecond, 6_500.0)
        .sets("link_rate"),
    of(NVME, SERIES, stream("write", "128KiB", 128, "2s").after("1s"), MbPerSecond, 3_500.0),
];
