//! Stages: real time and real devices on one engine, for a live run.

pub(crate) mod caching;
pub(crate) mod cargo;
pub(crate) mod clock;
mod commands;
pub(crate) mod device;
pub(crate) mod guard;
pub(crate) mod hub;
pub(crate) mod trouble;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use penstock_core::{Seed, Span};

use crate::engine::Engine;
use crate::engine::blocking::Blocking;
use crate::engine::buffers::{Area, Layout};
use crate::engine::call_flags::CallFlags;
use crate::engine::driver::Driver;
use crate::engine::error::EngineError;
use crate::engine::libaio::{self, Aio};
use crate::engine::mapped::{Mapped, ToMap};
use crate::engine::posix_aio::{self, PosixAio};
use crate::engine::psync::Psync;
use crate::engine::threads::{self, Pool};
use crate::engine::uring::{self, Ring};
use crate::engine::vsync::{self, Vsync};
use crate::record::stamp;
use crate::stage::caching::{Caching, Order};
use crate::stage::cargo::{Cargo, LoadCopier};
use crate::stage::clock::LiveClock;
use crate::stage::device::LiveDevice;
use crate::stage::hub::Hub;
use crate::targets::Target;
use crate::verify::verifier::Verifier;
use crate::verify::verifying::Verifying;

impl Engine {
    /// Checks that it works on this machine.
    ///
    /// # Errors
    /// [`EngineError::Missing`] with the reason.
    pub fn probe(self) -> Result<(), EngineError> {
        match self {
            Self::Uring => uring::probe(),
            Self::Aio => libaio::probe(),
            Self::Threads => threads::probe(),
            // Every system has these calls.
            Self::PosixAio | Self::Psync | Self::Vsync | Self::Mmap => Ok(()),
        }
    }

    /// Returns the most commands in flight that it can hold.
    pub const fn most_in_flight(self) -> u32 {
        match self {
            Self::Uring => uring::MAX_SLOTS,
            Self::Aio => libaio::MAX_SLOTS,
            Self::Threads => threads::MAX_SLOTS,
            Self::PosixAio => posix_aio::MAX_SLOTS,
            Self::Vsync => vsync::MAX_SLOTS,
            Self::Psync | Self::Mmap => 1,
        }
    }
}

/// The settings of a stage.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Commands in flight on each target.
    pub depth: u32,
    /// The largest command in bytes, except discards, which carry no data; at most 256 MiB. A longer one is
    /// a mistake of the stack above.
    pub max_len: u32,
    /// Commands that are submitted to the kernel together, by engines that can do so.
    pub batch: u32,
    /// Whether commands go through the page cache.
    pub caching: Caching,
    /// The order of the commands that do.
    pub order: Order,
    /// Whether a transfer that would have to wait fails with `EAGAIN`.
    pub nowait: bool,
    /// Whether a flush writes all metadata of a file (`fsync`), not only what its data needs
    /// (`fdatasync`).
    pub fsync: bool,
    /// Whether buffers are put into huge pages, if they fill one and the kernel has any.
    pub huge_pages: bool,
    /// The seed of the written data.
    pub seed: Seed,
    /// How long a command may be in flight before a [`Guard`](crate::Guard) reports trouble, and
    /// the longest wait at the end; `None` for no limit.
    pub timeout: Option<Span>,
}

impl Settings {
    /// The default time-out: the time after which the kernel resets a disk that does not answer, as in
    /// `/sys/block/sda/device/timeout`.
    pub const TIMEOUT: Span = Span::from_ms(30_000);

    /// Creates settings for `depth` commands of at most `max_len` bytes: a time-out of 30 s, batches of the
    /// [usual](Self::usual_batch) size, direct I/O in no known order, seed 0.
    pub const fn new(depth: u32, max_len: u32) -> Self {
        let (batch, timeout) = (Self::usual_batch(depth), Some(Self::TIMEOUT));
        let (caching, order) = (Caching::Direct, Order::Unknown);
        Self {
            depth,
            max_len,
            batch,
            caching,
            order,
            nowait: false,
            fsync: false,
            huge_pages: true,
            seed: Seed(0),
            timeout,
        }
    }

    /// Returns how many of `depth` commands are submitted together by default.
    ///
    /// The disk lacks the commands that wait for their batch. Batches of a tenth of the depth cost at most
    /// 3 % of the throughput and save a third of the processor time. If all commands reaped together were
    /// submitted together, they would run in lock step with the disk's interrupts. A batch has at least two
    /// commands: a single one is submitted by the call that waits for it.
    pub const fn usual_batch(depth: u32) -> u32 {
        match depth / 10 {
            0 | 1 => 2,
            2..=8 => depth / 10,
            _ => 8,
        }
    }
}

/// A clock and the devices that it waits for, for one thread.
pub struct Stage {
    /// The clock of real time.
    pub clock: LiveClock,
    /// The device of each target, in their order.
    pub devices: Vec<LiveDevice>,
}

/// The data of requests.
enum Data {
    /// Written data depends on its place, and read data is not looked at.
    Generated,
    /// Requests carry the data of an application.
    Carried(Cargo),
    /// Data is stamped and checked on lanes with a verifier.
    Verified(Vec<Option<Verifier>>),
}

