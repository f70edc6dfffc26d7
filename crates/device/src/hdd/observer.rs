//! The observer of accesses to the platter.
//!
//! Without a cache every request is one access. With a cache, an access is a movement of the arm
//! that begins anew: for a request, or the part of it that the buffer does not hold; for a write
//! that was answered already; for a read-ahead that begins by itself after a hit. The last two
//! belong to no request, and a hit is no access. An access may continue with sectors read ahead or
//! with a write that joins it. These are in none of its parts: as in `DiskSim`, it counts up to the
//! end of the request. A command that does not need the platter, such as a discard, counts as an
//! access that has only an overhead.

use std::fmt;

use penstock_core::{Op, Span, Time};

use super::access::{Access, Arm};

type OnAccess = Box<dyn FnMut(Time, &Access)>;

/// An optional observer.
#[derive(Default)]
pub(crate) struct AccessObserver(Option<OnAccess>);

impl AccessObserver {
    /// Wraps `observer`.
    pub(crate) fn new(observer: impl FnMut(Time, &Access) + 'static) -> Self {
        Self(Some(Box::new(observer)))
    }

    /// Reports that an access begins at `now`.
    pub(crate) fn report(&mut self, now: Time, access: &Access) {
        if let Some(observer) = &mut self.0 {
            observer(now, access);
        }
    }

    /// Reports a command from `now` to `ends` that needs no platter.
    pub(super) fn report_decoding(&mut self, now: Time, op: Op, ends: Time, arm: Arm) {
        let [seek, rotation, transfer, bus] = [Span::ZERO; 4];
        let overhead = ends.since(now);
        let (from, to) = (arm.cylinder, arm.cylinder);
        let access = Access { op, overhead, seek, rotation, transfer, bus, from, to, arm };
        self.report(now, &access);
    }
}

impl fmt::Debug for AccessObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "watched" } else { "unwatched" })
    }
}
