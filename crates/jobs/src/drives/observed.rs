//! Observations of real drives, in addition to their published facts: `data/observed.toml`.
//!
//! The published facts stay as they are: drives with these facts alone are compared with simulators
//! that know nothing else.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use penstock_device::hdd::{BusTimes, Cache, CommandOverheads, Drive, ReadAhead, SeekLaw};
use serde::Deserialize;

use super::convert::{ms, read_ahead};

/// Observations of one drive. Times are in milliseconds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Observed {
    settle: f64,
    bulk_sector_transfer_time: f64,
    /// Overheads of a command that begins where the last of its kind ended, and of any other
    /// command.
    read_hit_overhead: (f64, f64),
    write_hit_overhead: (f64, f64),
    /// Overhead of a read that needs the platter, if the published ones are wrong.
    read_miss_overhead: Option<f64>,
    /// Distances whose published time is not a seek time.
    #[serde(default)]
    no_seek_time_of: Vec<u32>,
    #[serde(default)]
    keeps_asked: bool,
    buffer_continuous_read: Option<u8>,
}

fn all() -> &'static BTreeMap<String, Observed> {
    static ALL: OnceLock<BTreeMap<String, Observed>> = OnceLock::new();
    ALL.get_or_init(|| {
        toml::from_str(include_str!("../../data/observed.toml"))
            .expect("the embedded observations can be read")
    })
}

/// Returns the names of the observed drives in alphabetical order.
pub fn names() -> impl Iterator<Item = &'static str> {
    all().keys().map(String::as_str)
}

/// Returns the drive called `name` with its observations; `None` if there are none.
pub fn drive(name: &str) -> Option<Drive> {
    Some(all().get(name)?.apply(super::drive(name)?))
}

impl Observed {
    /// Adds the observations to the published facts `drive`.
    fn apply(&self, mut drive: Drive) -> Drive {
        if let SeekLaw::Table(points) = &mut drive.seek {
            points.retain(|(distance, _)| !self.no_seek_time_of.contains(distance));
        }
        let (read, write) = (self.read_hit_overhead, self.write_hit_overhead);
        let ahead: Option<ReadAhead> = self.buffer_continuous_read.map(read_ahead);
        if let Some(miss) = self.read_miss_overhead.map(ms) {
            (drive.overheads.read_after_read, drive.overheads.read_after_write) = (miss, miss);
        }
        Drive {
            bus: Some(BusTimes::same(ms(self.bulk_sector_transfer_time))),
            cache: Cache {
                ahead: ahead.unwrap_or(drive.cache.ahead),
                keeps_asked: self.keeps_asked,
                short_if_continued: true,
                settle: ms(self.settle),
                overheads: CommandOverheads {
                    read_after_read: ms(read.0),
                    read_after_write: ms(read.1),
                    write_after_read: ms(write.1),
                    write_after_write: ms(write.0),
                },
                ..drive.cache
            },
            ..drive
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_observed_replaces_what_was_published() {
        let (published, observed) = (super::super::drive("ibm18es"), drive("ibm18es"));
        let (published, observed) = (published.expect("a drive"), observed.expect("observed"));
        let times = |drive: &Drive| match &drive.seek {
            SeekLaw::Table(points) => points.len(),
            _ => panic!("a table was published"),
        };
        assert_eq!(times(&published), times(&observed) + 1);
        assert_eq!(published.zones, observed.zones);
        assert_ne!(published.bus, observed.bus);
        assert!(drive("atlas10k").is_none());
    }

    #[test]
    fn whatever_was_observed_is_of_a_published_drive() {
        assert!(names().all(|name| drive(name).is_some()));
    }
}
