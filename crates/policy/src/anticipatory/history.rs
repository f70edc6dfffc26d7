//! The read pattern of each stream: its think time between reads and the distance between them.

use alloc::vec::Vec;

use penstock_core::{Request, Span, StreamId, Time};

use crate::think_time::{DecayingMean, ThinkTime};

/// A pause counts as at most this many times the longest wait. A mean above one such wait already
/// means that waiting does not pay, and a single long pause must not raise the mean that far.
const PAUSE_MOST: u64 = 4;

/// The read history of each stream.
#[derive(Debug)]
pub(super) struct Histories {
    streams: Vec<ReadHistory>,
    longest_pause: Span,
}

/// The reads of one stream.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadHistory {
    think: ThinkTime,
    /// Distance from the end of a read to the beginning of the next one, in bytes.
    seek: DecayingMean,
    /// Position at which its last read ended.
    end: Option<u64>,
}

impl Histories {
    /// Creates histories for a scheduler that waits for at most `wait`.
    pub(super) fn new(wait: Span) -> Self {
        let longest_pause = Span::from_ns(wait.ns().saturating_mul(PAUSE_MOST));
        Self { streams: Vec::new(), longest_pause }
    }

    /// The history of `stream`, which must have read before.
    pub(super) fn stream(&self, stream: StreamId) -> &ReadHistory {
        &self.streams[stream.0 as usize]
    }

    /// A read arrives.
    pub(super) fn arrives(&mut self, now: Time, req: &Request) {
        let stream = req.stream.0 as usize;
        if stream >= self.streams.len() {
            self.streams.resize(stream + 1, ReadHistory::default());
        }
        let ReadHistory { think, seek, end } = &mut self.streams[stream];
        think.arrives(now, self.longest_pause);
        if let Some(end) = *end {
            seek.add(req.start.abs_diff(end));
        }
        *end = Some(req.end());
    }

    /// A read of `stream` has finished.
    pub(super) fn completes(&mut self, now: Time, stream: StreamId) {
        self.streams[stream.0 as usize].think.completes(now);
    }
}

impl ReadHistory {
    /// Whether it has no read queued or in flight.
    pub(super) fn is_idle(&self) -> bool {
        self.think.is_idle()
    }

    /// Whether its next read is likely to come within `limit` after its last.
    pub(super) fn thinks_within(&self, limit: Span) -> bool {
        self.think.within(limit)
    }

    /// Mean distance to its next read in bytes; 0 if it is not known.
    pub(super) fn seek(&self) -> u64 {
        self.seek.get().unwrap_or(0)
    }
}
