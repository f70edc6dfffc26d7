//! The io_uring engine: one ring for all targets of a stage.
//!
//! Use it wherever the kernel has it: one system call carries many commands, files and buffers are
//! registered once, and the clock sleeps in the same call that submits. Commands go to the kernel a
//! few at a time. Submitting everything that was reaped together runs in lock step with the disk's
//! interrupts and costs throughput; submitting each alone costs a call for each.
//!
//! Invariants: the ring has an entry for each slot, so a push never fails; a buffer that the kernel
//! knows outlives the kernel's use of it in all cases.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use io_uring::types::{Fd, Fixed, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{IoUring, Probe, opcode, squeue};
use penstock_core::{Errno, Seed};
use rustix::event::{EventfdFlags, PollFlags, eventfd};
use rustix::fs::FallocateFlags;

use crate::engine::Engine;
use crate::engine::buffers::{Area, BUFFER_ALIGNMENT, Layout};
use crate::engine::call_flags::CallFlags;
use crate::engine::driver::{Action, Bell, Command, Driver, Outcome};
use crate::engine::error::EngineError;
use crate::engine::idle::Idle;
use crate::engine::refusals::Refusals;

/// Entries that the kernel allows in one ring.
pub(crate) const MAX_SLOTS: u32 = 32_768;

/// Bytes that one registered buffer may have.
const MAX_REGISTERED: usize = 1 << 30;

/// Marks the entry of the bell; no slot has that number.
const BELL: u64 = u64::MAX;

/// The ring, its buffers, and its outstanding entries.
pub(crate) struct Ring {
    queues: IoUring,
    area: Arc<Area>,
    /// Bytes of the area for each registered index, while buffers are registered; the source of
    /// writes has the index after them.
    registered: Option<usize>,
    flags: CallFlags,
    batch: u32,
    /// Entries pushed and not yet submitted to the kernel.
    queued: u32,
    /// Entries with the kernel and not yet reaped.
    submitted: u32,
    refusals: Refusals,
    /// The bell for other threads, if there is one.
    bell: Option<Arc<OwnedFd>>,
}

impl Ring {
    /// A ring of `slots` entries over `files`, and a remark on features that the machine did not
    /// grant.
    pub(crate) fn new(
        files: &[Arc<File>],
        slots: u32,
        batch: u32,
        area: Arc<Area>,
    ) -> Result<(Self, Option<String>), EngineError> {
        // An entry more for the bell.
        let queues = build((slots + 1).min(MAX_SLOTS))?;
        require(&queues)?;
        let files: Vec<_> = files.iter().map(AsRawFd::as_raw_fd).collect();
        queues.submitter().register_files(&files).map_err(|source| EngineError::System {
            doing: "register files with the ring",
            source,
        })?;
        let mut this = Self::idle(queues, batch, area);
        let remark = this.register_buffers().err().map(|error| {
            format!(
                "buffers are not registered with the ring, which costs processor time: {error} \
                 (raise the limit on locked memory, `ulimit -l`)"
            )
        });
        Ok((this, remark))
    }

    /// The same with these `flags`.
    pub(crate) fn with(mut self, flags: CallFlags) -> Self {
        self.flags = flags;
        self
    }

    /// A ring with nothing to do.
    fn idle(queues: IoUring, batch: u32, area: Arc<Area>) -> Self {
        Self {
            queues,
            area,
            registered: None,
            flags: CallFlags::default(),
            batch,
            queued: 0,
            submitted: 0,
            refusals: Refusals::default(),
            bell: None,
        }
    }

    /// Registers every buffer, in as few pieces as the kernel's limit allows.
    fn register_buffers(&mut self) -> io::Result<()> {
        let layout = *self.area.layout();
        let piece = MAX_REGISTERED / layout.stride() * layout.stride();
        let iovec = |from: usize, to: usize| libc::iovec {
            iov_base: self.area.address(from, to - from).cast(),
            iov_len: to - from,
        };
        let source = layout.source();
        let mut iovecs: Vec<_> =
            (0..source).step_by(piece).map(|at| iovec(at, source.min(at + piece))).collect();
        iovecs.push(iovec(source, layout.total()));
        // SAFETY: the pieces lie in the area, which `self` keeps until nothing is in flight.
        unsafe { self.queues.submitter().register_buffers(&iovecs) }?;
        self.registered = Some(piece);
        Ok(())
    }

