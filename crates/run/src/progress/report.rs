//! Reports the progress of a run while it goes on.

use penstock_core::{Request, Span, Time};
use penstock_live::{Pace, ReportTimer};

use crate::measures::ledger::Spent;
use crate::measures::measure::Finished;
use crate::progress::snapshot::{Snapshot, Watched};

/// Receives the progress of a run.
pub(crate) trait Progress {
    /// Reports that `fraction` of the run's time is over, 0 to 1; `now` is its state, if a person
    /// watches. Returning `false` ends the run with the result so far.
    fn update(&mut self, fraction: f64, now: Option<&Snapshot>) -> bool;
}

impl Progress for () {
    fn update(&mut self, _: f64, _: Option<&Snapshot>) -> bool {
        true
    }
}

/// How often a live run reports; a modelled one does when its [`ReportTimer`] says so.
const LIVE_EVERY: Span = Span::from_ms(50);

/// When a run reports.
pub(crate) enum Rhythm<'a> {
    /// Now and then in real time, whatever the time of the model.
    Model,
    /// Every [`LIVE_EVERY`].
    Live,
    /// When the pace is due: a model that keeps step with real time.
    Paced(&'a Pace),
}

/// Reports the progress of a run.
pub(crate) struct Reporter<'a> {
    duration: Span,
    progress: &'a mut dyn Progress,
    rhythm: Rhythm<'a>,
    timer: ReportTimer,
    reported: Time,
    watched: Option<Watched>,
}

impl<'a> Reporter<'a> {
    /// Creates the reporter of a run of `duration`, with the snapshot for a person who watches, if
    /// any.
    pub(crate) fn new(
        duration: Span,
        progress: &'a mut dyn Progress,
        rhythm: Rhythm<'a>,
        watched: Option<Watched>,
    ) -> Self {
        let (timer, reported) = (ReportTimer::default(), Time::ZERO);
        Self { duration, progress, rhythm, timer, reported, watched }
    }

    /// Reports at the beginning of a turn, if it is time; returns whether the run goes on.
    pub(crate) fn turn(&mut self, now: Time) -> bool {
        let due = match self.rhythm {
            Rhythm::Paced(pace) => pace.report_due(),
            Rhythm::Live => now.since(self.reported) >= LIVE_EVERY,
            Rhythm::Model => self.timer.due(),
        };
        !due || self.report(now)
    }

    /// Reports during a long turn, if it is time; returns whether the run goes on.
    pub(crate) fn continues(&mut self, now: Time) -> bool {
        !self.timer.due() || self.report(now)
    }

    /// Reports the state at the end of the run, if a person watches.
    pub(crate) fn ended(&mut self, end: Time) {
        if self.watched.is_some() {
            self.report(end);
        }
    }

    fn report(&mut self, now: Time) -> bool {
        self.reported = now;
        let fraction = now.ns() as f64 / self.duration.ns() as f64;
        let now = self.watched.as_mut().map(|watched| watched.look(now));
        self.progress.update(fraction.min(1.0), now)
    }

    /// Counts `req`, which was handed over at `now`.
    pub(crate) fn arrived(&mut self, now: Time, req: &Request) {
        if let Some(watched) = &mut self.watched {
            watched.arrived(now, req);
        }
    }

    /// Counts `req`, which has finished.
    pub(crate) fn finished(&mut self, now: Time, req: &Request, how: &Finished) {
        if let Some(watched) = &mut self.watched {
            watched.finished(now, req, how);
        }
    }

    /// Counts device time that was spent below a page cache.
    pub(crate) fn spent(&mut self, spent: &Spent) {
        if let Some(watched) = &mut self.watched {
            watched.spent(spent);
        }
    }
}
