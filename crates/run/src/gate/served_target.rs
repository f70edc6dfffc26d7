//! A real target as block devices, with a policy between: any program's requests go through it.
//!
//! Use it for programs that can be given a block device: a database's volume, a virtual machine's disk, a
//! scratch space. The target is divided into volumes, a device each, whose requests are a class of the
//! policy; without volumes it is one device. A thread for each device takes the requests of the kernel, the
//! thread of a gate sends what the policy decides, and one for each device answers long reads.
//!
//! Always true: a request is answered when the target has completed it, so a flush covers all that was
//! answered before it; the ranges of commands in flight share no block; the errors of the target are passed
//! on. The kernel has merged neighbours before, so requests are not merged again. It does not say who waits
//! for a request: all count as synchronous, and those of a volume as those of one process.
//!
//! Source: Tanabe and others, "Disk I/O Control Mechanism for Online and Batch Processing" (2019), section
//! IV, which has it in the kernel.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use penstock_core::{ClassId, ClassInfo, Op};
use penstock_jobs::{VolumeSpec, params, policies};
use penstock_live::queue_settings::{SchedulerStep, Setting};
use penstock_live::serve::{BlockRequest, Front, Served, can_serve, hold_memory};
use penstock_live::{Contents, Handover, Stopwatch, Target, User};
use penstock_policy::Bound;
use serde::Serialize;

use super::block_node::BlockNode;
use super::by_class::SharedCounters;
use super::counters::{Counters, LengthStats};
use super::data_pool::DataPool;
use super::inbox::{Inbox, Order, Reply};
use super::levels::Levels;
use super::locks::lock;
use super::open::{GateFile, GateOptions, Kinds, Opened, open};
use crate::failure::Failure;
use crate::measures::values::Values;
use crate::place::target;
use crate::record::Recorder;
use crate::result::Distribution;

/// Requests that the kernel gives a loop device at once, if nothing else is set.
const USUAL_DEPTH: u32 = 128;

/// The options of a served target.
#[derive(Clone, Debug, Default)]
pub struct ServedTargetOptions {
    /// The file or block device, how it is driven, and the policy before it.
    pub gate: GateOptions,
    /// Whether its contents are kept, whatever they are.
    pub keep_data: bool,
    /// Volumes, as `NAME=SIZE[,prio=N][,weight=N]`; one of the whole target if there are none.
    pub volumes: Vec<String>,
    /// Where events and decisions are recorded; nowhere if not given.
    pub record: Option<PathBuf>,
    /// Requests that the kernel gives a device at once; the kernel's usual number if not given.
    pub depth: Option<u32>,
}

/// A served target. Dropping it takes its devices down, after the requests that they have.
pub struct ServedTarget {
    nodes: Vec<BlockNode>,
    volumes: Vec<Volume>,
    inbox: Arc<Inbox<Order>>,
    counters: Arc<Mutex<Counters>>,
    policy: SharedCounters,
    remarks: Vec<String>,
    record: Option<PathBuf>,
    dispatcher: Handover<()>,
}

/// A part of the target.
#[derive(Clone)]
struct Volume {
    class: ClassInfo,
    start: u64,
    len: u64,
}

/// Counts of a served target so far.
#[derive(Clone, Debug, Serialize)]
pub struct ServedTargetReport {
    /// Its volumes, in their order.
    pub volumes: Vec<VolumeReport>,
    /// Counters of the policy, as of a completion shortly before.
    pub policy: BTreeMap<String, u64>,
    /// Pieces of long requests that were sent while a short one waited.
    pub long_first: u64,
}

/// Counts of a volume so far, by operation.
#[derive(Clone, Debug, Serialize)]
pub struct VolumeReport {
    /// Its name.
    pub name: String,
    /// Reads.
    pub read: LengthStats,
    /// Writes.
    pub write: LengthStats,
    /// Flushes.
    pub flush: LengthStats,
    /// Discards, and ranges of zeros.
    pub discard: LengthStats,
}

