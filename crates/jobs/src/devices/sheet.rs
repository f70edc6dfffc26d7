//! A drive by the figures of its data sheet, for a device that names no drive.
//!
//! Zones, skews, command overheads and the rules of the cache, which no sheet states, are those of
//! [`drives`](crate::drives).

use penstock_core::Span;
use penstock_device::hdd::{Drive, Hdd, Options};
use serde_json::Value as Json;

use crate::amount::{Amount, Count, SIZE, TIME, TRANSFER};
use crate::diagnose::JobError;
use crate::drives::Sheet;
use crate::keys::{keys, table};
use crate::reader::Reader;
use crate::rows::Rows;
use crate::tree::Node;
use crate::units::size_text;

/// Bound of a seek.
const SEEK: Amount = TIME.at_most(Span::from_ms(500).ns());
/// Bounds of rates in bytes a second: no disk is outside them, and each gives at least a sector per
/// track.
const RATE: Amount = TRANSFER.at_least(1_000_000).at_most(10_000_000_000);

/// Default buffer in bytes.
const BUFFER_USUAL: u64 = 128 << 20;
/// Rate of the interface of today's drives, which is never the bottleneck.
const INTERFACE_MB_S: f64 = 600.0;

keys! {
    /// Keys of a data sheet. Every sheet states the first seven.
    KEYS:
    /// Bytes of the drive.
    CAPACITY capacity: u64 = SIZE.above_zero(), needs "\"4TB\"";
    /// Turns a minute.
    RPM rpm: u32 = Count(1_000, 100_000), needs "7200";
    /// Seek to the next cylinder.
    SINGLE single_seek: Span = SEEK, needs "\"0.8ms\"";
    /// Average seek: one over a third of the cylinders.
    AVERAGE average_seek: Span = SEEK, needs "\"8.5ms\"";
    /// Seek over all cylinders.
    FULL full_seek: Span = SEEK, needs "\"16ms\"";
    /// Sustained transfer rate on the outermost tracks.
    OUTER outer_rate: u64 = RATE, needs "\"200MB/s\"";
    /// Sustained transfer rate on the innermost tracks.
    INNER inner_rate: u64 = RATE, needs "\"95MB/s\"";
    /// Surfaces that carry data.
    HEADS heads: u32 = Count(1, 64), or 8;
    /// Time to change heads; if not given, that of `single_seek`.
    SWITCH head_switch: Span = SEEK;
    /// Additional time of a write's seek.
    SETTLE write_settle: Span = SEEK, or Span::ZERO;
    /// Bytes of the drive's buffer.
    BUFFER buffer: u64 = SIZE.at_least(1 << 20).at_most(2 << 30), or BUFFER_USUAL;
}

/// Figures of a data sheet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SheetSpec {
    /// Capacity in bytes, which decides the number of cylinders.
    pub capacity: u64,
    /// Turns a minute.
    pub rpm: u32,
    /// Seek times to the next cylinder, over a third of all cylinders, and over all.
    pub seeks: [Span; 3],
    /// Rates of a long sequential read on the outermost and the innermost tracks in bytes a second,
    /// skews included.
    pub rates: [u64; 2],
    /// Surfaces that carry data.
    pub heads: u32,
    /// Time to change heads.
    pub head_switch: Span,
    /// Time by which a write's seek is longer than a read's.
    pub write_settle: Span,
    /// Bytes of the buffer, for a device with `cache = "drive"`.
    pub buffer: u64,
}

pub(super) fn read(node: &Node) -> Result<SheetSpec, JobError> {
    let reader = Reader::new(node, "the drive", &[KEYS])?;
    let single = reader.get(&SINGLE)?;
    let sheet = SheetSpec {
        capacity: reader.get(&CAPACITY)?,
        rpm: reader.get(&RPM)?,
        seeks: [single, reader.get(&AVERAGE)?, reader.get(&FULL)?],
        rates: [reader.get(&OUTER)?, reader.get(&INNER)?],
        heads: reader.get(&HEADS)?,
        head_switch: reader.find(&SWITCH)?.unwrap_or(single),
        write_settle: reader.get(&SETTLE)?,
        buffer: reader.get(&BUFFER)?,
    };
    let wrong = |message: String| JobError::new(message).at(&node.origin);
    if !sheet.seeks.is_sorted() {
        let message = "a seek to the next cylinder is not the shortest, or one over all cylinders \
                     not the longest";
        let hint = "`single_seek` ≤ `average_seek` ≤ `full_seek`";
        return Err(wrong(message.into()).hint(hint));
    }
    let least = Sheet::from(&sheet).least();
    if sheet.capacity < least {
        let message = format!("the drive is smaller than {}", size_text(least));
        let hint = "so much has a cylinder in each zone: raise `capacity` or lower `heads`";
        return Err(wrong(message).hint(hint));
    }
    let built = Hdd::new(&sheet.drive(), Options::MECHANICAL);
    built.map_err(|error| wrong(error.to_string()).hint("compare with the drive's data sheet"))?;
    Ok(sheet)
}

/// Describes the table.
pub(super) fn schema() -> Json {
    table(KEYS)
}

impl SheetSpec {
    pub(super) fn text(&self) -> String {
        let ([single, average, full], [outer, inner]) = (&self.seeks, &self.rates);
        Rows::of(&[KEYS])
            .put(&CAPACITY, &self.capacity)
            .put(&RPM, &self.rpm)
            .put(&SINGLE, single)
            .put(&AVERAGE, average)
            .put(&FULL, full)
            .put(&OUTER, outer)
            .put(&INNER, inner)
            .put(&HEADS, &self.heads)
            .put(&SWITCH, &self.head_switch)
            .put(&SETTLE, &self.write_settle)
            .put(&BUFFER, &self.buffer)
            .inline()
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

    /// Returns the rate of a read of nearly 4 GiB in bytes a second, without its first seek and
    /// wait.
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
                // Each zone must hold more than is read.
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
            let measured = [0, inside].map(|start| read_rate(&hdd, start));
            for (measured, stated) in measured.into_iter().zip(rates) {
                let off = measured / stated as f64 - 1.0;
                prop_assert!(off.abs() < 0.01, "{measured} for {stated} bytes a second, {sheet:?}");
            }
        }
    }
}
