//! Whole runs of generated jobs, through the interface that users' jobs go through.

use std::sync::atomic::{AtomicU64, Ordering};

use penstock_core::Op;
use penstock_jobs::devices::Model;
use penstock_jobs::{AgentSpec, Job};
use penstock_run::result::{Comparison, RunResult};
use penstock_run::{Candidate, Options, compare_text};
use penstock_workload::trace::{self, Trace};
use penstock_workload::{Arrivals, Ops};

use super::figures::{self, close, drained, finished};
use super::reference;
use crate::generate::Case;
use crate::scratch::Scratch;

/// Reports of progress, one every 50 ms, after which a comparison is ended as too long to be
/// useful.
const REPORTS_MOST: u32 = 10;
/// Policies that keep the device busy while anything is queued, and change no request if they merge
/// none.
const SAME_WORK: [&str; 7] = ["fcfs", "sstf", "c-look", "look", "scan", "sptf", "class-priority"];

/// A case with its files in a folder, and the text of its job.
pub(super) struct Bench {
    case: Case,
    folder: Scratch,
}

impl Bench {
    pub(super) fn new(case: Case) -> Self {
        // Where a panic ends the process, only this message shows what ran.
        if std::env::var_os("PENSTOCK_SHOW").is_some() {
            eprintln!("{case}");
        }
        let folder = Scratch::new();
        for (name, bytes) in &case.files {
            folder.write(name, bytes);
        }
        Self { case, folder }
    }

    pub(super) fn case(&self) -> &Case {
        &self.case
    }

    pub(super) fn folder(&self) -> &Scratch {
        &self.folder
    }

    fn name(&self) -> String {
        self.folder.path("job.toml").display().to_string()
    }

    /// Returns the job as it is read.
    pub(super) fn job(&self, sets: &[String]) -> Option<Job> {
        match Job::parse(&self.name(), &self.case.job, sets) {
            Ok(job) => Some(job),
            Err(error) => {
                assert!(!error.to_string().is_empty());
                None
            }
        }
    }

    /// Returns the options of the case.
    pub(super) fn options(&self) -> Options {
        Options {
            policies: self.case.policies.iter().map(|name| Candidate::from(&name[..])).collect(),
            detail: self.case.detail,
            repeat: self.case.repeat,
            ..Options::default()
        }
    }

    /// Returns the result of the job; `None` if it is refused or fails with a message, or takes too
    /// long.
    pub(super) fn run(&self, sets: &[String], options: &Options) -> Option<Comparison> {
        self.run_within(REPORTS_MOST, sets, options)
    }

    /// Runs the job once more; it may take longer than before on a machine that is busier.
    fn run_again(&self, sets: &[String], options: &Options) -> Comparison {
        self.run_within(u32::MAX, sets, options).expect("it ran before")
    }

    fn run_within(&self, most: u32, sets: &[String], options: &Options) -> Option<Comparison> {
        let mut reports = 0;
        let mut patient = |_: penstock_run::Step<'_>| {
            reports += 1;
            reports < most
        };
        match compare_text(&self.name(), &self.case.job, sets, options, &mut patient) {
            Ok(comparison) => (reports < most).then_some(comparison),
            Err(failure) => {
                let text = failure.to_string();
                assert!(matches!(failure.exit_code(), 1 | 2), "exit code of: {text}");
                assert!(text.starts_with("error: ") && !text.contains("please report"), "{text}");
                None
            }
        }
    }
}

/// Returns the trace that `job` plays.
fn played(job: &Job) -> Option<Trace> {
    let spec = job.workload.trace()?;
    let format = spec.format.and_then(trace::format);
    trace::load(&spec.file, format).ok().map(|(trace, _)| trace)
}

/// Runs the job that `bytes` encode: it is refused with a message, or every figure of its run
/// holds.
pub fn whole_run(bytes: &[u8]) {
    let case = Case::of(bytes);
    let bench = Bench::new(case);
    let Some(job) = bench.job(&[]) else { return };
    reads_back(&job);
    let options = bench.options();
    let Some(comparison) = bench.run(&[], &options) else { return };
    let rounds = options.repeat.unwrap_or(1) as usize;
    assert_eq!(comparison.runs.len(), options.policies.len() * rounds);
    for run in &comparison.runs {
        figures::sound(&job, run);
    }
    count(comparison.runs.len());
    deterministic(&bench, &options, &comparison);
    let trace = played(&job);
    arrivals(&job, trace.as_ref(), &comparison);
    alone(&job, &comparison);
    work_is_conserved(&job, trace.as_ref(), &comparison);
    for run in comparison.runs.iter().filter(|run| run.round.unwrap_or(0) == 0) {
        like_the_reference(&job, trace.as_ref(), run);
    }
}

