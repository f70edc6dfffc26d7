//! Reads devices by name or from a file, as plain facts that device models are built from.
//!
//! A named device is a built-in device file, or a drive of [`drives`] with everything that is known
//! about it. A device file holds one table, `[device]`; a job may hold the same table.

mod array;
mod build;
mod bus;
mod cache;
mod entry;
mod faults;
mod fixed;
mod geometry;
mod hdd;
mod linear;
mod memory;
mod queue;
mod seek;
mod sheet;
mod ssd;
mod watch;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::Path;
use std::rc::Rc;

use penstock_core::{Device, Seed};
use penstock_device::Level;
use penstock_device::hdd::Angle;
use serde_json::{Map, Value as Json, json};

pub use self::array::{ArraySpec, Scheduler};
pub use self::cache::{Ahead, CacheSpec};
use self::entry::ModelEntry;
pub use self::faults::FaultSpec;
pub use self::fixed::FixedSpec;
pub use self::geometry::{GeometrySpec, ZoneSpec};
pub use self::hdd::{DriveSpec, HddSpec};
pub use self::linear::LinearSpec;
use self::memory::COMMAND;
pub use self::queue::QueueSpec;
pub use self::seek::SeekSpec;
pub use self::sheet::SheetSpec;
pub use self::ssd::SsdSpec;
pub use self::watch::Watch;
use crate::describe::{all, any, defined, with};
use crate::diagnose::{JobError, Source, quote};
use crate::keys::{self, Declared, Keys, foreign, is, keys, table_with, without};
use crate::kinds::{Choice, Text, section};
use crate::nearest::suggest;
use crate::reader::Reader;
use crate::rows::Rows;
use crate::text::Lines;
use crate::tree::{self, Node, Table, Value};
use crate::{drives, file, machine_names, path_text};

/// Built-in device files.
const BUILT_IN: [(&str, &str); 12] = [
    ("hdd-7200", include_str!("../../../examples/devices/hdd-7200.toml")),
    ("hdd-7200-cached", include_str!("../../../examples/devices/hdd-7200-cached.toml")),
    ("hdd-7200-ncq", include_str!("../../../examples/devices/hdd-7200-ncq.toml")),
    ("hdd-10k", include_str!("../../../examples/devices/hdd-10k.toml")),
    ("flash", include_str!("../../../examples/devices/flash.toml")),
    ("ssd-sata", include_str!("../../../examples/devices/ssd-sata.toml")),
    ("ssd-nvme", include_str!("../../../examples/devices/ssd-nvme.toml")),
    ("paper-io-path", include_str!("../../../examples/devices/paper-io-path.toml")),
    ("paper-disk", include_str!("../../../examples/devices/paper-disk.toml")),
    ("fairio-18es", include_str!("../../../examples/devices/fairio-18es.toml")),
    ("fairio-raid", include_str!("../../../examples/devices/fairio-raid.toml")),
    ("linear-1992", include_str!("../../../examples/devices/linear-1992.toml")),
];

/// Most memory of a device in bytes. The largest devices that stand for real ones take some
/// megabytes.
const MEMORY_MOST: u64 = 1 << 30;

keys! {
    /// Keys of a device file.
    FILE:
    /// The device.
    DEVICE device: Node = section(|| defined(DEVICE.name)),
        needs "{ model = \"fixed\", base = \"1ms\" }";
}

keys! {
    /// Keys of every device that stand before those of its model.
    HEAD:
    /// Name in results; if not given, the file's name.
    NAME name: String = Text("a text");
    /// Description in one sentence.
    SUMMARY summary: String = Text("a text");
    /// The model that serves the requests.
    MODEL model: &'static str = Choice(&[
        (fixed::ENTRY.name, fixed::ENTRY.name),
        (hdd::ENTRY.name, hdd::ENTRY.name),
        (ssd::ENTRY.name, ssd::ENTRY.name),
        (linear::ENTRY.name, linear::ENTRY.name),
    ]), needs "\"fixed\"";
}

keys! {
    /// Keys of every device that stand behind those of its model.
    TAIL:
    /// Faults of the device: errors, stalls and corrupted data.
    FAULTS faults: FaultSpec = faults::KIND;
    /// Makes an array of several such devices.
    ARRAY array: ArraySpec = array::KIND;
}

