//! The model `hdd`: a drive by name or by its data sheet, and what of it takes part.

use std::rc::Rc;

use penstock_core::{Device, Span};
use penstock_device::hdd::{Angle, Bus, Drive, Hdd, Options, Overheads, Tagged};
use serde_json::{Value as Json, json};

use super::cache::{self, CacheSpec};
use super::entry::Entry;
use super::memory::COMMAND;
use super::queue::{self, QueueSpec};
use super::sheet::{self, SheetSpec};
use super::watch::Watch;
use crate::diagnose::{JobError, quote};
use crate::drives;
use crate::nearest::suggest;
use crate::schema::build::{all, any, defined, field, from_digit, required, switch, words};
use crate::text::{Lines, quoted, time};
use crate::tree::{Node, Reader, Value};
use crate::units;

/// Command overheads that are a word.
const OVERHEADS: [&str; 2] = ["none", "drive"];
/// What the bus is.
const BUSES: &[&str] = &["none", "drive"];

pub(super) const ENTRY: Entry<HddSpec> = Entry {
    name: "hdd",
    keys: &[
        "drive",
        "observed",
        "overheads",
        "bus",
        cache::KEYS[0],
        cache::KEYS[1],
        cache::KEYS[2],
        "turnaround",
        "queue",
    ],
    read,
    fields: || {
        let overheads = any([words(OVERHEADS), from_digit("time")]);
        let costs = "Time that a command costs beside seek, turn and transfer.";
        let buses = words(BUSES.iter().copied());
        let drive = any([words(drives::names()), sheet::schema()]);
        let [cache, readahead, write_back] = cache::fields();
        vec![
            field("drive", "The drive whose facts it has, or the facts of its sheet.", drive),
            field("observed", "Whether it has too what was observed of the real one.", switch())
                .or(false),
            field("overheads", costs, overheads).or("drive"),
            field("bus", "Whether its bus takes part.", buses).or("drive"),
            cache,
            readahead,
            write_back,
            field("turnaround", "Time of the host between two commands.", defined("time")).or("0s"),
            field("queue", "The disk's own queue.", queue::schema()),
        ]
    },
    rules,
};

/// A disk with an arm.
#[derive(Clone, PartialEq, Debug)]
pub struct HddSpec {
    /// Arm and platters.
    pub drive: DriveSpec,
    /// It has too what was observed of the real one, beside its published facts.
    pub observed: bool,
    /// What of its electronics takes part.
    pub options: Options,
    /// What of its cache takes part; then `options` says nothing of it.
    pub cache: Option<CacheSpec>,
    /// The disk's own queue.
    pub queue: QueueSpec,
}

/// Arm and platters of a disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DriveSpec {
    /// A name of [`drives::names`].
    Named(&'static str),
    /// By the figures of its data sheet.
    Sheet(SheetSpec),
}

fn rules() -> Json {
    let observed = json!({"required": ["observed"], "properties": {"observed": {"const": true}}});
    let drives = json!({"properties": {"drive": words(drives::observed::names())}});
    let observed = json!({"if": observed, "then": drives});
    all([required(&["drive"]), cache::rules(), observed])
}

/// The device file of a drive with everything that is known of it.
pub(super) fn drive_text(name: &str) -> String {
    let observed = drives::observed::names().any(|known| known == name);
    format!(
        "[device]\nsummary = \"the drive {name} as it was measured: arm, platter, command \
         overheads, bus and cache\"\nmodel = \"hdd\"\ndrive = \"{name}\"\nobserved = \
         {observed}\noverheads = \"drive\"\nbus = \"drive\"\ncache = \"drive\"\n"
    )
}

fn read(reader: &Reader<'_>) -> Result<HddSpec, JobError> {
    let drive = reader.required("drive", "\"ibm18es\"", drive)?;
    let observed = reader.optional("observed", |node| observed(node, &drive))?.unwrap_or(false);
    let overheads = reader.optional("overheads", overheads)?.unwrap_or_default();
    let bus = reader.optional("bus", |node| {
        let word = node.choice(BUSES)?;
        Ok(if word == "none" { Bus::None } else { Bus::Drive })
    })?;
    let cache = cache::read(reader)?;
    let turnaround = reader.optional("turnaround", units::duration)?.unwrap_or(Span::ZERO);
    let options = Options { overheads, bus: bus.unwrap_or_default(), turnaround, cache: None };
    let queue = reader.optional("queue", queue::read)?.unwrap_or_default();
    Ok(HddSpec { drive, observed, options, cache, queue })
}