/// Latencies of a volume in a window, by operation, in nanoseconds.
#[derive(Clone, Debug, Serialize)]
pub struct VolumeWindow {
    /// Its name.
    pub name: String,
    /// Reads.
    pub read: Distribution,
    /// Writes.
    pub write: Distribution,
    /// Flushes.
    pub flush: Distribution,
    /// Discards, and ranges of zeros.
    pub discard: Distribution,
}

/// Operations, whose requests are counted in a book each.
const OPS: [Op; 4] = [Op::Read, Op::Write, Op::Flush, Op::Discard];

/// Returns the book of the requests for `op` to the volume numbered `volume`.
fn book(volume: usize, op: Op) -> usize {
    volume * OPS.len() + op as usize
}

/// Interval at which the end of the dispatcher is looked for.
const BEAT: Duration = Duration::from_millis(100);

/// Requests at once: no queue of the kernel has as many.
const MOST: u32 = 1 << 16;

/// The front of a volume.
struct VolumeFront {
    volume: Volume,
    number: u16,
    inbox: Arc<Inbox<Order>>,
    stopwatch: Stopwatch,
    pool: Arc<DataPool>,
    levels: Levels,
}

impl Front for VolumeFront {
    fn bytes(&self) -> u64 {
        self.volume.len
    }

    fn take(&self, request: BlockRequest, data: &[u8]) {
        let BlockRequest { op, start, len, .. } = request;
        let mut bytes = self.pool.take(len);
        match op {
            Op::Write => {
                bytes.clear();
                bytes.extend_from_slice(data);
            }
            // Every byte is read before it is answered.
            Op::Read => bytes.resize(len as usize, 0),
            Op::Flush | Op::Discard => bytes.clear(),
        }
        let (file, offset, sync) = (0, self.volume.start + start, false);
        let (class, prio) = (ClassId(self.number), self.volume.class.prio);
        let book = book(self.number.into(), op);
        let reply = Reply::Kernel(request, Arc::clone(&self.pool));
        let order = Order { op, file, offset, bytes, len, sync, class, prio, book, reply };
        // A request that is not taken is dropped, which answers it with an error.
        if self.inbox.put(self.stopwatch.now(), order, BEAT, || true).is_ok() {
            self.levels.arrived(book, class);
        }
    }

    fn report(&self) -> String {
        String::new()
    }

    fn reset(&self) {}
}

impl ServedTarget {
    /// Serves the target of `options` until it is dropped.
    ///
    /// # Errors
    /// [`Failure`]: an unknown policy or parameter, a target that is refused or too small for its volumes, an
    /// engine that does not work here, or a machine that lacks what it needs.
    pub fn new(options: &ServedTargetOptions) -> Result<Self, Failure> {
        can_serve()?;
        let asked = penstock_jobs::volumes(&options.volumes)?;
        let [file] = &options.gate.files[..] else {
            return Err(Failure::wrong("no target to serve", "name a file or a block device"));
        };
        let gate = GateOptions { sets: of_policy(&options.gate)?, ..options.gate.clone() };
        if let Some(path) = &options.record {
            Recorder::check(path).map_err(|error| Failure::unwritable(path, &error))?;
        }
        let is_new = !file.path.exists();
        let target = opened_target(file, options.keep_data)?;
        Self::over(&target, &gate, &asked, options).inspect_err(|_| {
            // Wrong input leaves nothing behind.
            if is_new {
                target.remove_file();
            }
        })
    }