/// Models of devices, each in a file of its own.
const MODELS: [ModelEntry<Model>; 4] = [
    fixed::ENTRY.into(|reader| (fixed::ENTRY.read)(reader).map(Model::Fixed)),
    hdd::ENTRY.into(|reader| (hdd::ENTRY.read)(reader).map(Model::Hdd)),
    ssd::ENTRY.into(|reader| (ssd::ENTRY.read)(reader).map(Model::Ssd)),
    linear::ENTRY.into(|reader| (linear::ENTRY.read)(reader).map(Model::Linear)),
];

/// A checked device.
#[derive(Clone, PartialEq, Debug)]
pub struct DeviceSpec {
    /// Name in results.
    pub name: String,
    /// Description in one sentence; may be empty.
    pub summary: String,
    /// The model that serves the requests.
    pub model: Model,
    /// Faults, if it has any.
    pub faults: Option<FaultSpec>,
    /// The array that several copies of the model form, if it is one.
    pub array: Option<ArraySpec>,
}

/// The model that serves the requests.
#[derive(Clone, PartialEq, Debug)]
pub enum Model {
    /// A service time by length.
    Fixed(FixedSpec),
    /// A disk with an arm.
    Hdd(HddSpec),
    /// A drive of flash.
    Ssd(SsdSpec),
    /// A disk with one arm and round figures.
    Linear(LinearSpec),
}

impl DeviceSpec {
    /// Returns the array if it has a queue before each disk.
    pub fn array_of_queues(&self) -> Option<&ArraySpec> {
        self.array.as_ref().filter(|array| array.scheduler == Scheduler::Each)
    }

    /// Number of disks that lie behind each other in its address space.
    pub fn side_by_side(&self) -> NonZeroU32 {
        let row = self.array.filter(|array| array.level == Level::Jbod);
        row.and_then(|array| NonZeroU32::new(array.disks)).unwrap_or(NonZeroU32::MIN)
    }

    /// Whether its disks have an arm: the kernel calls such a disk rotational.
    pub fn has_arm(&self) -> bool {
        matches!(self.model, Model::Hdd(_) | Model::Linear(_))
    }

    /// Returns whether writes that have completed may be in a cache that a flush has to empty.
    pub fn has_volatile_cache(&self) -> bool {
        matches!(self.model, Model::Ssd(_))
    }

    /// Number of disks.
    pub fn disks(&self) -> u32 {
        self.array.map_or(1, |array| array.disks)
    }

    /// Builds the disk `number`.
    fn disk(
        &self,
        number: u32,
        phase: Angle,
        seed: Seed,
        watch: Option<Rc<dyn Watch>>,
    ) -> Box<dyn Device> {
        let watched = |device, watch: Option<Rc<dyn Watch>>| match watch {
            Some(watch) => watch.over(device),
            None => device,
        };
        let bare = match &self.model {
            Model::Fixed(spec) => watched(spec.build(), watch),
            Model::Hdd(spec) => spec.build(phase, watch),
            Model::Ssd(spec) => watched(spec.build(watch.as_deref()), watch),
            Model::Linear(spec) => spec.build(seed, number, watch),
        };
        match &self.faults {
            Some(faults) => faults.over(bare, seed, number),
            None => bare,
        }
    }

    /// Returns the most memory in bytes that the device takes.
    fn memory(&self) -> u64 {
        let disk = match &self.model {
            Model::Fixed(spec) => spec.memory(),
            Model::Hdd(spec) => spec.memory(),
            Model::Ssd(spec) => spec.memory(),
            Model::Linear(_) => LinearSpec::memory(),
        };
        let controller = self.array.and_then(|array| array.depth).unwrap_or(0);
        disk.saturating_mul(self.disks().into()) + u64::from(controller) * COMMAND
    }

    /// Writes the table with every default in place, as the section called `section`.
    pub(crate) fn write(&self, section: &str, out: &mut Lines) {
        let summary = Some(&self.summary).filter(|summary| !summary.is_empty());
        let rows = |name, keys: &[Keys]| {
            let order = [&[HEAD], keys, &[TAIL]].concat();
            Rows::of(&order).put(&NAME, &self.name).maybe(&SUMMARY, summary).put(&MODEL, &name)
        };
        let rows = match &self.model {
            Model::Fixed(spec) => spec.rows(rows(fixed::ENTRY.name, fixed::ENTRY.keys)),
            Model::Hdd(spec) => spec.rows(rows(hdd::ENTRY.name, hdd::ENTRY.keys)),
            Model::Ssd(spec) => spec.rows(rows(ssd::ENTRY.name, ssd::ENTRY.keys)),
            Model::Linear(spec) => spec.rows(rows(linear::ENTRY.name, linear::ENTRY.keys)),
        };
        rows.maybe(&FAULTS, self.faults.as_ref())
            .maybe(&ARRAY, self.array.as_ref())
            .section(Some(&format!("[{section}]")), out);
    }
}

