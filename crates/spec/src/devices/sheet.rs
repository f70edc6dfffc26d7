//! A drive by the figures of its data sheet, where a device does not name one.
//!
//! What no sheet states is taken as [`drives`](crate::drives) takes it: zones, skews, what a
//! command costs, the rules of the cache.

use std::ops::RangeInclusive;

use penstock_core::Span;
use penstock_device::hdd::{Drive, Hdd, Options};
use serde_json::Value as Json;

use crate::diagnose::JobError;
use crate::drives::Sheet;
use crate::schema::build::{count, defined, field, required, table, with};
use crate::text::{size, time};
use crate::tree::{Node, Reader};
use crate::units::{self, duration_text, size_text, transfer_text};

const KEYS: [&str; 11] = [
    "capacity",
    "rpm",
    "single_seek",
    "average_seek",
    "full_seek",
    "outer_rate",
    "inner_rate",
    "heads",
    "head_switch",
    "write_settle",
    "buffer",
];
/// What every sheet states.
const STATED: usize = 7;

const RPM: RangeInclusive<u64> = 1_000..=100_000;
const HEADS: RangeInclusive<u64> = 1..=64;
/// No disk's rate is outside, and each is at least a sector a turn.
const RATE: RangeInclusive<u64> = 1_000_000..=10_000_000_000;
const BUFFER: RangeInclusive<u64> = 1 << 20..=2 << 30;
/// No part of a seek takes longer.
const LONGEST: Span = Span::from_ms(500);

/// Heads that nobody stated.
const HEADS_USUAL: u32 = 8;
/// A buffer that nobody stated.
const BUFFER_USUAL: u64 = 128 << 20;
/// The interface of every drive of today: never the slower part.
const INTERFACE_MB_S: f64 = 600.0;

/// Figures of a data sheet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SheetSpec {
    /// Bytes; the drive has as many cylinders as they need.
    pub capacity: u64,
    /// Turns a minute.
    pub rpm: u32,
    /// Seeks to the next cylinder, over a third of all, and over all.
    pub seeks: [Span; 3],
    /// Bytes a second of a long sequential read on the outermost and the innermost tracks: skews are
    /// counted.
    pub rates: [u64; 2],
    /// Surfaces that carry data.
    pub heads: u32,
    /// Time to change heads.
    pub head_switch: Span,
    /// What a write's seek takes longer than a read's.
    pub write_settle: Span,
    /// Bytes of its buffer, for a device with `cache = "drive"`.
    pub buffer: u64,
}

pub(super) fn read(node: &Node) -> Result<SheetSpec, JobError> {
    let reader = Reader::new(node, "the drive", &KEYS)?;
    let whole = |range: RangeInclusive<u64>| {
        move |node: &Node| node.count(*range.start(), *range.end()).map(|number| number as u32)
    };
    let single = reader.required("single_seek", "\"0.8ms\"", seek)?;
    let sheet = SheetSpec {
        capacity: reader.required("capacity", "\"4TB\"", |node| match units::size(node)? {
            0 => Err(node.expected("a capacity of at least `1B`")),
            bytes => Ok(bytes),
        })?,
        rpm: reader.required("rpm", "7200", whole(RPM))?,
        seeks: [
            single,
            reader.required("average_seek", "\"8.5ms\"", seek)?,
            reader.required("full_seek", "\"16ms\"", seek)?,
        ],
        rates: [
            reader.required("outer_rate", "\"200MB/s\"", rate)?,
            reader.required("inner_rate", "\"95MB/s\"", rate)?,
        ],
        heads: reader.optional("heads", whole(HEADS))?.unwrap_or(HEADS_USUAL),
        head_switch: reader.optional("head_switch", seek)?.unwrap_or(single),
        write_settle: reader.optional("write_settle", seek)?.unwrap_or(Span::ZERO),
        buffer: reader.optional("buffer", buffer)?.unwrap_or(BUFFER_USUAL),
    };
    let wrong = |found: String| JobError::new(found).at(&node.origin);
    if !sheet.seeks.is_sorted() {
        let found = "a seek to the next cylinder is not the shortest, or one over all cylinders \
                     not the longest";
        let hint = "`single_seek` ≤ `average_seek` ≤ `full_seek`";
        return Err(wrong(found.into()).hint(hint));
    }
    let least = Sheet::from(&sheet).least();
    if sheet.capacity < least {
        let found = format!("the drive is smaller than {}", size_text(least));
        let hint = "so much has a cylinder in each zone: raise `capacity` or lower `heads`";
        return Err(wrong(found).hint(hint));
    }
    let made = Hdd::new(&sheet.drive(), Options::MECHANICAL);
    made.map_err(|error| wrong(error.to_string()).hint("compare with the drive's data sheet"))?;
    Ok(sheet)
}

fn seek(node: &Node) -> Result<Span, JobError> {
    let found = Some(units::duration(node)?).filter(|&span| span <= LONGEST);
    found.ok_or_else(|| node.expected("a length of time of at most `500ms`"))
}

fn rate(node: &Node) -> Result<u64, JobError> {
    let found = Some(units::transfer(node)?).filter(|rate| RATE.contains(rate));
    found.ok_or_else(|| node.expected("a transfer rate from `1MB/s` to `10GB/s`"))
}

