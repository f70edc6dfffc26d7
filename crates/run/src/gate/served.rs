//! A modelled disk as a block device: requests of the kernel, answered in real time.
//!
//! Use it to run the kernel's own schedulers, page cache and file systems, and any program, over a disk
//! that is not there. One thread takes the requests from the file system that serves the device, and
//! one has the model. The model gets each request with the time at which it arrived; how late its
//! completions are answered is measured, and reported.
//!
//! Source: Griffin and others, "Timing-accurate Storage Emulation" (FAST 2002).

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use penstock_core::{
    ClassId, Device, Done, Errno, Flags, Io, Limits, Observer, Op, Prio, Request, Seed, Source,
    Span, StreamId, Time, run,
};
use penstock_jobs::devices::DeviceSpec;
use penstock_jobs::units;
use penstock_live::queue_settings::{SchedulerStep, Setting};
use penstock_live::serve::{BlockRequest, Front, Store};
use penstock_live::{Answers, Emulated, Handover, LiveClock, Speed, Stopwatch};

use super::block_node::BlockNode;
use super::data_pool::DataPool;
use super::inbox::Inbox;
use crate::failure::Failure;
use crate::place::open;
use crate::result::{EmulationResult, ServedReport};

/// The options of a served device.
#[derive(Clone, Debug, Default)]
pub struct ServedOptions {
    /// The model, as `DEVICE[@SPEED]`.
    pub device: String,
    /// Its size, as `64GiB`; that of the model if not given.
    pub size: Option<String>,
    /// Commands that the driver gives it at once; the kernel's usual number if not given.
    pub depth: Option<u32>,
    /// A file that keeps its data; in memory if not given.
    pub keep: Option<PathBuf>,
}

/// A served device. Dropping it takes all down.
pub struct ServedDevice {
    node: Option<BlockNode>,
    desk: Arc<Desk>,
    dispatcher: Option<Handover<()>>,
}

/// Answers of the dispatcher to threads that ask for a report.
struct Desk {
    inbox: Inbox<BlockRequest>,
    stopwatch: Stopwatch,
    /// Time that the kernel takes to bring a request here and its answer back. Until it is measured,
    /// requests are answered at once. A request counts as come so much earlier, so that an idle model
    /// is felt as fast as it is.
    head_start: OnceLock<Span>,
    /// Held by the thread that asks, for one question at a time.
    asking: Mutex<()>,
    asked: Mutex<Question>,
    answered: Condvar,
}

/// A question to the dispatcher, and its answer.
#[derive(Default)]
struct Question {
    reset: bool,
    report: bool,
    answer: Option<ServedReport>,
}

/// Longest wait for an answer of the dispatcher, which answers between two requests.
const PATIENCE: Duration = Duration::from_secs(1);

/// Requests at the model at once: no queue of the kernel has as many.
const MOST: u32 = 1 << 16;

impl Desk {
    /// Asks the dispatcher, and waits for its answer; `None` if it has ended.
    fn ask(&self, reset: bool) -> Option<ServedReport> {
        let _turn = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        let mut asked = self.lock();
        *asked = Question { reset, report: true, answer: None };
        self.inbox.ring();
        let waits = |asked: &mut Question| asked.answer.is_none();
        let waited = self.answered.wait_timeout_while(asked, PATIENCE, waits);
        waited.unwrap_or_else(PoisonError::into_inner).0.answer.take()
    }

    fn lock(&self) -> MutexGuard<'_, Question> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The front of the file system.
struct Desks {
    desk: Arc<Desk>,
    store: Arc<Store>,
}

impl Desks {
    /// Does what `request` asks for to the store.
    fn store(&self, request: &BlockRequest, data: &[u8]) -> io::Result<()> {
        match request.op {
            Op::Write => self.store.write(request.start, data),
            Op::Discard => self.store.clear(request.start, request.len.into()),
            Op::Read | Op::Flush => Ok(()),
        }
    }
}

impl Front for Desks {
    fn bytes(&self) -> u64 {
        self.store.bytes()
    }

    /// Stores the data of a write when it arrives; it is answered when the model says so.
    fn take(&self, request: BlockRequest, data: &[u8]) {
        if let Err(error) = self.store(&request, data) {
            return request.answer(Err(errno(&error)));
        }
        let Some(&head_start) = self.desk.head_start.get() else {
            let mut bytes = Vec::new();
            let read = read(&request, &self.store, &mut bytes);
            return request.answer(read.map(|()| &bytes[..]));
        };
        let came = self.desk.stopwatch.now();
        let came = Time::from_ns(came.ns().saturating_sub(head_start.ns()));
        // A request that is not taken is dropped, which answers it with an error.
        let _ = self.desk.inbox.put(came, request, PATIENCE, || true);
    }

    fn report(&self) -> String {
        let report = self.desk.ask(false);
        report.and_then(|report| serde_json::to_string(&report).ok()).unwrap_or_default()
    }

