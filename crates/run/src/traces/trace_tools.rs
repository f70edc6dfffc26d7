//! Tools for traces: describe one, and write it in another format.

use std::io::{BufWriter, Write};
use std::path::Path;

use penstock_core::{ClassId, Span};
use penstock_jobs::Job;
use penstock_jobs::diagnose::JobError;
use penstock_jobs::nearest::suggest;
use penstock_jobs::path_text;
use penstock_jobs::traces::{OTHER, TraceSpec};
use penstock_live::NewFile;
use penstock_workload::trace::series::{self, Frame, Mix, Series};
use penstock_workload::trace::{self, TraceError, stats};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::traces::trace_file;

/// Lists the formats of traces.
pub fn formats() -> Value {
    let one = |format: &trace::Format| json!({"name": format.name, "summary": format.summary, "writes": format.write.is_some()});
    trace::FORMATS.iter().map(one).collect()
}

/// Describes a trace and its requests, per class if `classes` names a job with rules; with `drawn`
/// also by time, place and size, in few enough figures for a chart.
///
/// # Errors
/// When the trace or the job cannot be read.
pub fn describe(
    path: &Path,
    format: Option<&str>,
    classes: Option<&Path>,
    drawn: bool,
) -> Result<Value, Failure> {
    let (trace, format) = trace_file::load(path, format)?;
    let mut described = json!({
        "file": path.display().to_string(),
        "format": format.name,
        "requests": trace.records.len(),
        "duration_s": seconds(trace.span()),
        "processes": trace.processes.iter().filter(|name| !name.is_empty()).collect::<Vec<_>>(),
        "devices": trace.devices,
        "end_bytes": trace.end(),
        "out_of_order": trace.out_of_order,
        "other_lines": trace.skipped,
        "remarks": trace.remarks,
    });
    let (names, class_of) = match classes {
        None => (vec!["all".to_owned()], None),
        Some(job) => classified(path, job).map(|(names, spec)| (names, Some(spec)))?,
    };
    let other = ClassId(names.len() as u16 - 1);
    let with_class = || {
        trace.records.iter().map(|mut record| {
            record.flags = trace.flags(&record);
            let class = class_of.as_ref().map_or(other, |spec| spec.class(&trace, &record, other));
            (record, class)
        })
    };
    let kept = |source| Failure::run_over(path, &TraceError::Kept { source });
    let figures = stats::by_class(with_class(), names.len()).map_err(kept)?;
    let frame = drawn.then(|| Frame::fitting(&trace.records));
    if let Some(frame) = &frame {
        described["frame"] = json!({"window_s": seconds(frame.window), "band_bytes": frame.bands});
    }
    let class = |(index, (name, figures)): (usize, (&String, &stats::Stats))| {
        let mut of_class = class_json(name, figures);
        if let Some(frame) = &frame {
            let members = with_class().filter(|(_, class)| class.index() == index);
            of_class["series"] =
                series_json(&series::compute(members.map(|(record, _)| record), frame));
        }
        of_class
    };
    described["classes"] = names
        .iter()
        .zip(&figures)
        .enumerate()
        .filter(|(_, (name, figures))| *name != OTHER || figures.all.requests > 0)
        .map(class)
        .collect();
    trace.records.check().map_err(kept)?;
    Ok(described)
}

/// Returns the names of the classes of the job at `job`, with that of all other requests last, and
/// its rules.
pub(crate) fn classified(path: &Path, job: &Path) -> Result<(Vec<String>, TraceSpec), Failure> {
    // The job's own trace, if it names one, gives way to this one.
    let job = Job::load(job, &[format!("trace.file={}", path_text::text(path))])?;
    let spec = job.workload.trace().expect("it was just set").clone();
    let names = job.classes.into_iter().map(|class| class.name).chain([OTHER.to_owned()]);
    Ok((names.collect(), spec))
}

/// Writes the trace at `from` to `to`, which must not exist, in the format called `into`.
///
/// # Errors
/// When the trace cannot be read, the format cannot be written, or the file cannot.
pub fn convert(from: &Path, format: Option<&str>, to: &Path, into: &str) -> Result<Value, Failure> {
    let write = writer(into)?;
    // Before a long trace is read.
    NewFile::check(to).map_err(|error| Failure::unwritable(to, &error))?;
    let (trace, format) = trace_file::load(from, format)?;
    let written = write_new(&trace, write, to)?;
    Ok(json!({
        "from": format.name, "into": into,
        "requests": written.requests, "left_out": written.left_out,
    }))
}

