//! The io_uring engine: one ring for all targets of a stage.
//!
//! Use it wherever the kernel has it: one system call carries many commands, files and buffers are
//! registered once, and the clock sleeps in the call that submits. Commands are submitted in small
//! batches. Submitting everything that was reaped together would run in lock step with the disk's
//! interrupts and cost throughput; submitting each command alone would cost a call for each.
//!
//! Invariants: the ring has an entry for each slot, so a push never fails; a registered buffer
//! always outlives the kernel's use of it.

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

/// The kernel's limit on the entries of a ring.
pub(crate) const MAX_SLOTS: u32 = 32_768;

/// The kernel's limit on a registered buffer, in bytes.
const MAX_REGISTERED: usize = 1 << 30;

/// `user_data` of the entry of the bell; no slot has this number.
const BELL: u64 = u64::MAX;

/// The ring, its buffers, and its outstanding entries.
pub(crate) struct Ring {
    queues: IoUring,
    area: Arc<Area>,
    /// Bytes of the area per registered index; `None` if buffers are not registered. The source of writes
    /// has the last index.
    registered: Option<usize>,
    flags: CallFlags,
    batch: u32,
    /// Entries pushed and not yet submitted to the kernel.
    queued: u32,
    /// Entries submitted and not yet reaped.
    submitted: u32,
    refusals: Refusals,
    /// The bell for other threads, if one was asked for.
    bell: Option<Arc<OwnedFd>>,
}

impl Ring {
    /// Creates a ring of `slots` entries over `files`. Also returns a remark if the system did not let it register
    /// buffers.
    pub(crate) fn new(
        files: &[Arc<File>],
        slots: u32,
        batch: u32,
        area: Arc<Area>,
    ) -> Result<(Self, Option<String>), EngineError> {
        // One more entry, for the bell.
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

    /// Sets the flags of its calls.
    pub(crate) fn with(mut self, flags: CallFlags) -> Self {
        self.flags = flags;
        self
    }

    /// Creates a ring without files and registered buffers.
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

    /// Registers all buffers, in as few pieces as the kernel's limit allows.
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
        // SAFETY: the pieces are parts of the area, which `self` keeps until nothing is in flight.
        unsafe { self.queues.submitter().register_buffers(&iovecs) }?;
        self.registered = Some(piece);
        Ok(())
    }

    /// Returns the submission entry for `command`.
    fn entry(&self, command: &Command) -> squeue::Entry {
        let Command { action, file, start, len, buffer } = *command;
        let file = Fixed(file);
        let flags = self.flags.for_action(action).bits().cast_signed();
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

    /// Returns the registered index of the area's byte `buffer`; `None` if buffers are not registered.
    fn registered_as(&self, buffer: usize) -> Option<u16> {
        let piece = self.registered?;
        let source = self.area.layout().source();
        let index = if buffer >= source { source.div_ceil(piece) } else { buffer / piece };
        // The area has a few GiB at most, and a piece at least half a GiB.
        Some(index as u16)
    }

    /// Queues a poll that completes at the next ring of the bell.
    fn listen(&mut self) {
        let Some(bell) = &self.bell else { return };
        // Resets the bell, which may be reset already, before the loop handles the reason.
        let _ = rustix::io::read(bell, &mut [0; 8]);
        let readable = PollFlags::IN.bits().into();
        let poll = opcode::PollAdd::new(Fd(bell.as_raw_fd()), readable).build().user_data(BELL);
        // SAFETY: the entry has no buffer, and the ring keeps the bell.
        unsafe { self.queues.submission().push(&poll) }.expect("an entry for the bell");
        self.queued += 1;
    }

    /// Submits queued entries. With `longest`, also waits that long for a completion.
    fn enter(&mut self, longest: Option<Duration>) {
        let result = match longest {
            None => self.queues.submit(),
            Some(longest) => {
                let timeout = Timespec::from(longest);
                let args = SubmitArgs::new().timespec(&timeout);
                self.queues.submitter().submit_with_args(1, &args)
            }
        };
        // The call returns the number of entries taken, but a timeout or a signal replaces it.
        let left = self.queues.submission().len() as u32;
        self.submitted += self.queued - left;
        self.queued = left;
        match result.map_err(|error| error.raw_os_error()) {
            Ok(_) | Err(Some(libc::ETIME | libc::EINTR)) => self.refusals.end(),
            // Usually a temporary lack of memory: a later turn tries again. A panic would free buffers that
            // the kernel may still write to, whatever the error.
            Err(code) => self.refusals.add(code.unwrap_or(libc::EIO)),
        }
    }
}

impl Driver for Ring {
    fn queue(&mut self, slot: u32, command: &Command) {
        let entry = self.entry(command).user_data(u64::from(slot));
        // SAFETY: file and buffer stay valid until the command has ended: the area outlives the
        // ring's use of it (see `Drop`), the slot's buffer has no other user, and the source is only read.
        unsafe { self.queues.submission().push(&entry) }.expect("an entry for each slot");
        self.queued += 1;
        if self.queued >= self.batch {
            self.enter(None);
        }
    }

