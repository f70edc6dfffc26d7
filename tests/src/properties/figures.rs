//! Properties of the figures of every run over a model, for any job.

use std::collections::BTreeMap;

use penstock_jobs::devices::Model;
use penstock_jobs::{AgentSpec, Job, Stop};
use penstock_run::result::{ClassDetail, Detail};
use penstock_run::result::{
    ClassResult, DeviceStatsResult, DiskResult, Distribution, Milliseconds, ProgramResult,
    RunResult,
};
use penstock_workload::Arrivals;

/// The relative error of floating point in a sum of thousands of terms.
const EXACT: f64 = 1e-9;
/// The relative error of figures that were divided by a length of time and multiplied again.
const NEAR: f64 = 1e-6;

/// Whether two figures differ by at most `tolerance` times the larger.
pub(super) fn close(first: f64, second: f64, tolerance: f64) -> bool {
    (first - second).abs() <= tolerance * first.abs().max(second.abs())
}

/// Whether two times in seconds are close; a nanosecond never counts.
fn equal(first: f64, second: f64, tolerance: f64) -> bool {
    close(first, second, tolerance) || (first - second).abs() <= 1e-9
}

/// Checks the properties of a single `run` of `job`.
pub(super) fn sound(job: &Job, run: &RunResult) {
    assert!(run.duration_s.is_finite() && run.duration_s >= 0.0, "duration {}", run.duration_s);
    assert!(run.failure.is_none() && run.ended.is_none());
    // A short run may end while a drive's write buffer is still filling, and on a device with faults
    // the flush that ends a durable run may fail.
    let known =
        |remark: &String| remark.contains("write buffer") || remark.contains("at the last flush");
    assert!(run.remarks.iter().all(known), "{:?}", run.remarks);
    assert!(run.schedule.is_none() && run.emulation.is_none(), "virtual time is never late");
    assert!(!run.classes.is_empty());
    for result in &run.classes {
        class(result);
        if job.warmup.ns() == 0 {
            rates(result);
        }
    }
    let stats = run.device_stats.as_ref().expect("a model has disks");
    devices(stats);
    files(job, run, stats);
    shares(run);
    device_time(job, run, stats);
    processors(job, run);
    if let Some(detail) = &run.detail {
        assert_eq!(detail.classes.len(), run.classes.len());
        for (detail, result) in detail.classes.iter().zip(&run.classes) {
            buckets(&detail.lat_ns, result.requests, &result.lat_ns);
            buckets(&detail.wait_ns, result.requests, &result.wait_ns);
        }
        if drained(job) && job.warmup.ns() == 0 {
            little(job, run, detail);
        }
    }
    if let Some(against) = run.against_measured {
        for ms in [against.rms_ms, against.rms_relative, against.mean_ms, against.measured_mean_ms]
        {
            assert!(ms.is_finite() && ms >= 0.0, "{against:?}");
        }
    }
}

/// Whether a run of `job` ends when all its requests are done.
pub(super) fn drained(job: &Job) -> bool {
    job.stop == Stop::Drained
}

fn class(result: &ClassResult) {
    let name = &result.name;
    let n = result.requests;
    // A flush carries none.
    assert!(n > 0 || result.bytes == 0, "{name}: {} bytes of no request", result.bytes);
    for rate in [result.iops, result.bw_bytes, result.device_time_s, result.share] {
        assert!(rate.is_finite() && rate >= 0.0, "{name}: {rate}");
    }
    let failed: u64 = result.error_codes.values().map(|error| error.requests).sum();
    assert_eq!(failed, result.errors, "{name}");
    let (lat, wait) = (&result.lat_ns, &result.wait_ns);
    for (figure, found) in [("lat", lat), ("wait", wait), ("service", &result.service_ns)] {
        distribution(n, found, &format!("{name} {figure}"));
    }
    // Every request waits for a part of its latency.
    assert!(wait.min <= lat.min && wait.max <= lat.max, "{name}: {wait:?} {lat:?}");
    assert!(wait.mean <= lat.mean * (1.0 + EXACT), "{name}: {wait:?} {lat:?}");
}

/// Checks that both rates are of the same requests and of one length of time.
fn rates(result: &ClassResult) {
    let by_bytes = result.bw_bytes * result.requests as f64;
    let by_count = result.iops * result.bytes as f64;
    assert!(close(by_bytes, by_count, EXACT), "{} and {}", result.iops, result.bw_bytes);
}

/// Checks a distribution of `n` values.
fn distribution(n: u64, found: &Distribution, figure: &str) {
    let floats = [found.mean, found.stddev];
    let at: Vec<f64> = found.percentile.values().map(|&ns| ns as f64).collect();
    moments(n, floats, [found.min as f64, found.max as f64], &at, figure);
    assert_eq!(at.len(), Distribution::PERCENTS.len(), "{figure}");
}