/// Returns the function that writes the format called `into`.
///
/// # Errors
/// If there is no such format, or it is only read.
pub(crate) fn writer(into: &str) -> Result<trace::WriteTrace, Failure> {
    let writable = || trace::FORMATS.iter().filter(|format| format.write.is_some());
    let write = trace::format(into).and_then(|format| format.write).ok_or_else(|| {
        let names = writable().map(|format| format.name);
        JobError::new(format!("no traces are written as {into}")).hint(suggest(into, names))
    })?;
    Ok(write)
}

/// Writes `trace` to `to`, which must not exist.
///
/// # Errors
/// If the file cannot be written, or the trace cannot be read again.
pub(crate) fn write_new(
    trace: &trace::Trace,
    write: trace::WriteTrace,
    to: &Path,
) -> Result<trace::Written, Failure> {
    let unwritable = |error: std::io::Error| Failure::unwritable(to, &error);
    let new = NewFile::create(to).map_err(unwritable)?;
    let mut file = BufWriter::new(new.file());
    let written = write(trace, &mut file)
        .and_then(|written| file.flush().and_then(|()| trace.records.check()).map(|()| written));
    let written = written.map_err(unwritable)?;
    drop(file);
    new.finish().map_err(unwritable)?;
    Ok(written)
}

fn class_json(name: &str, figures: &stats::Stats) -> Value {
    let tally = |tally: stats::Tally| json!({"requests": tally.requests, "bytes": tally.bytes});
    let common = |&(bytes, requests): &(u32, u64)| json!({"bytes": bytes, "requests": requests});
    let latency = figures.latency.map(|latency| {
        json!({
            "known": latency.known, "mean_ns": latency.mean.ns(), "p50_ns": latency.p50.ns(),
            "p95_ns": latency.p95.ns(), "p99_ns": latency.p99.ns(), "max_ns": latency.max.ns(),
        })
    });
    let (sizes, arrivals) = (&figures.sizes, &figures.arrivals);
    json!({
        "name": name,
        "requests": figures.all.requests,
        "bytes": figures.all.bytes,
        "reads": tally(figures.reads),
        "writes": tally(figures.writes),
        "flushes": figures.flushes.requests,
        "discards": tally(figures.discards),
        "sync": figures.sync,
        "first_s": seconds(figures.first.since(penstock_core::Time::ZERO)),
        "last_s": seconds(figures.last.since(penstock_core::Time::ZERO)),
        "size_bytes": {
            "mean": sizes.mean, "p50": sizes.p50, "p95": sizes.p95, "max": sizes.max,
            "common": sizes.common.iter().map(common).collect::<Vec<_>>(),
        },
        "arrivals": {
            "mean_per_s": arrivals.mean_rate, "peak_1s": arrivals.peak_1s,
            "peak_100ms": arrivals.peak_100ms, "dispersion_1s": arrivals.dispersion_1s,
            "dispersion_100ms": arrivals.dispersion_100ms, "gap_variation": arrivals.gap_variation,
        },
        "sequential": {
            "by_process": figures.sequential_by_process,
            "by_device": figures.sequential_by_device,
        },
        "footprint_bytes": figures.footprint_bytes,
        "recorded_latency": latency,
    })
}

/// Returns each list as rows of numbers: where a bucket begins, then the counts; by operation in
/// the order reads, writes, flushes, discards.
fn series_json(series: &Series) -> Value {
    let mixes = |mixes: &[(u64, Mix)]| {
        let row = |&(at, mix): &(u64, Mix)| [at, mix.reads, mix.writes, mix.flushes, mix.discards];
        mixes.iter().map(row).collect::<Vec<_>>()
    };
    json!({
        "arrivals": mixes(&series.arrivals),
        "places": series.places,
        "size_bytes": mixes(&series.sizes),
        "gap_ns": series.gaps,
        "run_requests": series.runs,
        "latency_ns": mixes(&series.latencies),
    })
}

fn seconds(span: Span) -> f64 {
    span.ns() as f64 / 1e9
}
