//! The one-way elevator of `cfq` and `bfq` over the queues of streams.
//!
//! Within a queue commands go in ascending position from the arm on. A command a little behind the
//! arm goes first if it is nearer although the distance backwards counts several times. A queue's
//! turn begins with its oldest command, if that has expired.

use penstock_core::{Counter, Go, Out, Request, Span, Time};

use crate::params::{Kind, Param, Params, Value};
use crate::queue::{Added, Chains, Lanes, max_sectors};

const KERNEL: &str = "the kernel's documentation of cfq and bfq";

pub(crate) const BACK_SEEK_MAX: Param = Param {
    name: "back_seek_max",
    kind: Kind::Size,
    default: Value::Size(16 << 20),
    doc: "a request behind the arm may be the next one up to this distance",
    source: KERNEL,
};

pub(crate) const BACK_SEEK_PENALTY: Param = Param {
    name: "back_seek_penalty",
    kind: Kind::Count(1),
    default: Value::Count(2),
    doc: "a distance backwards counts as this many times the same distance forwards",
    source: KERNEL,
};

pub(crate) const FIFO_EXPIRE_SYNC: Param = Param {
    name: "fifo_expire_sync",
    kind: Kind::Duration,
    default: Value::Duration(Span::from_ms(125)),
    doc: "a synchronous request that has waited this long begins its stream's next turn",
    source: KERNEL,
};

pub(crate) const FIFO_EXPIRE_ASYNC: Param = Param {
    name: "fifo_expire_async",
    kind: Kind::Duration,
    default: Value::Duration(Span::from_ms(250)),
    doc: "a request that no caller waits for begins the next turn of its queue when it has waited \
          this long",
    source: KERNEL,
};

/// Returns the chain of `lane` that is nearest to `arm`: the first ahead, unless one at most
/// `back_max` behind is nearer although its distance counts `penalty` times.
pub(crate) fn nearest(
    chains: &Chains,
    lane: u32,
    arm: u64,
    back_max: u64,
    penalty: u64,
) -> Option<u32> {
    let back = |founder: u32| arm - chains.start(founder);
    let ahead = chains.at_or_after(lane, arm);
    let behind = chains.before(lane, arm).filter(|&founder| back(founder) <= back_max);
    let (Some(ahead), Some(behind)) = (ahead, behind) else { return ahead.or(behind) };
    let forwards = chains.start(ahead) - arm;
    let backwards = back(behind).saturating_mul(penalty);
    Some(if backwards < forwards { behind } else { ahead })
}

/// Queues, a lane each, and the arm that they share.
#[derive(Debug)]
pub(crate) struct OneWay {
    back_seek_max: u64,
    back_seek_penalty: u64,
    lanes: Lanes,
    /// Position at which the last command of any lane ended.
    arm: u64,
}

impl OneWay {
    /// Takes `back_seek_max`, `back_seek_penalty` and `max_sectors`.
    pub(crate) fn new(params: &Params) -> Self {
        Self {
            back_seek_max: params.size(BACK_SEEK_MAX.name).expect("a size"),
            back_seek_penalty: params.count(BACK_SEEK_PENALTY.name).into(),
            lanes: Lanes::new(Chains::new(max_sectors(params).unwrap_or(0), true), 0),
            arm: 0,
        }
    }

    /// Queues `req` in `lane`. Returns whether the lane was empty before.
    pub(crate) fn add(&mut self, now: Time, lane: u32, req: &Request) -> bool {
        let first = self.is_empty(lane);
        let added = self.lanes.add(now, lane, req);
        debug_assert!(!first || matches!(added, Added::Founded(_)), "lanes do not merge");
        first
    }

    /// Whether `lane` is empty.
    pub(crate) fn is_empty(&self, lane: u32) -> bool {
        self.lanes.is_empty(lane)
    }

    /// The oldest command of `lane`, if it has waited for `expire`; otherwise the next by position.
    pub(crate) fn first(&self, now: Time, lane: u32, expire: Span) -> Option<u32> {
        if self.is_empty(lane) {
            return None;
        }
        self.lanes.expired(now, lane, expire).or_else(|| self.next(lane))
    }

    /// The command of `lane` that is nearest to the arm; the lowest, if none lies ahead or within
    /// `back_seek_max` behind.
    pub(crate) fn next(&self, lane: u32) -> Option<u32> {
        let Self { back_seek_max, back_seek_penalty, .. } = *self;
        nearest(self.lanes.chains(), lane, self.arm, back_seek_max, back_seek_penalty)
            .or_else(|| self.lanes.lowest(lane))
    }

    /// Bytes of the command of `founder`.
    pub(crate) fn len(&self, founder: u32) -> u64 {
        let chains = self.lanes.chains();
        chains.end(founder) - chains.start(founder)
    }

    /// Takes the command of `founder` out of `lane` and sends it.
    pub(crate) fn take(&mut self, lane: u32, founder: u32, out: &mut Out<'_>) -> Go {
        self.arm = self.lanes.chains().end(founder);
        self.lanes.take(lane, founder, out)
    }

    /// Reports the numbers of merged requests.
    pub(crate) fn counters(&self, report: &mut dyn FnMut(Counter<'_>, u64)) {
        self.lanes.chains().counters(report);
    }
}