fn drive(node: &Node) -> Result<DriveSpec, JobError> {
    if let Value::Table(_) = node.value {
        return sheet::read(node).map(DriveSpec::Sheet);
    }
    let name = node.text("the name of a drive or a table of its figures")?;
    drives::names().find(|known| *known == name).map(DriveSpec::Named).ok_or_else(|| {
        let found = format!("unknown drive {}", quote(name));
        JobError::new(found).at(&node.origin).hint(suggest(name, drives::names()))
    })
}

fn observed(node: &Node, drive: &DriveSpec) -> Result<bool, JobError> {
    let observed = node.boolean()?;
    let unknown = |name| drives::observed::names().all(|known| known != name);
    if observed && drive.name().is_none_or(unknown) {
        let names: Vec<_> = drives::observed::names().collect();
        let found = match drive.name() {
            Some(name) => format!("nothing was observed of the real {}", quote(name)),
            None => "nothing was observed of a drive by its data sheet".into(),
        };
        let hint = format!("there is something of {}", names.join(", "));
        return Err(JobError::new(found).at(&node.origin).hint(hint));
    }
    Ok(observed)
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

impl DriveSpec {
    fn text(&self) -> String {
        match self {
            Self::Named(name) => quoted(name),
            Self::Sheet(sheet) => sheet.text(),
        }
    }

    fn name(&self) -> Option<&str> {
        match self {
            Self::Named(name) => Some(name),
            Self::Sheet(_) => None,
        }
    }

    fn drive(&self, observed: bool) -> Drive {
        match self {
            Self::Named(name) => {
                let facts = if observed { drives::observed::drive } else { drives::drive };
                facts(name).expect("checked when it was read")
            }
            Self::Sheet(sheet) => sheet.drive(),
        }
    }
}

impl HddSpec {
    pub(super) fn write(&self, out: &mut Lines) {
        let Self { drive, observed, options, cache, queue } = self;
        out.line("drive", drive.text());
        out.line("observed", observed.to_string());
        out.line(
            "overheads",
            match options.overheads {
                Overheads::None => quoted("none"),
                Overheads::Drive => quoted("drive"),
                Overheads::Constant(span) => time(span),
            },
        );
        out.line("bus", quoted(if options.bus == Bus::None { "none" } else { "drive" }));
        CacheSpec::write(cache.as_ref(), out);
        out.line("turnaround", time(options.turnaround));
        out.line("queue", queue.text());
    }

    /// Bytes that it takes, at most: its table of seeks is the largest.
    pub(super) fn memory(&self) -> u64 {
        let cylinders = self.drive.drive(self.observed).cylinders;
        u64::from(cylinders) * 4 + u64::from(self.queue.depth) * COMMAND
    }

    /// The disk, with its platter at `phase` when the run begins, and watched by `watch`.
    pub(super) fn build(&self, phase: Angle, watch: Option<Rc<dyn Watch>>) -> Box<dyn Device> {
        let drive = self.drive.drive(self.observed);
        let cache = self.cache.map(|cache| cache.of(&drive.cache));
        let options = Options { cache, ..self.options };
        let mut hdd = Hdd::new(&drive, options).expect("checked when it was read").turned(phase);
        if let Some(watch) = watch.clone() {
            hdd = hdd.observed(move |at, access| watch.accessed(at, access));
        }
        let disk: Box<dyn Device> = match self.queue.build() {
            Some(policy) => Box::new(Tagged::new(policy, hdd, self.queue.depth)),
            None => Box::new(hdd),
        };
        match watch {
            // What the arm does for a cache is no part of one request.
            Some(watch) if cache.is_some() => watch.over(disk),
            _ => disk,
        }
    }
}
