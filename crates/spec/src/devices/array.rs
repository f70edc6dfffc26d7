//! Several disks as one: how many of the device's, and how they are laid out.

use std::num::NonZeroU32;

use penstock_core::{Device, Seed};
use penstock_device::hdd::Angle;
use penstock_device::{Array, ArrayError, Level};
use rand::RngExt;
use serde_json::{Value as Json, json};

use crate::diagnose::JobError;
use crate::nearest::suggest;
use crate::schema::build::{
    any, count, defined, field, from_digit, required, table, with, without, words,
};
use crate::text::{quoted, size};
use crate::tree::{Node, Reader};
use crate::units::OFF;
use crate::units::{self, size_text};

const KEYS: [&str; 5] = ["level", "disks", "stripe", "max_extent", "phase"];
/// Levels, those with stripes first.
const LEVELS: [&str; 4] = ["raid0", "raid5", "raid1", "jbod"];
/// How many of them have stripes.
const STRIPED: usize = 2;
/// A stripe unit that nobody gave.
const STRIPE: u32 = 64 << 10;
/// Disks of an array, at most: more than one controller has.
const MOST: u64 = 256;
/// Where the platters stand.
const PHASES: &[&str] = &["same", "random"];

/// Several disks as one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArraySpec {
    /// How bytes are laid out.
    pub level: Level,
    /// How many disks.
    pub disks: u32,
    /// Bytes of neighbouring pieces that are joined, at most.
    pub max_extent: Option<NonZeroU32>,
    /// Platters stand anywhere when the run begins, and not all at angle 0.
    pub random_phase: bool,
}

pub(super) fn read(node: &Node) -> Result<ArraySpec, JobError> {
    let reader = Reader::new(node, "the array", &KEYS)?;
    let name = reader.required("level", "\"raid0\"", |node| node.choice(&LEVELS))?;
    let stripe = if LEVELS[..STRIPED].contains(&name) {
        reader.optional("stripe", stripe)?.unwrap_or(STRIPE)
    } else {
        let why = format!("does not go with level `{name}`");
        reader.refuse(&["stripe"], &why, "raid0 and raid5 have stripes")?;
        STRIPE
    };
    let level = match name {
        "raid0" => Level::Raid0 { stripe },
        "raid5" => Level::Raid5 { stripe },
        "raid1" => Level::Raid1,
        _ => Level::Jbod,
    };
    let least = level.least() as u64;
    let disks = reader.required("disks", "4", |node| node.count(least, MOST))? as u32;
    let max_extent = reader.optional("max_extent", |node| match node.word() {
        Some(OFF) => Ok(None),
        Some(text) if !text.trim_start().starts_with(|c: char| c.is_ascii_digit()) => {
            let expected = node.expected("`off` or a size");
            Err(expected.hint(suggest(text, [OFF])))
        }
        _ => bytes(node).map(Some),
    })?;
    let phase = reader.optional("phase", |node| node.choice(PHASES))?;
    let random_phase = phase == Some("random");
    Ok(ArraySpec { level, disks, max_extent: max_extent.flatten(), random_phase })
}

fn bytes(node: &Node) -> Result<NonZeroU32, JobError> {
    let found = units::size(node)?;
    let found = u32::try_from(found).ok().filter(|&bytes| bytes <= 1 << 30);
    let found = found.and_then(NonZeroU32::new);
    found.ok_or_else(|| node.expected("a size from `1B` to `1GiB`"))
}

/// A request has at most as many pieces as units: with smaller ones they would fill the memory.
const STRIPE_LEAST: u32 = 512;

fn stripe(node: &Node) -> Result<u32, JobError> {
    let found = u32::try_from(units::size(node)?).ok();
    let found = found.filter(|bytes| (STRIPE_LEAST..=1 << 30).contains(bytes));
    found.ok_or_else(|| node.expected("a size from `512B` to `1GiB`").hint("a sector is the least"))
}

/// What the schema says of the table.
pub(super) fn schema() -> Json {
    let max_extent = any([words([OFF]), from_digit("size-above-zero")]);
    let joins = "Bytes of a request's neighbouring pieces on one disk that are joined, at most.";
    let fields = vec![
        field("level", "How bytes are laid out.", words(LEVELS)),
        field("disks", "How many disks.", count(1, MOST)),
        field(
            "stripe",
            "Bytes on one disk before the next: 512B to 1GiB.",
            defined("size-above-zero"),
        )
        .or(size_text(STRIPE.into())),
        field("max_extent", joins, max_extent).or(OFF),
        field("phase", "Where platters stand at first.", words(PHASES.iter().copied())).or("same"),
    ];
    let striped = json!({"properties": {"level": {"enum": &LEVELS[..STRIPED]}}});
    let parity = json!({"properties": {"level": {"const": "raid5"}}});
    let least = Level::Raid5 { stripe: STRIPE }.least() as u64;
    let rules = json!({"allOf": [
        {"if": striped, "else": without(&["stripe"])},
        {"if": parity, "then": {"properties": {"disks": count(least, MOST)}}},
    ]});
    with(with(table(KEYS, fields), required(&["level", "disks"])), rules)
}

impl ArraySpec {
    pub(super) fn text(&self) -> String {
        let Self { level, disks, max_extent, random_phase } = self;
        let (name, stripe) = match level {
            Level::Raid0 { stripe } => ("raid0", Some(*stripe)),
            Level::Raid5 { stripe } => ("raid5", Some(*stripe)),
            Level::Raid1 => ("raid1", None),
            Level::Jbod => ("jbod", None),
        };
        let stripe = stripe.map(|bytes| format!(", stripe = {}", size(bytes.into())));
        let stripe = stripe.unwrap_or_default();
        let extent = max_extent.map_or_else(|| quoted(OFF), |bytes| size(bytes.get().into()));
        let phase = PHASES[usize::from(*random_phase)];
        format!(
            "{{ level = \"{name}\", disks = {disks}{stripe}, max_extent = {extent}, phase = \
             \"{phase}\" }}"
        )
    }

    /// Where the platter of the disk numbered `number` stands when the run begins.
    pub(super) fn phase(&self, number: u32, seed: Seed) -> Angle {
        let random = || Angle(seed.stream("phase", number.into()).random());
        if self.random_phase { random() } else { Angle::default() }
    }

    /// That disks of `capacity` bytes can make it.
    pub(super) fn check(&self, capacity: u64) -> Result<(), JobError> {
        match self.level {
            Level::Raid0 { stripe } | Level::Raid5 { stripe } if u64::from(stripe) > capacity => {
                let disk = size_text(capacity);
                let found = format!("the stripe unit is larger than a disk, which holds {disk}");
                Err(JobError::new(found).hint("lower `stripe`"))
            }
            _ => Ok(()),
        }
    }

    /// `disks` as one.
    ///
    /// # Errors
    /// As [`Array::new`].
    pub(super) fn over(&self, disks: Vec<Box<dyn Device>>) -> Result<Box<dyn Device>, ArrayError> {
        let max_extent = self.max_extent.map_or(u32::MAX, NonZeroU32::get);
        Ok(Box::new(Array::new(self.level, max_extent, disks)?))
    }
}