    fn reset(&self) {
        self.desk.ask(true);
    }
}

/// Reads what `request` asks for into `bytes`, whatever they hold; nothing if it is no read.
fn read(request: &BlockRequest, store: &Store, bytes: &mut Vec<u8>) -> Result<(), Errno> {
    bytes.resize(if request.op == Op::Read { request.len as usize } else { 0 }, 0);
    store.read(request.start, bytes).map_err(|error| errno(&error))
}

/// The number of the system's error.
fn errno(error: &io::Error) -> Errno {
    error.raw_os_error().and_then(Errno::new).unwrap_or(Errno::EIO)
}

impl ServedDevice {
    /// Serves the device of `options` until it is dropped.
    ///
    /// # Errors
    /// [`Failure`]: an unknown device or size, a file in use, or a machine that lacks what it needs.
    pub fn new(options: &ServedOptions) -> Result<Self, Failure> {
        let (spec, speed) = open::model(&options.device)?;
        let model = spec.build(Seed(0));
        let (capacity, block) = (model.capacity(), model.block());
        drop(model);
        let len = size(options, capacity, block)?;
        let store = Arc::new(match &options.keep {
            None => {
                Store::in_memory(len).map_err(|error| Failure::here("reserve memory", &error))?
            }
            Some(path) => Store::in_file(path, len).map_err(|error| kept(path, &error))?,
        });
        let (desk, dispatcher) = dispatcher(spec.clone(), speed, Arc::clone(&store))?;
        let front = Desks { desk: Arc::clone(&desk), store: Arc::clone(&store) };
        // Made before anything that may fail, so that the dispatcher ends in any case.
        let mut this = Self { node: None, desk, dispatcher: Some(dispatcher) };
        let mut settings = vec![Setting::new("rotational", u8::from(spec.has_arm()).to_string())];
        if !spec.has_volatile_cache() {
            // Otherwise the kernel flushes after each durable write, which waits behind all others.
            settings.push(Setting::new("write_cache", "write through"));
        }
        settings.extend(options.depth.map(|depth| Setting::new("nr_requests", depth.to_string())));
        let name = format!("penstock {}", options.device);
        let none = SchedulerStep { scheduler: "none".into(), settings };
        let mut node = BlockNode::new(front, block.max(512), &name, none, None)?;
        let took = node.round_trip()?;
        let head_start = Span::from_ns(u64::try_from(took.as_nanos()).unwrap_or(0));
        let _ = this.desk.head_start.set(head_start);
        node.hand_out()?;
        this.node = Some(node);
        Ok(this)
    }

    /// Returns its node, as `/dev/loop3`.
    pub fn node(&self) -> &Path {
        self.node.as_ref().expect("it is served").path()
    }

    /// Returns the file with its report as JSON, which begins anew when it is truncated.
    pub fn report_file(&self) -> PathBuf {
        self.node.as_ref().expect("it is served").report()
    }

    /// Returns its report.
    ///
    /// # Errors
    /// The dispatcher has ended.
    pub fn report(&self) -> Result<ServedReport, Failure> {
        let ended = || format!("the model has ended: {}", self.desk.inbox.closed().error());
        self.desk.ask(false).ok_or_else(|| Failure::run(ended()))
    }

