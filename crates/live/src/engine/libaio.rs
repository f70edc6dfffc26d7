//! The engine over Linux's older asynchronous calls (`io_submit`, `io_getevents`).
//!
//! Use it where io_uring is missing or forbidden, and to compare with the calls that most databases
//! and benchmarks of the last twenty years make. Two system calls carry many commands each; the
//! kernel looks files and buffers up for each command. There is no such call for a discard: it is made at
//! once, and the loop waits for it.
//!
//! Invariants: a control block and its buffer stay where they are until the command has ended;
//! dropping the engine waits for what is in flight.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use penstock_core::Errno;

use crate::engine::Engine;
use crate::engine::buffers::Area;
use crate::engine::call_flags::CallFlags;
use crate::engine::driver::{Action, Command, Driver, Outcome};
use crate::engine::error::EngineError;
use crate::engine::idle::Idle;
use crate::engine::refusals::Refusals;
use crate::engine::uring::discard_flags;

/// Commands in flight that one context may have. The limit of the whole system is
/// `/proc/sys/fs/aio-max-nr`, 65,536 by default.
pub(crate) const MAX_SLOTS: u32 = 32_768;

/// `struct iocb` of `linux/aio_abi.h` on a little-endian machine.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct ControlBlock {
    data: u64,
    key: u32,
    rw_flags: i32,
    opcode: u16,
    reqprio: i16,
    fildes: u32,
    buf: u64,
    nbytes: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    resfd: u32,
}

/// `struct io_event`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Event {
    data: u64,
    obj: u64,
    res: i64,
    res2: i64,
}

/// Opcodes of `linux/aio_abi.h`.
const PREAD: u16 = 0;
const PWRITE: u16 = 1;
const FSYNC: u16 = 2;
const FDSYNC: u16 = 3;

/// A context of the kernel and its commands.
pub(crate) struct Aio {
    context: Context,
    files: Arc<[Arc<File>]>,
    area: Arc<Area>,
    /// The control block of each slot; they never move.
    blocks: Box<[ControlBlock]>,
    /// Slots whose commands are not submitted yet, in order.
    queued: Vec<u32>,
    batch: usize,
    flags: CallFlags,
    /// Commands that the kernel has and whose results are not in `outcomes`.
    submitted: usize,
    events: Box<[Event]>,
    /// Results that are not reaped yet.
    outcomes: Vec<Outcome>,
    refusals: Refusals,
}

impl Aio {
    /// Creates an engine for `slots` commands over `files`.
    pub(crate) fn new(
        files: &[Arc<File>],
        slots: u32,
        batch: u32,
        area: Arc<Area>,
    ) -> Result<Self, EngineError> {
        let slots_long = slots as usize;
        Ok(Self {
            context: Context::new(slots)?,
            files: files.into(),
            area,
            blocks: vec![ControlBlock::default(); slots_long].into(),
            queued: Vec::with_capacity(slots_long),
            batch: batch as usize,
            flags: CallFlags::default(),
            submitted: 0,
            events: vec![Event::default(); slots_long].into(),
            outcomes: Vec::with_capacity(slots_long),
            refusals: Refusals::default(),
        })
    }

    /// Sets the flags of its calls.
    pub(crate) fn with(mut self, flags: CallFlags) -> Self {
        self.flags = flags;
        self
    }

    /// Submits queued commands, as many as the kernel takes.
    fn submit_queued(&mut self) {
        while !self.queued.is_empty() {
            match self.context.submit(&self.queued, &mut self.blocks) {
                Ok(taken) => {
                    self.queued.drain(..taken);
                    self.submitted += taken;
                    self.refusals.end();
                }
                // A temporary lack of memory: the next turn tries again.
                Err(code @ (libc::EAGAIN | libc::EINTR | libc::ENOMEM)) => {
                    self.refusals.add(code);
                    return;
                }
                // The kernel refused the first command as invalid: that is its result.
                Err(code) => {
                    let slot = self.queued.remove(0);
                    self.outcomes.push(Outcome { slot, result: -code });
                }
            }
        }
    }

    /// Moves results to `outcomes`. Waits for `least` of them, for at most `longest`.
    fn gather(&mut self, least: usize, longest: Duration) {
        if self.submitted == 0 {
            return;
        }
        // The only error for a context of our own is a signal, which ends the wait early.
        let Ok(count) = self.context.events(least, &mut self.events, longest) else { return };
        self.submitted -= count;
        let outcome = |event: &Event| Outcome { slot: event.data as u32, result: event.res as i32 };
        self.outcomes.extend(self.events[..count].iter().map(outcome));
    }
}

impl Driver for Aio {
    fn queue(&mut self, slot: u32, command: &Command) {
        let Command { action, file, start, len, buffer } = *command;
        let file = &self.files[file as usize];
        if action == Action::Discard {
            let punched = rustix::fs::fallocate(file, discard_flags(), start, len.into());
            let result = punched.map_or_else(|errno| -errno.raw_os_error(), |()| 0);
            self.outcomes.push(Outcome { slot, result });
            return;
        }
        let (opcode, address) = match action {
            Action::Read => (PREAD, self.area.address(buffer, len as usize)),
            Action::Flush if self.flags.fsync => (FSYNC, ptr::null_mut()),
            Action::Flush => (FDSYNC, ptr::null_mut()),
            _ => (PWRITE, self.area.address(buffer, len as usize)),
        };
        self.blocks[slot as usize] = ControlBlock {
            data: slot.into(),
            opcode,
            rw_flags: self.flags.for_action(action).bits().cast_signed(),
            fildes: file.as_raw_fd().cast_unsigned(),
            buf: address.addr() as u64,
            nbytes: len.into(),
            offset: start.cast_signed(),
            ..ControlBlock::default()
        };
        self.queued.push(slot);
        if self.queued.len() >= self.batch {
            self.submit_queued();
        }
    }

