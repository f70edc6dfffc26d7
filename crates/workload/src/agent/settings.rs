//! The settings of an agent, and what follows from them.

use std::num::NonZeroU32;
use std::ops::Range;

use penstock_core::{ClassId, Flags, Op, Prio, Time};

use super::arrivals::Arrivals;
use super::ops::Ops;
use super::spacing::Spacing;
use super::spread::Spread;
use super::weighted::Weighted;

/// The settings of an agent. Its index among the agents is its stream.
#[derive(Clone, PartialEq, Debug)]
pub struct Agent {
    /// The class that its requests belong to.
    pub class: ClassId,
    /// Priority of that class.
    pub prio: Prio,
    /// Operations of its requests.
    pub ops: Ops,
    /// Number of completed writes and discards after which it issues a flush.
    pub flush: Option<NonZeroU32>,
    /// Flags of its requests. Forced unit access does not apply to reads.
    pub flags: Flags,
    /// Sizes of its requests in bytes, before they grow.
    pub sizes: Weighted<u32>,
    /// The pattern of their places.
    pub pattern: Pattern,
    /// The distribution of random requests over the region.
    pub spread: Spread,
    /// Distances between requests, and the growth of distances and sizes.
    pub spacing: Spacing,
    /// Most requests that it issues. Flushes are not counted.
    pub count: u64,
    /// Most bytes of all its requests; the last request is shortened to fit.
    pub bytes: u64,
    /// Bytes of the target that it uses.
    pub region: Range<u64>,
    /// Times at which it issues requests.
    pub arrivals: Arrivals,
    /// Time from which and up to which it issues requests.
    pub active: Range<Time>,
    /// Classes whose agents have to end before it begins; the beginning of its time counts no more
    /// then. Agents that take turns neither wait nor are waited for.
    pub after: Vec<ClassId>,
    /// Whether the other agents of its class issue no more requests when it has ended.
    pub ends_class: bool,
}

/// The pattern of the places of successive requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// Each request behind the previous one, separately for reads and writes. At the end of the
    /// region it begins again from the beginning.
    Sequential,
    /// Each request before the previous one, separately for reads and writes. At the beginning of
    /// the region it begins again from the end.
    Backwards,
    /// Random places at multiples of the alignment, counted from the region's first byte.
    Random,
}

impl Agent {
    /// An agent of `class` with uniform random requests of one operation and size, and no limit on
    /// their number.
    pub fn new(class: ClassId, op: Op, size: u32, region: Range<u64>, arrivals: Arrivals) -> Self {
        Self {
            class,
            prio: Prio(0),
            ops: Ops::Only(op),
            flush: None,
            flags: Flags::NONE,
            sizes: Weighted::always(size),
            pattern: Pattern::Random,
            spread: Spread::Uniform,
            spacing: Spacing::default(),
            count: u64::MAX,
            bytes: u64::MAX,
            region,
            arrivals,
            active: Time::ZERO..Time::NEVER,
            after: Vec::new(),
            ends_class: false,
        }
    }

    /// Whether it begins only when other agents have ended. One without any time never begins.
    pub fn waits(&self) -> bool {
        !self.after.is_empty() && !self.active.is_empty()
    }

    /// Whether it has a limit on requests or bytes.
    pub fn is_limited(&self) -> bool {
        self.count < u64::MAX || self.bytes < u64::MAX
    }

    /// Mean size of its requests in bytes, before they grow.
    pub fn mean_size(&self) -> f64 {
        let (bytes, weights) = self.weighted_bytes();
        bytes as f64 / weights as f64
    }

    /// The sum of its sizes times their weights, and the sum of the weights.
    fn weighted_bytes(&self) -> (u128, u128) {
        let weighed =
            self.sizes.iter().map(|(size, weight)| (u128::from(size), u128::from(weight)));
        weighed.fold((0, 0), |(bytes, weights), (size, weight)| {
            (bytes + size * weight, weights + weight)
        })
    }

    /// Number of requests that it issues if no other limit ends it, approximate for several sizes;
    /// `None` if there is no limit.
    pub fn requests(&self) -> Option<u64> {
        let (bytes, weights) = self.weighted_bytes();
        let all = (u128::from(self.bytes) * weights).div_ceil(bytes.max(1));
        let by_bytes =
            if self.bytes == u64::MAX { u64::MAX } else { all.min(u64::MAX.into()) as u64 };
        Some(self.count.min(by_bytes)).filter(|requests| *requests < u64::MAX)
    }

    /// Bytes of its longest request; if requests grow, of its last one.
    pub fn longest(&self) -> u32 {
        let largest = self.sizes.possible().max().unwrap_or(0);
        self.spacing.size(largest, self.count.saturating_sub(1))
    }

    /// Bytes between two places where random requests may begin.
    pub(super) fn step(&self) -> u64 {
        let smallest = self.sizes.possible().min().unwrap_or(0);
        self.spacing.align.unwrap_or(smallest).into()
    }

    /// Number of places at which its longest request may begin if its pattern is random.
    pub fn places(&self) -> u64 {
        (self.region.end - self.region.start - u64::from(self.longest())) / self.step() + 1
    }

    /// Number of requests in `passes` passes through its region. A pass of a random pattern has as
    /// many bytes as the region. `None` if the requests differ in size: then bytes limit them.
    pub fn requests_in_passes(&self, passes: u32) -> Option<u64> {
        let len = self.sizes.single().filter(|_| self.spacing.growth.is_none())?;
        let bytes = self.region.end - self.region.start;
        let (first, others) = match self.pattern {
            Pattern::Random => (bytes / u64::from(len), bytes / u64::from(len)),
            pattern => self.spacing.passes(len, bytes, pattern == Pattern::Backwards),
        };
        Some(first + others.saturating_mul(u64::from(passes.saturating_sub(1))))
    }
}
