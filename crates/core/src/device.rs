//! Devices serve requests: a modelled disk, a real one, an array, or a queue in front of a device.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::request::{Done, Op, Request};
use crate::time::{Span, Time};

/// A layer of the storage stack. A layer is a device to the layer above it.
pub trait Device {
    /// Size in bytes.
    fn capacity(&self) -> u64;

    /// The unit to which it rounds ranges, in bytes. Only a device rounds.
    fn block(&self) -> u32;

    /// Number of further requests that the device takes now. Only `start` and `advance` change it.
    fn room(&self) -> u32;

    /// Whether the device takes this range now. An array may have room while one of its disks has
    /// none.
    fn admits(&self, _op: Op, _start: u64, _len: u32) -> bool {
        self.room() > 0
    }

    /// Time that the device would need to reach `start`, for policies that choose by position. Zero
    /// if position costs nothing.
    fn position(&self, _now: Time, _op: Op, _start: u64) -> Span {
        Span::ZERO
    }

    /// The cylinder that holds byte `start`; `None` if the device has no arm. Only the policy of
    /// the drive's own queue gets it: no layer passes it on, because a host does not know it.
    fn cylinder(&self, _start: u64) -> Option<u32> {
        None
    }

    /// Takes a request. This call only queues: [`wakeup`](Self::wakeup) says when there is work to
    /// do.
    fn start(&mut self, now: Time, req: &Request);

    /// Time at which the device next needs [`advance`](Self::advance). Only `start` and `advance`
    /// change it.
    fn wakeup(&self) -> Time;

    /// Finishes the commands that are due and starts further work. Pushes exactly one [`Done`] for
    /// every request started, with `at == now`. A call may come early or late.
    fn advance(&mut self, now: Time, done: &mut Vec<Done>);

    /// Whether commands complete without a wake-up, as on real devices. Such a device is advanced
    /// in every turn, whatever `wakeup` returns.
    fn polled(&self) -> bool {
        false
    }
}

/// Implements [`Device`] for a pointer to a device.
macro_rules! held {
    ($holder:ty) => {
        impl<D: Device + ?Sized> Device for $holder {
            fn capacity(&self) -> u64 {
                (**self).capacity()
            }
            fn block(&self) -> u32 {
                (**self).block()
            }
            fn room(&self) -> u32 {
                (**self).room()
            }
            fn admits(&self, op: Op, start: u64, len: u32) -> bool {
                (**self).admits(op, start, len)
            }
            fn position(&self, now: Time, op: Op, start: u64) -> Span {
                (**self).position(now, op, start)
            }
            fn start(&mut self, now: Time, req: &Request) {
                (**self).start(now, req);
            }
            fn wakeup(&self) -> Time {
                (**self).wakeup()
            }
            fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
                (**self).advance(now, done);
            }
            fn polled(&self) -> bool {
                (**self).polled()
            }
        }
    };
}

held!(Box<D>);
held!(&mut D);
