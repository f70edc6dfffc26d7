//! Pauses between retries while the kernel refuses commands.
//!
//! Under memory pressure the kernel refuses commands for a while. An engine that retried at
//! once would take processor time from the work that frees the memory; one that slept long would add to
//! the measured device time. So pauses begin short and double. No engine gives up by itself: the
//! [`Guard`](crate::Guard) ends a run whose commands wait too long, and keeps its partial result.

use std::time::Duration;

use penstock_core::Errno;

/// The first pause: about the time of a command on a fast disk.
const FIRST: Duration = Duration::from_micros(50);

/// The longest pause: the most time that a run loses once the kernel takes commands again.
const LONGEST: Duration = Duration::from_millis(10);

/// Consecutive refusals.
#[derive(Default)]
pub(crate) struct Refusals {
    last: Option<(Errno, Duration)>,
}

impl Refusals {
    /// Records that the kernel took a command.
    pub(crate) fn end(&mut self) {
        self.last = None;
    }

    /// Records that the kernel refused with the error number `code`.
    pub(crate) fn add(&mut self, code: i32) {
        let error = Errno::new(code).unwrap_or(Errno::EIO);
        let pause = self.last.map_or(FIRST, |(_, pause)| (pause * 2).min(LONGEST));
        self.last = Some((error, pause));
    }

    /// Returns the pause before the next try; `None` if the last one was not refused.
    pub(crate) fn pause(&self) -> Option<Duration> {
        self.last.map(|(_, pause)| pause)
    }

    /// Returns the error of the last try; `None` if it was not refused.
    pub(crate) fn error(&self) -> Option<Errno> {
        self.last.map(|(error, _)| error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_bound_and_end_with_the_refusals() {
        let mut refusals = Refusals::default();
        assert_eq!((refusals.pause(), refusals.error()), (None, None));
        let pauses = [0; 10].map(|_| {
            refusals.add(libc::ENOMEM);
            refusals.pause().unwrap().as_micros()
        });
        assert_eq!(pauses, [50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]);
        assert_eq!(refusals.error(), Errno::new(libc::ENOMEM));
        refusals.end();
        assert_eq!(refusals.pause(), None);
    }
}