/// Checks that `devices` together take at most `MEMORY_MOST` bytes.
///
/// # Errors
/// They take more.
pub fn check_memory<'a>(devices: impl IntoIterator<Item = &'a DeviceSpec>) -> Result<(), JobError> {
    let sum = |(count, bytes): (u32, u64), spec: &DeviceSpec| {
        (count + 1, bytes.saturating_add(spec.memory()))
    };
    let (devices, bytes) = devices.into_iter().fold((0, 0), sum);
    if bytes <= MEMORY_MOST {
        return Ok(());
    }
    let (mib, most) = (bytes.div_ceil(1 << 20), MEMORY_MOST >> 20);
    let subject = if devices == 1 { "the device".into() } else { format!("{devices} devices") };
    let message = format!("{subject} may take {mib} MiB of memory; at most {most} MiB may be");
    Err(JobError::new(message).hint("take fewer disks, fewer parts, or smaller queues"))
}

/// Returns every named device with its description.
pub fn named() -> impl Iterator<Item = (&'static str, String)> {
    let summary = |name| built_in(name).map(|device| device.summary).unwrap_or_default();
    names().map(move |name| (name, summary(name)))
}

/// Returns the names of [`named`].
pub fn names() -> impl Iterator<Item = &'static str> {
    let files = BUILT_IN.iter().map(|&(name, _)| name);
    files.chain(drives::names().filter(|drive| BUILT_IN.iter().all(|(name, _)| name != drive)))
}

/// Returns the device that has this name, or that the `.toml` file at this path describes.
///
/// # Errors
/// No device has this name, or its file is wrong.
pub fn find(name_or_path: &str) -> Result<DeviceSpec, JobError> {
    find_in(Path::new(""), name_or_path)
}

/// Finds a device as [`find`] does, with paths relative to `folder`.
pub(crate) fn find_in(folder: &Path, name: &str) -> Result<DeviceSpec, JobError> {
    if names().any(|known| known == name) {
        return built_in(name);
    }
    let path = folder.join(path_text::path(name));
    if is_file(&path) {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let text = file::read(&path, "device file")?;
        return parse(&path.display().to_string(), &text, &stem);
    }
    if machine_names::names().any(|machine| machine == name) {
        return Err(is_a_machine(name));
    }
    let unknown = JobError::new(format!("unknown device {}", quote(name)));
    Err(unknown.hint(if name.contains(['/', '.']) {
        "a device file ends in `.toml`; a file or a disk to measure is named with `--on`".into()
    } else {
        suggest(name, names().chain(machine_names::names()))
    }))
}

/// Returns the error for the machine `name` where a device is needed.
fn is_a_machine(name: &str) -> JobError {
    let message = format!("{} is a machine, not a device", quote(name));
    let hint = "a machine stands where a job with `[[file]]` sections names its device, or in \
                `--on`; to change a part of it, save and change what `penstock show device` prints";
    JobError::new(message).hint(hint)
}

/// Whether this is the name of a device or machine, or the path of a file of one.
pub fn is_one(name_or_path: &str) -> bool {
    names().chain(machine_names::names()).any(|known| known == name_or_path)
        || is_file(Path::new(name_or_path))
}

/// Whether a device may have the key `name`.
pub(crate) fn has_key(name: &str) -> bool {
    key_names().any(|known| known == name)
}

/// Returns the names of the keys that a device may have.
pub(crate) fn key_names() -> impl Iterator<Item = &'static str> {
    keys::names(&[&[HEAD, TAIL], &groups()[..]].concat()).into_iter()
}

pub(crate) fn is_file(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "toml")
}

/// Returns the device of a name or of a `.toml` file as a device file with every default in place.
///
/// # Errors
/// No device has this name, or its file is wrong.
pub fn text(name_or_path: &str) -> Result<String, JobError> {
    let mut out = Lines::default();
    find(name_or_path)?.write(DEVICE.name, &mut out);
    Ok(out.done())
}

/// Returns the table of `spec`, for a change by `--set`.
pub(crate) fn to_be_changed(spec: DeviceSpec) -> Value {
    let mut out = Lines::default();
    let name = format!("{}, changed", spec.name);
    let source = spec.name.clone();
    DeviceSpec { name, ..spec }.write(DEVICE.name, &mut out);
    let file = tree::parse(&Source::file(&source, &out.done())).expect("its own text");
    let Value::Table(Table { mut entries }) = file.value else { unreachable!("a file is a table") };
    entries.pop().expect("a device file holds its device").node.value
}

