//! How streams read: how long they think between two reads, and how far apart the reads are.

use alloc::vec::Vec;

use penstock_core::{Request, Span, StreamId, Time};

use crate::think_time::{DecayingMean, ThinkTime};

/// A pause counts as at most so many times the longest wait. A mean above one such time already says
/// that no wait pays, and one long pause of a stream that thinks briefly does not say it.
const LONGEST: u64 = 4;

/// What is known of each stream.
#[derive(Debug)]
pub(super) struct Histories {
    streams: Vec<ReadHistory>,
    longest_pause: Span,
}

/// The reads of one stream.
#[derive(Clone, Debug, Default)]
pub(super) struct ReadHistory {
    think: ThinkTime,
    /// From the end of a read to the beginning of the next one, in bytes.
    seek: DecayingMean,
    /// Where its last read ended.
    end: Option<u64>,
}

impl Histories {
    /// For waits of at most `wait`.
    pub(super) fn new(wait: Span) -> Self {
        let longest_pause = Span::from_ns(wait.ns().saturating_mul(LONGEST));
        Self { streams: Vec::new(), longest_pause }
    }

    /// The history of `stream`, of which a read has arrived.
    pub(super) fn of(&self, stream: StreamId) -> &ReadHistory {
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
    pub(super) fn rests(&self) -> bool {
        self.think.rests()
    }

    /// Whether its next read is likely to come within `limit` after its last.
    pub(super) fn thinks_within(&self, limit: Span) -> bool {
        self.think.within(limit)
    }

    /// How far its next read is likely to be; nothing if that is not known.
    pub(super) fn seek(&self) -> u64 {
        self.seek.get().unwrap_or(0)
    }
}
