//! The model `fixed`: a service time by length.

use penstock_core::{Device, Op, Span, Time};
use penstock_device::{Cost, Fixed, Law};
use serde_json::{Value as Json, json};

use super::entry::ModelEntry;
use super::memory::COMMAND;
use crate::amount::{Count, SIZE, TIME};
use crate::describe::{any, with};
use crate::diagnose::JobError;
use crate::keys::{Declared, Keys, keys, needed, required, table_with, without};
use crate::kinds::Own;
use crate::reader::Reader;
use crate::rows::Rows;
use crate::tree::Node;

keys! {
    /// Keys of a law of its length in bytes.
    LINEAR:
    /// Time of every request.
    BASE base: Span = TIME, needs "\"0.9ms\"";
    /// Time of each million bytes.
    PER_MB per_mb: Span = TIME, or Span::ZERO;
}

keys! {
    /// Keys of a law of its length in units.
    UNITS:
    /// Time of each begun unit of a request.
    UNIT unit: Span = TIME, needs "\"1ms\"";
    /// Bytes of a unit.
    UNIT_BYTES unit_bytes: u32 = SIZE.above_zero().at_most(u32::MAX as u64),
        needs "\"10000B\"";
}

keys! {
    /// Keys of every law.
    EITHER:
    /// Time before service, once for all requests that are taken together.
    LATENCY latency: Span = TIME, or Span::ZERO;
}

/// Keys of a law. As keys of the device they state the law of its reads.
const LAW: &[Keys] = &[LINEAR, UNITS, EITHER];

keys! {
    /// Keys of the device next to those of a law. The capacity is one that no job of today fills,
    /// the depth at most far more than any disk takes.
    KEYS:
    /// Service time of writes; if not given, as of reads.
    WRITES writes: Law = Own {
        read: |node| write_law(node, 1),
        text: |law| rows(law, Rows::of(LAW)).inline(),
        schema: || with(table_with(&[], LAW), rules()),
    };
    /// Requests in the device at once.
    DEPTH depth: u32 = Count(1, 65_536), or 1;
    /// Bytes of the device.
    CAPACITY capacity: u64 = SIZE.above_zero(), or 1 << 40;
}

pub(super) const ENTRY: ModelEntry<FixedSpec> =
    ModelEntry { name: "fixed", keys: &[LINEAR, UNITS, EITHER, KEYS], read, rules };

/// Service times by length, and the capacity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FixedSpec {
    /// Service time of reads.
    pub reads: Law,
    /// Service time of all other requests.
    pub writes: Law,
    /// Requests that the device holds at once.
    pub depth: u32,
    /// Capacity in bytes.
    pub capacity: u64,
}

/// Allows a law by bytes or by units, but not both.
fn rules() -> Json {
    let in_units = any([required(&[&UNIT]), required(&[&UNIT_BYTES])]);
    let units = with(needed(UNITS), without(LINEAR));
    json!({"if": in_units, "then": units, "else": needed(LINEAR)})
}

fn read(reader: &Reader<'_>) -> Result<FixedSpec, JobError> {
    let (capacity, depth) = (reader.get(&CAPACITY)?, reader.get(&DEPTH)?);
    let reads = law(reader, depth)?;
    let writes = reader.node(&WRITES).map_or(Ok(reads), |node| write_law(node, depth))?;
    Ok(FixedSpec { reads, writes, depth, capacity })
}

fn write_law(node: &Node, depth: u32) -> Result<Law, JobError> {
    law(&Reader::new(node, "the law of writes", LAW)?, depth)
}

/// Reads the service time of requests of a device that holds `depth` of them.
fn law(reader: &Reader<'_>, depth: u32) -> Result<Law, JobError> {
    let latency = reader.get(&LATENCY)?;
    let in_units = UNITS.iter().any(|key| reader.node(*key).is_some());
    let (cost, key): (_, &dyn Declared) = if in_units {
        let hint = "a device has `base` and `per_mb`, or `unit` and `unit_bytes`";
        reader.refuse(LINEAR, "does not go with `unit`", hint)?;
        let (unit, unit_bytes) = (reader.get(&UNIT)?, reader.get(&UNIT_BYTES)?);
        (Cost::Units { unit, unit_bytes }, &UNIT)
    } else {
        let (base, per_mb) = (reader.get(&BASE)?, reader.get(&PER_MB)?);
        (Cost::Linear { base, per_mb }, &BASE)
    };
    if cost.of(Op::Read, u32::MAX) == Span::ZERO {
        let message = "the device takes no time at all";
        let hint = "give it a `base`, a `per_mb` or a `unit` above zero";
        return Err(JobError::new(message).at(reader.origin(key)).hint(hint));
    }
    let law = Law { cost, latency };
    let longest = (latency + cost.of(Op::Read, u32::MAX)).share(depth.into(), 1);
    if longest > Time::LAST.since(Time::ZERO) {
        let message = "the device takes more than a hundred years for the longest requests (4GiB)";
        let hint = "lower its times, or its `depth`";
        return Err(JobError::new(message).at(reader.origin(key)).hint(hint));
    }
    Ok(law)
}

fn rows(law: &Law, rows: Rows) -> Rows {
    let rows = match &law.cost {
        Cost::Linear { base, per_mb } => rows.put(&BASE, base).put(&PER_MB, per_mb),
        Cost::Units { unit, unit_bytes } => rows.put(&UNIT, unit).put(&UNIT_BYTES, unit_bytes),
    };
    rows.put(&LATENCY, &law.latency)
}

impl FixedSpec {
    pub(super) fn rows(&self, all: Rows) -> Rows {
        rows(&self.reads, all)
            .maybe(&WRITES, Some(&self.writes).filter(|writes| **writes != self.reads))
            .put(&DEPTH, &self.depth)
            .put(&CAPACITY, &self.capacity)
    }

    /// Returns the most memory in bytes that the device takes.
    pub(super) fn memory(&self) -> u64 {
        u64::from(self.depth) * COMMAND
    }

    pub(super) fn build(&self) -> Box<dyn Device> {
        Box::new(Fixed::with(self.reads, self.writes, self.depth, self.capacity))
    }
}