    /// Whether a file system on it is mounted, or another device holds it.
    pub fn is_in_use(&self) -> bool {
        self.node.as_ref().is_some_and(BlockNode::is_in_use)
    }
}

impl Drop for ServedDevice {
    fn drop(&mut self) {
        drop(self.node.take());
        self.desk.inbox.close();
        // If it panicked, it has written the panic to stderr, and requests have their errors.
        while let Some(true) =
            self.dispatcher.as_mut().map(|it| matches!(it.wait(PATIENCE), Ok(None)))
        {}
    }
}

/// Returns the size of the device in bytes.
fn size(options: &ServedOptions, capacity: u64, block: u32) -> Result<u64, Failure> {
    let Some(text) = &options.size else { return Ok(capacity) };
    let size = units::parse_size(text)
        .map_err(|error| Failure::wrong(format_args!("--size: {}", error.message()), "as 64GiB"))?;
    let block = u64::from(block);
    if size > capacity {
        let message =
            format!("--size {text} is more than the {capacity} bytes of {}", options.device);
        return Err(Failure::wrong(message, "name a smaller size, or a larger device"));
    }
    if size == 0 || !size.is_multiple_of(block) {
        let message = format!("--size {text} is no multiple of {block} bytes, the device's block");
        return Err(Failure::wrong(message, "as 64GiB"));
    }
    Ok(size)
}

/// The failure of the file that should keep the data.
fn kept(path: &Path, error: &io::Error) -> Failure {
    let shown = path.display();
    match error.kind() {
        ErrorKind::ResourceBusy => Failure::in_use(
            format_args!("{shown} is served by another process"),
            "one at a time: name another file, or end the other",
        ),
        ErrorKind::InvalidInput => {
            Failure::wrong(format_args!("{shown}: {error}"), "name its --size, or another file")
        }
        _ => Failure::unwritable(path, error),
    }
}

/// Starts the thread of the model.
fn dispatcher(
    spec: DeviceSpec,
    speed: Speed,
    store: Arc<Store>,
) -> Result<(Arc<Desk>, Handover<()>), Failure> {
    let pool = DataPool::new().map_err(|error| Failure::here("start a thread", &error))?;
    let (started, starts) = sync_channel(1);
    let dispatcher = Handover::spawn("penstock-served", move || {
        let mut clock = LiveClock::bare();
        let bell = clock.bell().expect("a clock without an engine can be woken");
        let desk = Arc::new(Desk {
            inbox: Inbox::new(u32::MAX, bell),
            stopwatch: clock.stopwatch(),
            head_start: OnceLock::new(),
            asking: Mutex::default(),
            asked: Mutex::default(),
            answered: Condvar::new(),
        });
        let _ = started.send(Arc::clone(&desk));
        // An idle model begins when a request arrived, however late this thread wakes.
        let device = Emulated::new(spec.build(Seed(0)), speed, None::<Box<dyn Device>>);
        let mut device = device.answers_are_due();
        let mut watch = ServedCounts::new(Arc::clone(&desk), Rc::clone(device.answers()));
        let mut source = ServedLoop { desk, store, requests: Vec::new(), free: Vec::new(), pool };
        let limits = Limits { until: Time::NEVER, max_outstanding: MOST };
        if let Err(error) = run(&mut source, &mut device, &mut clock, &mut watch, limits) {
            source.desk.inbox.fail(ErrorKind::Other, &error.to_string());
        }
    });
    let dispatcher = dispatcher.map_err(|error| Failure::here("start a thread", &error))?;
    let desk = starts.recv().map_err(|_| Failure::run("the model has ended"))?;
    Ok((desk, dispatcher))
}

/// The requests of the kernel as a source.
struct ServedLoop {
    desk: Arc<Desk>,
    store: Arc<Store>,
    /// Requests at the model, by stream.
    requests: Vec<Option<BlockRequest>>,
    free: Vec<u32>,
    pool: DataPool,
}

impl Source for ServedLoop {
    fn next_due(&self) -> Time {
        self.desk.inbox.next_due()
    }

    fn take(&mut self, _: Time) -> Option<Io> {
        let (due, request) = self.desk.inbox.take()?;
        let stream = self.free.pop().unwrap_or(self.requests.len() as u32);
        let (op, start, len) = (request.op, request.start, request.len);
        match self.requests.get_mut(stream as usize) {
            Some(place) => *place = Some(request),
            None => self.requests.push(Some(request)),
        }
        let (class, prio, flags) = (ClassId(0), Prio::default(), Flags::of_program(op));
        Some(Io { due, start, len, stream: StreamId(stream), class, op, prio, flags })
    }

    fn finished(&mut self, _: Time, req: &Request, done: &Done) {
        let StreamId(stream) = req.stream;
        let request = self.requests[stream as usize].take().expect("a request is answered once");
        self.free.push(stream);
        let mut bytes = self.pool.take(request.len);
        let read = || read(&request, &self.store, &mut bytes).err();
        let error = done.error.or_else(read);
        self.pool.answer(request, bytes, error);
        self.desk.inbox.answered();
    }
}

impl Drop for ServedLoop {
    fn drop(&mut self) {
        self.desk.inbox.end();
    }
}

/// Counts requests, and answers those that ask for a report.
struct ServedCounts {
    desk: Arc<Desk>,
    answers: Rc<Answers>,
    requests: u64,
    most_at_once: u32,
}

impl ServedCounts {
    fn new(desk: Arc<Desk>, answers: Rc<Answers>) -> Self {
        Self { desk, answers, requests: 0, most_at_once: 0 }
    }
}

impl Observer for ServedCounts {
    fn turn(&mut self, _: Time) -> bool {
        self.most_at_once = self.most_at_once.max(self.desk.inbox.outstanding());
        let mut asked = self.desk.lock();
        if std::mem::take(&mut asked.report) {
            asked.answer = Some(ServedReport {
                requests: self.requests,
                most_at_once: self.most_at_once,
                emulation: EmulationResult {
                    head_start_ns: self.desk.head_start.get().map(|span| span.ns()),
                    ..(&*self.answers.lateness()).into()
                },
            });
            if asked.reset {
                self.answers.reset();
                (self.requests, self.most_at_once) = (0, 0);
            }
            self.desk.answered.notify_all();
        }
        true
    }

    fn finished(&mut self, _: Time, _: &Request, _: &Done) {
        self.requests += 1;
    }
}
