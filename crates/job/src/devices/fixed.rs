//! The model `fixed`: a law of length.

use penstock_core::{Device, Span};
use penstock_device::{Cost, Fixed};
use serde_json::{Value as Json, json};

use super::{Entry, Model};
use crate::diagnose::JobError;
use crate::schema::build::{any, defined, field, required, with, without};
use crate::text::{Lines, size, time};
use crate::tree::Reader;
use crate::units::{self, size_text};

/// A capacity that no job of today fills.
const CAPACITY: u64 = 1 << 40;

pub(super) const ENTRY: Entry = Entry {
    name: "fixed",
    keys: &["base", "per_mb", "unit", "unit_bytes", "capacity"],
    read: |reader| read(reader).map(Model::Fixed),
    fields: || {
        vec![
            field("base", "Time of every request.", defined("time")),
            field("per_mb", "Time of each million bytes.", defined("time")).or("0s"),
            field("unit", "Time of each begun unit of a request.", defined("time")),
            field("unit_bytes", "Bytes of a unit.", defined("size-above-zero")),
            field("capacity", "Bytes of the device.", defined("size-above-zero"))
                .or(size_text(CAPACITY)),
        ]
    },
    rules,
};

/// A law of length, and how many bytes there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FixedSpec {
    /// The law.
    pub cost: Cost,
    /// Bytes.
    pub capacity: u64,
}

/// By a law of its length in bytes, or in units; not both.
fn rules() -> Json {
    let in_units = any([required(&["unit"]), required(&["unit_bytes"])]);
    json!({
        "if": in_units,
        "then": with(required(&["unit", "unit_bytes"]), without(&["base", "per_mb"])),
        "else": required(&["base"]),
    })
}

fn read(reader: &Reader<'_>) -> Result<FixedSpec, JobError> {
    let capacity = reader.optional("capacity", |node| match units::size(node)? {
        0 => Err(node.expected("a capacity of at least `1B`")),
        bytes => Ok(bytes),
    })?;
    let cost = cost(reader)?;
    Ok(FixedSpec { cost, capacity: capacity.unwrap_or(CAPACITY) })
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

impl FixedSpec {
    pub(super) fn write(&self, out: &mut Lines) {
        match self.cost {
            Cost::Linear { base, per_mb } => {
                out.line("base", time(base));
                out.line("per_mb", time(per_mb));
            }
            Cost::Units { unit, unit_bytes } => {
                out.line("unit", time(unit));
                out.line("unit_bytes", size(unit_bytes.into()));
            }
        }
        out.line("capacity", size(self.capacity));
    }

    pub(super) fn build(&self) -> Box<dyn Device> {
        Box::new(Fixed::new(self.cost, self.capacity))
    }
}
