//! In the steady state an engine does not allocate, and a pass never does: counted, on every thread.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use common::{Closed, Fcfs, Scratch, io, scatter, settings, ways};
use penstock_core::{Flags, Io, Limits, Observer, Op, Queued, Seed, Time, run};
use penstock_live::{
    CallForm, FileTest, FirstUse, Pass, PassHistory, PassPlace, PassSettings, PassSignals,
    RecordsMoved, Stage, Target, Verifier, VerifyPlan, give_up_record, record_beside,
};

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

struct Counting;

// SAFETY: the system's allocator does the work; counting touches no memory of it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise, passed on.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise, passed on.
        unsafe { System.realloc(block, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Reads the counter when warm, and at the end of the turns.
#[derive(Default)]
struct Probe {
    finished: u32,
    warm: Option<u64>,
    last: u64,
}

const WARM: u32 = 1_000;

impl Observer for Probe {
    fn turn(&mut self, _: Time) -> bool {
        self.last = ALLOCATIONS.load(Ordering::Relaxed);
        if self.finished >= WARM && self.warm.is_none() {
            self.warm = Some(self.last);
        }
        true
    }

    fn finished(&mut self, _: Time, _: &penstock_core::Request, done: &penstock_core::Done) {
        assert_eq!(done.error, None);
        self.finished += 1;
    }
}

/// A verifier of a half of `target`, so that there are writes of both kinds, and some of one across the border.
fn verifier(target: &Target) -> Verifier {
    let half = || vec![0..SIZE / 4, SIZE / 4..SIZE / 2];
    let plan = VerifyPlan {
        record: &record_beside(target.path()),
        name: "data.img",
        seed: Seed(7),
        stamped: half(),
        checked: half(),
        read_again: half(),
        corrupt: None,
    };
    // What lies there was written without it.
    give_up_record(plan.record).unwrap();
    Verifier::open(target, plan).unwrap()
}

const SIZE: u64 = 8 << 20;

/// Checks that no test of passes allocates between its first call and its end, in any form.
fn passes_do_not_allocate(scratch: &Scratch) {
    let forms = [CallForm::Calls, CallForm::Mapped, CallForm::InFlight { depth: 4, copies: true }];
    for (form, verify) in forms.into_iter().flat_map(|form| [(form, false), (form, true)]) {
        let settings = PassSettings {
            form,
            stride: 17,
            direct: false,
            sync: false,
            include_flush: true,
            include_close: false,
            stonewall: true,
            verify,
            drop_cache: false,
            seed: 1,
        };
        let place = PassPlace::find(&scratch.path("passes"), FirstUse::Creates, SIZE).unwrap();
        let file = place.open().unwrap();
        let mut history = PassHistory::of(&file);
        for test in FileTest::ALL {
            let records = (4096, SIZE / 4096);
            let pass = Pass::prepare(&file, &history, &settings, test, records).unwrap();
            let (signals, moved) = (PassSignals::default(), RecordsMoved::default());
            let before = ALLOCATIONS.load(Ordering::Relaxed);
            let ended = pass.go(&signals, &moved).unwrap();
            let made = ALLOCATIONS.load(Ordering::Relaxed) - before;
            assert_eq!((ended.records, made), (records.1, 0), "{} as {form:?}", test.name);
            let is_whole = ended.finish(&signals).unwrap();
            if test.writes() {
                history.written(is_whole);
            }
        }
    }
}

// One test, so that no other thread of the process allocates meanwhile.
#[test]
fn a_warm_engine_does_not_allocate() {
    let scratch = Scratch::new("no-allocation");
    passes_do_not_allocate(&scratch);
    let target = Target::open(&scratch.path("data.img"), Some(SIZE)).unwrap();
    let ways = ways().flat_map(|way| [(way, false), (way, true)]);
    for (way, is_verified) in ways {
        let (engine, _) = way;
        let depths = [1, 32].into_iter().filter(|depth| *depth <= engine.most_in_flight());
        // What is verified takes its time: the greatest depth is enough.
        for depth in depths.rev().take(if is_verified { 1 } else { 2 }) {
            let settings = settings(way, depth, 64 << 10);
            let verifier = is_verified.then(|| verifier(&target));
            let targets = vec![target.clone()];
            let stage = match &verifier {
                None => Stage::open(engine, targets, settings),
                some => Stage::verifying(engine, targets, settings, vec![some.clone()]),
            };
            let Stage { mut clock, mut devices } = stage.unwrap();
            let device = devices.remove(0);
            let mut stack = Queued::new(Fcfs::default(), device);
            let mixed = |n: u32| {
                let start = scatter(n) % (SIZE - 65_536);
                match n % 64 {
                    0 => io(Op::Flush, 0, 0),
                    1 => Io { flags: Flags::FUA, ..io(Op::Write, start, 4096) },
                    2 => io(Op::Discard, start, 4096),
                    n if n % 4 == 0 => io(Op::Write, start, 1 + n * 1000),
                    n if n % 2 == 0 => {
                        Io { flags: Flags::BUFFERED, ..io(Op::Write, start, 1 + n * 1000) }
                    }
                    _ => io(Op::Read, start, 65_536),
                }
            };
            let mut source = Closed::new(2 * depth, 3 * WARM, mixed);
            let mut probe = Probe::default();
            run(&mut source, &mut stack, &mut clock, &mut probe, Limits::default()).unwrap();
            assert_eq!(probe.finished, 3 * WARM);
            let made = probe.last - probe.warm.expect("it became warm");
            let with = if is_verified { ", verified" } else { "" };
            assert_eq!(made, 0, "allocations by {} at depth {depth}{with}", engine.name());
            drop((stack, clock));
            if let Some(verifier) = verifier {
                assert!(verifier.read_again(&target, &mut |_, _| true).unwrap());
                assert_eq!(verifier.differences(), [], "by {} at depth {depth}", engine.name());
                let found = verifier.verified();
                assert!(found.written > 500 && found.checked > 500 && found.read_again > 250);
            }
        }
    }
}
