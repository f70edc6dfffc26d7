//! The evaluation programs of the online-batch paper, on a real disk or a model in real time.
//!
//! Use it to measure what a control of the disk does for short writes next to long ones when
//! everything else is real: threads, processors, the disk. A pseudo-online program makes
//! transactions of a short write, some processor time and another short write; a pseudo-batch
//! program repeats processor time and then two long writes. All write through one [`Gate`] with one
//! command in service, each in its own region, and begin together.
//!
//! Source: Tanabe and others, "Disk I/O Control Mechanism for Online and Batch Processing" (2019),
//! sections III (programs), IV (priority, with no guard against starvation) and V.B (lengths of
//! pieces). Unlike the paper, the mechanism is a gate in user space, and online programs continue
//! until the batch has ended. Without a guard, enough of them keep the batch from the disk forever,
//! so their time is limited.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use penstock_core::{Seed, Span, Time};
use penstock_jobs::nearest::suggest;
use penstock_jobs::path_text;
use penstock_live::{User, fill, lower_priority, use_processor};
use serde::Serialize;

use crate::ask::target_options::{EMULATED, TargetOptions};
use crate::failure::Failure;
use crate::gate::{Gate, GateError, GateFile, GateOptions, GateStats};
use crate::measures::below::DiskSnapshot;
use crate::measures::values::Values;
use crate::place::open::model_and_path;
use crate::pool::{self, Message, Reports, StartLine, Ticket};
use crate::result::{BelowResult, Distribution};

/// Bytes of a short write.
const SHORT: u32 = 1_000;
/// Bytes of a long write.
const LONG: u32 = 1_000_000;
/// Bytes of a piece of a long write.
const PIECE: u32 = 10_000;
/// Minimum number of transactions of an online program.
const TRANSACTIONS: u32 = 50;
/// Repetitions of a batch program.
const REPETITIONS: u32 = 5;
/// Bytes of the region in which a program writes.
const REGION: u64 = 4 << 20;
/// Maximum number of programs.
const PROGRAMS: u32 = 256;

/// Ways to control the disk: a name, the policy, whether it gets the length of a piece, and its
/// other parameters.
const MODES: [(&str, &str, bool, &[&str]); 5] = [
    ("fifo", "fcfs", false, &[]),
    ("split", "size-priority", true, &["priority=false"]),
    ("prio", "size-priority", false, &["split=off", "guard=off"]),
    ("split+prio", "size-priority", true, &["guard=off"]),
    ("split-rr", "size-priority", true, &["priority=false", "order=rr"]),
];

/// A run of online and batch programs.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The target of the writes: a file, a block device, or `emulated:DEVICE[@SPEED][:PATH]`.
    pub target: TargetOptions,
    /// Control of the disk: `fifo`, `split`, `prio`, `split+prio` or `split-rr`.
    pub mode: String,
    /// Number of online programs.
    pub online: u32,
    /// Number of batch programs.
    pub batch: u32,
    /// Processor time of a transaction.
    pub online_cpu: Span,
    /// Processor time of a repetition.
    pub batch_cpu: Span,
    /// Whether batch programs give the processor up to online ones.
    pub cpu_priority: bool,
    /// Online programs that have made their transactions continue until no batch program is left,
    /// or for this long at most.
    pub overlap: Span,
    /// Whether to report every write.
    pub writes: bool,
}

/// The result of a trial. Times are nanoseconds.
#[derive(Debug, Serialize)]
pub struct TrialResult {
    /// Short writes.
    pub short: Measured,
    /// Long writes.
    pub long: Measured,
    /// Transactions: from the begin of the first short write to the end of the second.
    pub transaction: Measured,
    /// Time of each batch program.
    pub batch_ns: Vec<u64>,
    /// Time from the common start until the last program ended.
    pub total_ns: u64,
    /// Whether it was ended early.
    pub interrupted: bool,
    /// Whether online programs reached the limit of [`Trial::overlap`] before the batch ended.
    pub outlasted: bool,
    /// Bytes of a short write, of a long one and of a piece, rounded to blocks of the disk.
    pub lengths: [u32; 3],
    /// Every write, if the trial reports them.
    pub writes: Vec<Write>,
    /// The disks below, unless the target is a model.
    #[serde(flatten)]
    pub below: BelowResult,
    /// The statistics of the gate.
    pub gate: GateStats,
}

/// Number and durations of operations.
#[derive(Debug, Serialize)]
pub struct Measured {
    /// Their number.
    pub count: u64,
    /// Their durations.
    pub ns: Distribution,
}

/// A write of one of the programs.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Write {
    /// Number of its program, the online ones first.
    pub program: u32,
    /// Whether the program is an online one.
    pub online: bool,
    /// Begin of the write, in nanoseconds since the gate was opened.
    pub at_ns: u64,
    /// Duration in nanoseconds.
    pub ns: u64,
}

