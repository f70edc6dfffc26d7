//! The cells of a comparison: every policy in every round, one after another or side by side.
//!
//! A modelled cell shares nothing with another, so modelled cells use all cores; what comes out does
//! not depend on how many there are. Cells on one device run one after another.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use crate::candidate::Chosen;
use crate::failure::Failure;
use crate::result::{RunResult, World};
use crate::snapshot::Snapshot;
use crate::stats::Progress;
use crate::step::{Patience, Step};

/// So long nobody is asked whether the cells shall go on, at most.
const ASKED_EVERY: Duration = Duration::from_millis(50);

/// One run of a comparison.
#[derive(Clone, Copy)]
pub(crate) struct Cell<'a> {
    /// From 0, in the order of the results.
    pub(crate) number: usize,
    /// From 0.
    pub(crate) round: u32,
    pub(crate) policy: &'a Chosen,
}

/// Every policy in every round, round by round.
pub(crate) fn cells(policies: &[Chosen], rounds: u32) -> Vec<Cell<'_>> {
    let all = (0..rounds).flat_map(|round| policies.iter().map(move |policy| (round, policy)));
    let cell = |(number, (round, policy))| Cell { number, round, policy };
    all.enumerate().map(cell).collect()
}

/// Reports the steps of all cells to whoever asked for them.
pub(crate) struct Report<'a> {
    pub(crate) of: usize,
    /// Whether rounds were asked for.
    pub(crate) rounds: bool,
    pub(crate) device: &'a str,
    pub(crate) world: World,
    pub(crate) patience: Patience,
    pub(crate) progress: &'a mut dyn FnMut(Step<'_>) -> bool,
}

impl Report<'_> {
    fn running(&mut self, cell: Cell<'_>, fraction: f64, now: Option<&Snapshot>) -> bool {
        let Self { of, device, world, patience, .. } = *self;
        let round = self.rounds.then_some(cell.round);
        let (policy, number) = (cell.policy.name(), cell.number);
        let step =
            Step::Running { policy, round, number, of, fraction, device, world, patience, now };
        (self.progress)(step)
    }

    /// An answer of no counts for the next step: the next run says that it was interrupted.
    fn finished(&mut self, cell: Cell<'_>, result: &RunResult) {
        let round = self.rounds.then_some(cell.round);
        let (policy, number, of) = (cell.policy.name(), cell.number, self.of);
        let classes = &result.classes;
        (self.progress)(Step::Finished { policy, round, number, of, classes });
    }
}

/// The progress of one cell that is the only one to run.
struct Alone<'a, 'r, 'p> {
    cell: Cell<'a>,
    report: &'r mut Report<'p>,
}

impl Progress for Alone<'_, '_, '_> {
    fn update(&mut self, fraction: f64, now: Option<&Snapshot>) -> bool {
        self.report.running(self.cell, fraction, now)
    }
}

/// Runs the cells one after another, until one is interrupted.
pub(crate) fn in_turn(
    cells: &[Cell<'_>],
    report: &mut Report<'_>,
    run: impl Fn(Cell<'_>, &mut dyn Progress) -> Result<RunResult, Failure>,
) -> Result<Vec<RunResult>, Failure> {
    let mut results = Vec::with_capacity(cells.len());
    for &cell in cells {
        let result = run(cell, &mut Alone { cell, report })?;
        let interrupted = result.interrupted;
        if !interrupted {
            report.finished(cell, &result);
        }
        results.push(result);
        if interrupted {
            break;
        }
    }
    Ok(results)
}

/// What a thread says of one of its cells.
enum Said {
    /// This share of its time is over.
    Running(f64),
    Ended(Box<Result<RunResult, Failure>>),
}

/// The progress of one cell of several.
struct Together<'a> {
    number: usize,
    said: &'a Sender<(usize, Said)>,
    stop: &'a AtomicBool,
}

impl Progress for Together<'_> {
    fn update(&mut self, fraction: f64, _: Option<&Snapshot>) -> bool {
        // Nobody listens once a cell has failed.
        let _ = self.said.send((self.number, Said::Running(fraction)));
        !self.stop.load(Ordering::Relaxed)
    }
}

/// Runs the cells on all cores. Steps and results come in the order of the cells, and end with the
/// first that is interrupted.
pub(crate) fn side_by_side(
    cells: &[Cell<'_>],
    report: &mut Report<'_>,
    run: impl Fn(Cell<'_>, &mut dyn Progress) -> Result<RunResult, Failure> + Sync,
) -> Result<Vec<RunResult>, Failure> {
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (said, heard) = channel();
    let threads = thread::available_parallelism().map_or(1, usize::from).min(cells.len());
    thread::scope(|scope| {
        for _ in 0..threads {
            let (said, run, next, stop) = (said.clone(), &run, &next, &stop);
            scope.spawn(move || {
                while let Some(&cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let number = cell.number;
                    let ended = run(cell, &mut Together { number, said: &said, stop });
                    let last = !matches!(&ended, Ok(result) if !result.interrupted);
                    let _ = said.send((number, Said::Ended(Box::new(ended))));
                    if last {
                        break;
                    }
                }
            });
        }
        drop(said);
        let results = in_order(cells, report, &heard, &stop);
        stop.store(true, Ordering::Relaxed);
        results
    })
}

/// Collects what the threads say, and passes it on in the order of the cells.
fn in_order(
    cells: &[Cell<'_>],
    report: &mut Report<'_>,
    heard: &Receiver<(usize, Said)>,
    stop: &AtomicBool,
) -> Result<Vec<RunResult>, Failure> {
    let mut results = Vec::with_capacity(cells.len());
    let mut ended = BTreeMap::new();
    let mut fractions = vec![0.0; cells.len()];
    while let Some(&cell) = cells.get(results.len()) {
        if let Some(result) = ended.remove(&cell.number) {
            let result: RunResult = result?;
            let interrupted = result.interrupted;
            if !interrupted {
                report.finished(cell, &result);
            }
            results.push(result);
            if interrupted {
                break;
            }
            continue;
        }
        match heard.recv_timeout(ASKED_EVERY) {
            Ok((number, Said::Ended(result))) => {
                ended.insert(number, *result);
                continue;
            }
            Ok((number, Said::Running(fraction))) => fractions[number] = fraction,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => unreachable!("every cell says how it ended"),
        }
        if !report.running(cell, fractions[cell.number], None) {
            stop.store(true, Ordering::Relaxed);
        }
    }
    Ok(results)
}