    /// The submission entry for `command`.
    fn entry(&self, command: &Command) -> squeue::Entry {
        let Command { action, file, start, len, buffer } = *command;
        let file = Fixed(file);
        let flags = self.flags.of(action).bits().cast_signed();
        match action {
            Action::Read => {
                let address = self.area.address(buffer, len as usize);
                match self.registered_as(buffer) {
                    Some(index) => opcode::ReadFixed::new(file, address, len, index)
                        .offset(start)
                        .rw_flags(flags)
                        .build(),
                    None => {
                        opcode::Read::new(file, address, len).offset(start).rw_flags(flags).build()
                    }
                }
            }
            Action::Write | Action::WriteThrough => {
                let address = self.area.address(buffer, len as usize).cast_const();
                match self.registered_as(buffer) {
                    Some(index) => opcode::WriteFixed::new(file, address, len, index)
                        .offset(start)
                        .rw_flags(flags)
                        .build(),
                    None => {
                        opcode::Write::new(file, address, len).offset(start).rw_flags(flags).build()
                    }
                }
            }
            Action::Flush if self.flags.fsync => opcode::Fsync::new(file).build(),
            Action::Flush => opcode::Fsync::new(file).flags(FsyncFlags::DATASYNC).build(),
            Action::Discard => opcode::Fallocate::new(file, u64::from(len))
                .offset(start)
                .mode(discard_flags().bits().cast_signed())
                .build(),
        }
    }

    /// The index that byte `buffer` of the area is registered under.
    fn registered_as(&self, buffer: usize) -> Option<u16> {
        let piece = self.registered?;
        let source = self.area.layout().source();
        let index = if buffer >= source { source.div_ceil(piece) } else { buffer / piece };
        // The area has a few GiB at most, a piece at least half of one.
        Some(index as u16)
    }

    /// Submits a poll that completes when the bell rings next.
    fn listen(&mut self) {
        let Some(bell) = &self.bell else { return };
        // Resets the bell before the loop handles the reason. It may be reset already.
        let _ = rustix::io::read(bell, &mut [0; 8]);
        let readable = PollFlags::IN.bits().into();
        let poll = opcode::PollAdd::new(Fd(bell.as_raw_fd()), readable).build().user_data(BELL);
        // SAFETY: it has no buffer, and the ring keeps the bell.
        unsafe { self.queues.submission().push(&poll) }.expect("an entry for the bell");
        self.queued += 1;
    }

    /// Submits, waiting for a completion or `longest` if that is named.
    fn enter(&mut self, longest: Option<Duration>) {
        let result = match longest {
            None => self.queues.submit(),
            Some(longest) => {
                let timeout = Timespec::from(longest);
                let args = SubmitArgs::new().timespec(&timeout);
                self.queues.submitter().submit_with_args(1, &args)
            }
        };
        // The result is the number of taken entries, but a timeout or a signal replaces it.
        let left = self.queues.submission().len() as u32;
        self.submitted += self.queued - left;
        self.queued = left;
        match result.map_err(|error| error.raw_os_error()) {
            Ok(_) | Err(Some(libc::ETIME | libc::EINTR)) => self.refusals.end(),
            // Mostly a temporary lack of memory: a later turn tries again. On any other error a
            // panic would free buffers that the kernel still writes to.
            Err(code) => self.refusals.add(code.unwrap_or(libc::EIO)),
        }
    }
}

impl Driver for Ring {
    fn queue(&mut self, slot: u32, command: &Command) {
        let entry = self.entry(command).user_data(u64::from(slot));
        // SAFETY: file and buffer stay valid until the command has ended: the area outlives the
        // ring's use (see `Drop`), the slot's buffer has no other user, the source is only read.
        unsafe { self.queues.submission().push(&entry) }.expect("an entry for each slot");
        self.queued += 1;
        if self.queued >= self.batch {
            self.enter(None);
        }
    }

    fn hand_on(&mut self) {
        if self.queued > 0 {
            self.enter(None);
        }
    }

    fn ready(&mut self) -> bool {
        if !self.queues.completion().is_empty() {
            return true;
        }
        // The kernel has results but writes them only during a system call of ours.
        if self.queues.submission().taskrun() {
            self.enter(Some(Duration::ZERO));
            return !self.queues.completion().is_empty();
        }
        false
    }

    fn reap(&mut self, outcomes: &mut Vec<Outcome>) {
        let mut rang = false;
        for entry in self.queues.completion() {
            self.submitted -= 1;
            match entry.user_data() {
                BELL => rang = true,
                slot => outcomes.push(Outcome { slot: slot as u32, result: entry.result() }),
            }
        }
        if rang {
            self.listen();
        }
    }

    fn refused(&self) -> Option<Errno> {
        self.refusals.error()
    }

    fn wait(&mut self, longest: Duration) {
        self.enter(Some(longest));
        // The call that should have waited was refused.
        if let Some(pause) = self.refusals.pause() {
            Idle.wait(pause.min(longest));
        }
    }