/// Checks that the written text of a job reads back as the same job.
pub(super) fn reads_back(job: &Job) {
    let text = job.text();
    let again = Job::parse(&job.name, &text, &[]);
    let again = again.unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(again.text(), text);
}

/// Counts `more` whole runs in the file that `PENSTOCK_RUNS` names: a fuzzer ends without a
/// message.
pub(super) fn count(more: usize) {
    static RUNS: AtomicU64 = AtomicU64::new(0);
    let runs = RUNS.fetch_add(more as u64, Ordering::Relaxed) + more as u64;
    if let Some(path) = std::env::var_os("PENSTOCK_RUNS") {
        // A lost count is no finding.
        let _ = std::fs::write(path, format!("{runs}\n"));
    }
}

/// Checks that the same job has the same results, byte for byte, in detail or not, and that a round
/// is the run of its seed.
fn deterministic(bench: &Bench, options: &Options, first: &Comparison) {
    let json = |found: &Comparison| serde_json::to_string(found).expect("it is written");
    let again = bench.run_again(&[], options);
    assert_eq!(json(first), json(&again));
    if options.detail {
        let brief = Options { detail: false, ..options.clone() };
        let mut brief = bench.run_again(&[], &brief);
        let mut full = again;
        full.runs.iter_mut().chain(&mut brief.runs).for_each(|run| run.detail = None);
        assert_eq!(json(&full), json(&brief));
    }
    let round = first.runs.iter().filter_map(|run| run.seed).next_back();
    if let Some(seed) = round {
        let once = Options { repeat: None, ..options.clone() };
        let sets = [format!("seed={seed}")];
        let once = bench.run_again(&sets, &once);
        let rounds = first.runs.iter().filter(|run| run.seed == Some(seed));
        for (round, once) in rounds.zip(&once.runs) {
            let classes = |run: &RunResult| serde_json::to_string(&run.classes).expect("written");
            assert_eq!(classes(round), classes(once), "the round of seed {seed}");
        }
    }
}

/// Whether every request of class `class` arrives on a schedule.
fn scheduled(job: &Job, trace: Option<&Trace>, class: usize) -> bool {
    if let (Some(spec), Some(trace)) = (job.workload.trace(), trace) {
        let timed = matches!(spec.timing, trace::Timing::Original | trace::Timing::Scaled(_));
        return timed && !trace.one_by_one;
    }
    // A flush is issued when a number of writes have completed.
    let open = |agent: &AgentSpec| {
        matches!(agent.arrivals, Arrivals::Open { buffers: None, .. }) && agent.flush.is_none()
    };
    let mut own = job.workload.agents().iter().filter(|agent| agent.class.index() == class);
    job.workload.programs().is_none() && own.all(open)
}

/// Returns the bytes that each request of `agent` moves, if all move equally many.
fn moved(agent: &AgentSpec) -> Option<u32> {
    let alike = agent.flush.is_none() && agent.shorter_last().is_none();
    match (agent.ops, agent.sizes.single()) {
        (Ops::Only(Op::Discard), Some(_)) => Some(0).filter(|_| agent.flush.is_none()),
        (_, size) => size.filter(|_| alike),
    }
}