    /// Serves `target` in the volumes that are asked for.
    fn over(
        target: &Target,
        gate: &GateOptions,
        asked: &[VolumeSpec],
        options: &ServedTargetOptions,
    ) -> Result<Self, Failure> {
        let volumes = volumes(target, asked)?;
        let block = target.unit().max(512);
        let classes = volumes.iter().map(|volume| volume.class.clone()).collect();
        let books = volumes.len() * OPS.len();
        let policy = SharedCounters::default();
        let kinds = Kinds {
            classes,
            books,
            windows: true,
            longest: Served::LONGEST,
            most: MOST,
            by_class: Some(policy.clone()),
            record: options.record.clone(),
        };
        // Before the threads start, which have it from this one.
        let mut remarks = hold_memory();
        let entry = params::policy(&gate.policy)?;
        remarks.extend(entry.facts.without_positions.map(|instead| {
            format!("{} {instead}: a real target does not say what each would cost", entry.name)
        }));
        let in_order = (entry.bound)(&policies::set(entry, &gate.sets)?, 1) == Some(Bound::FIFO);
        let opened = open(gate, vec![target.clone()], kinds)?;
        let Opened { inbox, stopwatch, counters, levels, dispatcher, .. } = opened;
        let record = options.record.clone();
        let nodes = Vec::new();
        let mut this =
            Self { nodes, volumes, inbox, counters, policy, remarks, record, dispatcher };
        for (number, volume) in (0..).zip(&this.volumes) {
            let (inbox, levels) = (Arc::clone(&this.inbox), levels.clone());
            let volume = volume.clone();
            let pool =
                Arc::new(DataPool::new().map_err(|error| Failure::here("start a thread", &error))?);
            let shown = format!("penstock {}", volume.class.name);
            let front = VolumeFront { volume, number, inbox, stopwatch, pool, levels };
            let (scheduler, instead) = schedulers(in_order, options.depth);
            this.nodes.push(BlockNode::new(front, block, &shown, scheduler, instead)?);
        }
        this.nodes.iter_mut().try_for_each(BlockNode::hand_out)?;
        Ok(this)
    }

    /// Returns its volumes, in their order: the name and the node of each.
    pub fn nodes(&self) -> Vec<(&str, &Path)> {
        let names = self.volumes.iter().map(|volume| &*volume.class.name);
        names.zip(self.nodes.iter().map(BlockNode::path)).collect()
    }

    /// Returns what this machine does not grant.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Checks that it is still served.
    ///
    /// # Errors
    /// The dispatcher has ended, and why.
    pub fn check(&self) -> Result<(), Failure> {
        let Some(why) = self.inbox.why_closed() else { return Ok(()) };
        let message = format!("the target is not served any more: {}", why.error());
        Err(Failure::run(message))
    }

    /// Returns what each volume was asked for so far.
    pub fn report(&self) -> ServedTargetReport {
        // The dispatcher waits for the lock, so it is taken for each book anew.
        let stats = |number, op| lock(&self.counters).stats(book(number, op));
        let report = |(number, volume): (usize, &Volume)| {
            let [read, write, flush, discard] = OPS.map(|op| stats(number, op));
            VolumeReport { name: volume.class.name.clone(), read, write, flush, discard }
        };
        let volumes = self.volumes.iter().enumerate().map(report).collect();
        let (policy, long_first) = (self.policy.read(), lock(&self.counters).long_first);
        ServedTargetReport { volumes, policy, long_first }
    }

    /// Returns the latencies of each volume since the last call.
    pub fn window(&self) -> Vec<VolumeWindow> {
        let taken = |number, op| {
            let next = Values::new();
            let taken = lock(&self.counters).next_window(book(number, op), next);
            taken.distribution()
        };
        let window = |(number, volume): (usize, &Volume)| {
            let [read, write, flush, discard] = OPS.map(|op| taken(number, op));
            VolumeWindow { name: volume.class.name.clone(), read, write, flush, discard }
        };
        self.volumes.iter().enumerate().map(window).collect()
    }

    /// Takes the devices down, and finishes the record.
    ///
    /// # Errors
    /// The record could not be written.
    pub fn end(self) -> Result<(), Failure> {
        let counters = Arc::clone(&self.counters);
        let record = self.record.clone();
        drop(self);
        match (record, lock(&counters).record_error.take()) {
            (Some(path), Some(error)) => Err(Failure::half_written(&path, &error)),
            _ => Ok(()),
        }
    }

    /// Returns the nodes that are mounted, or held by another device.
    pub fn in_use(&self) -> Vec<PathBuf> {
        let used = self.nodes.iter().filter(|node| node.is_in_use());
        used.map(|node| node.path().to_owned()).collect()
    }
}

