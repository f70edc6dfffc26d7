//! Shortest seek first: the request that begins nearest to the end of the last command.
//!
//! Use it to compare a greedy choice with sweeps: with a few requests waiting its throughput is
//! higher than that of a sweep, with many it is equal, and requests far away make its tail long.
//! Distance is in bytes, in either direction. Of two equally near requests the one ahead goes; of
//! several with the same first byte, the oldest. O(log n) per request. Neighbours are merged.
//!
//! Promise: none. A request far away waits for as long as nearer ones keep coming.
//!
//! Source: P. J. Denning, "Effects of scheduling on file memory operations", AFIPS Spring Joint
//! Computer Conference 1967, by addresses in place of cylinders, which only a drive knows.

mod by_cylinder;

use alloc::boxed::Box;

use penstock_core::{Go, Out, Part, Policy, Request, Time};

use self::by_cylinder::ByCylinder;
use crate::entry::{Entry, Facts};
use crate::params::{Kind, Param, Params, Value};
use crate::queue::{MAX_SECTORS, Positions, max_sectors};

/// Words of [`DISTANCE`].
const BYTES: &str = "bytes";
const CYLINDERS: &str = "cylinders";

/// The measure of distance.
const DISTANCE: Param = Param {
    name: "distance",
    kind: Kind::Choice(&[BYTES, CYLINDERS]),
    default: Value::Word(BYTES),
    doc: "What counts as distance: bytes, or cylinders that the arm moves, where the oldest of \
          equally near requests goes.",
    source: "`bytes`, as before a device, where cylinders are not known",
};

/// The entry of the policy in the registry.
pub const ENTRY: Entry = Entry {
    name: "sstf",
    summary: "shortest seek first: the request nearest to where the last one ended",
    params: &[MAX_SECTORS],
    build: |params, _| {
        if params.has(DISTANCE.name, CYLINDERS) {
            Box::new(ByCylinder::default())
        } else {
            Box::new(Sstf::new(params))
        }
    },
    bound: |_, _| None,
    facts: Facts { merges: max_sectors, in_drive: &[DISTANCE], ..Facts::NONE },
};

/// The queue, and the assumed position of the arm.
#[derive(Debug)]
pub struct Sstf {
    queue: Positions,
    /// Position at which the last command ended.
    position: u64,
}

impl Sstf {
    /// Takes `max_sectors`.
    pub fn new(params: &Params) -> Self {
        Self { queue: Positions::new(params), position: 0 }
    }

    fn nearest(&self) -> Option<u32> {
        let ahead = self.queue.at_or_after(self.position);
        let behind = self.queue.before(self.position);
        let (Some(up), Some(down)) = (ahead, behind) else { return ahead.or(behind) };
        let distance = |slot| self.queue.start(slot).abs_diff(self.position);
        Some(if distance(up) <= distance(down) { up } else { down })
    }
}

impl Policy for Sstf {
    fn enqueue(&mut self, _: Time, req: &Request) {
        self.queue.add(req);
    }

    fn dispatch(&mut self, _: Time, out: &mut Out<'_>) -> Option<Go> {
        let slot = self.nearest()?;
        self.position = self.queue.end(slot);
        Some(self.queue.take(slot, out))
    }

    fn complete(&mut self, _: Time, _: &Request, _: &Part) {}
}
