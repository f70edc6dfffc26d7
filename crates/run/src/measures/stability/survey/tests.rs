//! Sequences whose stability is known.

use penstock_core::{ClassId, Flags, Io, Prio, ReqId, StreamId};

use super::*;

const SECTOR: u64 = 512;

struct Sequence {
    survey: StabilitySurvey,
}

impl Sequence {
    fn new() -> Self {
        Self { survey: StabilitySurvey::new(true) }
    }

    fn ask(&mut self, ms: u64, start: u64, len: u64, op: Op) {
        let io = Io {
            due: Time::ZERO + Span::from_ms(ms),
            start,
            len: len as u32,
            stream: StreamId(0),
            class: ClassId(0),
            op,
            prio: Prio(0),
            flags: Flags::NONE,
        };
        self.survey.asked(&io.with(ReqId::new(0, 0))).unwrap();
    }

    fn figures(&self) -> ClassStability {
        self.survey.figures().unwrap()
    }

    /// Returns the instability of the characteristic `name`, and the correlation of neighbouring
    /// blocks.
    fn of(&self, name: &str) -> (f64, Option<f64>) {
        let figures = self.figures();
        let one = figures.characteristics.iter().find(|one| one.name == name).expect(name);
        (one.instability, one.lag1)
    }
}

/// A start that looks random, in units of 8 KiB.
fn somewhere(n: u64) -> u64 {
    let x = (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) % 8_000_000 * 8192
}

#[test]
fn equal_requests_at_an_even_rate_are_stable_random_and_sequential() {
    let (mut random, mut sequential) = (Sequence::new(), Sequence::new());
    for n in 0..10_000 {
        random.ask(10 * n, somewhere(n), 128 * SECTOR, Op::Read);
        sequential.ask(10 * n + 5, n * 128 * SECTOR, 128 * SECTOR, Op::Read);
    }
    for sequence in [&random, &sequential] {
        assert_eq!((sequence.figures().requests, sequence.figures().blocks), (10_000, 100));
        for one in sequence.figures().characteristics {
            assert!(one.instability < 1e-3, "{one:?}");
        }
    }
}

#[test]
fn sizes_and_jumps_that_grow_are_a_drift_of_the_size() {
    let mut growing = Sequence::new();
    let mut start = 0;
    for n in 0..10_000 {
        let step = n / 100;
        let len = (16 + 10 * step) * SECTOR;
        growing.ask(10 * n, start, len, Op::Read);
        start += len + 10 * (1 + step) * SECTOR;
    }
    let (size, lag1) = growing.of("size");
    assert!((size - 0.568).abs() < 0.001, "{size}");
    assert!(lag1.unwrap() > 0.96, "{lag1:?}");
    for stable in ["rate", "pattern", "type"] {
        assert!(growing.of(stable).0 < 1e-3, "{stable}");
    }
}

#[test]
fn bursts_are_a_rate_that_does_not_drift() {
    let mut bursts = Sequence::new();
    for n in 0..10_000 {
        // Two blocks within a fifth of a second, every two seconds.
        bursts.ask(n / 200 * 2000 + n % 200, somewhere(n), 4096, Op::Write);
    }
    let (rate, lag1) = bursts.of("rate");
    assert!(rate > 0.9 && lag1.unwrap() < 0.0, "{rate} {lag1:?}");
    assert!(bursts.of("size").0 < 1e-9);
}

#[test]
fn a_class_that_waits_for_answers_has_no_rate_of_its_own() {
    let mut waits = Sequence { survey: StabilitySurvey::new(false) };
    (0..1000).for_each(|n| waits.ask(n / 200 * 2000 + n % 200, n * 4096, 4096, Op::Read));
    assert_eq!(waits.figures().requests, 1000);
    assert!(waits.figures().characteristics.iter().all(|one| one.name != "rate"));
}

#[test]
fn phases_of_writes_count_less_than_phases_of_a_pattern() {
    let mut phases = Sequence::new();
    for n in 0..10_000 {
        let writes = n / 1000 % 2 == 1;
        let start = if writes { n * 4096 } else { somewhere(n) };
        phases.ask(10 * n, start, 4096, if writes { Op::Write } else { Op::Read });
    }
    assert!((phases.of("type").0 - 0.151).abs() < 0.001, "{:?}", phases.of("type"));
    assert!((phases.of("pattern").0 - 0.5).abs() < 0.01, "{:?}", phases.of("pattern"));
}

#[test]
fn service_is_a_mean_and_its_instability_is_relative() {
    let mut sequence = Sequence::new();
    for n in 0..1000 {
        sequence.ask(n, n * 4096, 4096, Op::Read);
        sequence.survey.served(Span::from_ms(if n < 500 { 5 } else { 15 }));
    }
    assert_eq!(sequence.figures().service_ns, Some(10_000_000));
    assert!((sequence.of("service time").0 - 0.527).abs() < 0.001);
}

#[test]
fn flushes_and_discards_are_no_part_of_it() {
    let mut sequence = Sequence::new();
    for n in 0..300 {
        sequence.ask(10 * n, n * 4096, 4096, Op::Write);
        sequence.ask(10 * n, 0, 0, Op::Flush);
        sequence.ask(10 * n, 1 << 40, 1 << 20, Op::Discard);
    }
    let figures = sequence.figures();
    assert_eq!((figures.requests, figures.blocks, figures.service_ns), (300, 3, None));
    assert!(figures.characteristics.iter().all(|one| one.instability < 1e-9), "{figures:?}");
}

#[test]
fn requests_of_one_instant_have_no_rate() {
    let mut sequence = Sequence::new();
    (0..1000).for_each(|n| sequence.ask(0, n * 4096, 4096, Op::Read));
    assert!(sequence.figures().characteristics.iter().all(|one| one.name != "rate"));
    assert_eq!(Sequence::new().figures().requests, 0);
}