fn milliseconds(found: &Milliseconds, figure: &str) {
    let at: Vec<f64> = found.percentile.values().copied().collect();
    moments(found.n, [found.mean, found.stddev], [found.min, found.max], &at, figure);
}

fn moments(n: u64, [mean, stddev]: [f64; 2], [min, max]: [f64; 2], at: &[f64], figure: &str) {
    let all = || format!("{figure}: {n} values, mean {mean}, sd {stddev}, {min} to {max}, {at:?}");
    if n == 0 {
        let zero = [mean, stddev, min, max].iter().chain(at).all(|&figure| figure == 0.0);
        assert!(zero, "{}", all());
        return;
    }
    assert!(mean.is_finite() && stddev.is_finite() && min >= 0.0, "{}", all());
    assert!(at.is_sorted() && min <= at[0] && at[at.len() - 1] <= max, "{}", all());
    assert!(min * (1.0 - EXACT) <= mean && mean <= max * (1.0 + EXACT), "{}", all());
    // Values between two bounds spread no further than half their distance.
    let most = (max - min) / 2.0 * (1.0 + EXACT) + max * EXACT;
    assert!((0.0..=most).contains(&stddev), "{}", all());
}

fn devices(stats: &DeviceStatsResult) {
    for disk in stats.disks.iter().map(|disk| &disk.own).chain([&stats.all]) {
        let DiskResult { seek_ms, rotation_ms, transfer_ms, travel, service_ms, utilisation } =
            disk;
        milliseconds(service_ms, "service of a disk");
        let parts = [seek_ms, rotation_ms, transfer_ms];
        for part in parts.into_iter().flatten() {
            milliseconds(part, "a part of an access");
        }
        let counts: Vec<_> = parts.iter().map(|part| part.as_ref().map(|part| part.n)).collect();
        assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
        assert_eq!(travel.is_some(), seek_ms.is_some());
        if let Some(travel) = travel {
            let crossed = travel.per_request * service_ms.n as f64;
            assert!(
                close(crossed, travel.cylinders as f64, NEAR) || service_ms.n == 0,
                "{travel:?}"
            );
        }
        assert!((0.0..=1.0 + EXACT).contains(utilisation), "a disk is busy for {utilisation}");
    }
    if !stats.disks.is_empty() {
        assert!(stats.disks.len() > 1);
        let count: u64 = stats.disks.iter().map(|disk| disk.own.service_ms.n).sum();
        assert_eq!(count, stats.all.service_ms.n);
        let sum: f64 = stats.disks.iter().map(|disk| disk.own.utilisation).sum();
        assert!(close(sum / stats.disks.len() as f64, stats.all.utilisation, NEAR));
    }
}

/// Checks that every request of every class belongs to a file, and every disk is below one.
fn files(job: &Job, run: &RunResult, stats: &DeviceStatsResult) {
    let names = job.workload.file_names();
    let found: Vec<&str> = run.files.iter().map(|file| &file.name[..]).collect();
    if !names.is_empty() {
        assert_eq!(found, names);
    } else if job.workload.trace().is_none() {
        assert_eq!(found, ["target"]);
    }
    let sums = [
        run.files.iter().map(|file| file.requests).sum::<u64>(),
        run.files.iter().map(|file| file.bytes).sum::<u64>(),
    ];
    let of_classes = [
        run.classes.iter().map(|class| class.requests).sum::<u64>(),
        run.classes.iter().map(|class| class.bytes).sum::<u64>(),
    ];
    assert_eq!(sums, of_classes, "{found:?}");
    let (mut served, mut worked, mut disks) = (0, 0.0, 0.0);
    for file in &run.files {
        assert!(file.bw_bytes.is_finite() && file.bw_bytes >= 0.0, "{}", file.name);
        let own = file.device_stats.as_ref().expect("a model has disks");
        devices(own);
        let count = own.disks.len().max(1) as f64;
        served += own.all.service_ms.n;
        worked += own.all.utilisation * count;
        disks += count;
    }
    assert_eq!(served, stats.all.service_ms.n);
    assert!(close(worked / disks, stats.all.utilisation, NEAR));
}

/// Checks that shares of the device's time agree with the times in the result, and add up.
fn shares(run: &RunResult) {
    let all: f64 = run.classes.iter().map(|class| class.device_time_s).sum();
    let shares: f64 = run.classes.iter().map(|class| class.share).sum();
    // The result of a single class does not have the others.
    if !run.policy.starts_with("alone:") {
        assert!(if all > 0.0 { close(shares, 1.0, EXACT) } else { shares == 0.0 }, "{shares}");
        for class in &run.classes {
            assert!(equal(class.share * all, class.device_time_s, EXACT), "{}", class.name);
        }
    }
    assert!(run.classes.iter().all(|class| class.share <= 1.0 + EXACT));
}

