//! The gate: an application's own writes, short ones first.
//!
//! Use it where a program has both online work, whose writes are short and waited for, and batch
//! work, whose writes are long. All requests go through one policy, the same that jobs run, and one
//! thread per gate sends what the policy decides. Any thread may call the gate, and waits for its
//! answer.
//!
//! Always true: exactly the named bytes change, at any place and of any length. A request that
//! fails says how many bytes from its first on are certainly done, and no further piece of it is
//! sent. Requests made before the gate is closed are carried out, unless a disk does not answer:
//! that ends the gate, and every waiting or later call fails with that error. No order is promised
//! between concurrent requests, and a long one is not atomic against short ones: a caller must not
//! write one place twice at a time.
//!
//! Source: Tanabe and others, "Disk I/O Control Mechanism for Online and Batch Processing" (2019),
//! section IV, which has it in the kernel.

mod block_node;
mod bounds;
mod by_class;
mod carrier;
mod counters;
mod data_pool;
mod dispatcher;
mod error;
mod files;
mod inbox;
mod levels;
mod locks;
mod open;
mod register;
mod requests;
mod served;
mod served_target;
mod text;

use std::io;
use std::mem;
use std::sync::{Arc, Mutex};

use penstock_core::{ClassInfo, Time};
use penstock_live::{Handover, Target, User};

use self::bounds::{LONGEST, MOST};
use self::by_class::SharedCounters;
use self::counters::{Class, Counters};
pub use self::counters::{GateStats, LengthStats};
pub use self::error::GateError;
use self::error::RequestText;
use self::locks::lock;
pub use self::open::{GateFile, GateOptions};
use self::open::{Kinds, Opened, open};
use self::requests::{BEAT, RequestDesk};
pub use self::requests::{GateClass, Submission};
pub use self::served::{ServedDevice, ServedOptions};
pub use self::served_target::{
    ServedTarget, ServedTargetOptions, ServedTargetReport, VolumeReport, VolumeWindow,
};
use crate::failure::Failure;

/// A gate. Any thread of the process that opened it may use it; dropping it closes it.
pub struct Gate {
    requests: RequestDesk,
    counters: Arc<Mutex<Counters>>,
    dispatcher: Mutex<Option<Handover<()>>>,
}

impl Gate {
    /// Opens a gate: one policy, and one thread that carries out what it decides.
    ///
    /// # Errors
    /// [`Failure`]: an unknown policy or parameter, a file that is refused, an engine that does
    /// not work here.
    pub fn open(options: &GateOptions) -> Result<Self, Failure> {
        Self::over(options, options.targets(User::Application)?)
    }

    /// Opens a gate over `targets`, the [targets](GateOptions::targets) of `options`.
    pub(crate) fn over(options: &GateOptions, targets: Vec<Target>) -> Result<Self, Failure> {
        let classes: Vec<ClassInfo> =
            options.classes.iter().map(penstock_jobs::Class::info).collect();
        // The requests of a declared class are those of one process.
        let (by_class, shown) = match &classes[..] {
            [] => (None, Class::all().into()),
            declared => (Some(SharedCounters::default()), declared.to_vec()),
        };
        let kinds = Kinds {
            classes: shown,
            books: 3,
            windows: false,
            longest: LONGEST,
            most: MOST,
            by_class,
            record: None,
        };
        let opened = open(options, targets, kinds)?;
        let Opened { files, inbox, stopwatch, counters, levels, threshold, dispatcher } = opened;
        let (interrupted, process) = (options.interrupted, std::process::id());
        let requests = RequestDesk {
            files,
            inbox,
            stopwatch,
            levels,
            classes,
            threshold,
            interrupted,
            process,
        };
        Ok(Self { requests, counters, dispatcher: Mutex::new(Some(dispatcher)) })
    }

    /// Returns the gate for requests of the class `name`; `None` for a gate without classes.
    pub fn of_class<'a>(&'a self, name: Option<&'a str>) -> GateClass<'a> {
        GateClass { requests: &self.requests, name }
    }

    /// Writes `bytes` from byte `offset` of the file numbered `file` on. With `sync` they are on
    /// stable media when it returns.
    ///
    /// # Errors
    /// The system's error with the number of bytes done, a range outside the file, or a closed
    /// gate.
    pub fn write(&self, file: u32, offset: u64, bytes: &[u8], sync: bool) -> Result<(), GateError> {
        self.of_class(None).write(file, offset, bytes, sync)
    }

    /// Reads `len` bytes from byte `offset` of the file numbered `file` on, or as many as there
    /// are.
    ///
    /// # Errors
    /// The system's error, or a gate that is closed or stands before a model without a file.
    pub fn read(&self, file: u32, offset: u64, len: usize) -> Result<Vec<u8>, GateError> {
        self.of_class(None).read(file, offset, len)
    }

    /// Flushes answered writes to the file numbered `file` to stable media.
    ///
    /// # Errors
    /// The system's error, or a closed gate.
    pub fn flush(&self, file: u32) -> Result<(), GateError> {
        self.of_class(None).flush(file)
    }

    /// The statistics so far.
    ///
    /// # Errors
    /// Another process opened the gate.
    pub fn stats(&self) -> Result<GateStats, GateError> {
        let what = || RequestText("statistics of the gate".into());
        self.check_same_process().map_err(|error| what().with(0, error))?;
        let this = &self.requests;
        let names = this.classes.iter().map(|class| class.name.clone());
        Ok(GateStats::new(&lock(&self.counters), names, this.threshold, this.now()))
    }

    /// Bytes of its first file, or of its model.
    pub(crate) fn capacity(&self) -> u64 {
        self.requests.files.capacity(0).expect("it is open")
    }

    /// Nanoseconds since the gate was opened.
    pub(crate) fn now(&self) -> Time {
        self.requests.now()
    }

    /// Checks that this process opened the gate: it is of no use to another one.
    ///
    /// # Errors
    /// Another process opened it, as before a fork.
    pub fn check_same_process(&self) -> io::Result<()> {
        self.requests.check_same_process()
    }

    /// Carries out earlier requests, ends, and releases the files. Later requests get an error. If
    /// a disk does not answer, it waits no longer than the gate's time-out. In a process that did
    /// not open the gate it does nothing.
    pub fn close(&self) {
        self.close_unless(self.requests.interrupted);
    }

    fn close_unless(&self, interrupted: Option<fn() -> bool>) {
        if self.check_same_process().is_err() {
            return;
        }
        self.requests.inbox.close();
        loop {
            let mut dispatcher = lock(&self.dispatcher);
            // If it panicked, it has written the panic to stderr, and its callers have their
            // errors.
            let ended = dispatcher.as_mut().is_none_or(|it| !matches!(it.wait(BEAT), Ok(None)));
            if ended {
                *dispatcher = None;
                break;
            }
            drop(dispatcher);
            if interrupted.is_some_and(|interrupted| interrupted()) {
                return;
            }
        }
        self.requests.files.release();
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        if self.check_same_process().is_ok() {
            return self.close_unless(None);
        }
        // Its parts are those of another process, which may have been using them at the fork.
        mem::forget(self.dispatcher.get_mut().map(Option::take));
    }
}
