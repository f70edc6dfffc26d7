//! The cells of a design run in sequence or in parallel.
//!
//! Modelled cells share no state, so they run in parallel on all cores, and the results do not depend
//! on the number of cores. Cells on one real device run in sequence.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use crate::ask::options::RequestSink;
use crate::failure::Failure;
use crate::pool::{self, Message, Reports, Window};
use crate::progress::report::Progress;
use crate::progress::snapshot::Snapshot;
use crate::progress::step::{Patience, Step};
use crate::result::RunResult;
use crate::session::design::Cell;

/// Cells that are begun before the requests of an earlier one are handed over: a run may have some
/// hundred MiB of them.
const REQUESTS_AHEAD: NonZeroUsize = NonZeroUsize::new(4).expect("it is not zero");

/// Reports the steps of all cells to the caller of the session.
pub(crate) struct Report<'a> {
    pub(crate) of: usize,
    /// Whether the user asked for rounds.
    pub(crate) rounds: bool,
    /// Gets the requests of each run when it has ended.
    pub(crate) requests: Option<&'a RequestSink>,
    pub(crate) progress: &'a mut dyn FnMut(Step<'_>) -> bool,
}

impl Report<'_> {
    fn running(&mut self, cell: Cell<'_>, fraction: f64, now: Option<&Snapshot>) -> bool {
        let place = &cell.task.place;
        (self.progress)(Step::Running {
            policy: cell.policy.name(),
            round: self.rounds.then_some(cell.round),
            number: cell.number,
            of: self.of,
            fraction,
            device: place.name(),
            world: place.world(),
            patience: match place.targets() {
                [] => Patience::Model,
                _ => Patience::Target(cell.task.job.live.timeout),
            },
            now,
        })
    }

    /// Reports that `cell` has ended with `result`, in the state `now` if a person watches, and hands its
    /// requests over. Returns whether the next cell may follow, as it may unless this one was interrupted.
    ///
    /// The answer to the step is ignored: the caller answers the next step alike, and that run is
    /// interrupted.
    fn ended(
        &mut self,
        cell: Cell<'_>,
        result: &mut RunResult,
        now: Option<&Snapshot>,
    ) -> Result<bool, Failure> {
        if let (Some(sink), Some(requests)) = (self.requests, result.requests.take()) {
            sink.take(cell.number, requests)?;
        }
        if result.interrupted {
            return Ok(false);
        }
        let round = self.rounds.then_some(cell.round);
        let (policy, number, of) = (cell.policy.name(), cell.number, self.of);
        let (device, classes) = (cell.task.place.name(), &result.classes);
        (self.progress)(Step::Finished { policy, round, number, of, device, classes, now });
        Ok(true)
    }
}

/// The progress of a cell that runs in sequence.
struct Sequential<'a, 'r, 'p> {
    cell: Cell<'a>,
    report: &'r mut Report<'p>,
    /// The last state, if a person watches.
    last: Option<Snapshot>,
}

impl Progress for Sequential<'_, '_, '_> {
    fn update(&mut self, fraction: f64, now: Option<&Snapshot>) -> bool {
        self.last = now.cloned();
        self.report.running(self.cell, fraction, now)
    }
}

/// Runs the cells in sequence, until one is interrupted.
pub(crate) fn in_sequence(
    cells: &[Cell<'_>],
    report: &mut Report<'_>,
    run: impl Fn(Cell<'_>, &mut dyn Progress) -> Result<RunResult, Failure>,
) -> Result<Vec<RunResult>, Failure> {
    let mut results = Vec::with_capacity(cells.len());
    for &cell in cells {
        let mut progress = Sequential { cell, report, last: None };
        let mut result = run(cell, &mut progress)?;
        let last = progress.last;
        let goes_on = report.ended(cell, &mut result, last.as_ref())?;
        results.push(result);
        if !goes_on {
            break;
        }
    }
    Ok(results)
}

/// The progress of a cell that runs in parallel with others.
struct Parallel<'r, 'a>(&'r Reports<'a, f64, CellResult>);

/// The result of a cell, or why it failed.
type CellResult = Box<Result<RunResult, Failure>>;

impl Progress for Parallel<'_, '_> {
    fn update(&mut self, fraction: f64, _: Option<&Snapshot>) -> bool {
        self.0.offer(fraction);
        !self.0.stopped()
    }
}

/// Runs the cells in parallel on all cores, or on `workers` of them. Steps and results come in the
/// order of the cells, and end with the first that is interrupted.
pub(crate) fn in_parallel(
    cells: &[Cell<'_>],
    workers: Option<NonZeroUsize>,
    report: &mut Report<'_>,
    run: impl Fn(Cell<'_>, &mut dyn Progress) -> Result<RunResult, Failure> + Sync,
) -> Result<Vec<RunResult>, Failure> {
    let window = Window::new(report.requests.is_some().then_some(REQUESTS_AHEAD));
    let work = |number: usize, reports: &Reports<'_, f64, CellResult>| {
        let ended = Box::new(run(cells[number], &mut Parallel(reports)));
        match &*ended {
            Ok(result) if !result.interrupted => ControlFlow::Continue(ended),
            _ => ControlFlow::Break(ended),
        }
    };
    let mut collector = Collector {
        cells,
        report,
        window: &window,
        early: BTreeMap::new(),
        fractions: vec![0.0; cells.len()],
        results: Vec::with_capacity(cells.len()),
        ended: None,
    };
    pool::scatter(cells.len(), workers, &window, work, |message| collector.take(message))
        .map_err(|error| Failure::here("start a thread for the runs", &error))?;
    collector.ended.unwrap_or(Ok(())).map(|()| collector.results)
}

/// Collects the messages of the threads, and reports steps and results in the order of the cells.
struct Collector<'a, 'r, 'p> {
    cells: &'a [Cell<'a>],
    report: &'r mut Report<'p>,
    window: &'a Window,
    /// Results of cells that ended before an earlier one.
    early: BTreeMap<usize, Result<RunResult, Failure>>,
    /// The fraction of each cell that is done.
    fractions: Vec<f64>,
    results: Vec<RunResult>,
    /// Set when no further result is taken: after a cell that was interrupted, or that failed.
    ended: Option<Result<(), Failure>>,
}

impl Collector<'_, '_, '_> {
    /// Takes `message`; returns whether the cells go on.
    fn take(&mut self, message: Message<f64, CellResult>) -> bool {
        match message {
            Message::Done(number, ended) => {
                self.early.insert(number, *ended);
                while self.ended.is_none()
                    && let Some(result) = self.early.remove(&self.results.len())
                {
                    self.ended = self.finish(result).transpose();
                }
                return self.ended.is_none();
            }
            Message::Progress(number, fraction) => self.fractions[number] = fraction,
            Message::Beat => {}
        }
        match self.cells.get(self.results.len()).filter(|_| self.ended.is_none()) {
            Some(&cell) => self.report.running(cell, self.fractions[cell.number], None),
            None => self.ended.is_none(),
        }
    }

    /// Takes the result of the next cell in order. Returns `None` if the cells go on.
    fn finish(&mut self, result: Result<RunResult, Failure>) -> Result<Option<()>, Failure> {
        let mut result = result?;
        let cell = self.cells[self.results.len()];
        let goes_on = self.report.ended(cell, &mut result, None)?;
        self.results.push(result);
        self.window.used(self.results.len());
        Ok((!goes_on).then_some(()))
    }
}
