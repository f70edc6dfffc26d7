//! The engine over POSIX asynchronous I/O (`aio_read`, `aio_write`), which the C library makes of threads.
//!
//! Use it to measure programs that use these portable calls. With glibc each file has one thread, which
//! serves the file's commands one after another, whatever the depth. There is no call for a discard or for
//! a write that is durable when it is done: both are made at once, and the loop waits for them.
//!
//! Invariants: a control block and its buffer stay where they are until the command has ended; dropping
//! the engine waits for what is in flight.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::ptr;
use std::slice;
use std::sync::Arc;
use std::time::Duration;

use penstock_core::Errno;

use crate::engine::blocking::Call;
use crate::engine::buffers::Area;
use crate::engine::call_flags::CallFlags;
use crate::engine::driver::{Action, Command, Driver, Outcome};
use crate::engine::idle::Idle;
use crate::engine::psync::Psync;
use crate::engine::refusals::Refusals;

/// How often the oldest command is polled before the loop sleeps: for some microseconds.
const LOOKS: u32 = 200;

/// The most consecutive waits without polling.
const SKIPPED_MOST: u32 = 63;

/// Whether the commands of a file end in the order of submission, as with glibc.
const IN_ORDER: bool = cfg!(target_env = "gnu");

/// The share of a file's commands in flight that end a sleep with such a library, as a divisor. The file's thread
/// wakes the sleeper before it goes on, and both want the same lock then: with a sleep for each command a fast disk loses
/// a tenth of its rate.
const TOGETHER: usize = 8;

/// The limit on commands in flight: the library looks at each of them whenever it waits.
pub(crate) const MAX_SLOTS: u32 = 1024;

/// The commands of one engine.
pub(crate) struct PosixAio {
    files: Arc<[Arc<File>]>,
    area: Arc<Area>,
    /// Makes the calls that have no asynchronous form.
    sync: Psync,
    /// The kind of flush: `O_DSYNC` or `O_SYNC`.
    flush: i32,
    /// The control block of each slot; they never move.
    blocks: Box<[libc::aiocb]>,
    /// Slots whose commands are in flight, for each file in the order of submission.
    flying: Vec<Vec<u32>>,
    /// Commands that the library refused for the moment.
    refused: Vec<(u32, Command)>,
    /// The commands that a sleep waits for; kept for its memory.
    list: Vec<*const libc::aiocb>,
    ended: Vec<Outcome>,
    /// How many waits go without polling, and how many of them are over.
    skip: u32,
    skipped: u32,
    refusals: Refusals,
}

impl PosixAio {
    /// Creates an engine for `slots` commands.
    pub(crate) fn new(files: &[Arc<File>], slots: u32, area: &Arc<Area>) -> Self {
        let slots = slots as usize;
        // SAFETY: a control block is a plain structure for which zeros are a valid value.
        let zero: libc::aiocb = unsafe { std::mem::zeroed() };
        Self {
            files: files.into(),
            area: Arc::clone(area),
            sync: Psync::new(files, area),
            flush: libc::O_DSYNC,
            blocks: vec![zero; slots].into(),
            flying: files.iter().map(|_| Vec::with_capacity(slots)).collect(),
            refused: Vec::with_capacity(slots),
            list: Vec::with_capacity(slots),
            ended: Vec::with_capacity(slots),
            skip: 0,
            skipped: 0,
            refusals: Refusals::default(),
        }
    }

    /// Sets the flags of its calls.
    pub(crate) fn with(mut self, flags: CallFlags) -> Self {
        self.flush = if flags.fsync { libc::O_SYNC } else { libc::O_DSYNC };
        self
    }

