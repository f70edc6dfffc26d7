//! Statistics of small traces, compared with values computed by hand.

use penstock_core::{ClassId, Flags, Op, Span, Time};
use penstock_workload::trace::stats::{self, Latency, Tally};
use penstock_workload::trace::{DeviceId, Record};

fn at(ms: u64, op: Op, start: u64, len: u32) -> Record {
    Record::new(Time::ZERO + Span::from_ms(ms), op, start, len)
}

fn stats_of(records: &[Record]) -> stats::Stats {
    stats::compute(records.iter().copied()).unwrap()
}

#[test]
fn counts_sizes_and_the_mix() {
    let mut records = vec![
        at(0, Op::Read, 0, 4096),
        at(500, Op::Write, 8192, 8192),
        at(1000, Op::Flush, 0, 0),
        at(1500, Op::Discard, 1 << 20, 65_536),
        at(2000, Op::Read, 4096, 4096),
    ];
    records[1].flags = Flags::SYNC;
    let figures = stats_of(&records);
    assert_eq!(figures.all, Tally { requests: 5, bytes: 4096 * 2 + 8192 });
    assert_eq!(figures.reads, Tally { requests: 2, bytes: 8192 });
    assert_eq!(figures.writes, Tally { requests: 1, bytes: 8192 });
    assert_eq!(figures.flushes, Tally { requests: 1, bytes: 0 });
    assert_eq!(figures.discards, Tally { requests: 1, bytes: 65_536 });
    assert_eq!(figures.sync, 4, "two reads, a flush and a flagged write");
    // A discard moves no data.
    let sizes = &figures.sizes;
    assert_eq!((sizes.p50, sizes.p95, sizes.max), (4096, 8192, 8192));
    assert_eq!(sizes.common, [(4096, 2), (8192, 1)]);
    assert!((sizes.mean - 16_384.0 / 3.0).abs() < 1e-9);
    assert_eq!(figures.latency, None);
    assert_eq!((figures.first.ns(), figures.last.ns()), (0, 2_000_000_000));
}

#[test]
fn even_arrivals_have_no_dispersion_and_bursts_have() {
    let even: Vec<_> = (0..400).map(|k| at(k * 10, Op::Read, 0, 512)).collect();
    let figures = stats_of(&even).arrivals;
    assert_eq!((figures.peak_1s, figures.peak_100ms), (100, 10));
    assert_eq!((figures.dispersion_1s, figures.dispersion_100ms), (Some(0.0), Some(0.0)));
    assert_eq!(figures.gap_variation, Some(0.0));
    assert!((figures.mean_rate.unwrap() - 400.0 / 3.99).abs() < 1e-9);
    // All requests of a second are in its first tenth: a tenth has 100 requests or none, 10 on
    // average.
    let burst: Vec<_> = (0..400).map(|k| at(k / 100 * 1000 + k % 100, Op::Read, 0, 512)).collect();
    let figures = stats_of(&burst).arrivals;
    assert_eq!((figures.peak_1s, figures.peak_100ms, figures.dispersion_1s), (100, 100, Some(0.0)));
    // 31 windows, 4 of them with 100: mean 12.9, mean square 1290.3, so 1290.3/12.9 - 12.9.
    let expected = 100.0 - 400.0 / 31.0;
    assert!((figures.dispersion_100ms.unwrap() - expected).abs() < 1e-9);
}

#[test]
fn one_instant_has_no_rate() {
    let figures = stats_of(&[at(7, Op::Read, 0, 512), at(7, Op::Read, 0, 512)]).arrivals;
    assert_eq!(
        (figures.mean_rate, figures.gap_variation, figures.dispersion_1s),
        (None, None, None)
    );
    assert_eq!(stats_of(&[]), stats::Stats::default());
}

#[test]
fn runs_are_sequential_by_process_or_by_device() {
    let mut records = vec![
        at(0, Op::Read, 0, 4096),
        at(1, Op::Read, 1 << 20, 4096),
        at(2, Op::Read, 4096, 4096),
        at(3, Op::Flush, 0, 0),
        at(4, Op::Read, 8192, 4096),
    ];
    for (record, pid) in records.iter_mut().zip([1, 2, 1, 1, 2]) {
        record.pid = pid;
    }
    let figures = stats_of(&records);
    assert!((figures.sequential_by_process - 0.25).abs() < 1e-9, "the third follows the first");
    assert!((figures.sequential_by_device - 0.25).abs() < 1e-9, "the fifth follows the third");
}

#[test]
fn a_footprint_counts_each_block_of_each_device_once() {
    let mut records = vec![
        at(0, Op::Write, 0, 8192),
        at(1, Op::Write, 4096, 8192),
        at(2, Op::Read, 100, 10),
        at(3, Op::Read, 40_959, 2),
        at(4, Op::Read, 0, 512),
    ];
    records[4].device = DeviceId(1);
    // Blocks 0, 1, 2; 9 and 10; block 0 of the other device.
    assert_eq!(stats_of(&records).footprint_bytes, 6 * 4096);
}

#[test]
fn recorded_latencies_are_ranked_exactly() {
    let took = |k: u64| at(k, Op::Read, 0, 512).with_latency(Span::from_us(k));
    let mut records: Vec<_> = (1..=100).map(took).collect();
    records.push(at(101, Op::Read, 0, 512));
    let us = Span::from_us;
    let (p50, p95, p99) = (us(50), us(95), us(99));
    let expected = Latency { known: 100, mean: Span::from_ns(50_500), p50, p95, p99, max: us(100) };
    assert_eq!(stats_of(&records).latency, Some(expected));
}

#[test]
fn classes_are_described_apart() {
    let records = [at(0, Op::Read, 0, 512), at(1, Op::Write, 0, 512), at(2, Op::Write, 512, 512)];
    let classes = [ClassId(1), ClassId(0), ClassId(1)];
    let figures = stats::by_class(records.into_iter().zip(classes), 3).unwrap();
    assert_eq!(figures.iter().map(|s| s.all.requests).collect::<Vec<_>>(), [1, 2, 0]);
    assert_eq!(figures[1].last.ns(), 2_000_000);
    assert_eq!(figures[2], stats::Stats::default());
}
