//! `preadv` and `pwritev`: adjacent commands are carried out by one blocking call.
//!
//! Use it for programs that gather their writes before they call, as databases do with the pages of
//! an extent. Commands wait until the loop has no more to do; each run of adjacent commands of one kind
//! is then one call, on the thread of the loop.
//!
//! A call may transfer less than all its commands. Commands that it did not reach are served one by one,
//! so that each has a result of its own.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

use crate::engine::blocking::Call;
use crate::engine::buffers::Area;
use crate::engine::call_flags::CallFlags;
use crate::engine::driver::{Action, Bell, Command, Driver, Outcome};
use crate::engine::idle::Idle;
use crate::engine::psync::Psync;

/// The kernel's limit on the ranges of one call (`IOV_MAX`).
pub(crate) const MAX_SLOTS: u32 = 1024;

/// Blocking calls on open files, with neighbours together.
pub(crate) struct Vsync {
    files: Arc<[Arc<File>]>,
    area: Arc<Area>,
    /// Makes the calls for commands that are no transfer or have no neighbour.
    single: Psync,
    flags: CallFlags,
    queued: Vec<(u32, Command)>,
    /// The ranges of one call; kept for their memory.
    ranges: Vec<libc::iovec>,
    ended: Vec<Outcome>,
}

impl Vsync {
    /// Creates an engine for `slots` commands.
    pub(crate) fn new(files: &[Arc<File>], slots: u32, area: &Arc<Area>) -> Self {
        let slots = slots as usize;
        Self {
            files: files.into(),
            area: Arc::clone(area),
            single: Psync::new(files, area),
            flags: CallFlags::default(),
            queued: Vec::with_capacity(slots),
            ranges: Vec::with_capacity(slots),
            ended: Vec::with_capacity(slots),
        }
    }

    /// Sets the flags of its calls.
    pub(crate) fn with(self, flags: CallFlags) -> Self {
        Self { flags, single: self.single.with(flags), ..self }
    }

    /// Serves all queued commands, each run of neighbours in one call.
    fn serve(&mut self) {
        let mut queued = std::mem::take(&mut self.queued);
        for run in queued.chunk_by(|(_, command), (_, next)| follows(command, next)) {
            let mut left = if run.len() > 1 { self.call(run) } else { 0 };
            for (slot, command) in run {
                let part = left.min(command.len);
                left -= part;
                let result = if part > 0 { part.cast_signed() } else { self.single.serve(command) };
                self.ended.push(Outcome { slot: *slot, result });
            }
        }
        queued.clear();
        self.queued = queued;
    }

    /// Makes one call for all of `run`. Returns the bytes that it transfers; 0 if it fails.
    fn call(&mut self, run: &[(u32, Command)]) -> u32 {
        self.ranges.clear();
        self.ranges.extend(run.iter().map(|(_, command)| libc::iovec {
            iov_base: self.area.address(command.buffer, command.len as usize).cast(),
            iov_len: command.len as usize,
        }));
        let first = &run[0].1;
        let file = self.files[first.file as usize].as_raw_fd();
        let count = i32::try_from(run.len()).expect("no more than there are slots");
        let (ranges, start) = (self.ranges.as_ptr(), first.start.cast_signed());
        let flags = self.flags.for_action(first.action).bits().cast_signed();
        let moved = match first.action {
            // SAFETY: each range is the buffer of a slot whose command is in `run`.
            Action::Read => unsafe { libc::preadv2(file, ranges, count, start, flags) },
            // SAFETY: each range is in the source of writes, which is only read, or a buffer as above.
            _ => unsafe { libc::pwritev2(file, ranges, count, start, flags) },
        };
        u32::try_from(moved).unwrap_or(0)
    }
}

/// Returns whether `next` can be carried out by one call with `command`.
fn follows(command: &Command, next: &Command) -> bool {
    let moves = matches!(command.action, Action::Read | Action::Write);
    let is_adjacent = command.start + u64::from(command.len) == next.start;
    moves && command.action == next.action && command.file == next.file && is_adjacent
}

impl Driver for Vsync {
    fn queue(&mut self, slot: u32, command: &Command) {
        self.queued.push((slot, *command));
    }

    fn submit(&mut self) {
        self.serve();
    }

    fn ready(&mut self) -> bool {
        !self.ended.is_empty()
    }

    fn reap(&mut self, outcomes: &mut Vec<Outcome>) {
        outcomes.append(&mut self.ended);
    }

    fn wait(&mut self, longest: Duration) {
        self.serve();
        if self.ended.is_empty() {
            Idle.wait(longest);
        }
    }

    fn bell(&mut self) -> Option<Bell> {
        Idle.bell()
    }
}
