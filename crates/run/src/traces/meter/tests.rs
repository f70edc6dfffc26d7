//! Windows of events by hand.

use super::*;

const MS: u64 = 1_000_000;

fn event(at_ns: u64, action: Action, pid: u32, letters: &[u8], sector: u64) -> CapturedEvent<'_> {
    let (device, process): (&[u8], &[u8]) = (b"8,0", b"");
    let sectors = if letters == b"FWS" { 0 } else { 8 };
    CapturedEvent {
        at_ns,
        action,
        device,
        letters,
        sector,
        sectors,
        cpu: 0,
        pid,
        process,
        ioprio: None,
    }
}

fn counts() -> MeterCounts {
    let mut counts = MeterCounts::new(0);
    counts.assign([(10, "online".into()), (11, "batch".into())].into(), "others").unwrap();
    counts
}

fn window(counts: &mut MeterCounts, now_ns: u64) -> serde_json::Value {
    serde_json::to_value(counts.close(now_ns)).unwrap()
}

#[test]
fn a_window_has_the_figures_of_each_class_and_direction() {
    let mut counts = counts();
    for at in 0..100 {
        counts.event(&event(at * MS, Action::Queued, 10, b"RS", at * 8));
        // The pid of a completion is of whatever it interrupted.
        counts.event(&event(at * MS + (at + 1) * 1000, Action::Completed, 11, b"RS", at * 8));
    }
    counts.event(&event(100 * MS, Action::Queued, 11, b"W", 0));
    counts.event(&event(100 * MS, Action::Queued, 12, b"FWS", 0));
    counts.event(&event(103 * MS, Action::Completed, 0, b"W", 0));
    let first = window(&mut counts, 105 * MS);
    let close = |figure: &serde_json::Value, expected: f64| {
        let figure = figure.as_f64().unwrap();
        assert!((figure / expected - 1.0).abs() < 0.002, "{figure}, not {expected}");
    };
    let online = &first["classes"]["online"]["read"];
    assert_eq!((&online["count"], &online["bytes"]), (&100.into(), &(100 * 4096).into()));
    close(&online["latency_ns"]["p50"], 50e3);
    close(&online["latency_ns"]["p95"], 95e3);
    close(&online["latency_ns"]["p99"], 99e3);
    close(&online["latency_ns"]["max"], 100e3);
    assert_eq!((&online["waiting"], &online["oldest_ns"]), (&0.into(), &serde_json::Value::Null));
    close(&first["classes"]["batch"]["write"]["latency_ns"]["max"], 3e6);
    let flush = &first["classes"]["others"]["flush"];
    assert_eq!((&flush["count"], &flush["waiting"]), (&0.into(), &1.into()));
    assert_eq!(flush["oldest_ns"], 5 * MS);
    let second = window(&mut counts, 106 * MS);
    assert_eq!((&second["from_ns"], &second["to_ns"]), (&(105 * MS).into(), &(106 * MS).into()));
    assert_eq!(second["classes"]["online"]["read"]["latency_ns"], serde_json::Value::Null);
    assert_eq!(second["classes"]["others"]["flush"]["oldest_ns"], 6 * MS);
    for window in [first, second] {
        let buckets = &window["classes"]["online"]["read"]["latency_buckets"];
        assert_eq!((&buckets["count"], &buckets["sum_ns"]), (&100.into(), &5_050_000.into()));
        assert_eq!(buckets["upto_ns"][1], serde_json::json!([15_000, 15]), "of all windows");
    }
}

#[test]
fn a_write_with_a_flush_counts_as_both_with_its_bytes_as_written() {
    let mut counts = counts();
    counts.event(&event(0, Action::Queued, 10, b"FWFS", 64));
    let waits = window(&mut counts, MS);
    counts.event(&event(2 * MS, Action::Completed, 0, b"WFS", 64));
    let data = window(&mut counts, 3 * MS);
    for open in [waits, data] {
        let online = &open["classes"]["online"];
        let (write, flush) = (&online["write"]["waiting"], &online["flush"]["waiting"]);
        assert_eq!((write, flush), (&1.into(), &1.into()), "the flush is not over");
    }
    let mut end = event(4 * MS, Action::Completed, 0, b"WFS", 64);
    end.sectors = 0;
    counts.event(&end);
    let online = &window(&mut counts, 5 * MS)["classes"]["online"];
    for (direction, bytes) in [("write", 4096), ("flush", 0)] {
        let figures = &online[direction];
        assert_eq!((&figures["count"], &figures["bytes"]), (&1.into(), &bytes.into()));
        let latency_ns = figures["latency_ns"]["max"].as_f64().unwrap();
        assert!((latency_ns / 4e6 - 1.0).abs() < 0.002, "{latency_ns}");
    }
}

#[test]
fn percentiles_do_not_fall_while_nothing_completes() {
    let mut counts = counts();
    for at in 0..10 {
        counts.event(&event(0, Action::Queued, 10, b"RS", at * 8));
    }
    counts.event(&event(MS, Action::Completed, 0, b"RS", 0));
    let p99 = |window: &serde_json::Value| {
        window["classes"]["online"]["read"]["latency_ns"]["p99"].as_u64().unwrap()
    };
    let mut last = 0;
    for end in 1..20 {
        let now = p99(&window(&mut counts, end * 100 * MS));
        assert!(now > last, "{now} after {last}");
        last = now;
    }
    // Those that have only just been queued say nothing about what they will wait.
    let mut busy = self::counts();
    busy.event(&event(0, Action::Queued, 10, b"RS", 0));
    busy.event(&event(50 * MS, Action::Completed, 0, b"RS", 0));
    (0..9).for_each(|at| busy.event(&event(99 * MS, Action::Queued, 10, b"RS", at * 8)));
    let figures = window(&mut busy, 100 * MS);
    assert!(figures["classes"]["online"]["read"]["latency_ns"]["p50"].as_u64() >= Some(50 * MS));
}

#[test]
fn a_thread_that_was_not_known_when_it_queued_gets_its_class_while_it_waits() {
    let mut counts = counts();
    counts.event(&event(0, Action::Queued, 20, b"RS", 0));
    counts.event(&event(0, Action::Queued, 10, b"RS", 8));
    counts.assign([(20, "online".into())].into(), "others").unwrap();
    counts.event(&event(MS, Action::Completed, 0, b"RS", 0));
    counts.event(&event(MS, Action::Completed, 0, b"RS", 8));
    let figures = window(&mut counts, 2 * MS);
    assert_eq!(figures["classes"]["online"]["read"]["count"], 2);
}

#[test]
fn too_many_classes_are_refused_and_the_assignment_stays() {
    let mut counts = counts();
    let many = (0..100).map(|thread| (thread, format!("class {thread}"))).collect();
    let error = counts.assign(many, "others").unwrap_err();
    assert!(error.to_string().contains("expected 64 at most"), "{error}");
    counts.event(&event(0, Action::Queued, 11, b"RS", 0));
    assert_eq!(window(&mut counts, MS)["classes"]["batch"]["read"]["waiting"], 1);
}