impl Stage {
    /// Opens a clock of real time, and `target` as a device behind `engine`.
    ///
    /// # Errors
    /// As [`Stage::open`].
    pub fn single(
        engine: Engine,
        target: Target,
        settings: Settings,
    ) -> Result<(LiveClock, LiveDevice), EngineError> {
        let Self { clock, mut devices } = Self::open(engine, vec![target], settings)?;
        Ok((clock, devices.pop().expect("a device for the target")))
    }

    /// Opens a clock of real time, and each of `targets` as a device, all behind one `engine` that the clock
    /// sleeps on.
    ///
    /// # Errors
    /// [`EngineError`]: the machine lacks the engine; a depth of 0 or beyond what the engine
    /// holds; a largest command of 0 bytes or more than 256 MiB; buffers of more than 4 GiB.
    pub fn open(
        engine: Engine,
        targets: Vec<Target>,
        settings: Settings,
    ) -> Result<Self, EngineError> {
        Self::build(engine, targets, settings, Data::Generated)
    }

    /// Opens a stage for requests that carry an application's data: each read and write has its load in
    /// `cargo`, under its stream.
    ///
    /// # Errors
    /// As [`Stage::open`].
    pub fn carrying(
        engine: Engine,
        targets: Vec<Target>,
        settings: Settings,
        cargo: Cargo,
    ) -> Result<Self, EngineError> {
        Self::build(engine, targets, settings, Data::Carried(cargo))
    }

    /// Opens a stage whose data is verified on each target that has a verifier.
    ///
    /// # Errors
    /// As [`Stage::open`].
    pub fn verifying(
        engine: Engine,
        targets: Vec<Target>,
        settings: Settings,
        verifiers: Vec<Option<Verifier>>,
    ) -> Result<Self, EngineError> {
        assert_eq!(targets.len(), verifiers.len(), "each target is verified or not");
        Self::build(engine, targets, settings, Data::Verified(verifiers))
    }

    fn build(
        engine: Engine,
        targets: Vec<Target>,
        settings: Settings,
        data: Data,
    ) -> Result<Self, EngineError> {
        let Settings { depth, max_len, batch, caching, order, huge_pages, seed, timeout, .. } =
            settings;
        let flags = CallFlags { nowait: settings.nowait, fsync: settings.fsync };
        let (count, max) = (targets.len(), engine.most_in_flight());
        let slots = u64::from(depth) * count as u64;
        if slots == 0 || slots > u64::from(max) {
            return Err(EngineError::Depth { engine, found: depth, targets: count, max });
        }
        let unit = targets.iter().map(Target::unit).max().expect("slots have targets");
        let unit = if matches!(data, Data::Verified(_)) { unit.max(stamp::BLOCK) } else { unit };
        let layout = Layout::new(slots as u32, max_len, unit)?.in_huge_pages(huge_pages);
        let (area, buffers) = Area::new(layout, seed)?.split();
        if caching != Caching::Buffered && !engine.can_be_direct() {
            return Err(EngineError::OnlyBuffered { engine });
        }
        if flags.nowait && !engine.has_nowait() {
            return Err(EngineError::Waits { engine });
        }
        let (files, lane_files) = caching.open(&targets, order)?;
        let mut remarks = Vec::new();
        let driver: Box<dyn Driver> = match engine {
            Engine::Uring => {
                let ring = Ring::new(&files, slots as u32, batch.max(1), Arc::clone(&area));
                let (ring, remark) = ring?;
                remarks.extend(remark);
                Box::new(ring.with(flags))
            }
            Engine::Aio => {
                let aio = Aio::new(&files, slots as u32, batch.max(1), Arc::clone(&area))?;
                Box::new(aio.with(flags))
            }
            Engine::Threads => {
                Box::new(Pool::new(slots as u32, &Psync::new(&files, &area).with(flags))?)
            }
            Engine::PosixAio => Box::new(PosixAio::new(&files, slots as u32, &area).with(flags)),
            Engine::Psync => Box::new(Blocking::new(Psync::new(&files, &area).with(flags))),
            Engine::Vsync => Box::new(Vsync::new(&files, slots as u32, &area).with(flags)),
            Engine::Mmap => {
                let to_map: Vec<_> = targets.iter().map(to_map).collect();
                let mapped = Mapped::new(&to_map, &files, &area, order.page_advice())?;
                Box::new(Blocking::new(mapped.with(flags)))
            }
        };
        let hub = Hub::new(driver, targets, depth, layout, timeout).with_files(&lane_files);
        let hub = match data {
            Data::Generated => hub,
            Data::Carried(cargo) => hub.carrying(LoadCopier::new(cargo, buffers)),
            Data::Verified(lanes) => {
                hub.verifying(Verifying::new(lanes, slots as u32, buffers, engine))
            }
        };
        let hub = Rc::new(RefCell::new(hub));
        let device = |lane| LiveDevice::new(Rc::clone(&hub), lane, depth);
        let devices = (0..count).map(device).collect();
        Ok(Self { clock: LiveClock::new(hub, remarks), devices })
    }
}

fn to_map(target: &Target) -> ToMap<'_> {
    let len = target.start() + target.capacity();
    ToMap { path: target.path(), len, is_only_read: target.is_only_read() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_find_their_engines() {
        for engine in Engine::ALL {
            assert_eq!(Engine::from_name(engine.name()), Some(engine));
        }
        assert_eq!(Engine::from_name("posix_aio"), None);
        assert_eq!(Engine::ALL[2].name(), "threads");
        assert!(Engine::ALL[2].probe().is_ok(), "every machine has threads");
    }
}
