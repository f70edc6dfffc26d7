//! Measures what the disks of a modelled device did in a run: their accesses, part by part, and how
//! long they were busy.
//!
//! An access counts if it ended after the warm-up and within the run. Busy time counts between
//! those two, for any access. A device without an arm, and a disk with its cache, is busy while it
//! has something to do, and its service time is that of each request: a hit is a request without an
//! access, and some accesses of a cache belong to no request (the documentation of the watcher in
//! `penstock_device::hdd` says which). Where a model answers at another speed than its own, all
//! figures are in real time.

use std::cell::{Cell, Ref, RefCell};
use std::collections::VecDeque;
use std::iter::repeat;
use std::rc::Rc;

use penstock_core::{Device, Done, Request, Span, Tap, Time};
use penstock_device::hdd::Access;
use penstock_device::ssd::Buffered;
use penstock_jobs::devices::Watch;
use penstock_live::Speed;

use crate::measures::arm::ArmCourse;
use crate::measures::busy::Busy;
use crate::measures::measure::Measure;
use crate::measures::values::{Values, ratio};
use crate::result::{
    DeviceStatsResult, DiskResult, EachDiskResult, Milliseconds, RunResult, Travel,
};
use crate::workload::Load;

/// The disks of one run. Clones share their data.
#[derive(Clone)]
pub(crate) struct DeviceStats {
    warmup: Time,
    disks: Vec<Rc<DiskObserver>>,
    /// Names of the devices of files or of a trace, with the number of the disks of each; empty if
    /// one device serves all.
    lanes: Vec<(String, u32)>,
    /// The lane of each file.
    files: Vec<usize>,
}

/// Observes one disk.
struct DiskObserver(RefCell<Disk>);

struct Disk {
    speed: Speed,
    warmup: Time,
    /// Parts of accesses, for a device with an arm.
    parts: Option<AccessParts>,
    service: Values,
    busy: Busy,
    /// Cylinder where its accesses so far have left the arm.
    cylinder: u32,
    /// Receives the accesses if they are to be drawn.
    arm: Option<ArmCourse>,
    /// The accesses that began last, and when: they count when they have ended. Only the one before
    /// the last may still go on when another begins.
    begun: VecDeque<(Time, Access)>,
    /// Whether service and busy time are those of requests, and not of accesses.
    of_requests: bool,
    /// State of the write buffer of a flash drive.
    buffered: Rc<Cell<Buffered>>,
}

struct AccessParts {
    seek: Values,
    rotation: Values,
    transfer: Values,
    travel: u64,
}

impl DeviceStats {
    /// Creates the statistics of `disks` disks whose models run at `speed`; accesses that end
    /// before `warmup` do not count.
    pub(crate) fn new(disks: u32, warmup: Time, speed: Speed) -> Self {
        let new_observer = |_| Rc::new(DiskObserver(RefCell::new(Disk::new(speed, warmup))));
        Self {
            warmup,
            disks: (0..disks).map(new_observer).collect(),
            lanes: Vec::new(),
            files: Vec::new(),
        }
    }

    /// Sets the names of the lanes of `load`, each with the number of disks of its device, and the
    /// lanes of its files.
    #[must_use]
    pub(crate) fn of_lanes(self, load: &Load, disks: impl Iterator<Item = u32>) -> Self {
        let lanes = load.lanes.iter().map(|lane| lane.name.clone()).zip(disks).collect();
        Self { lanes, files: load.files.iter().map(|file| file.lane).collect(), ..self }
    }

    /// Passes the accesses of the first disk to `arm`, if it is to be drawn.
    #[must_use]
    pub(crate) fn with_arm(self, arm: Option<&ArmCourse>) -> Self {
        self.disks[0].0.borrow_mut().arm = arm.cloned();
        self
    }

    /// Returns the observer of the disk numbered `number`.
    pub(crate) fn observer(&self, number: u32) -> Rc<dyn Watch> {
        Rc::clone(&self.disks[number as usize]) as Rc<dyn Watch>
    }
}

