//! Devices by name or from a file: plain facts, from which a stack is built elsewhere.
//!
//! A named device is a device file that is built in, or a drive of [`drives`] with everything that
//! is known of it. A device file holds one table, `[device]`; a job may hold the same table.

use std::path::Path;

use penstock_core::Span;
use penstock_device::hdd::{Bus, Options, Overheads};
use penstock_device::{Cost, Rates};
use penstock_policy::Params;

use crate::diagnose::{JobError, Source, quote};
use crate::nearest::suggest;
use crate::tree::{self, Node, Reader, Value};
use crate::units::{self, Share};
use crate::{drives, file, params};

/// Device files that are built in.
const BUILT_IN: [(&str, &str); 3] = [
    ("hdd-7200", include_str!("../../../examples/devices/hdd-7200.toml")),
    ("flash", include_str!("../../../examples/devices/flash.toml")),
    ("paper-io-path", include_str!("../../../examples/devices/paper-io-path.toml")),
];

/// Keys of every device.
pub(crate) const COMMON_KEYS: &[&str] = &["name", "summary", "model", "faults"];
/// Keys of the model `fixed`.
pub(crate) const FIXED_KEYS: &[&str] = &["base", "per_mb", "unit", "unit_bytes", "capacity"];
/// Keys of the model `hdd`.
pub(crate) const HDD_KEYS: &[&str] = &["drive", "overheads", "bus", "cache", "turnaround", "queue"];
/// Keys of a queue, beside the parameters of its policy.
pub(crate) const QUEUE_KEYS: [&str; 2] = ["policy", "depth"];
/// Keys of faults.
pub(crate) const FAULTS_KEYS: &[&str] = &["errors", "stalls", "stall"];

/// What serves the requests.
pub(crate) const MODELS: &[&str] = &["fixed", "hdd"];
/// Command overheads that are a word.
pub(crate) const OVERHEADS: [&str; 2] = ["none", "drive"];
/// What the bus is.
pub(crate) const BUSES: &[&str] = &["none", "drive"];
/// The policy of a queue that does not name one.
pub(crate) const QUEUE_POLICY: &str = "fcfs";

/// A capacity that no job of today fills.
pub(crate) const CAPACITY: u64 = 1 << 40;
/// Commands that a disk's own queue holds at most: far more than any disk's.
pub(crate) const QUEUE_MOST: u64 = 65_536;

/// A device, checked.
#[derive(Clone, PartialEq, Debug)]
pub struct DeviceSpec {
    /// What results call it.
    pub name: String,
    /// What it is, in one sentence; may be empty.
    pub summary: String,
    /// What serves the requests.
    pub model: Model,
    /// How it misbehaves, if it does.
    pub faults: Option<FaultSpec>,
}

/// What serves the requests.
#[derive(Clone, PartialEq, Debug)]
pub enum Model {
    /// A law of length.
    Fixed {
        /// The law.
        cost: Cost,
        /// Bytes.
        capacity: u64,
    },
    /// A disk with an arm.
    Hdd {
        /// A name of [`drives::names`].
        drive: String,
        /// What of its electronics takes part.
        options: Options,
        /// The disk's own queue.
        queue: QueueSpec,
    },
}

/// A disk's own queue.
#[derive(Clone, PartialEq, Debug)]
pub struct QueueSpec {
    /// A registered policy.
    pub policy: &'static str,
    /// Its parameters.
    pub params: Params,
    /// Commands that the disk holds at once, the one in service included.
    pub depth: u32,
}

/// How a device misbehaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FaultSpec {
    /// Requests that fail.
    pub errors: Share,
    /// Requests that stall.
    pub stalls: Share,
    /// For how long.
    pub stall: Span,
}

impl FaultSpec {
    /// The same as numbers from 0 to 1.
    pub fn rates(&self) -> Rates {
        Rates { errors: self.errors.fraction(), stalls: self.stalls.fraction(), stall: self.stall }
    }
}

/// Every device that has a name, each with a sentence about it.
pub fn named() -> impl Iterator<Item = (&'static str, String)> {
    let summary = |name| built_in(name).map(|device| device.summary).unwrap_or_default();
    names().map(move |name| (name, summary(name)))
}

/// The names of [`named`].
pub fn names() -> impl Iterator<Item = &'static str> {
    let files = BUILT_IN.iter().map(|&(name, _)| name);
    files.chain(drives::names().filter(|drive| BUILT_IN.iter().all(|(name, _)| name != drive)))
}

