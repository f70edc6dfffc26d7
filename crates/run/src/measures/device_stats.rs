//! What the disks of a modelled device did while a run went on: their accesses, part by part, and
//! for how long they were busy.
//!
//! An access counts if it ended behind the warm-up and within the run. Busy is what lies between the
//! two of any access. A device without an arm, and a disk with its cache, is busy while it has
//! something to do, and its service is that of each request: a hit is a request without an access,
//! and some accesses of a cache belong to no request (`penstock_device::hdd`'s watcher says which).
//! Where a model answers at another speed than its own, all figures are in real time.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use penstock_core::{Device, Done, Request, Span, Tap, Time};
use penstock_device::hdd::Access;
use penstock_device::ssd::Buffered;
use penstock_live::Speed;
use penstock_spec::devices::Watch;

use crate::measures::arm::ArmCourse;
use crate::measures::busy::Busy;
use crate::measures::measure::Measure;
use crate::measures::values::{Values, ratio};
use crate::result::{
    DeviceStatsResult, DiskResult, EachDiskResult, Milliseconds, RunResult, Travel,
};

/// The disks of one run. Clones are of the same.
#[derive(Clone)]
pub(crate) struct DeviceStats {
    warmup: Time,
    disks: Vec<Rc<DiskObserver>>,
    /// The device of a trace that each belongs to, if each is played on a device of its own.
    names: Vec<String>,
}

/// Observes one disk.
struct DiskObserver(RefCell<Disk>);

struct Disk {
    speed: Speed,
    warmup: Time,
    /// Of a device with an arm.
    parts: Option<AccessParts>,
    service: Values,
    busy: Busy,
    /// Where its accesses so far have left the arm.
    cylinder: u32,
    /// Gets the accesses, if they are to be drawn.
    arm: Option<ArmCourse>,
    /// The accesses that began last, and when: they count when they have ended. Only the one before
    /// the last may still go on when another begins.
    begun: VecDeque<(Time, Access)>,
    /// Service and busy are those of requests, and not of accesses.
    of_requests: bool,
    /// Of a drive of flash.
    buffered: Rc<Cell<Buffered>>,
}

struct AccessParts {
    seek: Values,
    rotation: Values,
    transfer: Values,
    travel: u64,
}

impl DeviceStats {
    /// For `disks` disks whose models run at `speed`; what ends before `warmup` does not count.
    pub(crate) fn new(disks: u32, warmup: Time, speed: Speed) -> Self {
        let disk = || Disk {
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
        };
        let observer = |_| Rc::new(DiskObserver(RefCell::new(disk())));
        Self { warmup, disks: (0..disks).map(observer).collect(), names: Vec::new() }
    }

    /// The same with the names of `devices`, each with so many disks.
    #[must_use]
    pub(crate) fn named<'n>(self, devices: impl Iterator<Item = (&'n String, u32)>) -> Self {
        let names = devices.flat_map(|(name, disks)| (0..disks).map(move |_| name.clone()));
        Self { names: names.collect(), ..self }
    }

    /// The same with the accesses of the first disk given to `arm`, if it is to be drawn.
    #[must_use]
    pub(crate) fn drawn(self, arm: Option<&ArmCourse>) -> Self {
        self.disks[0].0.borrow_mut().arm = arm.cloned();
        self
    }

    /// The observer of the disk numbered `number`.
    pub(crate) fn of(&self, number: u32) -> Rc<dyn Watch> {
        Rc::clone(&self.disks[number as usize]) as Rc<dyn Watch>
    }
}

impl Measure for DeviceStats {
    fn write(&mut self, end: Time, result: &mut RunResult) {
        let measured = end.since(self.warmup);
        let mut disks = self.disks.iter().map(|disk| disk.0.borrow_mut());
        result.remarks.extend(buffering(&self.disks));
        let mut all = disks.next().expect("a device has a disk");
        let mut busy = all.ended(end);
        let mut each = vec![all.result(busy, measured)];
        for mut disk in disks {
            let own = disk.ended(end);
            each.push(disk.result(own, measured));
            all.join(&disk);
            busy += own;
        }
        let whole = Span::from_ns(measured.ns().saturating_mul(self.disks.len() as u64));
        let all = all.result(busy, whole);
        result.device_busy = all.utilisation;
        let named = |(number, own): (usize, DiskResult)| {
            let device = self.names.get(number).filter(|name| !name.is_empty()).cloned();
            EachDiskResult { device, own }
        };
        let several = each.len() > 1;
        let disks = each.into_iter().enumerate().filter(|_| several).map(named).collect();
        result.device_stats = Some(DeviceStatsResult { all, disks });
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

/// That the write buffers of `disks` were still filling when the run ended: with a quarter of their
/// room or more, and of all that was written, still in them.
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

impl Disk {
    /// Books the first of the accesses that began as far as it lies before `end`.
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
        // A command that asks nothing of the platter is no access.
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

    /// Books all of a run that ended at `end`: how long it was busy.
    fn ended(&mut self, end: Time) -> Span {
        while !self.begun.is_empty() {
            self.settle(end);
        }
        self.busy.until(end)
    }

    /// Takes in what `other` did.
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