impl Measure for DeviceStats {
    fn write(&mut self, end: Time, result: &mut RunResult) {
        let measured = end.since(self.warmup);
        result.remarks.extend(buffering(&self.disks));
        let disks: Vec<StoppedDisk<'_>> = self.disks.iter().map(|disk| disk.ended(end)).collect();
        let names = self.lanes.iter().flat_map(|(name, disks)| (0..*disks).map(move |_| name));
        let all = together(&disks, measured, names.map(Some).chain(repeat(None)));
        result.device_busy = all.all.utilisation;
        // The disks of each lane, one behind the other.
        let mut rest = &disks[..];
        let mut lanes = Vec::with_capacity(self.lanes.len());
        for (_, count) in &self.lanes {
            let own;
            (own, rest) = rest.split_at(*count as usize);
            lanes.push(own);
        }
        for (number, file) in result.files.iter_mut().enumerate() {
            let own = self.files.get(number).map_or(&disks[..], |lane| lanes[*lane]);
            file.device_stats = Some(together(own, measured, repeat(None)));
        }
        result.device_stats = Some(all);
    }
}

impl Watch for DiskObserver {
    fn accessed(&self, at: Time, access: &Access) {
        let disk = &mut *self.0.borrow_mut();
        if let Some(arm) = &disk.arm {
            arm.accessed(at, access, disk.speed);
        }
        while disk.begun.len() > 1 {
            disk.settle(Time::NEVER);
        }
        disk.begun.push_back((at, *access));
    }

    fn gauge(&self) -> Rc<Cell<Buffered>> {
        Rc::clone(&self.0.borrow().buffered)
    }

    fn over(self: Rc<Self>, device: Box<dyn Device>) -> Box<dyn Device> {
        self.0.borrow_mut().of_requests = true;
        let observer = Rc::clone(&self);
        let started = move |now, _: &Request| observer.0.borrow_mut().started(now);
        let finished = move |now, done: &[Done]| {
            let disk = &mut *self.0.borrow_mut();
            for done in done {
                disk.finished(now, done.service);
            }
        };
        Box::new(Tap::new(device, started, finished))
    }
}

/// A disk at the end of its run.
struct StoppedDisk<'a> {
    disk: Ref<'a, Disk>,
    busy: Span,
}

/// Returns what `disks` did together in the time `measured`, and what each one did if there are
/// several, with its name from `names`.
fn together<'n>(
    disks: &[StoppedDisk<'_>],
    measured: Span,
    names: impl Iterator<Item = Option<&'n String>>,
) -> DeviceStatsResult {
    if let [StoppedDisk { disk, busy }] = disks {
        return DeviceStatsResult { all: disk.result(*busy, measured), disks: Vec::new() };
    }
    let named =
        |(StoppedDisk { disk, busy }, name): (&StoppedDisk<'_>, Option<&String>)| EachDiskResult {
            device: name.filter(|name| !name.is_empty()).cloned(),
            own: disk.result(*busy, measured),
        };
    let mut all = Disk::new(Speed::ONE, Time::ZERO);
    let mut busy = Span::ZERO;
    for ended in disks {
        all.join(&ended.disk);
        busy += ended.busy;
    }
    let whole = Span::from_ns(measured.ns().saturating_mul(disks.len() as u64));
    let all = all.result(busy, whole);
    DeviceStatsResult { all, disks: disks.iter().zip(names).map(named).collect() }
}

/// Returns a remark if the write buffers of `disks` were still filling when the run ended: they
/// held at least a quarter of their size, and at least a twentieth of everything written.
fn buffering(disks: &[Rc<DiskObserver>]) -> Option<String> {
    let all = disks.iter().map(|disk| disk.0.borrow().buffered.get());
    let Buffered { taken, held, size } = all.fold(Buffered::default(), |a, b| Buffered {
        taken: a.taken + b.taken,
        held: a.held + b.held,
        size: a.size + b.size,
    });
    if held == 0 || held < size / 4 || held < taken / 20 {
        return None;
    }
    let [taken, held, size] = [taken, held, size].map(|bytes| bytes.div_ceil(1_000_000));
    Some(format!(
        "{held} of the {taken} MB written were still in the drive's write buffer of {size} MB when \
         the run ended: it was not yet in its steady state, and a longer run may be slower"
    ))
}

