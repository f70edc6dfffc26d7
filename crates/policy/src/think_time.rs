//! How long a stream thinks between one request and the next.
//!
//! Policies that keep a disk idle for a stream's next request go by this. Means decay: each sample
//! takes an eighth of the mean's place, so a stream that changes its ways is known after a dozen
//! requests. Integers only.

use penstock_core::{Span, Time};

/// A mean in which each sample counts seven eighths of the one after it.
#[derive(Clone, Debug, Default)]
pub(crate) struct DecayingMean {
    /// Eight times the mean, so that small samples are not rounded away.
    eightfold: u64,
    known: bool,
}

impl DecayingMean {
    /// Takes a sample in; the first is the mean.
    pub(crate) fn add(&mut self, sample: u64) {
        let sample = sample.min(u64::MAX / 16);
        self.eightfold =
            if self.known { self.eightfold - self.eightfold / 8 + sample } else { 8 * sample };
        self.known = true;
    }

    /// The mean; `None` before the first sample.
    pub(crate) fn get(&self) -> Option<u64> {
        self.known.then_some(self.eightfold / 8)
    }
}

/// How long a stream thinks: the time from the completion that leaves it without a request to its
/// next one.
#[derive(Clone, Debug, Default)]
pub(crate) struct ThinkTime {
    /// Requests that are queued or in flight.
    outstanding: u32,
    /// When the last of them completed, if none is there.
    since: Option<Time>,
    mean: DecayingMean,
}

impl ThinkTime {
    /// A request arrives. A pause of more than `longest` counts as `longest`, so that one long pause
    /// does not hide many short ones.
    pub(crate) fn arrives(&mut self, now: Time, longest: Span) {
        if self.outstanding == 0
            && let Some(since) = self.since
        {
            self.mean.add(now.since(since).min(longest).ns());
        }
        self.outstanding += 1;
    }

    /// A request has completed.
    pub(crate) fn completes(&mut self, now: Time) {
        self.outstanding -= 1;
        self.since = Some(now);
    }

    /// Whether its next request is likely to come within `limit`. A stream of which nothing is
    /// known yet is trusted.
    pub(crate) fn within(&self, limit: Span) -> bool {
        self.mean.get().is_none_or(|mean| mean <= limit.ns())
    }
}

#[cfg(test)]
mod tests {
    use super::{DecayingMean, ThinkTime};
    use penstock_core::{Span, Time};

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    #[test]
    fn a_mean_follows_what_changes_and_comes_to_rest_there() {
        let mut mean = DecayingMean::default();
        assert_eq!(mean.get(), None);
        mean.add(1_000);
        assert_eq!(mean.get(), Some(1_000));
        (0..12).for_each(|_| mean.add(0));
        assert!(mean.get().unwrap() < 250, "{mean:?}");
        (0..200).for_each(|_| mean.add(0));
        assert_eq!(mean.get(), Some(0));
        (0..200).for_each(|_| mean.add(7));
        assert_eq!(mean.get(), Some(7));
        mean.add(u64::MAX);
        assert!(mean.get().unwrap() > 7);
    }

    #[test]
    fn thinking_begins_when_nothing_is_left() {
        let (mut think, longest) = (ThinkTime::default(), Span::from_ms(16));
        assert!(think.within(Span::ZERO), "nothing is known");
        think.arrives(at(0), longest);
        think.arrives(at(1), longest);
        think.completes(at(5));
        think.arrives(at(50), longest);
        assert!(think.within(Span::ZERO), "a request was there all the time");
        think.completes(at(60));
        think.completes(at(61));
        think.arrives(at(64), longest);
        assert!(think.within(Span::from_ms(3)) && !think.within(Span::from_ms(2)));
        think.completes(at(70));
        think.arrives(at(7_000), longest);
        assert!(think.within(Span::from_ms(5)), "a long pause counts as 16 ms");
    }
}
