//! Races in a trace or in the record of a run: classes whose reads waited behind writes of another class
//! (`penstock_workload::trace::races` has the definition).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fs::File;
use std::io::Read;
use std::path::Path;

use penstock_core::{Done, Observer, ReqId, Request, Span, Time};
use penstock_jobs::Job;
use penstock_workload::trace::races::{Finder, Race, Races, TrackedRequest};
use penstock_workload::trace::{Record, Trace};
use serde::Serialize;

use crate::failure::Failure;
use crate::record::{self, Header, replay};
use crate::traces::trace_file;
use crate::traces::trace_tools::classified;

/// Races found in a file.
#[derive(Debug, Serialize)]
pub struct RacesResult {
    /// The file.
    pub file: String,
    /// The format of the trace, or `record`.
    pub format: &'static str,
    /// The classes, or the processes of a trace without classes.
    pub classes: Vec<String>,
    /// Requests that were analysed: those with a completion.
    pub requests: u64,
    /// Time from the first request to the last completion.
    pub duration_s: f64,
    /// The races, in the order in which they began.
    pub races: Vec<RaceResult>,
    /// The share of the time in which there was at least one race.
    pub races_share: f64,
    /// All stalls of each pair of classes at a disk, in races or not; the greatest loss first.
    pub stalls: Vec<StallsResult>,
    /// Remarks on the input.
    pub remarks: Vec<String>,
}

/// A race.
#[derive(Debug, Serialize)]
pub struct RaceResult {
    /// Start of the first stall, counted from the first request.
    pub from_s: f64,
    /// End of the last stall.
    pub to_s: f64,
    /// The disk.
    pub disk: String,
    /// The class whose reads waited.
    pub blocked: String,
    /// The class whose writes were queued before these reads.
    pub by: String,
    /// The largest number of these writes at the disk.
    pub queued_writes_max: u64,
    /// How long the blocked class stalled between the two times.
    pub lost_s: f64,
    /// Bytes queued for each byte written while the queue grew: an estimate of f. Null if nothing was
    /// written.
    pub growth: Option<f64>,
    /// The largest number of reads that the blocking class issued and completed during one stall.
    pub reads_meanwhile: u64,
}

/// All stalls of a pair of classes at a disk.
#[derive(Debug, Serialize)]
pub struct StallsResult {
    /// The disk.
    pub disk: String,
    /// The class whose reads waited.
    pub blocked: String,
    /// The class whose writes were queued before these reads.
    pub by: String,
    /// Total length of the stalls.
    pub lost_s: f64,
    /// The longest one.
    pub longest_s: f64,
    /// The largest number of the blocking class's writes at the disk.
    pub queued_writes_max: u64,
    /// The largest number of reads that the blocking class issued and completed during one stall.
    pub reads_meanwhile: u64,
    /// The largest number of reads that the blocking class had outstanding.
    pub reads_outstanding_max: u64,
}

/// Finds the races in the file at `path`: a trace in the format of this name, by default the one
/// that it looks like, with classes by the rules of the job at `classes`; or a record of a run.
///
/// # Errors
/// [`Failure`]: the file cannot be read, it has no completions, or all requests are of one class.
pub fn races(
    path: &Path,
    format: Option<&str>,
    classes: Option<&Path>,
) -> Result<RacesResult, Failure> {
    if !is_record(path)? {
        return of_trace(path, format, classes);
    }
    let needless = format.map(|_| "--format").or(classes.map(|_| "--classes"));
    if let Some(option) = needless {
        let message = format!("found {option} with {}, the record of a run", path.display());
        return Err(Failure::wrong(message, "leave it out: a record names its own classes"));
    }
    of_record(path)
}

/// Returns whether the file begins as the record of a run does.
fn is_record(path: &Path) -> Result<bool, Failure> {
    // A pipe can be read only once, and a record has a second file next to it.
    if std::fs::metadata(path).is_ok_and(|meta| !meta.is_file()) {
        return Ok(false);
    }
    let mut head = Vec::new();
    let read = File::open(path)
        .and_then(|file| file.take(record::BEGINS.len() as u64).read_to_end(&mut head));
    read.map_err(|error| Failure::unreadable(path, &error))?;
    Ok(head == record::BEGINS.as_bytes())
}