fn buffer(node: &Node) -> Result<u64, JobError> {
    let found = Some(units::size(node)?).filter(|bytes| BUFFER.contains(bytes));
    found.ok_or_else(|| node.expected("a size from `1MiB` to `2GiB`"))
}

/// What the schema says of the table.
pub(super) fn schema() -> Json {
    let number = |range: RangeInclusive<u64>| count(*range.start(), *range.end());
    let timed = || defined("time");
    let moved = || defined("transfer-rate");
    let fields = vec![
        field("capacity", "Bytes of the drive.", defined("size-above-zero")),
        field("rpm", "Turns a minute.", number(RPM)),
        field("single_seek", "Seek to the next cylinder.", timed()),
        field("average_seek", "Average seek: one over a third of the cylinders.", timed()),
        field("full_seek", "Seek over all cylinders.", timed()),
        field("outer_rate", "Sustained transfer rate on the outermost tracks.", moved()),
        field("inner_rate", "Sustained transfer rate on the innermost tracks.", moved()),
        field("heads", "Surfaces that carry data.", number(HEADS)).or(HEADS_USUAL),
        field("head_switch", "Time to change heads; if not given, as `single_seek`.", timed()),
        field("write_settle", "What a write's seek takes longer.", timed())
            .or(duration_text(Span::ZERO)),
        field("buffer", "Bytes of its buffer.", defined("size-above-zero"))
            .or(size_text(BUFFER_USUAL)),
    ];
    with(table(KEYS, fields), required(&KEYS[..STATED]))
}

impl SheetSpec {
    pub(super) fn text(&self) -> String {
        let [single, average, full] = self.seeks.map(time);
        let [outer, inner] = self.rates.map(transfer_text);
        let (capacity, buffer) = (size(self.capacity), size(self.buffer));
        let (switch, settle) = (time(self.head_switch), time(self.write_settle));
        format!(
            "{{ capacity = {capacity}, rpm = {}, single_seek = {single}, average_seek = \
             {average}, full_seek = {full}, outer_rate = \"{outer}\", inner_rate = \"{inner}\", \
             heads = {}, head_switch = {switch}, write_settle = {settle}, buffer = {buffer} }}",
            self.rpm, self.heads
        )
    }

    pub(super) fn drive(&self) -> Drive {
        Sheet::from(self).into()
    }
}

impl From<&SheetSpec> for Sheet {
    fn from(spec: &SheetSpec) -> Self {
        let ms = |span: Span| span.ns() as f64 / 1e6;
        let [single, average, full] = spec.seeks.map(ms);
        let [outer, inner] = spec.rates.map(|rate| rate as f64 / 1e6);
        let sheet = Self {
            data_surfaces: spec.heads,
            cylinders: 0,
            rotation_speed_rpm: spec.rpm,
            single_cylinder_seek_time: single,
            avg_read_seek_time: average,
            full_strobe_seek_time: full,
            add_write_settling_delay: ms(spec.write_settle),
            head_switch_time: ms(spec.head_switch),
            outer_sustained_rate_mb_s: outer,
            inner_sustained_rate_mb_s: inner,
            interface_rate_mb_s: INTERFACE_MB_S,
            cache_mib: (spec.buffer >> 20) as u32,
        };
        sheet.holding(spec.capacity)
    }
}

#[cfg(test)]
mod tests {
    use penstock_core::{Device, Op, Time};
    use proptest::prelude::*;

    use super::*;

    /// Bytes a second of a read of nearly 4 GiB, its first seek and wait left out.
    fn read_rate(hdd: &Hdd, start: u64) -> f64 {
        let len = u32::MAX / 512 * 512;
        let access = hdd.access(Time::ZERO, Op::Read, start, len);
        f64::from(len) * 1e9 / access.transfer.ns() as f64
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_long_read_runs_at_the_stated_rate_outside_and_inside(
            rpm in prop::sample::select(vec![5_400, 7_200, 10_000, 15_000]),
            heads in 1_u32..=20,
            outer in 80_000_000_u64..400_000_000,
            inwards in 0.4..1.0,
            [single, head_switch, write_settle] in prop::array::uniform3(0_u64..1_900),
        ) {
            let rates = [outer, (outer as f64 * inwards) as u64];
            let sheet = SheetSpec {
                // So that each zone holds more than is read.
                capacity: 1_000_000_000_000,
                rpm,
                seeks: [Span::from_us(single), Span::from_ms(8), Span::from_ms(16)],
                rates,
                heads,
                head_switch: Span::from_us(head_switch),
                write_settle: Span::from_us(write_settle),
                buffer: BUFFER_USUAL,
            };
            let hdd = Hdd::new(&sheet.drive(), Options::MECHANICAL).expect("a good sheet");
            let inside = hdd.capacity() - (4 << 30);
            let found = [0, inside].map(|start| read_rate(&hdd, start));
            for (found, stated) in found.into_iter().zip(rates) {
                let off = found / stated as f64 - 1.0;
                prop_assert!(off.abs() < 0.01, "{found} for {stated} bytes a second, {sheet:?}");
            }
        }
    }
}