/// The device of a name, or of a path that ends in `.toml`.
///
/// # Errors
/// No device has this name, or its file is wrong.
pub fn find(name_or_path: &str) -> Result<DeviceSpec, JobError> {
    find_in(Path::new(""), name_or_path)
}

/// [`find`], with paths relative to `folder`.
pub(crate) fn find_in(folder: &Path, name: &str) -> Result<DeviceSpec, JobError> {
    if names().any(|known| known == name) {
        return built_in(name);
    }
    let path = folder.join(name);
    if path.extension().is_some_and(|extension| extension == "toml") {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let text = file::read(&path, "device file")?;
        return parse(&path.display().to_string(), &text, &stem);
    }
    let unknown = JobError::new(format!("unknown device {}", quote(name)));
    Err(unknown.hint(if name.contains(['/', '.']) {
        "a device file ends in `.toml`; a file or a disk to measure is named with `--on`".into()
    } else {
        suggest(name, names())
    }))
}

fn built_in(name: &str) -> Result<DeviceSpec, JobError> {
    let source = format!("{name} (built in)");
    match BUILT_IN.iter().find(|(known, _)| *known == name) {
        Some((_, text)) => parse(&source, text, name),
        None => parse(&source, &drive_text(name), name),
    }
}

/// The device file of a drive with everything that is known of it.
fn drive_text(name: &str) -> String {
    format!(
        "[device]\nsummary = \"the drive {name} as it was measured: arm, platter, command \
         overheads and bus; no cache\"\nmodel = \"hdd\"\ndrive = \"{name}\"\noverheads = \
         \"drive\"\nbus = \"drive\"\n"
    )
}

fn parse(source: &str, text: &str, name: &str) -> Result<DeviceSpec, JobError> {
    let root = tree::parse(&Source::file(source, text))?;
    let reader = Reader::new(&root, "the device file", &["device"])?;
    let example = "{ model = \"fixed\", base = \"1ms\" }";
    reader.required("device", example, |node| read(node, name))
}

/// Reads a device's table; it is called `name` if it does not say otherwise.
pub(crate) fn read(node: &Node, name: &str) -> Result<DeviceSpec, JobError> {
    let keys = [COMMON_KEYS, FIXED_KEYS, HDD_KEYS].concat();
    let reader = Reader::new(node, "the device", &keys)?;
    let text = |node: &Node| node.text("a text").map(String::from);
    let model = reader.required("model", "\"fixed\"", |n| n.choice(MODELS))?;
    let hint = "a device is of one model";
    let model = if model == "fixed" {
        reader.refuse(HDD_KEYS, "belongs to model `hdd`; this one is `fixed`", hint)?;
        fixed(&reader)?
    } else {
        reader.refuse(FIXED_KEYS, "belongs to model `fixed`; this one is `hdd`", hint)?;
        hdd(&reader)?
    };
    Ok(DeviceSpec {
        name: reader.optional("name", text)?.unwrap_or_else(|| name.into()),
        summary: reader.optional("summary", text)?.unwrap_or_default(),
        model,
        faults: reader.optional("faults", faults)?,
    })
}

fn fixed(reader: &Reader<'_>) -> Result<Model, JobError> {
    let capacity = reader.optional("capacity", |node| match units::size(node)? {
        0 => Err(node.expected("a capacity of at least `1B`")),
        bytes => Ok(bytes),
    })?;
    let cost = cost(reader)?;
    Ok(Model::Fixed { cost, capacity: capacity.unwrap_or(CAPACITY) })
}

