//! The model `fixed`: a law of length.

use penstock_core::{Device, Op, Span, Time};
use penstock_device::{Cost, Fixed, Law};
use serde_json::{Value as Json, json};

use super::entry::Entry;
use super::memory::COMMAND;
use crate::diagnose::JobError;
use crate::schema::build::{Field, any, count, defined, field, required, table, with, without};
use crate::text::{Lines, size, time};
use crate::tree::{Node, Reader};
use crate::units::{self, size_text};

/// A capacity that no job of today fills.
const CAPACITY: u64 = 1 << 40;

/// Requests in it at most: far more than any disk takes.
const DEPTH_MOST: u64 = 65_536;

/// Keys of a law, which are keys of the device too: those are the law of its reads.
const LAW_KEYS: [&str; 5] = ["base", "per_mb", "unit", "unit_bytes", "latency"];

pub(super) const ENTRY: Entry<FixedSpec> = Entry {
    name: "fixed",
    keys: &["base", "per_mb", "unit", "unit_bytes", "latency", "writes", "depth", "capacity"],
    read,
    fields: || {
        let writes = with(table(LAW_KEYS, law_fields()), rules());
        let mut fields = law_fields();
        fields.extend([
            field("writes", "The same of writes; if not given, as of reads.", writes),
            field("depth", "Requests in it at once.", count(1, DEPTH_MOST)).or(1),
            field("capacity", "Bytes of the device.", defined("size-above-zero"))
                .or(size_text(CAPACITY)),
        ]);
        fields
    },
    rules,
};

/// Laws of length, and how many bytes there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FixedSpec {
    /// What reads take.
    pub reads: Law,
    /// What all else takes.
    pub writes: Law,
    /// Requests in it at once.
    pub depth: u32,
    /// Bytes.
    pub capacity: u64,
}

fn law_fields() -> Vec<Field> {
    vec![
        field("base", "Time of every request.", defined("time")),
        field("per_mb", "Time of each million bytes.", defined("time")).or("0s"),
        field("unit", "Time of each begun unit of a request.", defined("time")),
        field("unit_bytes", "Bytes of a unit.", defined("size-above-zero")),
        field(
            "latency",
            "Time before that, once for all that are taken together.",
            defined("time"),
        )
        .or("0s"),
    ]
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
    let depth = reader.optional("depth", |node| node.count(1, DEPTH_MOST))?.unwrap_or(1) as u32;
    let reads = law(reader, depth)?;
    let of_writes = |node: &Node| law(&Reader::new(node, "the law of writes", &LAW_KEYS)?, depth);
    let writes = reader.optional("writes", of_writes)?.unwrap_or(reads);
    Ok(FixedSpec { reads, writes, depth, capacity: capacity.unwrap_or(CAPACITY) })
}

/// What requests take, of which the device holds `depth`.
fn law(reader: &Reader<'_>, depth: u32) -> Result<Law, JobError> {
    let latency = reader.optional("latency", units::duration)?.unwrap_or(Span::ZERO);
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
    if cost.of(Op::Read, u32::MAX) == Span::ZERO {
        let found = "the device takes no time at all";
        let hint = "give it a `base`, a `per_mb` or a `unit` above zero";
        return Err(JobError::new(found).at(reader.origin(key)).hint(hint));
    }
    let law = Law { cost, latency };
    let longest = (latency + cost.of(Op::Read, u32::MAX)).share(depth.into(), 1);
    if longest > Time::LAST.since(Time::ZERO) {
        let found = "the device takes more than a hundred years for the longest requests (4GiB)";
        let hint = "lower its times, or its `depth`";
        return Err(JobError::new(found).at(reader.origin(key)).hint(hint));
    }
    Ok(law)
}

/// The keys of a law with their values.
fn pairs(law: &Law) -> Vec<(&'static str, String)> {
    let mut pairs = match law.cost {
        Cost::Linear { base, per_mb } => vec![("base", time(base)), ("per_mb", time(per_mb))],
        Cost::Units { unit, unit_bytes } => {
            vec![("unit", time(unit)), ("unit_bytes", size(unit_bytes.into()))]
        }
    };
    pairs.push(("latency", time(law.latency)));
    pairs
}

impl FixedSpec {
    pub(super) fn write(&self, out: &mut Lines) {
        for (key, value) in pairs(&self.reads) {
            out.line(key, value);
        }
        if self.writes != self.reads {
            let pair = |(key, value): &(&str, String)| format!("{key} = {value}");
            let pairs: Vec<String> = pairs(&self.writes).iter().map(pair).collect();
            out.line("writes", format!("{{ {} }}", pairs.join(", ")));
        }
        out.line("depth", self.depth);
        out.line("capacity", size(self.capacity));
    }

    /// Bytes that it takes, at most.
    pub(super) fn memory(&self) -> u64 {
        u64::from(self.depth) * COMMAND
    }

    pub(super) fn build(&self) -> Box<dyn Device> {
        Box::new(Fixed::with(self.reads, self.writes, self.depth, self.capacity))
    }
}
