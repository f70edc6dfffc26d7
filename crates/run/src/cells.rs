//! The cells of a design run in sequence or in parallel.
//!
//! Modelled cells share no state, so they run in parallel on all cores, and the results do not depend
//! on the number of cores. Cells on one real device run in sequence.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use crate::design::Cell;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::result::RunResult;
use crate::snapshot::Snapshot;
use crate::step::{Patience, Step};

/// The longest time between two calls of the progress function, which may stop the cells.
const REPORT_EVERY: Duration = Duration::from_millis(50);

/// Reports the steps of all cells to the caller of the session.
pub(crate) struct Report<'a> {
    pub(crate) of: usize,
    /// Whether rounds were asked for.
    pub(crate) rounds: bool,
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

    /// The answer is ignored: the caller answers the next step alike, and that run is interrupted.
    fn finished(&mut self, cell: Cell<'_>, result: &RunResult) {
        let round = self.rounds.then_some(cell.round);
        let (policy, number, of) = (cell.policy.name(), cell.number, self.of);
        let classes = &result.classes;
        (self.progress)(Step::Finished { policy, round, number, of, classes });
    }
}

/// The progress of a cell that runs in sequence.
struct Sequential<'a, 'r, 'p> {
    cell: Cell<'a>,
    report: &'r mut Report<'p>,
}

impl Progress for Sequential<'_, '_, '_> {
    fn update(&mut self, fraction: f64, now: Option<&Snapshot>) -> bool {
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
        let result = run(cell, &mut Sequential { cell, report })?;
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

/// A message of a thread about one of its cells.
enum Message {
    /// This share of its run time has passed.
    Running(f64),
    Ended(Box<Result<RunResult, Failure>>),
}

/// The progress of a cell that runs in parallel with others.
struct Parallel<'a> {
    number: usize,
    messages: &'a Sender<(usize, Message)>,
    stop: &'a AtomicBool,
}

impl Progress for Parallel<'_> {
    fn update(&mut self, fraction: f64, _: Option<&Snapshot>) -> bool {
        // The receiver is gone once a cell has failed.
        let _ = self.messages.send((self.number, Message::Running(fraction)));
        !self.stop.load(Ordering::Relaxed)
    }
}

/// Runs the cells in parallel on all cores, or on `workers` of them. Steps and results come in the order of the cells, and end
/// with the first that is interrupted.
pub(crate) fn in_parallel(
    cells: &[Cell<'_>],
    workers: Option<NonZeroUsize>,
    report: &mut Report<'_>,
    run: impl Fn(Cell<'_>, &mut dyn Progress) -> Result<RunResult, Failure> + Sync,
) -> Result<Vec<RunResult>, Failure> {
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (sender, receiver) = channel();
    let all = || thread::available_parallelism().map_or(1, usize::from);
    let threads = workers.map_or_else(all, usize::from).min(cells.len());
    thread::scope(|scope| {
        for _ in 0..threads {
            let (messages, run, next, stop) = (sender.clone(), &run, &next, &stop);
            scope.spawn(move || {
                while let Some(&cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let number = cell.number;
                    let ended = run(cell, &mut Parallel { number, messages: &messages, stop });
                    let last = !matches!(&ended, Ok(result) if !result.interrupted);
                    let _ = messages.send((number, Message::Ended(Box::new(ended))));
                    if last {
                        break;
                    }
                }
            });
        }
        drop(sender);
        let results = in_order(cells, report, &receiver, &stop);
        stop.store(true, Ordering::Relaxed);
        results
    })
}

/// Collects the messages of the threads, and reports steps and results in the order of the cells.
fn in_order(
    cells: &[Cell<'_>],
    report: &mut Report<'_>,
    messages: &Receiver<(usize, Message)>,
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
        match messages.recv_timeout(REPORT_EVERY) {
            Ok((number, Message::Ended(result))) => {
                ended.insert(number, *result);
                continue;
            }
            Ok((number, Message::Running(fraction))) => fractions[number] = fraction,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => unreachable!("every cell sends its result"),
        }
        if !report.running(cell, fractions[cell.number], None) {
            stop.store(true, Ordering::Relaxed);
        }
    }
    Ok(results)
}
