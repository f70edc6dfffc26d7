//! Shortest seek first by cylinders, in the queue of a drive.
//!
//! The next request is the one whose first sector lies on the nearest cylinder, in either
//! direction; the oldest if several are equally near. The arm is assumed to be where the last
//! command ended. A request beyond the drive's end needs no arm and counts as near. Nothing is
//! merged.
//!
//! The cylinder of a request is looked up once, at the first decision after its arrival.

use alloc::vec::Vec;

use penstock_core::{Device, Go, Out, Part, Policy, ReqId, Request, Time};

use crate::queue::{Sorted, put};

/// The queue, and the cylinder of the arm.
#[derive(Debug, Default)]
pub(super) struct ByCylinder {
    /// Requests by cylinder and arrival number.
    sorted: Sorted<(u32, u64)>,
    /// Slots of the requests that arrived since the last decision.
    arrived: Vec<u32>,
    /// Requests by slot.
    waiting: Vec<SeekRequest>,
    arrivals: u64,
    arm: u32,
}

/// A queued request.
#[derive(Clone, Copy, Debug)]
struct SeekRequest {
    id: ReqId,
    arrival: u64,
    first: u64,
    last: u64,
}

impl ByCylinder {
    /// Sorts in the requests that arrived since the last decision.
    fn sort(&mut self, drive: &dyn Device) {
        for slot in self.arrived.drain(..) {
            let SeekRequest { arrival, first, .. } = self.waiting[slot as usize];
            let cylinder = drive.cylinder(first).unwrap_or(self.arm);
            self.sorted.insert(slot, (cylinder, arrival));
        }
    }

    fn nearest(&self) -> Option<u32> {
        let inside = self.sorted.at_or_after((self.arm, 0));
        let outside = self.sorted.before((self.arm, 0)).and_then(|youngest| {
            let (cylinder, _) = self.sorted.key(youngest);
            self.sorted.at_or_after((cylinder, 0))
        });
        let both = inside.into_iter().chain(outside);
        both.min_by_key(|&slot| {
            let (cylinder, arrival) = self.sorted.key(slot);
            (cylinder.abs_diff(self.arm), arrival)
        })
    }
}

impl Policy for ByCylinder {
    fn enqueue(&mut self, _: Time, req: &Request) {
        let slot = req.id.slot();
        let (arrival, first, last) = (self.arrivals, req.start, req.end() - 1);
        put(&mut self.waiting, slot, SeekRequest { id: req.id, arrival, first, last });
        self.arrivals += 1;
        self.arrived.push(slot);
    }

    fn dispatch(&mut self, _: Time, out: &mut Out<'_>) -> Option<Go> {
        self.sort(out.below);
        let slot = self.nearest()?;
        self.sorted.remove(slot);
        let SeekRequest { id, last, .. } = self.waiting[slot as usize];
        self.arm = out.below.cylinder(last).unwrap_or(self.arm);
        Some(Go::all(id))
    }

    fn complete(&mut self, _: Time, _: &Request, _: &Part) {}
}

#[cfg(test)]
mod tests {
    use penstock_core::{ClassId, Done, Flags, Io, Op, Prio, StreamId};

    use super::*;

    /// A drive with a thousand cylinders of a thousand bytes.
    struct Drive;

    impl Device for Drive {
        fn capacity(&self) -> u64 {
            1_000_000
        }
        fn block(&self) -> u32 {
            1
        }
        fn room(&self) -> u32 {
            1
        }
        fn cylinder(&self, start: u64) -> Option<u32> {
            (start < 1_000_000).then_some((start / 1000) as u32)
        }
        fn start(&mut self, _: Time, _: &Request) {}
        fn wakeup(&self) -> Time {
            Time::NEVER
        }
        fn advance(&mut self, _: Time, _: &mut Vec<Done>) {}
    }

    /// The order in which these requests, `(first byte, bytes)` by arrival, are sent.
    fn order(policy: &mut ByCylinder, requests: &[(u64, u32)]) -> Vec<u32> {
        for (slot, &(start, len)) in (0..).zip(requests) {
            let io = Io {
                due: Time::ZERO,
                start,
                len,
                stream: StreamId(0),
                class: ClassId(0),
                op: Op::Read,
                prio: Prio(0),
                flags: Flags::NONE,
            };
            policy.enqueue(Time::ZERO, &io.with(ReqId::new(slot, 0)));
        }
        let mut chain = Vec::new();
        let mut out = Out { chain: &mut chain, below: &Drive };
        core::iter::from_fn(|| policy.dispatch(Time::ZERO, &mut out))
            .map(|go| go.id.slot())
            .collect()
    }

    #[test]
    fn the_nearest_cylinder_goes_and_of_equally_near_ones_the_oldest() {
        let mut policy = ByCylinder::default();
        assert_eq!(order(&mut policy, &[(500_000, 1)]), [0]);
        // From 500: 490 and 510 are equally near, and on 510 two wait. By bytes 510,000 would be
        // the nearer by one, and of the two the one that begins first would go.
        assert_eq!(order(&mut policy, &[(510_500, 1), (490_999, 1), (510_000, 1)]), [0, 2, 1]);
        assert_eq!(policy.arm, 490);
        assert_eq!(order(&mut policy, &[(480_000, 1), (500_999, 1)]), [0, 1]);
    }

    #[test]
    fn the_arm_is_where_the_last_command_ended() {
        let mut policy = ByCylinder::default();
        // The first one ends with the last byte of cylinder 9, and not on cylinder 10.
        assert_eq!(order(&mut policy, &[(0, 10_000), (0, 1), (17_000, 1)]), [0, 2, 1]);
        let mut policy = ByCylinder::default();
        assert_eq!(order(&mut policy, &[(0, 10_000), (1_000, 1), (18_000, 1)]), [0, 1, 2]);
    }

    #[test]
    fn what_lies_beyond_the_end_needs_no_arm() {
        let mut policy = ByCylinder::default();
        assert_eq!(order(&mut policy, &[(7_000, 1), (2_000_000, 1), (3_000, 1)]), [1, 2, 0]);
        assert_eq!(policy.arm, 7);
    }
}