impl DiskObserver {
    /// Books all accesses of a run that ended at `end`.
    fn ended(&self, end: Time) -> StoppedDisk<'_> {
        let busy = self.0.borrow_mut().ended(end);
        StoppedDisk { disk: self.0.borrow(), busy }
    }
}

impl Disk {
    /// Creates a disk that has done nothing yet, whose model runs at `speed`.
    fn new(speed: Speed, warmup: Time) -> Self {
        Self {
            speed,
            warmup,
            parts: None,
            service: Values::new(),
            busy: Busy::new(warmup),
            cylinder: 0,
            arm: None,
            begun: VecDeque::new(),
            of_requests: false,
            buffered: Rc::default(),
        }
    }

    /// Books the oldest access that has begun, as far as it lies before `end`.
    fn settle(&mut self, end: Time) {
        let Some((begun, access)) = self.begun.pop_front() else { return };
        let travel = access.from.abs_diff(self.cylinder)
            + access.to.abs_diff(access.from)
            + access.last().abs_diff(access.to);
        self.cylinder = access.last();
        let service = access.service();
        let ended = self.speed.real(begun + service);
        if !self.of_requests {
            self.busy.worked(self.speed.real(begun), ended.min(end));
        }
        // A command that does not touch the platter is not an access.
        if ended < self.warmup || ended > end || access.is_decoding() {
            return;
        }
        let speed = self.speed;
        let parts = self.parts.get_or_insert_with(AccessParts::new);
        parts.seek.add(speed.span(access.seek));
        parts.rotation.add(speed.span(access.rotation));
        parts.transfer.add(speed.span(access.transfer));
        parts.travel += u64::from(travel);
        if !self.of_requests {
            self.service.add(speed.span(service));
        }
    }

    fn started(&mut self, now: Time) {
        let now = self.speed.real(now);
        self.busy.started(now);
        if let Some(arm) = &self.arm {
            arm.started(now);
        }
    }

    fn finished(&mut self, now: Time, service: Span) {
        let now = self.speed.real(now);
        self.busy.finished(now);
        if let Some(arm) = &self.arm {
            arm.finished(now);
        }
        if now >= self.warmup {
            self.service.add(self.speed.span(service));
        }
    }

    /// Books all accesses of a run that ended at `end`: how long it was busy.
    fn ended(&mut self, end: Time) -> Span {
        while !self.begun.is_empty() {
            self.settle(end);
        }
        self.busy.until(end)
    }

    /// Adds the figures of `other`.
    fn join(&mut self, other: &Self) {
        if let Some(theirs) = &other.parts {
            let ours = self.parts.get_or_insert_with(AccessParts::new);
            ours.seek.join(&theirs.seek);
            ours.rotation.join(&theirs.rotation);
            ours.transfer.join(&theirs.transfer);
            ours.travel += theirs.travel;
        }
        self.service.join(&other.service);
    }

    fn result(&self, busy: Span, measured: Span) -> DiskResult {
        let part = |part: fn(&AccessParts) -> &Values| {
            self.parts.as_ref().map(|parts| part(parts).milliseconds())
        };
        DiskResult {
            seek_ms: part(|parts| &parts.seek),
            rotation_ms: part(|parts| &parts.rotation),
            transfer_ms: part(|parts| &parts.transfer),
            travel: self.parts.as_ref().map(|parts| Travel {
                cylinders: parts.travel,
                per_request: ratio(parts.travel as f64, self.service.count() as f64),
            }),
            service_ms: self.service.milliseconds(),
            utilisation: ratio(busy.ns() as f64, measured.ns() as f64),
        }
    }
}

impl AccessParts {
    fn new() -> Self {
        Self { seek: Values::new(), rotation: Values::new(), transfer: Values::new(), travel: 0 }
    }
}

impl Values {
    fn milliseconds(&self) -> Milliseconds {
        Milliseconds::new(self.count(), &self.distribution())
    }
}
