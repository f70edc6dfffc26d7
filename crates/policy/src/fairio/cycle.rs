//! The cycle: its times, the division at its beginning, the account at its end.

use alloc::vec::Vec;

use penstock_core::{ClassInfo, Span, Time};

use super::auto::{Auto, Load};
use super::class::Class;
use super::history::{History, part};
use super::settings::Settings;
use super::share::{Claim, divide};

/// A class that asks for nothing for so many cycles, or a window if that is longer, is given up.
const PATIENCE: u64 = 20;

/// The current cycle, the classes and the window of the last ones.
#[derive(Debug)]
pub(super) struct Cycle {
    pub(super) classes: Vec<Class>,
    /// How many have ended, and how many of them before their time was over.
    pub(super) ended: u64,
    pub(super) early: u64,
    start: Time,
    /// Of a full cycle, in nanoseconds.
    length: u64,
    history: History,
    auto: Option<Auto>,
    /// By class: for how many millionths of the window it had nothing to do.
    dry: Vec<u64>,
    /// Classes in the order of their first requests, and by class whether it is one of them.
    first: Vec<u32>,
    known: Vec<bool>,
    /// Working memory.
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
            dry: Vec::new(),
            first: Vec::new(),
            known: Vec::new(),
            claims: Vec::new(),
            raw: Vec::new(),
            shares: Vec::new(),
        }
    }

    /// One more class, which takes part from the next cycle on if it is `active`.
    pub(super) fn add(&mut self, info: &ClassInfo, active: bool, settings: &Settings) {
        let class = Class::new(info, active, settings.start_estimate);
        self.history.add_class(class.weight);
        self.classes.push(class);
        self.dry.push(0);
        self.claims.push(Claim { weight: 0, used: 0 });
        self.raw.push(0);
        self.shares.push(0);
        self.first.reserve(self.classes.len() - self.first.len());
        self.known.push(false);
    }

    /// When it began.
    pub(super) fn start(&self) -> Time {
        self.start
    }

    /// When it ends, if not earlier.
    pub(super) fn end(&self) -> Time {
        self.start + Span::from_ns(self.length)
    }

    /// How long a full cycle is.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// A request of `class` comes.
    pub(super) fn asks(&mut self, class: usize, now: Time) {
        if !core::mem::replace(&mut self.known[class], true) {
            self.first.push(class as u32);
        }
        self.classes[class].asks(now);
    }

    /// Its time is over. Where nobody asked for the time of a whole further cycle or longer, that is
    /// one cycle however long it was.
    pub(super) fn pass(&mut self, now: Time, settings: &Settings) {
        let end = self.end();
        self.close(end, settings);
        self.begin(end, settings);
        if self.end() <= now {
            let gap = now.since(end).ns();
            if gap > self.history.full(self.length) && !self.classes.iter().any(Class::busy) {
                // Nothing that came before says anything now, nor who had not asked.
                self.history.clear();
                self.classes.iter_mut().for_each(|class| class.asked = now);
                self.ended += 1;
            } else {
                self.close(now, settings);
            }
            self.begin(now, settings);
        }
    }

    /// Accounts for it, as it ends.
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
        // Who takes no part counts as if it had got its part, so that it is owed nothing later.
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
                class.active &= class.asked + patience > end;
            }
        }
    }

    /// The length of the next cycle.
    fn regulate(&mut self, elapsed: u64, used: u64, settings: &Settings) {
        let Some(auto) = &mut self.auto else { return };
        let window = self.history.full(self.length).max(self.length);
        for (dry, class) in self.dry.iter_mut().zip(&self.classes) {
            let now = if class.ran_dry() { 1_000_000 } else { 0 };
            let weight = u128::from(elapsed.min(window));
            let rest = u128::from(window) - weight;
            *dry = ((u128::from(*dry) * rest + now * weight) / u128::from(window)) as u64;
        }
        let classes = self.classes.iter().zip(&self.dry).filter(|(class, _)| class.active);
        let load = |(class, &dry): (&Class, &u64)| {
            let Class { weight, estimate, .. } = class;
            Load { weight: *weight, estimate: estimate.ns(), dry }
        };
        let turn = [elapsed, used];
        let disks = [settings.disks, settings.load.max(1)];
        self.length = auto.next(self.length, turn, disks, classes.map(load));
    }

    /// Divides the next cycle, which begins at `start`.
    pub(super) fn begin(&mut self, start: Time, settings: &Settings) {
        self.start = start;
        // A hundred years on 65,536 disks would not fit.
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

    /// Of the classes that are held back and have something queued, the one with most of its share
    /// left; of equal ones, the one that asked first.
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