fn cost(reader: &Reader<'_>) -> Result<Cost, JobError> {
    let (cost, key) = if reader.node("unit").is_some() || reader.node("unit_bytes").is_some() {
        let hint = "a device has `base` and `per_mb`, or `unit` and `unit_bytes`";
        reader.refuse(&["base", "per_mb"], "does not go with `unit`", hint)?;
        let unit = reader.required("unit", "\"1ms\"", units::duration)?;
        let unit_bytes = reader.required("unit_bytes", "\"10000B\"", |node| {
            let bytes = units::size(node)?;
            let bytes = u32::try_from(bytes).ok().filter(|&bytes| bytes > 0);
            bytes.ok_or_else(|| node.expected("a size from `1B` to `1GiB`"))
        })?;
        (Cost::Units { unit, unit_bytes }, "unit")
    } else {
        let base = reader.required("base", "\"0.9ms\"", units::duration)?;
        let per_mb = reader.optional("per_mb", units::duration)?.unwrap_or(Span::ZERO);
        (Cost::Linear { base, per_mb }, "base")
    };
    let longest = match cost {
        Cost::Linear { base, per_mb } => u128::from(base.ns()) + u128::from(per_mb.ns()) * 4_295,
        Cost::Units { unit, unit_bytes } => {
            u128::from(unit.ns()) * u128::from(u32::MAX.div_ceil(unit_bytes))
        }
    };
    if longest == 0 {
        let found = "the device takes no time at all";
        let hint = "give it a `base`, a `per_mb` or a `unit` above zero";
        return Err(JobError::new(found).at(reader.origin(key)).hint(hint));
    }
    // Half the range of times, so that the end of a request still is a time.
    if longest > u128::from(u64::MAX / 2) {
        let found = "the device takes centuries for the longest request (4GiB)";
        return Err(JobError::new(found).at(reader.origin(key)).hint("lower its times"));
    }
    Ok(cost)
}

fn hdd(reader: &Reader<'_>) -> Result<Model, JobError> {
    let drive = reader.required("drive", "\"ibm18es\"", |node| {
        let name = node.text("the name of a drive")?;
        drives::names().find(|known| *known == name).ok_or_else(|| {
            let found = format!("unknown drive {}", quote(name));
            JobError::new(found).at(&node.origin).hint(suggest(name, drives::names()))
        })
    })?;
    let overheads = reader.optional("overheads", overheads)?.unwrap_or_default();
    let bus = reader.optional("bus", |node| {
        let word = node.choice(BUSES)?;
        Ok(if word == "none" { Bus::None } else { Bus::Drive })
    })?;
    reader.optional("cache", |node| match node.word() {
        Some("none") => Ok(()),
        _ => Err(node.expected("`none`").hint("caches are not modelled yet: `cache = \"none\"`")),
    })?;
    let turnaround = reader.optional("turnaround", units::duration)?.unwrap_or(Span::ZERO);
    let options = Options { overheads, bus: bus.unwrap_or_default(), turnaround };
    let policy = params::policy(QUEUE_POLICY)?;
    let usual = || QueueSpec { policy: policy.name, params: policy.defaults(), depth: 1 };
    let queue = reader.optional("queue", queue)?.unwrap_or_else(usual);
    Ok(Model::Hdd { drive: drive.into(), options, queue })
}

fn overheads(node: &Node) -> Result<Overheads, JobError> {
    match node.word() {
        Some("none") => Ok(Overheads::None),
        Some("drive") => Ok(Overheads::Drive),
        Some(text) if !text.starts_with(|c: char| c.is_ascii_digit()) => {
            let hint = suggest(text, OVERHEADS);
            Err(node.expected("`none`, `drive` or a length of time").hint(hint))
        }
        _ => units::duration(node).map(Overheads::Constant),
    }
}

fn queue(node: &Node) -> Result<QueueSpec, JobError> {
    let written = match &node.value {
        Value::Table(table) => table.get("policy").map(|entry| &entry.node),
        _ => None,
    };
    let policy = match written {
        Some(node) => params::policy(node.text("the name of a policy")?)
            .map_err(|error| error.at(&node.origin))?,
        None => params::policy(QUEUE_POLICY)?,
    };
    let own = policy.params.iter().map(|param| param.name);
    let keys: Vec<&str> = QUEUE_KEYS.into_iter().chain(own).collect();
    let reader = Reader::new(node, "the queue", &keys)?;
    let depth = reader.optional("depth", |node| node.count(1, QUEUE_MOST))?.unwrap_or(1) as u32;
    Ok(QueueSpec { policy: policy.name, params: params::read(policy.params, &reader)?, depth })
}

fn faults(node: &Node) -> Result<FaultSpec, JobError> {
    let reader = Reader::new(node, "the faults", FAULTS_KEYS)?;
    let errors = reader.optional("errors", units::share)?.unwrap_or(Share::NONE);
    let stalls = reader.optional("stalls", units::share)?.unwrap_or(Share::NONE);
    let stall = if stalls > Share::NONE {
        reader.required("stall", "\"50ms\"", units::duration)?
    } else {
        let hint = "say how many requests stall, as in `stalls = \"0.5%\"`";
        reader.refuse(&["stall"], "says how long requests stall, but none does", hint)?;
        Span::ZERO
    };
    Ok(FaultSpec { errors, stalls, stall })
}