/// Runs the programs of `trial` once. `go_on` is called several times a second.
///
/// # Errors
/// [`Failure`]: an unknown mode, too many programs, a file that is refused or too small, a write
/// that failed.
pub fn run(trial: &Trial, go_on: &mut dyn FnMut() -> bool) -> Result<TrialResult, Failure> {
    let programs = trial.online.saturating_add(trial.batch);
    if programs == 0 || programs > PROGRAMS {
        let message = format!("found {programs} programs; expected 1 to {PROGRAMS}");
        return Err(Failure::wrong(message, "choose fewer of each kind, and one at least"));
    }
    let (gate, lengths, below) = open(trial)?;
    let needed = u64::from(programs) * REGION;
    if gate.capacity() < needed {
        let message = format!(
            "found {} bytes for {programs} programs; expected {needed}, 4MiB for each",
            gate.capacity()
        );
        return Err(Failure::wrong(message, "name a larger file, or choose fewer programs"));
    }
    let stage = Stage {
        trial,
        gate: &gate,
        lengths,
        batch_left: AtomicU32::new(trial.batch),
        outlasted: AtomicBool::new(false),
    };
    let line = StartLine::default();
    let work = |number: usize, ticket: Ticket<'_>, reports: &Reports<'_, (), ProgramOutcome>| {
        stage.program(number as u32, ticket, reports)
    };
    let refused = |error| Err(Failure::here("start a thread for each program", &error));
    let (mut figures, mut failed, mut interrupted) = (Vec::new(), None, false);
    pool::one_each(programs as usize, &line, work, refused, |message| {
        match message {
            Message::Done(_, Ok(program)) => figures.push(program),
            Message::Done(_, Err(failure)) => drop(failed.get_or_insert(failure)),
            Message::Progress(..) | Message::Beat => {}
        }
        interrupted |= !go_on();
        failed.is_none() && !interrupted
    });
    let ended = gate.now();
    gate.close();
    match failed {
        Some(failure) => Err(failure),
        None => stage.result(figures, ended, interrupted, below),
    }
}

/// Opens the gate of `trial`. Also returns the lengths of short writes, long ones and pieces in
/// whole blocks of its disk, and the disks below unless the target is a model.
fn open(trial: &Trial) -> Result<(Gate, [u32; 3], BelowResult), Failure> {
    let names = || MODES.iter().map(|(name, ..)| *name);
    let mode = MODES.iter().find(|(name, ..)| *name == trial.mode).ok_or_else(|| {
        Failure::wrong(format_args!("unknown mode {}", trial.mode), suggest(&trial.mode, names()))
    })?;
    let (_, policy, splits, sets) = *mode;
    let (emulate, file) = place(&trial.target);
    let mut options = GateOptions {
        files: file.into_iter().collect(),
        policy: policy.into(),
        sets: sets.iter().map(|&set| set.into()).collect(),
        emulate,
        engine: trial.target.engine.clone(),
        // One request in service at a time, as a disk has one arm.
        depth: 1,
        ..GateOptions::default()
    };
    let targets = options.targets(User::Run)?;
    let unit = targets.iter().map(penstock_live::Target::unit).max().unwrap_or(1);
    let lengths = [SHORT, LONG, PIECE].map(|len| len.next_multiple_of(unit));
    if splits {
        options.sets.push(format!("split={}B", lengths[2]));
    }
    let measured = targets.first().filter(|_| options.emulate.is_none());
    let below = measured.map(|target| DiskSnapshot::take(target).result()).unwrap_or_default();
    Ok((Gate::over(&options, targets)?, lengths, below))
}

/// The model that answers in real time, and the file; either may be missing.
fn place(target: &TargetOptions) -> (Option<String>, Option<GateFile>) {
    let on = target.on.as_deref().unwrap_or_default();
    let (model, path) = match on.strip_prefix(EMULATED) {
        Some(what) => {
            let (model, path) = model_and_path(what);
            (Some(model.into()), path.unwrap_or_default())
        }
        None => (None, on),
    };
    (model, (!path.is_empty()).then(|| GateFile::at(path_text::path(path), target)))
}

/// The state that all programs share.
struct Stage<'a> {
    trial: &'a Trial,
    gate: &'a Gate,
    lengths: [u32; 3],
    batch_left: AtomicU32,
    outlasted: AtomicBool,
}