    fn bell(&mut self) -> Option<Bell> {
        let bell = Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC).ok()?);
        self.bell = Some(Arc::clone(&bell));
        self.listen();
        Some(Bell::new(move || ring(&bell)))
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // The poll of the bell is in flight too.
        if let Some(bell) = &self.bell {
            ring(bell);
        }
        // Entries that were not submitted are forgotten: closing the ring takes them back.
        while self.submitted > 0 {
            // `enter` with nothing to submit: waits only.
            // SAFETY: no argument is passed.
            let waited = unsafe {
                let flags = 1; // IORING_ENTER_GETEVENTS
                self.queues.submitter().enter::<libc::sigset_t>(0, 1, flags, None)
            };
            self.submitted -= self.queues.completion().count() as u32;
            if let Err(error) = waited
                && error.kind() != io::ErrorKind::Interrupted
            {
                // The kernel may still be writing: the memory is given up rather than reused.
                std::mem::forget(Arc::clone(&self.area));
                return;
            }
        }
        // A ring is taken apart some time after it is closed. Files that it knows would stay open
        // until then, and a device in use. An error means that it knows no file.
        let _ = self.queues.submitter().unregister_files();
    }
}

/// Rings `bell`. A write can fail only because it is full of rings already.
fn ring(bell: &OwnedFd) {
    let _ = rustix::io::write(bell, &1_u64.to_ne_bytes());
}

/// How a discard goes to the kernel: the length of the file stays.
pub(crate) fn discard_flags() -> FallocateFlags {
    FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE
}

/// Whether this machine has the features that the engine needs. The error says what is missing.
pub(crate) fn probe() -> Result<(), EngineError> {
    require(&build(1)?)
}

/// Registers buffers for `commands` commands of at most `max_len` bytes with a ring, and releases
/// them again. Returns their size in bytes.
///
/// # Errors
/// The reason of the failure, in words for a person.
pub fn registered_buffers(commands: u32, max_len: u32) -> Result<u64, String> {
    let layout =
        Layout::new(commands, max_len, BUFFER_ALIGNMENT).map_err(|error| error.to_string())?;
    let area = Area::new(layout, Seed(0)).map_err(|error| error.to_string())?;
    let queues = build(1).map_err(|error| error.to_string())?;
    let mut ring = Ring::idle(queues, 1, Arc::new(area));
    ring.register_buffers().map_err(|error| error.to_string())?;
    Ok(layout.total() as u64)
}

/// The ring, with features of newer kernels where they exist.
fn build(slots: u32) -> Result<IoUring, EngineError> {
    // One thread submits, and completions are written down when it asks for them, all at once
    // (Linux 6.1): they cause no interrupts.
    let modern = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_taskrun_flag()
        .setup_submit_all()
        .dontfork()
        .build(slots);
    let ring = match modern {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            IoUring::builder().dontfork().build(slots)
        }
        answer => answer,
    };
    ring.map_err(|error| missing(&error))
}

/// Checks that the ring can wait with a time limit and knows every command.
fn require(ring: &IoUring) -> Result<(), EngineError> {
    let hint = || "use the engine `threads`, or Linux 5.11 or later".to_owned();
    let lacking = |what: &str| EngineError::Missing {
        engine: Engine::Uring,
        reason: format!("the kernel's io_uring lacks {what}"),
        hint: hint(),
    };
    if !ring.params().is_feature_ext_arg() {
        return Err(lacking("waiting with a time limit"));
    }
    let mut known = Probe::new();
    ring.submitter().register_probe(&mut known).map_err(|_| lacking("a list of its commands"))?;
    let needed = [
        (opcode::Read::CODE, "read"),
        (opcode::Write::CODE, "write"),
        (opcode::ReadFixed::CODE, "reads into registered buffers"),
        (opcode::WriteFixed::CODE, "writes from registered buffers"),
        (opcode::Fsync::CODE, "flushes"),
        (opcode::Fallocate::CODE, "discards"),
    ];
    match needed.iter().find(|(code, _)| !known.is_supported(*code)) {
        Some((_, what)) => Err(lacking(what)),
        None => Ok(()),
    }
}

/// Why there is no ring, in words for a person.
fn missing(error: &io::Error) -> EngineError {
    let (why, hint) = match error.raw_os_error() {
        Some(libc::ENOSYS) => ("the kernel has no io_uring", "use the engine `threads`"),
        Some(libc::EPERM | libc::EACCES) => (
            "the system forbids io_uring",
            "look at /proc/sys/kernel/io_uring_disabled and the container's seccomp profile, or \
             use the engine `threads`",
        ),
        Some(libc::ENOMEM) => (
            "there is not enough locked memory for a ring",
            "raise `ulimit -l`, choose a smaller depth, or use the engine `threads`",
        ),
        _ => ("io_uring does not start", "use the engine `threads`"),
    };
    let reason = format!("{why} (io_uring_setup: {error})");
    EngineError::Missing { engine: Engine::Uring, reason, hint: hint.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_its_reason_and_the_way_out() {
        let say = |code| missing(&io::Error::from_raw_os_error(code));
        assert_eq!(say(libc::ENOSYS).exit_code(), 77);
        let text = say(libc::EPERM).to_string();
        assert!(text.contains("`io_uring` does not work here: the system forbids"), "{text}");
        assert!(text.contains("io_uring_disabled"), "{text}");
    }
}
