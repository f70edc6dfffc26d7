//! Devices next to each other: each byte belongs to one of them, and they are independent.
//!
//! Use it for a workload of several devices, each with a queue of its own. They lie behind each
//! other in the address space. Each may be of its own kind and size; no request crosses a border.

use penstock_core::{Device, Done, Op, Request, Span, Time};

/// Several devices in one address space.
#[derive(Debug)]
pub struct Rack<D> {
    devices: Box<[D]>,
    /// First byte of each device, in ascending order.
    bases: Box<[u64]>,
    capacity: u64,
    wakes: Box<[Time]>,
    wake: Time,
    polled: bool,
}

impl<D: Device> Rack<D> {
    /// Places `devices` behind each other.
    ///
    /// # Panics
    /// If there is no device, or all of them have more bytes than an address can name.
    pub fn new(devices: Vec<D>) -> Self {
        Self::behind(0, devices)
    }

    /// Places `devices` behind each other, behind `base` bytes of other devices.
    ///
    /// # Panics
    /// If there is no device, or all bytes are more than an address can name.
    pub fn behind(base: u64, devices: Vec<D>) -> Self {
        let mut capacity = base;
        let base = |device: &D| {
            let end = capacity.checked_add(device.capacity()).expect("an address for every byte");
            std::mem::replace(&mut capacity, end)
        };
        let bases = devices.iter().map(base).collect();
        let wakes: Box<[_]> = devices.iter().map(D::wakeup).collect();
        let wake = wakes.iter().copied().min().expect("at least one device");
        let polled = devices.iter().any(D::polled);
        Self { devices: devices.into(), bases, capacity, wakes, wake, polled }
    }

    /// Returns the devices in their order.
    pub fn devices(&self) -> impl Iterator<Item = &D> {
        self.devices.iter()
    }

    /// Returns the device of the byte `start`, and its first byte. The last device has the bytes
    /// behind it.
    fn lane(&self, start: u64) -> (usize, u64) {
        let lane = self.bases.partition_point(|base| *base <= start) - 1;
        (lane, self.bases[lane])
    }
}

impl<D: Device> Device for Rack<D> {
    fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The largest block of any device.
    fn block(&self) -> u32 {
        self.devices.iter().map(D::block).max().unwrap_or(1)
    }

    /// The smallest room of any device.
    fn room(&self) -> u32 {
        self.devices.iter().map(D::room).min().unwrap_or(0)
    }

    fn admits(&self, op: Op, start: u64, len: u32) -> bool {
        let (lane, base) = self.lane(start);
        self.devices[lane].admits(op, start - base, len)
    }

    fn position(&self, now: Time, op: Op, start: u64) -> Span {
        let (lane, base) = self.lane(start);
        self.devices[lane].position(now, op, start - base)
    }

    fn start(&mut self, now: Time, req: &Request) {
        let (lane, base) = self.lane(req.start);
        let mut below = *req;
        below.io.start -= base;
        self.devices[lane].start(now, &below);
        self.wakes[lane] = self.devices[lane].wakeup();
        self.wake = self.wake.min(self.wakes[lane]);
    }

    fn wakeup(&self) -> Time {
        self.wake
    }

    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        for (device, wake) in self.devices.iter_mut().zip(&mut self.wakes) {
            if *wake <= now || device.polled() {
                device.advance(now, done);
                *wake = device.wakeup();
            }
        }
        self.wake = self.wakes.iter().copied().min().expect("at least one device");
    }

    fn polled(&self) -> bool {
        self.polled
    }
}

#[cfg(test)]
mod tests {
    use penstock_core::{ClassId, Flags, Io, Prio, ReqId, StreamId};

    use super::*;
    use crate::{Cost, Fixed};

    fn request(slot: u32, op: Op, start: u64, len: u32) -> Request {
        Io {
            due: Time::ZERO,
            start,
            len,
            stream: StreamId(0),
            class: ClassId(0),
            op,
            prio: Prio(0),
            flags: Flags::NONE,
        }
        .with(ReqId::new(slot, 0))
    }

    #[test]
    fn each_serves_its_own_and_a_flush_goes_to_one() {
        let cost = Cost::Linear { base: Span::from_ms(1), per_mb: Span::ZERO };
        let mut rack = Rack::new(vec![Fixed::new(cost, 1 << 20), Fixed::new(cost, 1 << 20)]);
        assert_eq!((rack.capacity(), rack.wakeup()), (2 << 20, Time::NEVER));
        rack.start(Time::ZERO, &request(1, Op::Read, 0, 4096));
        rack.start(Time::ZERO, &request(2, Op::Read, (1 << 20) + 4096, 4096));
        let mut done = Vec::new();
        while rack.wakeup() < Time::NEVER {
            let now = rack.wakeup();
            rack.advance(now, &mut done);
        }
        let ended: Vec<_> = done.iter().map(|done| (done.id.slot(), done.at.ns())).collect();
        assert_eq!(ended, [(1, 1_000_000), (2, 1_000_000)], "at the same time");
        rack.start(Time::from_ns(2_000_000), &request(3, Op::Flush, 1 << 20, 0));
        assert_eq!(rack.wakes[0], Time::NEVER, "the first device has nothing to do");
        assert!(rack.wakeup() < Time::NEVER);
    }

    #[test]
    fn a_rack_behind_others_begins_where_they_end() {
        let fixed = |ms, capacity| {
            Fixed::new(Cost::Linear { base: Span::from_ms(ms), per_mb: Span::ZERO }, capacity)
        };
        let mut rack = Rack::behind(5000, vec![fixed(1, 4096), fixed(2, 8192)]);
        assert_eq!(rack.capacity(), 5000 + 4096 + 8192);
        assert_eq!([5000, 9095, 9096].map(|at| rack.lane(at)), [(0, 5000), (0, 5000), (1, 9096)]);
        rack.start(Time::ZERO, &request(1, Op::Read, 9096, 4096));
        let mut done = Vec::new();
        rack.advance(rack.wakeup(), &mut done);
        assert_eq!(done[0].at.ns(), 2_000_000);
    }

    #[test]
    fn devices_of_different_sizes_and_kinds() {
        let fixed = |ms, capacity| -> Box<dyn Device> {
            let cost = Cost::Linear { base: Span::from_ms(ms), per_mb: Span::ZERO };
            Box::new(Fixed::new(cost, capacity))
        };
        let mut rack = Rack::new(vec![fixed(3, 5000), fixed(1, 1 << 20), fixed(2, 4096)]);
        assert_eq!(rack.capacity(), 5000 + (1 << 20) + 4096);
        let lanes = [0, 4999, 5000, 5000 + (1 << 20) - 1, 5000 + (1 << 20), u64::MAX];
        let found = lanes.map(|start| rack.lane(start));
        let last = (2, 5000 + (1 << 20));
        assert_eq!(found, [(0, 0), (0, 0), (1, 5000), (1, 5000), last, last]);
        rack.start(Time::ZERO, &request(1, Op::Read, 904, 4096));
        rack.start(Time::ZERO, &request(2, Op::Read, 5000, 4096));
        rack.start(Time::ZERO, &request(3, Op::Write, 5000 + (1 << 20), 4096));
        let mut done = Vec::new();
        while rack.wakeup() < Time::NEVER {
            let now = rack.wakeup();
            rack.advance(now, &mut done);
        }
        let ended: Vec<_> = done.iter().map(|done| (done.id.slot(), done.at.ns())).collect();
        assert_eq!(ended, [(2, 1_000_000), (3, 2_000_000), (1, 3_000_000)], "each at its own pace");
    }
}