impl Stage<'_> {
    /// Runs the program `number` from the common start on.
    fn program(
        &self,
        number: u32,
        start: Ticket<'_>,
        reports: &Reports<'_, (), ProgramOutcome>,
    ) -> ProgramOutcome {
        let online = number < self.trial.online;
        let len = self.lengths[usize::from(!online)];
        // Bytes that a run writes are recognised later, so that a device does not count as holding data.
        let mut bytes = vec![0; len as usize];
        fill(Seed(number.into()), &mut bytes);
        let niced = if !online && self.trial.cpu_priority { lower_priority() } else { Ok(()) };
        start.wait();
        let figures = ProgramTimes::new(online, self.gate.now());
        let mut program = Program { number, bytes, at: 0, figures };
        let ended = match niced {
            Err(error) => Err(format!("cannot leave the processor to others: {error}")),
            Ok(()) if online => self.online(&mut program, reports),
            Ok(()) => self.batch(&mut program, reports),
        };
        if !online {
            self.batch_left.fetch_sub(1, Ordering::Relaxed);
        }
        ended.map(|()| program.figures).map_err(Failure::run)
    }

    fn online(
        &self,
        program: &mut Program,
        reports: &Reports<'_, (), ProgramOutcome>,
    ) -> Result<(), String> {
        let first = self.gate.now();
        let mut made = 0;
        while (made < TRANSACTIONS || self.during_batch(first)) && !reports.stopped() {
            let begun = self.gate.now();
            self.write(program)?;
            use_processor(self.trial.online_cpu);
            self.write(program)?;
            program.figures.transactions.add(self.gate.now().since(begun));
            made += 1;
        }
        Ok(())
    }

    /// Whether an online program that began at `first` continues next to the batch.
    fn during_batch(&self, first: Time) -> bool {
        let left = self.batch_left.load(Ordering::Relaxed) > 0;
        let long = self.gate.now().since(first) >= self.trial.overlap;
        if left && long && self.trial.overlap > Span::ZERO {
            self.outlasted.store(true, Ordering::Relaxed);
        }
        left && !long
    }

    fn batch(
        &self,
        program: &mut Program,
        reports: &Reports<'_, (), ProgramOutcome>,
    ) -> Result<(), String> {
        for _ in 0..REPETITIONS {
            use_processor(self.trial.batch_cpu);
            for _ in 0..2 {
                if reports.stopped() {
                    return Ok(());
                }
                self.write(program)?;
            }
        }
        let took = self.gate.now().since(program.figures.begun);
        program.figures.batch_ns = Some(took.ns());
        Ok(())
    }

    /// Makes the next write of `program`, in order through its region and then from its begin.
    fn write(&self, program: &mut Program) -> Result<(), String> {
        let len = program.bytes.len() as u64;
        let place = u64::from(program.number) * REGION + program.at;
        program.at = if program.at + 2 * len > REGION { 0 } else { program.at + len };
        let begun = self.gate.now();
        let message = |error: GateError| error.to_string();
        self.gate.write(0, place, &program.bytes, true).map_err(message)?;
        let took = self.gate.now().since(begun);
        // Booking comes after the measured time.
        let figures = &mut program.figures;
        figures.writes.add(took);
        if self.trial.writes {
            let (program, online) = (program.number, figures.online);
            figures.every.push(Write { program, online, at_ns: begun.ns(), ns: took.ns() });
        }
        Ok(())
    }

    /// The result of the trial. `programs` are the figures of its programs until `ended`.
    fn result(
        &self,
        programs: Vec<ProgramTimes>,
        ended: Time,
        interrupted: bool,
        below: BelowResult,
    ) -> Result<TrialResult, Failure> {
        let begun = programs.iter().map(|program| program.begun).min().unwrap_or(ended);
        let (mut short, mut long, mut transaction) = (Values::new(), Values::new(), Values::new());
        let (mut batch_ns, mut writes) = (Vec::new(), Vec::new());
        for program in programs {
            let values = if program.online { &mut short } else { &mut long };
            values.join(&program.writes);
            transaction.join(&program.transactions);
            batch_ns.extend(program.batch_ns);
            writes.extend(program.every);
        }
        writes.sort_by_key(|write| write.at_ns + write.ns);
        let measured =
            |values: &Values| Measured { count: values.count(), ns: values.distribution() };
        Ok(TrialResult {
            short: measured(&short),
            long: measured(&long),
            transaction: measured(&transaction),
            batch_ns,
            total_ns: ended.since(begun).ns(),
            interrupted,
            outlasted: self.outlasted.load(Ordering::Relaxed),
            lengths: self.lengths,
            writes,
            below,
            gate: self.gate.stats().map_err(Failure::run)?,
        })
    }
}

/// The figures of a program, or why it failed.
type ProgramOutcome = Result<ProgramTimes, Failure>;

/// A program between its writes.
struct Program {
    number: u32,
    bytes: Vec<u8>,
    /// Position of the next write in its region.
    at: u64,
    figures: ProgramTimes,
}

/// The figures of a program.
struct ProgramTimes {
    online: bool,
    begun: Time,
    writes: Values,
    transactions: Values,
    /// Duration of a batch program; `None` if it has not ended.
    batch_ns: Option<u64>,
    /// Every write, if the trial reports them.
    every: Vec<Write>,
}

impl ProgramTimes {
    fn new(online: bool, begun: Time) -> Self {
        let (writes, transactions) = (Values::new(), Values::new());
        Self { online, begun, writes, transactions, batch_ns: None, every: Vec::new() }
    }
}
