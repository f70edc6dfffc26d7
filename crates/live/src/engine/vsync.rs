//! `preadv` and `pwritev`: commands that lie behind each other go in one blocking call.
//!
//! Use it for programs that gather what they have before they call, as databases do with the pages of
//! an extent. Commands wait until the loop has no more to do; each run of neighbours of one kind is
//! then one call. The calls are made on the thread of the loop.
//!
//! A call may transfer less than its commands together. Commands that got nothing of it are served one
//! by one, so that each has a result of its own.

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

/// Ranges that the kernel takes in one call (`IOV_MAX`).
pub(crate) const MAX_SLOTS: u32 = 1024;

/// Calls on some files.
pub(crate) struct Vsync {
    files: Arc<[Arc<File>]>,
    area: Arc<Area>,
    /// For what is no transfer, or stands alone.
    single: Psync,
    flags: CallFlags,
    queued: Vec<(u32, Command)>,
    /// Of one call; kept for its memory.
    ranges: Vec<libc::iovec>,
    ended: Vec<Outcome>,
}

impl Vsync {
    /// An engine of `slots` commands.
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

    /// The same with these `flags`.
    pub(crate) fn with(self, flags: CallFlags) -> Self {
        Self { flags, single: self.single.with(flags), ..self }
    }

    /// Serves everything that is queued, each run of neighbours in one call.
    fn serve(&mut self) {
        let mut queued = std::mem::take(&mut self.queued);
        for run in queued.chunk_by(|(_, one), (_, next)| follows(one, next)) {
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

    /// The bytes that one call for all of `run` transfers; 0 if it fails.
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
        let flags = self.flags.of(first.action).bits().cast_signed();
        let moved = match first.action {
            // SAFETY: each range is the own buffer of a slot that has this command.
            Action::Read => unsafe { libc::preadv2(file, ranges, count, start, flags) },
            // SAFETY: each range is in the source of writes, which is only read, or as above.
            _ => unsafe { libc::pwritev2(file, ranges, count, start, flags) },
        };
        u32::try_from(moved).unwrap_or(0)
    }
}

/// Whether `next` can go in one call with `one`.
fn follows(one: &Command, next: &Command) -> bool {
    let moves = matches!(one.action, Action::Read | Action::Write);
    let behind = one.start + u64::from(one.len) == next.start;
    moves && one.action == next.action && one.file == next.file && behind
}

impl Driver for Vsync {
    fn queue(&mut self, slot: u32, command: &Command) {
        self.queued.push((slot, *command));
    }

    fn hand_on(&mut self) {
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