    /// Gives `command` to the library, which may refuse it for the moment.
    fn start(&mut self, slot: u32, command: &Command) {
        let Command { action, file, start, len, buffer } = *command;
        let block = &mut self.blocks[slot as usize];
        block.aio_fildes = self.files[file as usize].as_raw_fd();
        block.aio_offset = start.cast_signed();
        block.aio_nbytes = len as usize;
        block.aio_buf = self.area.address(buffer, len as usize).cast();
        block.aio_sigevent.sigev_notify = libc::SIGEV_NONE;
        let block = ptr::from_mut(block);
        // SAFETY: the block stays in place until its command has ended, and so does the buffer that it
        // names, which belongs to this command: dropping the engine waits for all of them.
        let answer = unsafe {
            match action {
                Action::Read => libc::aio_read(block),
                Action::Flush => libc::aio_fsync(self.flush, block),
                _ => libc::aio_write(block),
            }
        };
        if answer == 0 {
            self.refusals.end();
            self.flying[file as usize].push(slot);
            return;
        }
        match std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO) {
            // No memory or thread at the moment: a later turn tries again.
            code @ libc::EAGAIN => {
                self.refusals.add(code);
                self.refused.push((slot, *command));
            }
            code => self.ended.push(Outcome { slot, result: -code }),
        }
    }

    /// Retries refused commands.
    fn retry(&mut self) {
        for _ in 0..self.refused.len() {
            let (slot, command) = self.refused.remove(0);
            self.start(slot, &command);
        }
    }

    /// Moves what has ended to the results.
    fn gather(&mut self) {
        let Self { flying, blocks, ended, .. } = self;
        let mut flies = |slot: &u32| {
            let block = ptr::from_mut(&mut blocks[*slot as usize]);
            // SAFETY: the block is that of a command that the library has.
            let code = unsafe { libc::aio_error(block) };
            if code == libc::EINPROGRESS {
                return true;
            }
            // SAFETY: it has ended, and its result is taken once: it leaves the list.
            let moved = unsafe { libc::aio_return(block) };
            let result = if code == 0 { moved as i32 } else { -code };
            ended.push(Outcome { slot: *slot, result });
            false
        };
        for slots in flying {
            slots.retain(&mut flies);
        }
    }

    /// Polls the oldest command for some microseconds, and returns whether it ends: for commands that are served from
    /// memory a sleep costs more than they take. Polling is skipped more and more often while it does not help.
    fn soon(&mut self) -> bool {
        if self.skipped < self.skip {
            self.skipped += 1;
            return false;
        }
        self.skipped = 0;
        let Some(&oldest) = self.flying.iter().find_map(|slots| slots.first()) else {
            return false;
        };
        let block = ptr::from_ref(&self.blocks[oldest as usize]);
        let soon = (0..LOOKS).any(|_| {
            std::hint::spin_loop();
            // SAFETY: the block is that of a command that the library has.
            let code = unsafe { libc::aio_error(block) };
            code != libc::EINPROGRESS
        });
        self.skip = if soon { 0 } else { (self.skip * 2 + 1).min(SKIPPED_MOST) };
        soon
    }

    /// Sleeps until some commands in flight have ended, for at most `longest`.
    fn sleep(&mut self, longest: Option<Duration>) {
        let Self { flying, blocks, list, .. } = self;
        list.clear();
        for slots in flying {
            let nth = slots.get((slots.len() / TOGETHER).saturating_sub(1));
            let waited = if IN_ORDER { nth.map_or(&[][..], slice::from_ref) } else { slots };
            list.extend(waited.iter().map(|slot| ptr::from_ref(&blocks[*slot as usize])));
        }
        let timeout = longest.map(|longest| libc::timespec {
            tv_sec: longest.as_secs().cast_signed(),
            tv_nsec: longest.subsec_nanos().into(),
        });
        let timeout = timeout.as_ref().map_or(ptr::null(), ptr::from_ref);
        let count = i32::try_from(self.list.len()).expect("no more than there are slots");
        // SAFETY: the list names blocks of commands in flight, and lives until the call returns. Whatever
        // ends the wait, ended commands are looked for afterwards.
        unsafe { libc::aio_suspend(self.list.as_ptr(), count, timeout) };
    }
}

impl Driver for PosixAio {
    fn queue(&mut self, slot: u32, command: &Command) {
        match command.action {
            Action::WriteThrough | Action::Discard => {
                let result = self.sync.serve(command);
                self.ended.push(Outcome { slot, result });
            }
            _ => self.start(slot, command),
        }
    }

    fn submit(&mut self) {
        self.retry();
    }

    fn ready(&mut self) -> bool {
        if self.ended.is_empty() {
            self.gather();
        }
        !self.ended.is_empty()
    }

    fn reap(&mut self, outcomes: &mut Vec<Outcome>) {
        self.gather();
        outcomes.append(&mut self.ended);
    }

    fn refused(&self) -> Option<Errno> {
        self.refusals.error()
    }

    fn wait(&mut self, longest: Duration) {
        self.retry();
        if self.ready() {
            return;
        }
        let longest = self.refusals.pause().map_or(longest, |pause| pause.min(longest));
        if self.flying.iter().all(Vec::is_empty) {
            Idle.wait(longest);
        } else if !self.soon() {
            self.sleep(Some(longest));
        }
    }
}

impl Drop for PosixAio {
    fn drop(&mut self) {
        self.gather();
        while !self.flying.iter().all(Vec::is_empty) {
            self.sleep(None);
            self.gather();
        }
    }
}
