//! Real devices and real time: the same stack over a file that Penstock owns.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use penstock_live::{Engine, Settings, Stage, Target};
//!
//! let target = Target::open("data.img".as_ref(), Some(256 << 20))?;
//! let (mut clock, device) = Stage::single(Engine::Uring, target, Settings::new(32, 1 << 20))?;
//! // … penstock_core::run(&mut source, &mut device, &mut clock, …)
//! # Ok(())
//! # }
//! ```
//!
//! From the bottom: a [`Target`] is a file or a block device that is safe to write over; an
//! [`Engine`] takes commands to the kernel; a [`Stage`] puts a [`LiveClock`] and [`LiveDevice`]s on
//! one of them. Layers above cannot find out that time is real. For models there is [`Paced`]:
//! virtual time that keeps step with real time. A [`Guard`] reports when a run cannot go on.
//!
//! Invariants: the only crate with hand-written unsafe code, in `buffers`, `faults`, `libaio`, `loops`,
//! `mapped`, `memory`, `posix_aio`, `psync`, `record_file`, `residency`, `uring` and `vsync`; the only one that reads the machine's clock, in
//! `clock`, `paced` and `report_timer`; nothing outside the usable bytes of a target is ever written,
//! but for a file without a name that a trial makes for itself; no allocation per request. Linux
//! only.

mod below;
mod block_record;
mod blocking;
mod buffers;
mod caching;
mod call_flags;
mod cargo;
mod clock;
mod device;
mod driver;
mod emulated;
mod engine;
mod error;
mod faults;
mod filling;
mod guard;
mod handover;
mod hub;
mod idle;
mod lateness;
mod leftovers;
mod libaio;
mod loops;
mod mapped;
mod memory;
mod null;
mod openers;
mod paced;
mod posix_aio;
mod psync;
mod record_file;
mod refusals;
mod report_timer;
mod residency;
pub mod scheduler;
mod stage;
mod stamp;
mod sysfs;
mod target;
mod threads;
mod trouble;
mod uring;
mod verifier;
mod vsync;
mod work;

pub use below::Below;
pub use caching::{Caching, Order};
pub use cargo::{Cargo, Load};
pub use clock::{LiveClock, Stopwatch, timer_lateness};
pub use device::LiveDevice;
pub use driver::Bell;
pub use emulated::{Answers, Emulated, Speed};
pub use engine::Engine;
pub use error::EngineError;
pub use filling::fill;
pub use guard::Guard;
pub use handover::{Handover, Panic};
pub use lateness::Lateness;
pub use leftovers::{
    LoopDevice, half_made, loop_devices, remove_unfinished_output, unfinished_outputs,
};
pub use memory::{Noting, exit_without_memory};
pub use null::Null;
pub use paced::{Pace, Paced};
pub use record_file::{RecordError, give_up_record, record_beside};
pub use report_timer::ReportTimer;
pub use stage::{Settings, Stage};
pub use stamp::BLOCK as VERIFIED_BLOCK;
pub use sysfs::{Counters, Disk, Moved, Stack, Sysfs};
pub use target::plain::{Input, Output, PageCache};
pub use target::{Contents, DirectIo, Target, TargetError, TargetWriter, User, file_system};
pub use trouble::Trouble;
pub use uring::registered_buffers;
pub use verifier::{DIFFERENCES_KEPT, Difference, RereadError, Verified, Verifier, VerifyPlan};
pub use work::{lower_priority, process_time, processor_time, use_processor};
