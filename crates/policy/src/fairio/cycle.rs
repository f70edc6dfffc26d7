//! The cycle: its times, the division of shares at its beginning, the account at its end.

use alloc::vec::Vec;

use penstock_core::{ClassInfo, Span, Time};

use super::auto::{Auto, ClassLoad};
use super::class::Class;
use super::history::{History, part};
use super::settings::Settings;
use super::share::{Claim, divide};

/// Cycles without a request after which a class becomes inactive, unless a window is longer.
const PATIENCE: u64 = 20;

/// The classes, the current cycle, and the window of the last cycles.
#[derive(Debug)]
pub(super) struct Cycle {
    pub(super) classes: Vec<Class>,
    /// Number of cycles that ended, and of those that ended before their time was over.
    pub(super) ended: u64,
    pub(super) early: u64,
    start: Time,
    /// Length of a full cycle in nanoseconds.
    length: u64,
    history: History,
    auto: Option<Auto>,
    /// Idle part of the window of each class, in millionths.
    idle: Vec<u64>,
    /// Classes in the order of their first requests, and whether each class is among them.
    first: Vec<u32>,
    known: Vec<bool>,
    /// Working memory of the division.
    claims: Vec<Claim>,
    raw: Vec<u128>,
    shares: Vec<u64>,
}

impl Cycle {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            classes: Vec::new(),
            ended: 0,
            early: 0,
            start: Time::ZERO,
            length: settings.cycle,
            history: History::new(settings.window),
            auto: settings.regulated.then(Auto::default),
            idle: Vec::new(),
            first: Vec::new(),
            known: Vec::new(),
            claims: Vec::new(),
            raw: Vec::new(),
            shares: Vec::new(),
        }
    }

    /// Adds a class. It takes part from the next cycle on if it is `active`.
    pub(super) fn add(&mut self, info: &ClassInfo, active: bool, settings: &Settings) {
        let class = Class::new(info, active, settings.start_estimate);
        self.history.add_class(class.weight);
        self.classes.push(class);
        self.idle.push(0);
        self.claims.push(Claim { weight: 0, used: 0 });
        self.raw.push(0);
        self.shares.push(0);
        self.first.reserve(self.classes.len() - self.first.len());
        self.known.push(false);
    }

    /// Time at which it began.
    pub(super) fn start(&self) -> Time {
        self.start
    }

    /// Time at which it ends, if not earlier.
    pub(super) fn end(&self) -> Time {
        self.start + Span::from_ns(self.length)
    }

    /// Length of a full cycle in nanoseconds.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// A request of `class` arrives.
    pub(super) fn arrives(&mut self, class: usize, now: Time) {
        if !core::mem::replace(&mut self.known[class], true) {
            self.first.push(class as u32);
        }
        self.classes[class].arrives(now);
    }

    /// Ends a cycle whose time is over. If a whole further cycle or more has passed without
    /// requests, all that time counts as one cycle.
    pub(super) fn pass(&mut self, now: Time, settings: &Settings) {
        let end = self.end();
        self.close(end, settings);
        self.begin(end, settings);
        if self.end() <= now {
            let gap = now.since(end).ns();
            if gap > self.history.full(self.length) && !self.classes.iter().any(Class::busy) {
                // After such a gap neither the history nor the patience with idle classes applies.
                self.history.clear();
                self.classes.iter_mut().for_each(|class| class.last_arrival = now);
                self.ended += 1;
            } else {
                self.close(now, settings);
            }
            self.begin(now, settings);
        }
    }

    /// Ends the cycle at `end` and accounts for it.
    pub(super) fn close(&mut self, end: Time, settings: &Settings) {
        let elapsed = end.since(self.start).ns();
        let active = || self.classes.iter().filter(|class| class.active);
        let used = active().map(|class| class.used).fold(0, u64::saturating_add);
        let mut counted = [0_u64; 2];
        for (class, share) in self.classes.iter_mut().zip(&mut self.shares) {
            *share = class.close(end);
            if class.active {
                counted = [counted[0].saturating_add(*share), counted[1] + class.weight];
            }
        }
        // An inactive class counts as if it had got its part, so that it is owed nothing later.
        for (class, share) in self.classes.iter().zip(&mut self.shares) {
            if !class.active {
                *share = part(counted[0], class.weight, counted[1]);
            }
        }
        self.history.push(elapsed, self.length, self.shares.iter().copied());
        self.ended += 1;
        self.regulate(elapsed, used, settings);
        let patience = self.history.full(self.length).max(PATIENCE.saturating_mul(self.length));
        let patience = Span::from_ns(patience);
        if self.classes.iter().any(Class::busy) {
            for class in self.classes.iter_mut().filter(|class| !class.busy()) {
                class.active &= class.last_arrival + patience > end;
            }
        }
    }

    /// Sets the length of the next cycle, if it is regulated.
    fn regulate(&mut self, elapsed: u64, used: u64, settings: &Settings) {
        let Some(auto) = &mut self.auto else { return };
        let window = self.history.full(self.length).max(self.length);
        for (idle, class) in self.idle.iter_mut().zip(&self.classes) {
            let now = if class.was_idle() { 1_000_000 } else { 0 };
            let weight = u128::from(elapsed.min(window));
            let rest = u128::from(window) - weight;
            *idle = ((u128::from(*idle) * rest + now * weight) / u128::from(window)) as u64;
        }
        let classes = self.classes.iter().zip(&self.idle).filter(|(class, _)| class.active);
        let load = |(class, &idle): (&Class, &u64)| {
            let Class { weight, estimate, .. } = class;
            ClassLoad { weight: *weight, estimate: estimate.ns(), idle }
        };
        let turn = [elapsed, used];
        let disks = [settings.disks, settings.load.max(1)];
        self.length = auto.next(self.length, turn, disks, classes.map(load));
    }

    /// Begins the next cycle at `start` and divides it among the classes.
    pub(super) fn begin(&mut self, start: Time, settings: &Settings) {
        self.start = start;
        // Saturates: a hundred years on 65,536 disks would not fit.
        let service = self.length.saturating_mul(settings.disks.into());
        for (n, class) in self.classes.iter().enumerate() {
            let weight = if class.active { class.weight } else { 0 };
            self.claims[n] = Claim { weight, used: self.history.sum(n) };
        }
        divide(service, &self.claims, &self.first, &mut self.raw, &mut self.shares);
        for (class, &share) in self.classes.iter_mut().zip(&self.shares) {
            class.open(start, share, settings.class_threshold);
        }
    }

    /// The class with the largest rest of its share among those that are held back and have
    /// requests queued. Ties go to the class whose first request arrived earlier.
    pub(super) fn most_left(&self) -> Option<u32> {
        let held = |&&class: &&u32| {
            let class = &self.classes[class as usize];
            class.held && class.waits && class.left() > 0
        };
        let left = |&&class: &&u32| self.classes[class as usize].left();
        // `max_by_key` takes the last of equal ones.
        self.first.iter().rev().filter(held).max_by_key(left).copied()
    }
}
