//! What serves requests: a modelled disk, a real one, an array, or a queue in front of a device.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::request::{Done, Op, Request};
use crate::time::{Span, Time};

/// A layer of the storage stack. A layer is a device to the layer above it.
pub trait Device {
    /// Bytes that it holds.
    fn capacity(&self) -> u64;

    /// The unit to which it rounds ranges, in bytes. Only a device rounds.
    fn block(&self) -> u32;

    /// How many more requests the device takes now. Only `start` and `advance` change the answer.
    fn room(&self) -> u32;

    /// Whether the device takes this range now. An array may have room while one of its disks has
    /// none.
    fn admits(&self, _op: Op, _start: u64, _len: u32) -> bool {
        self.room() > 0
    }

    /// How long the device would take to reach `start`, for policies that choose by position. Zero
    /// where position costs nothing.
    fn position(&self, _now: Time, _op: Op, _start: u64) -> Span {
        Span::ZERO
    }

    /// The cylinder of `start`, of a drive with an arm that has this byte. It is for the policy of
    /// the drive's own queue alone: no layer passes it on, since no host knows it.
    fn cylinder(&self, _start: u64) -> Option<u32> {
        None
    }

    /// Takes a request. This call only queues: [`wakeup`](Self::wakeup) says when there is work to
    /// do.
    fn start(&mut self, now: Time, req: &Request);

    /// When the device next needs [`advance`](Self::advance). Only `start` and `advance` change it.
    fn wakeup(&self) -> Time;

    /// Finishes what is due and goes on. Pushes exactly one [`Done`] for every request started,
    /// with `at == now`. A call may come early or late.
    fn advance(&mut self, now: Time, done: &mut Vec<Done>);

    /// Whether the device finishes by itself, as real devices do. Such a device is advanced on
    /// every turn, whatever `wakeup` says.
    fn polled(&self) -> bool {
        false
    }
}

/// The holder of a device is a device.
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
