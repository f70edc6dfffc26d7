//! The turning platter: time to angle and back.

use super::drive::{Drive, DriveError};
use super::geometry::{Angle, Map};

/// A platter that turns at an even speed.
#[derive(Debug)]
pub(super) struct Platter {
    /// Angle at time 0.
    pub(super) phase: Angle,
    /// Angle per nanosecond.
    rate: u64,
    /// Nanoseconds of a turn, with 32 binary places.
    period: u64,
    /// Nanoseconds of a sector in each zone, with 32 binary places.
    sector: Box<[u64]>,
}

impl Platter {
    pub(super) fn new(drive: &Drive, map: &Map) -> Result<Self, DriveError> {
        const MINUTE: u128 = 60_000_000_000;
        // Within these bounds the nanoseconds of a turn fit 32 bits, and so `period` fits 64.
        if !(15..=1_000_000).contains(&drive.rpm) {
            return Err(DriveError::Drive("it turns less than 15 or more than 1,000,000 a minute"));
        }
        let period = ((MINUTE << 32) / u128::from(drive.rpm)) as u64;
        Ok(Self {
            phase: Angle::default(),
            rate: ((u128::from(drive.rpm) << 64) / MINUTE) as u64,
            period,
            sector: (0..map.zones())
                .map(|z| period / u64::from(map.sectors_per_track(z)))
                .collect(),
        })
    }

    /// Returns the nanoseconds from time `ns` until `angle` passes the head.
    pub(super) fn until(&self, ns: u64, angle: Angle) -> u64 {
        let ahead = angle.0.wrapping_sub(ns.wrapping_mul(self.rate)).wrapping_sub(self.phase.0);
        ((u128::from(ahead) * u128::from(self.period)) >> 96) as u64
    }

    /// Returns the nanoseconds in which `sectors` of a track, one turn at most, pass the head.
    pub(super) fn pass(&self, zone: u32, sectors: u64) -> u64 {
        (sectors * self.sector[zone as usize]) >> 32
    }

    /// Returns the whole sectors of a track that pass the head in `ns`, a turn at most.
    pub(super) fn sectors(&self, zone: u32, ns: u64) -> u64 {
        (ns << 32) / self.sector[zone as usize]
    }
}
