//! The model `hdd`: a drive by name or by its figures, and the parts of it that are simulated.

use std::rc::Rc;

use penstock_core::{Device, Queued, Span};
use penstock_device::hdd::{Angle, Bus, Drive, Hdd, Options, Overheads, Tagged};
use serde_json::{Value as Json, json};

use super::bus::{self, BUS};
use super::cache::{self, CacheSpec};
use super::entry::ModelEntry;
use super::geometry::{self, GeometrySpec};
use super::memory::COMMAND;
use super::queue::{self, QueueSpec};
use super::sheet::{self, SheetSpec};
use super::watch::Watch;
use crate::amount::{OrWord, TIME};
use crate::describe::{all, any, words};
use crate::diagnose::{JobError, quote};
use crate::drives;
use crate::keys::{keys, needed};
use crate::kinds::{Own, SWITCH};
use crate::nearest::suggest;
use crate::reader::Reader;
use crate::rows::Rows;
use crate::text::quoted;
use crate::tree::{Node, Value};

keys! {
    /// Keys of a drive and what of it takes part.
    KEYS:
    /// A named drive, or the facts of one: those of a data sheet, or its geometry.
    DRIVE drive: DriveSpec = Own {
        read: drive,
        text: DriveSpec::text,
        schema: || any([words(drives::names()), sheet::schema(), geometry::schema()]),
    }, needs "\"ibm18es\"";
    /// Whether facts observed on the real drive are used too.
    OBSERVED observed: bool = SWITCH, or false;
    /// Time that a command costs in addition to seek, turn and transfer.
    OVERHEADS overheads: Overheads = OrWord {
        words: &[("none", Overheads::None), ("drive", Overheads::Drive)],
        amount: TIME,
        value: Overheads::Constant,
        quantity: |overheads| match overheads {
            Overheads::Constant(span) => Some(*span),
            _ => None,
        },
    }, or Overheads::Drive;
}

keys! {
    /// Keys of what is before the drive.
    HOST_KEYS:
    /// Time after each command in which the disk takes no other; it does not count as device time.
    TURNAROUND turnaround: Span = TIME, or Span::ZERO;
    /// The disk's own queue.
    QUEUE queue: QueueSpec = queue::KIND;
}

pub(super) const ENTRY: ModelEntry<HddSpec> =
    ModelEntry { name: "hdd", keys: &[KEYS, bus::KEYS, cache::KEYS, HOST_KEYS], read, rules };

/// A disk with an arm.
#[derive(Clone, PartialEq, Debug)]
pub struct HddSpec {
    /// Arm and platters.
    pub drive: DriveSpec,
    /// Whether observations of the real drive are added to its published facts.
    pub observed: bool,
    /// The electronics that are simulated.
    pub options: Options,
    /// The cache that is simulated; it replaces that of `options`.
    pub cache: Option<CacheSpec>,
    /// The disk's own queue.
    pub queue: QueueSpec,
}

/// Arm and platters of a disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DriveSpec {
    /// A drive of [`drives::names`].
    Named(&'static str),
    /// The figures of a data sheet.
    Sheet(SheetSpec),
    /// The geometry.
    Geometry(Box<GeometrySpec>),
}

fn rules() -> Json {
    let on = json!({"required": [OBSERVED.name], "properties": {OBSERVED.name: {"const": true}}});
    let drives = json!({"properties": {DRIVE.name: words(drives::observed::names())}});
    let geometry = json!({"type": "object", "required": [geometry::ZONES.name]});
    let own = json!({"required": [DRIVE.name], "properties": {DRIVE.name: geometry}});
    let no_cache = json!({"properties": {cache::CACHE.name: {"not": {"const": "drive"}}}});
    all([
        needed(KEYS),
        bus::rules(DRIVE.name),
        cache::rules(),
        json!({"if": on, "then": drives}),
        json!({"if": own, "then": no_cache}),
    ])
}

fn read(reader: &Reader<'_>) -> Result<HddSpec, JobError> {
    let drive = reader.get(&DRIVE)?;
    let observed = observed(reader, &drive)?;
    let (overheads, bus) = (reader.get(&OVERHEADS)?, bus::read(reader, drive.name())?);
    let cache = cache::read(reader)?;
    if let (DriveSpec::Geometry(_), Some(CacheSpec { size: None, .. })) = (&drive, &cache) {
        let message = "a drive by its geometry has no cache of its own";
        let key = cache::CACHE.name;
        let hint = format!("give its size, as `{key} = {{ segments = 8, blocks = 512 }}`, or none");
        return Err(JobError::new(message).at(reader.place(&cache::CACHE)).hint(hint));
    }
    let options = Options { overheads, bus, turnaround: reader.get(&TURNAROUND)?, cache: None };
    let queue = reader.find(&QUEUE)?.unwrap_or_default();
    Ok(HddSpec { drive, observed, options, cache, queue })
}