    fn submit(&mut self) {
        if self.queued > 0 {
            self.enter(None);
        }
    }

    fn ready(&mut self) -> bool {
        if !self.queues.completion().is_empty() {
            return true;
        }
        // The kernel has results and writes them during our next system call.
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
        // The kernel refused the call, which did not wait.
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
        // Ends the poll of the bell, which is in flight too.
        if let Some(bell) = &self.bell {
            ring(bell);
        }
        // Closing the ring discards entries that were not submitted.
        while self.submitted > 0 {
            // With nothing to submit the call only waits.
            // SAFETY: no argument is passed.
            let waited = unsafe {
                let flags = 1; // IORING_ENTER_GETEVENTS
                self.queues.submitter().enter::<libc::sigset_t>(0, 1, flags, None)
            };
            self.submitted -= self.queues.completion().count() as u32;
            if let Err(error) = waited
                && error.kind() != io::ErrorKind::Interrupted
            {
                // The kernel may still write to the area: it is leaked rather than freed.
                std::mem::forget(Arc::clone(&self.area));
                return;
            }
        }
        // The kernel frees a ring some time after it is closed. Registered files would stay open until then, and
        // a device in use. An error means that no file is registered.
        let _ = self.queues.submitter().unregister_files();
    }
}

/// Rings `bell`. The write fails only if the bell has rung too often to count, and then it wakes the ring anyway.
fn ring(bell: &OwnedFd) {
    let _ = rustix::io::write(bell, &1_u64.to_ne_bytes());
}

/// The flags of a discard, which keeps the length of the file.
pub(crate) fn discard_flags() -> FallocateFlags {
    FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE
}

/// Checks that this machine has the features that the engine needs. The error says what is missing.
pub(crate) fn probe() -> Result<(), EngineError> {
    require(&build(1)?)
}

/// Registers buffers for `commands` commands of at most `max_len` bytes with a ring, and releases
/// them again. Returns their size in bytes.
///
/// # Errors
/// The reason of the failure, as text for the user.
pub fn registered_buffers(commands: u32, max_len: u32) -> Result<u64, String> {
    let layout =
        Layout::new(commands, max_len, BUFFER_ALIGNMENT).map_err(|error| error.to_string())?;
    let area = Area::new(layout, Seed(0)).map_err(|error| error.to_string())?;
    let queues = build(1).map_err(|error| error.to_string())?;
    let mut ring = Ring::idle(queues, 1, Arc::new(area));
    ring.register_buffers().map_err(|error| error.to_string())?;
    Ok(layout.total() as u64)
}

/// Creates a ring, with features of newer kernels where they exist.
fn build(slots: u32) -> Result<IoUring, EngineError> {
    // One thread submits, and the kernel writes completions together when that thread asks for them
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
    let lacking = |feature: &str| EngineError::Missing {
        engine: Engine::Uring,
        reason: format!("the kernel's io_uring lacks {feature}"),
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
        Some((_, feature)) => Err(lacking(feature)),
        None => Ok(()),
    }
}

/// Returns the error for a ring that could not be made.
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
