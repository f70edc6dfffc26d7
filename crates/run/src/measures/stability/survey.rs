//! How stable the requests of a class are: their size, rate, pattern and type, and what they cost.
//!
//! A characteristic is unstable by how much the means of blocks of 100 requests vary, beyond what
//! chance gives them. The whole sequence counts: a drift that is slow within a minute may still
//! change everything within an hour. Memory is bounded, whatever the length of the sequence.

use std::io;
use std::num::NonZeroU32;

use penstock_core::{Op, Request, Span, Time};
use penstock_workload::trace::Spool;

use super::blocks::{BLOCK, BlockMeans, Blocks, Variation};
use crate::result::{Characteristic, ClassStability};

/// A request that begins nearer than this to the end of the one before is half sequential: 2,048
/// blocks of 512 bytes.
const NEAR_BYTES: u64 = 2048 * 512;
/// Weight of a change from reads to writes, which is small: they differ little in device time.
const TYPE_COUNTS: f64 = 0.3;

/// Requests for each disk below which `fairio` takes it for under-loaded.
const LOAD_OF_A_DISK: u32 = 2;

/// Returns the number of requests that `disks` disks have while stability is measured, unless
/// another number is asked for.
pub(crate) fn load_of(disks: NonZeroU32) -> u32 {
    LOAD_OF_A_DISK.saturating_mul(disks.get())
}

/// Counts of the requests of a class.
#[derive(Default)]
pub(crate) struct StabilitySurvey {
    /// Whether its requests come when they are planned. Otherwise the device determines their rate,
    /// which says nothing about the class.
    open_loop: bool,
    requests: u64,
    /// Times at which the requests of an open loop were due.
    times: Spool<u64>,
    size: Blocks,
    pattern: Blocks,
    writes: Blocks,
    service: Blocks,
    /// Where the request before ended.
    end: Option<u64>,
    served: u64,
    service_ns: u128,
}

impl StabilitySurvey {
    /// Creates the survey of a class without requests so far.
    pub(crate) fn new(open_loop: bool) -> Self {
        Self { open_loop, ..Self::default() }
    }

    /// Counts `request`, the next in order of time. Only reads and writes count.
    ///
    /// # Errors
    /// If there is no room for its time.
    pub(crate) fn asked(&mut self, request: &Request) -> io::Result<()> {
        if matches!(request.op, Op::Flush | Op::Discard) {
            return Ok(());
        }
        if self.open_loop {
            self.times.push(request.due.since(Time::ZERO).ns())?;
        }
        self.requests += 1;
        self.size.add(f64::from(request.len));
        self.writes.add(if request.op == Op::Write { 1.0 } else { 0.0 });
        if let Some(end) = self.end.replace(request.start + u64::from(request.len)) {
            self.pattern.add(sequential(request.start.abs_diff(end)));
        }
        Ok(())
    }

    /// Counts the device time of a request, the next in order of completion.
    pub(crate) fn served(&mut self, service: Span) {
        self.service.add(service.ns() as f64);
        self.served += 1;
        self.service_ns += u128::from(service.ns());
    }

    /// Returns the figures of the requests so far.
    ///
    /// # Errors
    /// If their times cannot be read again.
    pub(crate) fn figures(&self) -> io::Result<ClassStability> {
        let relative = |variation: Variation| {
            if variation.mean > 0.0 { variation.excess / variation.mean } else { 0.0 }
        };
        let absolute = |variation: Variation| variation.excess;
        let rated = |variation: Variation| TYPE_COUNTS * variation.excess;
        let rate = self.rate();
        self.times.check()?;
        let characteristics = [
            characteristic("size", self.size.variation(), relative),
            characteristic("rate", rate, relative),
            characteristic("pattern", self.pattern.variation(), absolute),
            characteristic("type", self.writes.variation(), rated),
            characteristic("service time", self.service.variation(), relative),
        ];
        Ok(ClassStability {
            requests: self.requests,
            blocks: self.size.count(),
            block: BLOCK,
            service_ns: (self.served > 0)
                .then(|| (self.service_ns / u128::from(self.served)) as u64),
            characteristics: characteristics.into_iter().flatten().collect(),
        })
    }

    /// Returns how much the number of requests varies, beyond that of independent requests, in bins
    /// in which a block of them comes on average. `None` if there is one bin, if all came at once,
    /// or if they wait for answers.
    fn rate(&self) -> Option<Variation> {
        let first = self.times.first()?;
        let span = self.times.last()?.saturating_sub(first);
        let bin = (u128::from(span) * u128::from(BLOCK) / u128::from(self.requests)) as u64;
        if bin == 0 {
            return None;
        }
        let (mut counts, mut current, mut count) = (BlockMeans::default(), 0, 0_u64);
        for time in &self.times {
            let at = time.saturating_sub(first) / bin;
            while current < at {
                counts.add(count as f64);
                (current, count) = (current + 1, 0);
            }
            count += 1;
        }
        // The last bin may be incomplete.
        counts.variation(counts.mean())
    }
}

/// Returns how sequential a request is that begins `gap` bytes from the end of the one before.
fn sequential(gap: u64) -> f64 {
    match gap {
        0 => 1.0,
        _ if gap < NEAR_BYTES => 0.5,
        _ => 0.0,
    }
}

fn characteristic(
    name: &'static str,
    variation: Option<Variation>,
    scale: impl Fn(Variation) -> f64,
) -> Option<Characteristic> {
    variation.map(|known| Characteristic { name, instability: scale(known), lag1: known.lag1 })
}

#[cfg(test)]
mod tests;
