//! Arrays: the number of disks and their layout.

use std::num::NonZeroU32;

use penstock_core::{Device, Seed};
use penstock_device::hdd::Angle;
use penstock_device::{Array, ArrayError, Level};
use rand::RngExt;
use serde_json::{Value as Json, json};

use crate::amount::{Count, SIZE, or_off};
use crate::describe::{count, with};
use crate::diagnose::JobError;
use crate::keys::{is, keys, table_with, without};
use crate::kinds::{Choice, Kind, Own};
use crate::reader::Reader;
use crate::rows::Rows;
use crate::tree::Node;
use crate::units::about;

const RAID0: &str = "raid0";
const RAID5: &str = "raid5";
const RAID1: &str = "raid1";
const JBOD: &str = "jbod";
const EACH: &str = "each";
/// Levels with stripes.
const STRIPED: &[&str] = &[RAID0, RAID5];
/// Most disks of an array: more than any controller has.
const MOST: u64 = 256;
/// Default stripe unit in bytes.
const USUAL_STRIPE: u32 = 64 << 10;

keys! {
    /// Keys of an array.
    KEYS:
    /// Layout of the bytes on the disks.
    LEVEL level: &'static str =
        Choice(&[(RAID0, RAID0), (RAID5, RAID5), (RAID1, RAID1), (JBOD, JBOD)]), needs "\"raid0\"";
    /// Number of disks.
    DISKS disks: u32 = Count(1, MOST), needs "4";
}

keys! {
    /// Keys of an array with stripes.
    STRIPE_KEYS:
    /// Bytes on one disk before the next disk follows: 512B to 1GiB.
    // A request has at most as many pieces as units: with smaller ones they would fill the memory.
    STRIPE stripe: u32 = SIZE.at_least(512).at_most(1 << 30).hint("a sector is the least"),
        or USUAL_STRIPE;
}

keys! {
    /// Keys of an array that stand behind its stripes.
    MORE_KEYS:
    /// Most bytes of a request's neighbouring pieces on one disk that are joined.
    MAX_EXTENT max_extent: Option<NonZeroU32> = or_off(SIZE.above_zero().at_most(1 << 30)), or None;
    /// Place of the queue: one queue for all disks, or one before each disk, where the policy sees
    /// the pieces of its disk.
    SCHEDULER scheduler: Scheduler =
        Choice(&[("one", Scheduler::One), (EACH, Scheduler::Each)]), or Scheduler::One;
    /// Requests that the array's controller takes at once; those that a full disk cannot take wait
    /// in it. If not given, there is no controller, and a request waits, with all behind it, until
    /// its disks have room.
    DEPTH depth: u32 = Count(1, 65_536);
    /// Angle of the platters at the start: the same for all disks, or random.
    PHASE phase: bool = Choice(&[("same", false), ("random", true)]), or false;
}

/// A table of an array.
pub(super) const KIND: Own<ArraySpec> = Own { read, text, schema };

/// The place where requests for an array wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Scheduler {
    /// A common queue for all disks.
    #[default]
    One,
    /// A queue with its own policy before each disk.
    Each,
}

/// Several disks as one device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ArraySpec {
    /// Layout of the bytes.
    pub level: Level,
    /// Number of disks.
    pub disks: u32,
    /// Most bytes of neighbouring pieces that are joined.
    pub max_extent: Option<NonZeroU32>,
    /// The place where requests wait.
    pub scheduler: Scheduler,
    /// Requests that the controller takes at once, if the array has one.
    pub depth: Option<u32>,
    /// Whether platters begin at random angles instead of angle 0.
    pub random_phase: bool,
}

fn read(node: &Node) -> Result<ArraySpec, JobError> {
    let reader = Reader::new(node, "the array", &[KEYS, STRIPE_KEYS, MORE_KEYS])?;
    let name = reader.get(&LEVEL)?;
    if !STRIPED.contains(&name) {
        let why = format!("does not go with level `{name}`");
        reader.exclude(&LEVEL, STRIPE_KEYS, &why, "raid0 and raid5 have stripes")?;
    }
    let stripe = reader.get(&STRIPE)?;
    let level = match name {
        RAID0 => Level::Raid0 { stripe },
        RAID5 => Level::Raid5 { stripe },
        RAID1 => Level::Raid1,
        _ => Level::Jbod,
    };
    let disks = match reader.node(&DISKS) {
        Some(node) => Count(level.least() as u64, MOST).read(node)?,
        None => reader.get(&DISKS)?,
    };
    let (max_extent, scheduler) = (reader.get(&MAX_EXTENT)?, reader.get(&SCHEDULER)?);
    if scheduler == Scheduler::Each {
        let why = "belongs to an array with one queue; this one has one before each disk";
        reader.refuse(&[&DEPTH], why, "these queues keep what a full disk cannot take")?;
    }
    let (depth, random_phase) = (reader.find(&DEPTH)?, reader.get(&PHASE)?);
    Ok(ArraySpec { level, disks, max_extent, scheduler, depth, random_phase })
}

fn schema() -> Json {
    let least = Level::Raid5 { stripe: USUAL_STRIPE }.least() as u64;
    let disks = json!({"properties": {DISKS.name: count(least, MOST)}});
    let rules = json!({"allOf": [
        {"if": is(&LEVEL, STRIPED), "else": without(STRIPE_KEYS)},
        {"if": is(&LEVEL, &[RAID5]), "then": disks},
        {"if": is(&SCHEDULER, &[EACH]), "then": without(&[&DEPTH])},
    ]});
    with(table_with(KEYS, &[STRIPE_KEYS, MORE_KEYS]), rules)
}

fn text(array: &ArraySpec) -> String {
    let (name, stripe) = match array.level {
        Level::Raid0 { stripe } => (RAID0, Some(stripe)),
        Level::Raid5 { stripe } => (RAID5, Some(stripe)),
        Level::Raid1 => (RAID1, None),
        Level::Jbod => (JBOD, None),
    };
    Rows::of(&[KEYS, STRIPE_KEYS, MORE_KEYS])
        .put(&LEVEL, &name)
        .put(&DISKS, &array.disks)
        .maybe(&STRIPE, stripe.as_ref())
        .put(&MAX_EXTENT, &array.max_extent)
        .put(&SCHEDULER, &array.scheduler)
        .maybe(&DEPTH, array.depth.as_ref())
        .put(&PHASE, &array.random_phase)
        .inline()
}

impl ArraySpec {
    /// Returns the initial angle of the platter of disk `number`.
    pub(super) fn phase(&self, number: u32, seed: Seed) -> Angle {
        let random = || Angle(seed.stream("phase", number.into()).random());
        if self.random_phase { random() } else { Angle::default() }
    }

    /// Checks that disks of `capacity` bytes can form the array.
    pub(super) fn check(&self, capacity: u64) -> Result<(), JobError> {
        match self.level {
            Level::Raid0 { stripe } | Level::Raid5 { stripe } if u64::from(stripe) > capacity => {
                let disk = about(capacity);
                let message = format!("the stripe unit is larger than a disk, which holds {disk}");
                Err(JobError::new(message).hint("lower `stripe`"))
            }
            _ => Ok(()),
        }
    }

    /// Joins `disks` to one device.
    ///
    /// # Errors
    /// See [`Array::new`].
    pub fn over<D: Device>(&self, disks: Vec<D>) -> Result<Array<D>, ArrayError> {
        let max_extent = self.max_extent.map_or(u32::MAX, NonZeroU32::get);
        let array = Array::new(self.level, max_extent, disks)?;
        Ok(match self.depth {
            Some(depth) => array.with_controller(depth),
            None => array,
        })
    }
}
