//! Properties of every input that people supply (traces, packed files, jobs), and of whole runs of
//! jobs that are generated from bytes.
//!
//! The fuzz targets, the property tests and the test of the corpora all call these: a panic is a
//! finding.

mod figures;
mod gate;
mod records;
mod reference;
mod run;
mod sets;

pub use gate::{gate, gate_text};
pub use records::{record, record_text};
pub use run::whole_run;
pub use sets::{set, set_text};

use penstock_core::{Op, Time};
use penstock_jobs::Job;
use penstock_workload::trace::{
    FORMATS, Format, Place, Record, Trace, TraceError, format, parse, read, read_any, stats,
};

/// A widened or rounded request may not end closer than this to 2^64: block sizes fit in between.
const NEAR_THE_END: u64 = 1024;

/// Reads `bytes` as a trace in the format called `name`: no panic, and an accepted trace has the
/// properties of every trace and of its written form.
pub fn trace(name: &str, bytes: &[u8]) {
    match parse(bytes, format(name).expect("a format")) {
        Ok(trace) => sound(&trace),
        Err(error) => message_is_sound(&error),
    }
}

/// Reads the file `bytes`, packed or not, in any format.
pub fn file(bytes: &[u8]) {
    match read_any(bytes) {
        Ok((trace, format)) => {
            sound(&trace);
            assert_eq!(read(bytes, format).expect("it was just read"), trace, "{}", format.name);
        }
        Err(error) => message_is_sound(&error),
    }
}

/// Reads the job `bytes`: no panic, and the text of an accepted job reads back as the same job.
pub fn job(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Job::parse("job.toml", text, &[]) {
        Ok(job) => {
            let again = job.text();
            let read = Job::parse("job.toml", &again, &[]);
            let read = read.unwrap_or_else(|error| panic!("{error}\n{again}"));
            assert_eq!(read.text(), again);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn message_is_sound(error: &TraceError) {
    assert!(!matches!(error, TraceError::Unexpected { place: Place::Line(0), .. }), "{error}");
    assert!(!error.to_string().is_empty());
}

/// Checks the properties of every trace.
fn sound(trace: &Trace) {
    assert!(!trace.records.is_empty());
    assert_eq!(trace.records.first().map(|first| first.at), Some(Time::ZERO));
    assert!(trace.records.iter().is_sorted_by_key(|record| record.at));
    for record in &trace.records {
        assert_eq!(record.len == 0, record.op == Op::Flush);
        assert!(record.start.checked_add(u64::from(record.len)).is_some());
        let _ = (trace.device(&record), trace.process(&record));
    }
    let all = stats::compute(&trace.records).expect("room for what is sorted").all;
    assert_eq!(all.requests, trace.records.len() as u64);
    for format in FORMATS {
        written_reads_again(trace, format);
    }
}

/// Checks that the text of `trace` in `format` reads back as the same requests, as far as the
/// format can express them.
fn written_reads_again(trace: &Trace, format: &Format) {
    let Some(write) = format.write else { return };
    let kept: Vec<Record> = trace.records.iter().filter(|record| keeps(format, record)).collect();
    let mut text = Vec::new();
    let written = write(trace, &mut text).expect("memory takes it");
    assert_eq!(written.requests, kept.len() as u64, "{}", format.name);
    assert_eq!(written.left_out, (trace.records.len() - kept.len()) as u64, "{}", format.name);
    if kept.is_empty() || !fits(trace, format) {
        return;
    }
    let again = parse(&text, format).unwrap_or_else(|error| panic!("{}: {error}", format.name));
    assert_eq!(again.records.len(), kept.len(), "{}", format.name);
    assert_eq!(again.out_of_order, 0, "{}", format.name);
    let first = time_of(trace, format, &kept[0]);
    for (found, kept) in again.records.iter().zip(&kept) {
        let expected = as_written(format, kept);
        assert_eq!(found.at.ns(), time_of(trace, format, kept) - first, "{}", format.name);
        assert_eq!((found.op, found.start, found.len), expected, "{}", format.name);
        if format.name == "ptrace" {
            assert_eq!((found.pid, found.ioprio), (kept.pid, kept.ioprio));
        }
        if format.name == "msr" {
            let steps = |record: &Record| record.latency().map_or(0, |took| took.ns() / 100);
            assert_eq!(steps(&found), steps(kept));
        }
    }
}

/// Whether `format` can express `record`.
fn keeps(format: &Format, record: &Record) -> bool {
    let keeps_all = ["fio-iolog3", "blkparse", "ptrace"];
    keeps_all.contains(&format.name) || matches!(record.op, Op::Read | Op::Write)
}

/// Formats whose requests are widened to blocks.
const OF_BLOCKS: [&str; 3] = ["disksim", "blkparse", "ptrace"];

/// Whether the requests still fit when they are widened to blocks: one at the end of 2^64 bytes may
/// not.
fn fits(trace: &Trace, format: &Format) -> bool {
    let long = |record: &Record| u64::from(record.len) > u64::from(u32::MAX) - NEAR_THE_END;
    let widened =
        trace.end() > u64::MAX - NEAR_THE_END || trace.records.iter().any(|record| long(&record));
    !OF_BLOCKS.contains(&format.name) || !widened
}

/// Returns a request's time in the file, in nanoseconds.
fn time_of(trace: &Trace, format: &Format, record: &Record) -> u64 {
    match format.name {
        "msr" => (trace.origin_ns + record.at.ns()) / 100 * 100,
        "fio-iolog3" => record.at.ns() / 1_000 * 1_000,
        _ => record.at.ns(),
    }
}

/// Returns a request as the file has it.
fn as_written(format: &Format, record: &Record) -> (Op, u64, u32) {
    if !OF_BLOCKS.contains(&format.name) {
        return (record.op, record.start, record.len);
    }
    let start = record.start / 512 * 512;
    (record.op, start, (record.end().div_ceil(512) * 512 - start) as u32)
}
