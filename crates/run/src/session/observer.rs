//! The observer of one cell's run: it measures, records and reports, and ends the run early where
//! necessary.

use penstock_core::{Done, Observer, Request, Source, Span, Time};
use penstock_live::Guard;

use crate::ask::candidate::QuitFlag;
use crate::measures::durable::Flushing;
use crate::measures::last_sent::LastSent;
use crate::measures::ledger::Ledger;
use crate::measures::measure::{Finished, Measure};
use crate::measures::programs::ProgramBook;
use crate::place::model_data::ModelData;
use crate::progress::report::Reporter;
use crate::record::Recorder;
use crate::result::RunResult;
use crate::result::parts::ThreadParts;

/// Conditions that end a run before its time.
pub(crate) struct Ends {
    /// Set when the policy quits.
    pub(crate) quit: QuitFlag,
    /// Reports trouble of a device that may not answer.
    pub(crate) guard: Option<Guard>,
    /// Ends the run when the programs that it waits for have ended, or when too many are under way.
    pub(crate) programs: Option<ProgramBook>,
    /// Ends the run when the last request of the class that it waits for was dispatched.
    pub(crate) sent: Option<LastSent>,
    /// Ends the run when a block on the models differs from what was written.
    pub(crate) data: Option<ModelData>,
}

impl Ends {
    /// When what the run waits for was over; `None` if it is not, or if the run waits for nothing.
    pub(crate) fn over(&self) -> Option<Time> {
        let sent = self.sent.as_ref().and_then(LastSent::over);
        self.programs.as_ref().and_then(ProgramBook::over).or(sent)
    }

    /// Whether only the policy may end the run.
    fn are_of_policy(&self) -> bool {
        let Self { quit: _, guard, programs, sent, data } = self;
        guard.is_none() && programs.is_none() && sent.is_none() && data.is_none()
    }

    /// Whether the run continues at `now`, unless the policy has quit.
    fn continues(&self, now: Time) -> bool {
        // What is decided at the end's instant belongs to the run.
        self.over().is_none_or(|over| now <= over)
            && self.programs.as_ref().and_then(ProgramBook::full).is_none()
            && self.data.as_ref().is_none_or(|data| !data.differs())
            && self.guard.as_ref().is_none_or(|guard| guard.look(now))
    }
}

/// Observes the run of one cell.
pub(crate) struct CellObserver<'a> {
    warmup: Time,
    /// Number of requests handed over that were due after the warm-up.
    pub(crate) arrivals: u64,
    measures: Vec<Box<dyn Measure + 'a>>,
    /// Indexes of the measures that are called in every turn; mostly none.
    turned: Vec<usize>,
    /// Measures that observe the device and not the requests: they only write.
    below: Vec<Box<dyn Measure>>,
    /// Knows what the device's time was spent on where completions do not: below a page cache.
    ledger: Option<Ledger>,
    recorder: Option<Recorder>,
    reporter: Reporter<'a>,
    ends: &'a Ends,
    /// Whether a turn concerns only the policy and the reporter, as in most modelled runs.
    plain_turns: bool,
    /// The flushes at the end of the run, which are not measured; `None` if it does not end with
    /// flushes.
    flushing: Option<Flushing>,
}

impl<'a> CellObserver<'a> {
    /// Creates an observer with `measures` and the device's measures `below`, in the order in which
    /// they write. Requests due before `warmup` are not counted.
    pub(crate) fn new(
        warmup: Time,
        measures: Vec<Box<dyn Measure + 'a>>,
        below: Vec<Box<dyn Measure>>,
        ledger: Option<Ledger>,
        recorder: Option<Recorder>,
        reporter: Reporter<'a>,
        ends: &'a Ends,
    ) -> Self {
        let turned: Vec<_> = (0..measures.len()).filter(|&at| measures[at].needs_turns()).collect();
        let plain_turns =
            turned.is_empty() && ledger.is_none() && recorder.is_none() && ends.are_of_policy();
        let (arrivals, flushing) = (0, None);
        Self {
            warmup,
            arrivals,
            measures,
            turned,
            below,
            ledger,
            recorder,
            reporter,
            ends,
            plain_turns,
            flushing,
        }
    }

    /// Sets the flushes with which the run ends, if it does.
    pub(crate) fn ending_with(self, flushing: Option<Flushing>) -> Self {
        Self { flushing, ..self }
    }

    /// Whether the run is at its flushes, which belong to no class.
    #[inline]
    fn is_flushing(&self) -> bool {
        self.flushing.as_ref().is_some_and(Flushing::has_begun)
    }

    /// Records that the run ended at `end`; what `source` plans before `until` did not take place.
    pub(crate) fn ended(&mut self, source: &mut dyn Source, end: Time, until: Time) {
        self.charge();
        for measure in &mut self.measures {
            measure.ended(source, end, until);
        }
        self.reporter.ended(end);
    }

    /// Writes what was measured until `end` into `result`; as a part to join with those of other
    /// threads if `is_part`.
    pub(crate) fn write(&mut self, end: Time, is_part: bool, result: &mut RunResult) {
        result.remarks.extend(self.flushing.as_ref().and_then(Flushing::remark));
        if is_part {
            let measures = self.measures.iter_mut().map(|measure| measure.part(end)).collect();
            result.parts = Some(ThreadParts { end, measures });
        } else {
            for measure in &mut self.measures {
                measure.write(end, result);
            }
        }
        for measure in &mut self.below {
            measure.write(end, result);
        }
    }

    /// Charges the device time that the ledger holds, if there is one.
    #[inline]
    fn charge(&mut self) {
        if self.ledger.is_some() {
            self.charge_of_ledger();
        }
    }

    /// Begins a turn that concerns more than the policy; returns whether the run goes on.
    #[inline(never)]
    fn full_turn(&mut self, now: Time) -> bool {
        if !self.ends.continues(now) {
            return false;
        }
        self.charge();
        if let Some(recorder) = &self.recorder {
            recorder.turn(now);
            if !recorder.sound() {
                return false;
            }
        }
        for &measure in &self.turned {
            self.measures[measure].turn();
        }
        true
    }

    fn charge_of_ledger(&mut self) {
        let Some(ledger) = &self.ledger else { return };
        ledger.book(|spent| {
            for measure in &mut self.measures {
                measure.spent(&spent);
            }
            self.reporter.spent(&spent);
        });
    }
}

impl Observer for CellObserver<'_> {
    fn turn(&mut self, now: Time) -> bool {
        self.ends.quit.get().is_none()
            && (self.plain_turns || self.full_turn(now))
            && self.reporter.turn(now)
    }

    fn continues(&mut self, now: Time) -> bool {
        self.reporter.continues(now)
    }

    fn arrived(&mut self, now: Time, req: &Request) {
        if let Some(recorder) = &self.recorder {
            recorder.arrived(&req.io);
        }
        if self.is_flushing() {
            return;
        }
        for measure in &mut self.measures {
            measure.arrived(now, req);
        }
        self.reporter.arrived(now, req);
        self.arrivals += u64::from(req.due >= self.warmup);
    }

    fn finished(&mut self, now: Time, req: &Request, done: &Done) {
        if self.is_flushing() {
            return;
        }
        let charged = if self.ledger.is_some() { Span::ZERO } else { done.service };
        let how = Finished::new(req, done, self.warmup, charged);
        for measure in &mut self.measures {
            measure.finished(now, req, &how);
        }
        self.reporter.finished(now, req, &how);
    }
}