fn of_trace(
    path: &Path,
    format: Option<&str>,
    classes: Option<&Path>,
) -> Result<RacesResult, Failure> {
    let (trace, format) = trace_file::load(path, format)?;
    if trace.records.iter().all(|record| record.latency().is_none()) {
        let found = format!(
            "{}: none of its {} requests has a completion; arrival times alone do not show which \
             requests waited",
            path.display(),
            trace.records.len()
        );
        let hint = "record completions too (`penstock capture`), or replay it on a model and look for \
                    races in that run: `penstock run JOB --record FILE`";
        return Err(Failure::wrong(found, hint));
    }
    let (names, class_of) = classes_of(path, &trace, classes)?;
    let mut finder = Finder::default();
    let mut ends = BinaryHeap::new();
    let (mut followed, mut last) = (0, Time::ZERO);
    for record in &trace.records {
        let Some(latency) = record.latency() else { continue };
        let (at, ended) = (record.at, record.at + latency);
        (followed, last) = (followed + 1, ended.max(last));
        while let Some(&Reverse((ended, number))) = ends.peek()
            && ended <= at
        {
            ends.pop();
            finder.completed(ended, number);
        }
        let Record { op, len, device, .. } = record;
        let request =
            TrackedRequest { class: class_of(&record), disk: device.0.into(), op, bytes: len };
        ends.push(Reverse((ended, finder.arrived(at, request))));
    }
    trace.records.check().map_err(|source| {
        Failure::run_over(path, &penstock_workload::trace::TraceError::Kept { source })
    })?;
    while let Some(Reverse((ended, number))) = ends.pop() {
        finder.completed(ended, number);
    }
    let unknown = trace.records.len() as u64 - followed;
    let left_out =
        (unknown > 0).then(|| format!("{unknown} requests have no completion and are left out"));
    let disks = trace.devices.clone();
    let found = finder.finish(last);
    let names = Names { classes: names, disks };
    let remarks = trace.remarks.iter().cloned().chain(left_out).collect();
    Ok(result(path, format.name, names, &found, (followed, last), remarks))
}

/// Returns the classes of a trace, and a function that tells the class of a request: by the rules
/// of the job at `classes`, or its process.
#[expect(clippy::type_complexity, reason = "a function for each request")]
fn classes_of<'t>(
    path: &Path,
    trace: &'t Trace,
    classes: Option<&Path>,
) -> Result<(Vec<String>, Box<dyn Fn(&Record) -> u32 + 't>), Failure> {
    let one = |name: &str, hint: &str| {
        let found = format!(
            "{}: all of its requests are of {name}; expected two or more classes",
            path.display()
        );
        Err(Failure::wrong(found, hint))
    };
    if let Some(job) = classes {
        let (names, spec) = classified(path, job)?;
        let other = penstock_core::ClassId(names.len() as u16 - 1);
        let with = |record: Record| spec.class(trace, &record, other);
        let first = trace.records.iter().next().map(with);
        if trace.records.iter().all(|record| Some(with(record)) == first) {
            let name = first
                .map_or("no class".into(), |class| format!("the class {}", names[class.index()]));
            return one(
                &name,
                "look at its rules: `penstock trace stats TRACE --classes JOB.toml`",
            );
        }
        let class = move |record: &Record| u32::from(spec.class(trace, record, other).0);
        return Ok((names, Box::new(class)));
    }
    let mut numbers = BTreeMap::new();
    for record in &trace.records {
        let next = numbers.len() as u32;
        numbers.entry((record.process, record.pid)).or_insert(next);
    }
    let mut alike = vec![0_u32; trace.processes.len()];
    for (process, _) in numbers.keys() {
        alike[process.index()] += 1;
    }
    let mut names = vec![String::new(); numbers.len()];
    for (&(process, pid), number) in &numbers {
        let name = &trace.processes[process.index()];
        let several = alike[process.index()] > 1;
        names[*number as usize] = match (name.as_str(), pid) {
            ("", pid) => pid.to_string(),
            (name, pid) if several => format!("{name}/{pid}"),
            (name, _) => name.into(),
        };
    }
    if numbers.len() < 2 {
        let hint = "name classes by the rules of a job: --classes JOB.toml";
        return one("one process, or of none that was recorded", hint);
    }
    Ok((names, Box::new(move |record| numbers[&(record.process, record.pid)])))
}

