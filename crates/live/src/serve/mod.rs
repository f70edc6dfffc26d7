//! A block device that this process serves: one file of a FUSE file system with a loop device over it,
//! past the page cache.
//!
//! Requests arrive on a thread of the file system, which hands each to a [`Front`]; any thread answers
//! them. The file system is mounted nowhere: its mount is held by a descriptor, so it ends with the
//! process, whatever ends that. The kernel detaches the loop device when its last user closes it.
//!
//! Source: the kernel's documentation, `Documentation/filesystems/fuse` and loop(4). Precedent: Griffin
//! and others, "Timing-accurate Storage Emulation" (FAST 2002).

mod block_device;
mod file_system;
mod memory;
mod store;

pub use self::block_device::{ServeError, Served, can_serve};
pub use self::file_system::{Answered, BlockRequest, Front};
pub use self::memory::hold_memory;
pub use self::store::Store;