/// Checks that no request is lost: a run that ends when all requests are done has done all.
fn arrivals(job: &Job, trace: Option<&Trace>, comparison: &Comparison) {
    if !drained(job) {
        return;
    }
    let mixed = |run: &&RunResult| !run.policy.starts_with("alone:");
    let mut runs = comparison.runs.iter().filter(mixed);
    for run in &comparison.runs {
        assert!(run.classes.iter().all(|class| class.unfinished == 0), "{}", run.policy);
        for (number, class) in job.classes.iter().enumerate() {
            let mut sizes: Vec<_> = job
                .workload
                .agents()
                .iter()
                .filter(|agent| agent.class.index() == number)
                .map(moved)
                .collect();
            sizes.dedup();
            let found = run.classes.iter().find(|found| found.name == class.name);
            if let ([Some(size)], Some(found)) = (&sizes[..], found) {
                assert_eq!(found.bytes, found.requests * u64::from(*size), "{}", class.name);
            }
        }
        let all: u64 = finished(run).values().sum();
        if let Some(trace) = trace.filter(|_| job.warmup.ns() == 0 && mixed(&run)) {
            assert_eq!(all, trace.records.len() as u64, "{}", run.policy);
        }
    }
    let Some(first) = runs.next() else { return };
    for run in runs.filter(|run| run.round == first.round) {
        for (number, class) in first.classes.iter().enumerate() {
            if scheduled(job, trace, number) {
                let one = class.requests + class.errors;
                assert_eq!(finished(run).get(&class.name[..]), Some(&one), "{}", run.policy);
            }
        }
    }
}

/// Checks that a class issues the same requests alone as among others; a job of one class is that
/// class alone.
fn alone(job: &Job, comparison: &Comparison) {
    let found = |name: &str| comparison.runs.iter().find(|run| run.policy == name);
    let alone = comparison.runs.iter().find(|run| run.policy.starts_with("alone:"));
    let (Some(alone), Some(mixed)) = (alone, found("fcfs")) else { return };
    assert_eq!(alone.classes.len(), 1);
    let class = &alone.classes[0];
    let number = job.classes.iter().position(|known| known.name == class.name).expect("its class");
    if mixed.classes.len() == 1 {
        let json = |run: &RunResult| {
            let mut json = serde_json::to_value(&run.classes).expect("written");
            // These fields compare the two.
            json[0]["of_alone"].take();
            json[0]["felt_error_pct"].take();
            json
        };
        assert_eq!(json(alone), json(mixed));
    } else if drained(job) && job.workload.trace().is_none() && scheduled(job, None, number) {
        assert_eq!(finished(alone)[&class.name[..]], finished(mixed)[&class.name[..]]);
    }
}

/// Checks that one server that is never idle while requests wait ends at the same time under every
/// policy.
fn work_is_conserved(job: &Job, trace: Option<&Trace>, comparison: &Comparison) {
    let Some(device) = &job.device else { return };
    let Model::Fixed(spec) = &device.model else { return };
    let one = device.array.is_none() && device.faults.is_none() && spec.depth == 1;
    let scheduled = (0..job.classes.len()).all(|class| scheduled(job, trace, class));
    let buffered = job.workload.agents().iter().any(|agent| agent.buffered);
    let several = job.workload.file_names().len() > 1;
    if !one || several || !scheduled || buffered || !drained(job) || job.warmup.ns() > 0 {
        return;
    }
    let merges = |run: &RunResult| run.params.get("max_sectors").is_some_and(|most| most != "off");
    let same = |run: &&RunResult| SAME_WORK.contains(&&run.policy[..]) && !merges(run);
    let mut runs = comparison.runs.iter().filter(same);
    let Some(first) = runs.next() else { return };
    for run in runs.filter(|run| run.round == first.round) {
        let busy = |run: &RunResult| run.device_busy * run.duration_s;
        let same =
            close(run.duration_s, first.duration_s, 1e-9) && close(busy(run), busy(first), 1e-9);
        assert!(same, "{}: {} s, {}: {} s", run.policy, busy(run), first.policy, busy(first));
    }
}

/// Compares `fcfs`, and `noop` where nothing can be merged, with the reference.
fn like_the_reference(job: &Job, trace: Option<&Trace>, run: &RunResult) {
    // Durable writes are not merged, and a single request has no neighbour.
    let durable = |agent: &AgentSpec| agent.sync && agent.ops == Ops::Only(Op::Write);
    let one = |agent: &AgentSpec| matches!(agent.arrivals, Arrivals::Closed { depth: 1, .. });
    let unmerged = job.workload.trace().is_none()
        && (job.workload.agents().iter().all(durable)
            || job.workload.streams() == 1 && one(&job.workload.agents()[0]));
    if run.policy != "fcfs" && (run.policy != "noop" || !unmerged) {
        return;
    }
    let Some(expected) = reference::fcfs(job, trace, run.classes.len()) else { return };
    for (expected, found) in expected.iter().zip(&run.classes) {
        expected.same(found);
    }
}