    fn submit(&mut self) {
        self.submit_queued();
    }

    fn ready(&mut self) -> bool {
        if self.outcomes.is_empty() {
            self.gather(0, Duration::ZERO);
        }
        !self.outcomes.is_empty()
    }

    fn reap(&mut self, outcomes: &mut Vec<Outcome>) {
        self.gather(0, Duration::ZERO);
        outcomes.append(&mut self.outcomes);
    }

    fn refused(&self) -> Option<Errno> {
        self.refusals.error()
    }

    fn wait(&mut self, longest: Duration) {
        self.submit_queued();
        if !self.outcomes.is_empty() {
            return;
        }
        let longest = self.refusals.pause().map_or(longest, |pause| pause.min(longest));
        if self.submitted == 0 {
            Idle.wait(longest);
        } else {
            self.gather(1, longest);
        }
    }
}

/// A context of the kernel. Dropping it waits for its last command.
struct Context(usize);

impl Context {
    fn new(slots: u32) -> Result<Self, EngineError> {
        let mut id: usize = 0;
        // SAFETY: the kernel writes one word, to `id`.
        match unsafe { libc::syscall(libc::SYS_io_setup, libc::c_long::from(slots), &raw mut id) } {
            0 => Ok(Self(id)),
            _ => Err(missing(&io::Error::last_os_error())),
        }
    }

    /// Submits the commands of `slots`. Returns how many of them the kernel took, or the error number of the first.
    fn submit(&self, slots: &[u32], blocks: &mut [ControlBlock]) -> Result<usize, i32> {
        /// Commands of one call.
        const MOST: usize = 64;
        let mut addresses = [ptr::null_mut::<ControlBlock>(); MOST];
        let count = slots.len().min(MOST);
        for (address, slot) in addresses.iter_mut().zip(slots) {
            *address = &raw mut blocks[*slot as usize];
        }
        // SAFETY: the blocks and the buffers that they name stay in place until their commands have
        // ended: dropping the engine waits for all of them.
        let taken = unsafe {
            libc::syscall(libc::SYS_io_submit, self.0, count.cast_signed(), addresses.as_mut_ptr())
        };
        usize::try_from(taken).map_err(|_| last_code())
    }

    fn events(&self, least: usize, events: &mut [Event], longest: Duration) -> Result<usize, i32> {
        let mut timeout = libc::timespec {
            tv_sec: longest.as_secs().cast_signed(),
            tv_nsec: longest.subsec_nanos().into(),
        };
        // SAFETY: the kernel writes at most `events.len()` events and reads one timeout.
        let count = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.0,
                least.cast_signed(),
                events.len().cast_signed(),
                events.as_mut_ptr(),
                &raw mut timeout,
            )
        };
        usize::try_from(count).map_err(|_| last_code())
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // The call waits for commands in flight: no block or buffer is in use afterwards.
        // SAFETY: the context is not used from here on.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.0) };
    }
}

fn last_code() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// Checks that the engine works on this machine. The error says why not.
pub(crate) fn probe() -> Result<(), EngineError> {
    Context::new(1).map(drop)
}

/// Returns the error for a context that could not be made.
fn missing(error: &io::Error) -> EngineError {
    let (why, hint) = match error.raw_os_error() {
        Some(libc::ENOSYS) => ("the kernel has no asynchronous I/O", "use the engine `threads`"),
        Some(libc::EPERM | libc::EACCES) => {
            ("the system forbids it", "look at the container's seccomp profile, or use `threads`")
        }
        Some(libc::EAGAIN) => (
            "all control blocks of the system are taken",
            "raise /proc/sys/fs/aio-max-nr, choose a smaller depth, or use the engine `threads`",
        ),
        _ => ("it does not start", "use the engine `threads`"),
    };
    let reason = format!("{why} (io_setup: {error})");
    EngineError::Missing { engine: Engine::Aio, reason, hint: hint.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_blocks_are_laid_out_as_the_kernel_reads_them() {
        assert_eq!((size_of::<ControlBlock>(), size_of::<Event>()), (64, 32));
        assert_eq!(std::mem::offset_of!(ControlBlock, opcode), 16);
        assert_eq!(std::mem::offset_of!(ControlBlock, buf), 24);
        assert_eq!(std::mem::offset_of!(ControlBlock, offset), 40);
    }

    #[test]
    fn a_refusal_names_its_reason_and_the_way_out() {
        let text = missing(&io::Error::from_raw_os_error(libc::EAGAIN)).to_string();
        assert!(text.contains("`libaio` does not work here: all control blocks"), "{text}");
        assert!(text.contains("aio-max-nr"), "{text}");
    }
}