/// Checks that classes are charged no more than the device was busy, and all of it if all was
/// measured.
fn device_time(job: &Job, run: &RunResult, stats: &DeviceStatsResult) {
    assert!((0.0..=1.0 + EXACT).contains(&run.device_busy), "busy for {}", run.device_busy);
    let disks = stats.disks.len().max(1) as f64;
    let busy = run.device_busy * run.duration_s * disks;
    let charged: f64 = run.classes.iter().map(|class| class.device_time_s).sum();
    assert!(charged <= busy * (1.0 + EXACT) + EXACT, "{charged} s charged of {busy} s");
    // Write-back of a page cache may be under way at the end, and is not charged then; work of a
    // disk for its own cache belongs to no request.
    let buffered = job.workload.agents().iter().any(|agent| agent.buffered);
    let cached = job
        .device
        .as_ref()
        .is_some_and(|device| matches!(&device.model, Model::Hdd(disk) if disk.cache.is_some()));
    let whole = drained(job) && job.warmup.ns() == 0 && !buffered && !cached;
    if whole && !run.policy.starts_with("alone:") {
        assert!(equal(charged, busy, NEAR), "{charged} s of {busy} s");
    }
}

/// Checks that no processor is used for longer than it exists.
fn processors(job: &Job, run: &RunResult) {
    let programs: Vec<&ProgramResult> =
        run.classes.iter().filter_map(|class| class.programs.as_ref()).collect();
    let Some(spec) = job.workload.programs() else {
        assert!(programs.is_empty());
        return;
    };
    let share: f64 = programs.iter().map(|class| class.cpu_share).sum();
    let time: f64 = programs.iter().map(|class| class.cpu_time_s).sum();
    let all = run.duration_s * f64::from(spec.cpus.count);
    assert!((0.0..=1.0 + EXACT).contains(&share), "{share} of the processors");
    assert!(equal(share * all, time, NEAR), "{share} of {all} s is {time} s");
    for class in programs {
        distribution(class.n, &class.time_ns, "time of programs");
        assert!(!drained(job) || class.unfinished == 0, "{} programs left", class.unfinished);
    }
}

/// Checks that upper bounds ascend, and that every request is in one bucket.
fn buckets(buckets: &[(u64, u64)], requests: u64, of: &Distribution) {
    assert!(buckets.is_sorted_by(|(one, _), (other, _)| one < other));
    assert!(buckets.iter().all(|(_, count)| *count > 0));
    assert_eq!(buckets.iter().map(|(_, count)| count).sum::<u64>(), requests);
    if let Some((last, _)) = buckets.last() {
        // Two digits: a bound is at most a hundredth above the value.
        assert!(*last as f64 >= of.max as f64 * 0.99 || of.max >> 47 > 0, "{last} of {}", of.max);
    }
}

/// Checks Little's law for a run that was measured as a whole: the requests in the system, summed
/// over time, equal their latencies, summed over requests. The rows' counts, bytes and times add up
/// likewise.
fn little(job: &Job, run: &RunResult, detail: &Detail) {
    // A request that waits for a buffer is not in the system, but late.
    let held =
        |agent: &AgentSpec| matches!(agent.arrivals, Arrivals::Open { buffers: Some(_), .. });
    let held = job.workload.agents().iter().any(held);
    for (found, result) in detail.classes.iter().zip(&run.classes) {
        let ClassDetail { name, series, .. } = found;
        assert_eq!(*name, result.name);
        let requests: u64 = series.iter().map(|row| row.requests).sum();
        let bytes: u64 = series.iter().map(|row| row.bytes).sum();
        assert_eq!((requests, bytes), (result.requests, result.bytes), "{name}");
        let charged: f64 = series.iter().map(|row| row.device_time_s).sum();
        assert!(equal(charged, result.device_time_s, EXACT), "{name}: {charged}");
        if result.errors > 0 || held {
            continue;
        }
        let ends = series.iter().skip(1).map(|row| row.at_s).chain([run.duration_s]);
        let in_system: f64 =
            series.iter().zip(ends).map(|(row, end)| row.outstanding * (end - row.at_s)).sum();
        let latencies = result.lat_ns.mean * result.requests as f64 / 1e9;
        let near = equal(in_system, latencies, NEAR);
        assert!(near, "{name}: {in_system} requests times seconds, {latencies} s of latency");
    }
}

/// Returns the finished requests of each class, with or without an error.
pub(super) fn finished(run: &RunResult) -> BTreeMap<&str, u64> {
    run.classes.iter().map(|class| (&class.name[..], class.requests + class.errors)).collect()
}