impl Drop for ServedTarget {
    fn drop(&mut self) {
        self.nodes.clear();
        self.inbox.close();
        // If it panicked, it has written the panic to stderr, and requests have their errors.
        while let Ok(None) = self.dispatcher.wait(BEAT) {}
    }
}

/// Checks the policy of `gate` and the arguments for it. Returns these without its name: `split=64KiB` for
/// `size-priority.split=64KiB`.
fn of_policy(gate: &GateOptions) -> Result<Vec<String>, Failure> {
    let entry = params::policy(&gate.policy)?;
    let begins = format!("{}.", gate.policy);
    let own = |set: &String| {
        set.strip_prefix(&begins).map(str::to_owned).ok_or_else(|| {
            let message = format!("--set {set} names no parameter of {}", gate.policy);
            Failure::wrong(message, format!("as {begins}KEY=VALUE"))
        })
    };
    let sets: Vec<String> = gate.sets.iter().map(own).collect::<Result<_, Failure>>()?;
    policies::set(entry, &sets)?;
    Ok(sets)
}

/// Opens the target `file`, whose contents are kept or may be lost.
fn opened_target(file: &GateFile, keep_data: bool) -> Result<Target, Failure> {
    if !keep_data {
        return file.open(User::Server);
    }
    let GateFile { path, create, i_will_lose_data, even_if_not_empty, .. } = file;
    let given = [
        ("--create", create.is_some()),
        ("--i-will-lose-data", i_will_lose_data.is_some()),
        ("--even-if-not-empty", *even_if_not_empty),
    ];
    if let Some((option, _)) = given.iter().find(|(_, given)| *given) {
        let message = format!("--keep-data does not go with {option}");
        return Err(Failure::wrong(message, "its data is kept, or may be lost"));
    }
    if target::is_device(&path.to_string_lossy()) {
        return Ok(Target::open_device(path, None, Contents::Kept)?);
    }
    file.open(User::Application)
}

/// Returns the kernel's scheduler for a device that has `depth` requests at once, half of which may be writes,
/// and the one where it is missing.
///
/// Under `none` a flood of writes has all places, and reads wait for one where no policy sees them. As
/// mq-deadline has no more requests than the device takes at once, it passes each on as it comes, for a price
/// per request. Before a policy that sends all `in_order` it would gain nothing.
fn schedulers(in_order: bool, depth: Option<u32>) -> (SchedulerStep, Option<SchedulerStep>) {
    let step = |scheduler: &str, settings| SchedulerStep { scheduler: scheduler.into(), settings };
    let requests = |depth: u32| Setting::new("nr_requests", depth.to_string());
    let usual = depth.unwrap_or(USUAL_DEPTH);
    let writes = Setting::new("async_depth", (usual / 2).max(1).to_string());
    let none = step("none", depth.map(requests).into_iter().collect());
    if in_order {
        return (none, None);
    }
    (step("mq-deadline", vec![requests(usual), writes]), Some(none))
}

/// Divides `target` into the volumes that are asked for, or takes it whole.
fn volumes(target: &Target, asked: &[VolumeSpec]) -> Result<Vec<Volume>, Failure> {
    let (capacity, block) = (target.capacity(), u64::from(target.unit().max(512)));
    if asked.is_empty() {
        let len = capacity / block * block;
        return Ok(vec![Volume { class: ClassInfo::new("disk"), start: 0, len }]);
    }
    let mut start = 0;
    let mut volumes = Vec::new();
    for VolumeSpec { class, size } in asked {
        if *size == 0 || !size.is_multiple_of(block) {
            let message = format!(
                "the volume {} has {size} bytes; expected a multiple of {block}, the target's block",
                class.name
            );
            return Err(Failure::wrong(message, "as 10GiB"));
        }
        volumes.push(Volume { class: class.info(), start, len: *size });
        start = start.saturating_add(*size);
    }
    if start > capacity {
        let path = target.path().display();
        let message = format!("the volumes have {start} bytes; {path} has {capacity}");
        return Err(Failure::wrong(message, "name smaller volumes, or a larger target"));
    }
    Ok(volumes)
}