fn drive(node: &Node) -> Result<DriveSpec, JobError> {
    if geometry::is_geometry(node) {
        return geometry::read(node).map(|drive| DriveSpec::Geometry(Box::new(drive)));
    }
    if let Value::Table(_) = node.value {
        return sheet::read(node).map(DriveSpec::Sheet);
    }
    let name = node.text("the name of a drive or a table of its figures")?;
    drives::names().find(|known| *known == name).map(DriveSpec::Named).ok_or_else(|| {
        let message = format!("unknown drive {}", quote(name));
        JobError::new(message).at(&node.origin).hint(suggest(name, drives::names()))
    })
}

fn observed(reader: &Reader<'_>, drive: &DriveSpec) -> Result<bool, JobError> {
    let observed = reader.get(&OBSERVED)?;
    let unknown = |name| drives::observed::names().all(|known| known != name);
    if observed && drive.name().is_none_or(unknown) {
        let names: Vec<_> = drives::observed::names().collect();
        let message = match drive.name() {
            Some(name) => format!("nothing was observed of the real {}", quote(name)),
            None => "nothing was observed of a drive without a name".into(),
        };
        let hint = format!("there is something of {}", names.join(", "));
        return Err(JobError::new(message).at(reader.place(&OBSERVED)).hint(hint));
    }
    Ok(observed)
}

impl DriveSpec {
    fn text(&self) -> String {
        match self {
            Self::Named(name) => quoted(name),
            Self::Sheet(sheet) => sheet.text(),
            Self::Geometry(geometry) => geometry.text(),
        }
    }

    fn name(&self) -> Option<&str> {
        match self {
            Self::Named(name) => Some(name),
            Self::Sheet(_) | Self::Geometry(_) => None,
        }
    }

    fn drive(&self, observed: bool) -> Drive {
        match self {
            Self::Named(name) => {
                let facts = if observed { drives::observed::drive } else { drives::drive };
                facts(name).expect("checked when it was read")
            }
            Self::Sheet(sheet) => sheet.drive(),
            Self::Geometry(geometry) => geometry.drive(),
        }
    }
}

impl HddSpec {
    /// Describes the drive called `name` with everything that is known about it.
    pub(super) fn known(name: &'static str) -> Self {
        let unknown = drives::without_bus().any(|unknown| unknown == name);
        Self {
            drive: DriveSpec::Named(name),
            observed: drives::observed::names().any(|known| known == name),
            options: Options {
                overheads: Overheads::Drive,
                bus: if unknown { Bus::None } else { Bus::Drive },
                turnaround: Span::ZERO,
                cache: None,
            },
            cache: Some(CacheSpec::default()),
            queue: QueueSpec::default(),
        }
    }

    pub(super) fn rows(&self, rows: Rows) -> Rows {
        let Self { drive, observed, options, cache, queue } = self;
        let rows = rows
            .put(&DRIVE, drive)
            .put(&OBSERVED, observed)
            .put(&OVERHEADS, &options.overheads)
            .put(&BUS, &options.bus);
        CacheSpec::rows(cache.as_ref(), rows)
            .put(&TURNAROUND, &options.turnaround)
            .put(&QUEUE, queue)
    }

    /// Returns the most memory in bytes that the disk takes; a table of seeks is the largest part.
    pub(super) fn memory(&self) -> u64 {
        let cylinders = self.drive.drive(self.observed).cylinders;
        u64::from(cylinders) * 4 + u64::from(self.queue.depth) * COMMAND
    }

    /// Builds the disk with its platter at `phase`, observed by `watch`.
    pub(super) fn build(&self, phase: Angle, watch: Option<Rc<dyn Watch>>) -> Box<dyn Device> {
        let drive = self.drive.drive(self.observed);
        let cache = self.cache.map(|cache| cache.apply(&drive.cache));
        let options = Options { cache, ..self.options };
        let mut hdd = Hdd::new(&drive, options).expect("checked when it was read").turned(phase);
        if let Some(watch) = watch.clone() {
            hdd = hdd.observed(move |at, access| watch.accessed(at, access));
        }
        let QueueSpec { depth, hides_overhead, .. } = self.queue;
        let disk: Box<dyn Device> = match self.queue.build() {
            Some(policy) if hides_overhead => Box::new(Tagged::new(policy, hdd, depth)),
            Some(policy) => Box::new(Queued::with_depth(policy, hdd, depth)),
            None => Box::new(hdd),
        };
        match watch {
            // Accesses of the arm for a cache do not belong to single requests.
            Some(watch) if cache.is_some() => watch.over(disk),
            _ => disk,
        }
    }
}