fn built_in(name: &str) -> Result<DeviceSpec, JobError> {
    if let Some((_, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
        return parse(&format!("{name} (built in)"), text, name);
    }
    let name = drives::names().find(|known| *known == name).expect("a name of a device");
    Ok(DeviceSpec {
        name: name.into(),
        summary: if drives::without_bus().any(|unknown| unknown == name) {
            format!(
                "the drive {name} as it was described: arm, platter, command overheads and cache; \
                 no bus of it is published"
            )
        } else {
            format!(
                "the drive {name} as it was measured: arm, platter, command overheads, bus and cache"
            )
        },
        model: Model::Hdd(HddSpec::known(name)),
        faults: None,
        array: None,
    })
}

fn parse(source: &str, text: &str, name: &str) -> Result<DeviceSpec, JobError> {
    let root = tree::parse(&Source::file(source, text))?;
    if machine_names::is_machine(&root) {
        return Err(is_a_machine(source));
    }
    read(&Reader::new(&root, "the device file", &[FILE])?.get(&DEVICE)?, name)
}

/// Reads a device's table; `name` is the default of its name.
pub(crate) fn read(node: &Node, name: &str) -> Result<DeviceSpec, JobError> {
    let groups = [&[HEAD, TAIL], &groups()[..]].concat();
    let reader = Reader::new(node, "the device", &groups)?;
    if node.origin.is_set() && reader.node(&MODEL).is_none() {
        let hint = "name one too, with `--on` or as `--set device=NAME`";
        return Err(JobError::new("the job names no device to change").at(&node.origin).hint(hint));
    }
    let model = reader.get(&MODEL)?;
    let entry = MODELS.iter().find(|entry| entry.name == model).expect("one of them");
    for other in &MODELS {
        let why = format!("belongs to model `{}`; this one is `{model}`", other.name);
        let foreign = foreign(entry.keys, other.keys);
        reader.refuse(&foreign, &why, "a device is of one model")?;
    }
    let spec = DeviceSpec {
        model: (entry.read)(&reader)?,
        name: reader.find(&NAME)?.unwrap_or_else(|| name.into()),
        summary: reader.find(&SUMMARY)?.unwrap_or_default(),
        faults: reader.find(&FAULTS)?,
        array: reader.find(&ARRAY)?,
    };
    check_memory([&spec]).map_err(|error| error.at(&node.origin))?;
    if let Some(array) = &spec.array {
        let disk = spec.disk(0, Angle::default(), Seed(0), None);
        array.check(disk.capacity()).map_err(|error| error.at(reader.origin(&ARRAY)))?;
    }
    Ok(spec)
}

/// Returns the keys of all models.
fn groups() -> Vec<Keys> {
    MODELS.iter().flat_map(|entry| entry.keys).copied().collect()
}

/// Describes a device's table.
pub(crate) fn schema() -> Json {
    let models = groups();
    let ambiguous = ambiguous(&models);
    let choice = |entry: &ModelEntry<Model>| {
        let means = |key: &&dyn Declared| ambiguous.contains_key(key.name());
        let own = entry.keys.iter().copied().flatten().copied().filter(means);
        let own: Map<_, _> = own.map(|key| (key.name().to_owned(), key.schema())).collect();
        let rules = [without(&foreign(entry.keys, &models)), (entry.rules)()];
        let rules = if own.is_empty() {
            rules.into()
        } else {
            [&[json!({"properties": own})], &rules[..]].concat()
        };
        json!({"if": is(&MODEL, &[entry.name]), "then": all(rules)})
    };
    let choices = all(MODELS.iter().map(choice).collect::<Vec<_>>());
    let mut table = table_with(HEAD, &[&[TAIL], &models[..]].concat());
    for (name, schemas) in ambiguous {
        table["properties"][name] = any(schemas);
    }
    with(table, choices)
}

/// Returns the keys of `models` that are of different kinds in different models, with the schema of
/// each kind.
fn ambiguous(models: &[Keys]) -> BTreeMap<&'static str, Vec<Json>> {
    let mut kinds: BTreeMap<_, Vec<Json>> = BTreeMap::new();
    for key in models.iter().copied().flatten() {
        let known = kinds.entry(key.name()).or_default();
        let kind = key.kind_schema();
        if !known.contains(&kind) {
            known.push(kind);
        }
    }
    kinds.retain(|_, known| known.len() > 1);
    kinds
}
