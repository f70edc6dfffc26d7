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
//! From bottom to top: a [`Target`] is a file or a block device that is safe to write over; an
//! [`Engine`] takes commands to the kernel; a [`Stage`] puts a [`LiveClock`] and [`LiveDevice`]s on
//! one of them. Layers above cannot tell that time is real. For models there is [`Paced`]:
//! virtual time that keeps step with real time. A [`Guard`] reports when a run cannot go on.
//!
//! Invariants: hand-written unsafe code is in `buffers`, `faults`, `io_priority`, `libaio`, `loops`, `mapped`,
//! `memory`, `posix_aio`, `psync`, `record_file`, `residency`, `stream`, `uring` and `vsync` alone; the only crate
//! that reads the machine's clock, in `clock`, `paced` and `report_timer`; nothing outside the usable bytes
//! of a target is ever written, except an unnamed file that a trial makes for itself; no allocation per
//! request. Linux only.

mod below;
mod emulated;
mod engine;
mod exit_codes;
mod filling;
mod handover;
mod kernel;
mod lateness;
mod null;
mod paced;
mod passes;
pub mod queue_settings;
mod record;
pub mod serve;
mod stage;
mod targets;
mod tracing;
mod verify;

pub use below::Below;
pub use emulated::{Answers, Emulated, Speed};
pub use engine::Engine;
pub use engine::driver::Bell;
pub use engine::error::EngineError;
pub use engine::uring::registered_buffers;
pub use filling::fill;
pub use handover::{Handover, Panic};
pub use kernel::control_groups::{
    ControlGroups, LeftGroups, NoWeights, WEIGHING, group_for, left_groups,
};
pub use kernel::io_priority::{io_priority, set_io_priority};
pub use kernel::memory::{Noting, exit_without_memory};
pub use kernel::processor::{lower_priority, process_time, processor_time, use_processor};
pub use kernel::report_timer::ReportTimer;
pub use kernel::sysfs::{Counters, Disk, Moved, Stack, Sysfs};
pub use lateness::Lateness;
pub use null::Null;
pub use paced::{Pace, Paced};
pub use passes::error::PassError;
pub use passes::file_test::FileTest;
pub use passes::pass::{
    CallForm, EndedPass, Pass, PassHistory, PassSettings, PassSignals, RecordsMoved,
};
pub use record::record_error::RecordError;
pub use record::record_file::{give_up_record, record_beside};
pub use record::stamp::BLOCK as VERIFIED_BLOCK;
pub use stage::caching::{Caching, Order};
pub use stage::cargo::{Cargo, Load};
pub use stage::clock::{LiveClock, Stopwatch, timer_lateness};
pub use stage::device::LiveDevice;
pub use stage::guard::Guard;
pub use stage::trouble::Trouble;
pub use stage::{Settings, Stage};
pub use targets::blocks::{Block, blocks};
pub use targets::leftovers::{
    LoopDevice, half_made, loop_devices, remove_unfinished_output, unfinished_outputs,
};
pub use targets::new_file::{NewFile, folder_of};
pub use targets::pass_file::{FirstUse, PassFile, PassPlace};
pub use targets::plain::{Input, Output, PageCache};
pub use targets::residency::drop_all_cached;
pub use targets::{Contents, DirectIo, Target, TargetError, User, file_system};
pub use tracing::{Tracefs, remove_instance};
pub use verify::verifier::{
    DIFFERENCES_KEPT, Difference, RereadError, Verified, Verifier, VerifyPlan,
};