/// Follows the requests of a run that is played from its record.
struct Followers {
    finder: Finder,
    numbers: BTreeMap<ReqId, u64>,
    /// Bytes of a disk.
    disk: u64,
    last: Time,
    requests: u64,
}

impl Observer for Followers {
    fn arrived(&mut self, now: Time, req: &Request) {
        let disk = (req.start / self.disk) as u32;
        let request =
            TrackedRequest { class: req.class.0.into(), disk, op: req.op, bytes: req.len };
        self.numbers.insert(req.id, self.finder.arrived(now, request));
        self.requests += 1;
    }

    fn finished(&mut self, _: Time, req: &Request, done: &Done) {
        if let Some(number) = self.numbers.remove(&req.id) {
            self.finder.completed(done.at, number);
        }
        self.last = done.at;
    }
}

fn of_record(path: &Path) -> Result<RacesResult, Failure> {
    let mut names = None;
    let follow = |header: &Header, job: &Job| {
        let classes = header.served.as_ref().map_or_else(Vec::new, record::RecordedServed::names);
        if classes.len() < 2 {
            let found = format!(
                "{}: its run has one class ({}); expected two or more classes",
                path.display(),
                classes.first().map_or("", String::as_str)
            );
            return Err(Failure::wrong(found, "record a run of several classes"));
        }
        let disks = job.device.as_ref().map_or(1, |spec| spec.side_by_side().get());
        let disk = header.capacity / u64::from(disks);
        let disks = (0..disks).map(|disk| format!("disk{disk}")).collect();
        names = Some(Names { classes, disks });
        let (finder, numbers) = (Finder::default(), BTreeMap::new());
        Ok(Followers { finder, numbers, disk, last: Time::ZERO, requests: 0 })
    };
    let (replay, followers) = replay::observed(path, &[], follow)?;
    if replay.first_difference.is_some() {
        let found = format!(
            "{}: recorded by penstock {}, whose {} decided otherwise than this one",
            path.display(),
            replay.recorded_by,
            replay.policy
        );
        return Err(Failure::wrong(found, "record the run again"));
    }
    let Followers { finder, last, requests, .. } = followers;
    let found = finder.finish(last);
    let names = names.expect("the run was followed");
    Ok(result(path, "record", names, &found, (requests, last), Vec::new()))
}

struct Names {
    classes: Vec<String>,
    disks: Vec<String>,
}

fn result(
    path: &Path,
    format: &'static str,
    names: Names,
    found: &Races,
    (requests, last): (u64, Time),
    remarks: Vec<String>,
) -> RacesResult {
    let (class, disk) = (
        |number: u32| names.classes[number as usize].clone(),
        |number: u32| names.disks[number as usize].clone(),
    );
    let race = |race: &Race| RaceResult {
        from_s: seconds(race.from.since(Time::ZERO)),
        to_s: seconds(race.to.since(Time::ZERO)),
        disk: disk(race.pair.disk),
        blocked: class(race.pair.blocked),
        by: class(race.pair.by),
        queued_writes_max: race.queued_most,
        lost_s: seconds(race.lost),
        growth: race.growth,
        reads_meanwhile: race.went_on,
    };
    let mut pairs: Vec<_> = found.pairs.iter().collect();
    pairs.sort_by_key(|(pair, stalls)| (Reverse(stalls.lost), **pair));
    let stalls = pairs.into_iter().map(|(pair, stalls)| StallsResult {
        disk: disk(pair.disk),
        blocked: class(pair.blocked),
        by: class(pair.by),
        lost_s: seconds(stalls.lost),
        longest_s: seconds(stalls.longest),
        queued_writes_max: stalls.queued_most,
        reads_meanwhile: stalls.went_on,
        reads_outstanding_max: found.reads_most[pair.by as usize],
    });
    let stalls = stalls.collect();
    let races = found.races.iter().map(race).collect();
    let duration = last.since(Time::ZERO);
    let share = match duration {
        Span::ZERO => 0.0,
        duration => found.time().ns() as f64 / duration.ns() as f64,
    };
    RacesResult {
        file: path.display().to_string(),
        format,
        classes: names.classes,
        requests,
        duration_s: seconds(duration),
        races,
        races_share: share,
        stalls,
        remarks,
    }
}

fn seconds(span: Span) -> f64 {
    span.ns() as f64 / 1e9
}
