//! A kernel that takes no commands: the pause before the next try.
//!
//! Under memory pressure the kernel refuses commands for a while. An engine that tried again at
//! once would only take the processor from the work that frees the memory. One that slept long
//! would add to the time of the device. So pauses begin short and double. No engine gives up by
//! itself: the [`Guard`](crate::Guard) ends a run with commands that have waited for too long, and
//! its partial result remains.

use std::time::Duration;

use penstock_core::Errno;

/// The first pause: about as long as a fast disk takes for a command.
const FIRST: Duration = Duration::from_micros(50);

/// The longest pause: the most that a run loses after the kernel takes commands again.
const LONGEST: Duration = Duration::from_millis(10);

/// The refusals in a row, up to now.
#[derive(Default)]
pub(crate) struct Refusals {
    last: Option<(Errno, Duration)>,
}

impl Refusals {
    /// The kernel took a command.
    pub(crate) fn end(&mut self) {
        self.last = None;
    }

    /// The kernel refused with the error numbered `code`.
    pub(crate) fn add(&mut self, code: i32) {
        let error = Errno::new(code).unwrap_or(Errno::EIO);
        let pause = self.last.map_or(FIRST, |(_, pause)| (pause * 2).min(LONGEST));
        self.last = Some((error, pause));
    }

    /// How long to wait before the next try, if the last one was refused.
    pub(crate) fn pause(&self) -> Option<Duration> {
        self.last.map(|(_, pause)| pause)
    }

    /// The error of the last try, if it was refused.
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
