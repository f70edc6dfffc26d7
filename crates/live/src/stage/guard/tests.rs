//! Runs over a stand-in for an engine: transfers that come short, and commands that never end.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use penstock_core::{
    ClassId, Device, Done, Errno, Flags, Io, Limits, Observer, Op, Prio, ReqId, Request, Seed,
    Source, StreamId, run,
};

use super::*;
use crate::engine::buffers::{Area, Layout};
use crate::engine::driver::{Action, Command};
use crate::engine::driver::{Driver, Outcome};
use crate::engine::idle::Idle;
use crate::stage::cargo::{Cargo, Load, LoadCopier};
use crate::stage::clock::LiveClock;
use crate::stage::device::LiveDevice;
use crate::targets::Target;

const SIZE: u64 = 1 << 20;
const LEN: u32 = 64 << 10;
const DEPTH: u32 = 4;

/// A folder that is removed when it is dropped.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("penstock-{name}-{}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn target(&self) -> Target {
        Target::open(&self.0.join("data.img"), Some(SIZE)).unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

/// Answers each command as `answer` says: a result, or never.
struct StandIn<F> {
    answer: F,
    ended: Vec<Outcome>,
}

impl<F: FnMut(&Command) -> Option<i32>> Driver for StandIn<F> {
    fn queue(&mut self, slot: u32, command: &Command) {
        self.ended.extend((self.answer)(command).map(|result| Outcome { slot, result }));
    }

    fn submit(&mut self) {}

    fn ready(&mut self) -> bool {
        !self.ended.is_empty()
    }

    fn reap(&mut self, outcomes: &mut Vec<Outcome>) {
        outcomes.append(&mut self.ended);
    }

    fn wait(&mut self, longest: Duration) {
        if self.ended.is_empty() {
            Idle.wait(longest);
        }
    }
}

impl<F> Drop for StandIn<F> {
    fn drop(&mut self) {
        assert!(self.ended.is_empty(), "dropped with something in flight");
    }
}

/// A closed loop of [`DEPTH`] over the whole target, in order.
struct Sweep {
    op: Op,
    made: u32,
    outstanding: u32,
}

impl Sweep {
    fn of(op: Op) -> Self {
        Self { op, made: 0, outstanding: 0 }
    }
}

impl Source for Sweep {
    fn next_due(&self) -> Time {
        let more = u64::from(self.made) < SIZE / u64::from(LEN) && self.outstanding < DEPTH;
        if more { Time::ZERO } else { Time::NEVER }
    }

    fn take(&mut self, now: Time) -> Option<Io> {
        if self.next_due() > now {
            return None;
        }
        let start = u64::from(self.made) * u64::from(LEN);
        self.made += 1;
        self.outstanding += 1;
        Some(Io {
            due: now,
            start,
            len: LEN,
            stream: StreamId(0),
            class: ClassId(0),
            op: self.op,
            prio: Prio(0),
            flags: Flags::NONE,
        })
    }

    fn finished(&mut self, _: Time, _: &Request, _: &Done) {
        self.outstanding -= 1;
    }
}

/// Counts, and ends the run when the guard says so.
struct Seen<'a> {
    guard: &'a Guard,
    finished: u32,
    errors: Vec<Errno>,
}

impl Observer for Seen<'_> {
    fn turn(&mut self, now: Time) -> bool {
        // A run that goes on for ever fails here, not in a test that hangs.
        assert!(now < Time::ZERO + Span::from_secs(60), "the run did not end");
        self.guard.look(now)
    }

    fn finished(&mut self, _: Time, req: &Request, done: &Done) {
        assert_eq!(done.len, req.len, "whole, or not at all");
        self.finished += 1;
        self.errors.extend(done.error);
    }
}

struct Ran {
    finished: u32,
    errors: Vec<Errno>,
    trouble: Option<Trouble>,
}

/// A sweep of `op` over `target` behind a stand-in that says `answer`.
fn sweep(
    target: &Target,
    op: Op,
    timeout: Option<Span>,
    answer: impl FnMut(&Command) -> Option<i32> + 'static,
) -> Ran {
    let driver = Box::new(StandIn { answer, ended: Vec::new() });
    let layout = Layout::new(DEPTH, LEN, target.unit()).unwrap();
    let hub = Hub::new(driver, vec![target.clone()], DEPTH, layout, timeout);
    let hub = Rc::new(RefCell::new(hub));
    let mut device = LiveDevice::new(Rc::clone(&hub), 0, DEPTH);
    let mut clock = LiveClock::new(hub, Vec::new());
    let guard = clock.guard();
    let mut seen = Seen { guard: &guard, finished: 0, errors: Vec::new() };
    let limits = Limits::default();
    let end = run(&mut Sweep::of(op), &mut device, &mut clock, &mut seen, limits).unwrap();
    let Seen { finished, errors, .. } = seen;
    let trouble = guard.end(end.at, Some(Span::from_secs(30))).cloned();
    assert_eq!(trouble.is_some(), end.interrupted);
    Ran { finished, errors, trouble }
}

#[test]
fn transfers_that_come_short_go_on_to_their_end() {
    for op in [Op::Read, Op::Write] {
        let scratch = Scratch::new(&format!("short-{op:?}"));
        let target = scratch.target();
        let before = std::fs::read(target.path()).unwrap();
        let layout = Layout::new(DEPTH, LEN, target.unit()).unwrap();
        let area = Arc::new(Area::new(layout, Seed(5)).unwrap());
        let file = File::options().read(true).write(true).open(target.path()).unwrap();
        let (mut calls, mut read) = (0, vec![0; SIZE as usize]);
        let (sender, receiver) = std::sync::mpsc::channel();
        let whole = Arc::clone(&area);
        let answer = move |command: &Command| {
            calls += 1;
            // Some blocks and a bit at first, one block, then the whole length.
            let len = command.len.min([9_000, 4_096, LEN][calls % 3]) as usize;
            if command.action == Action::Read {
                let from = command.start as usize;
                let bytes = &mut read[from..from + len];
                file.read_exact_at(bytes, command.start).unwrap();
                sender.send((from, bytes.to_vec())).unwrap();
            } else {
                file.write_all_at(whole.source(command.buffer, len), command.start).unwrap();
            }
            Some(i32::try_from(len).unwrap())
        };
        let ran = sweep(&target, op, None, answer);
        assert_eq!((ran.finished, ran.trouble), (16, None));
        assert_eq!(ran.errors, []);
        let after = std::fs::read(target.path()).unwrap();
        if op == Op::Read {
            let mut seen = vec![0; SIZE as usize];
            for (from, bytes) in receiver {
                seen[from..from + bytes.len()].copy_from_slice(&bytes);
            }
            assert!(seen[..] == before[..SIZE as usize], "every byte was read");
            assert!(after == before);
        } else {
            let wanted = |at: usize| {
                let from = layout.source_for((at / LEN as usize * LEN as usize) as u64);
                area.source(from + at % LEN as usize, 512)
            };
            for at in (0..SIZE as usize).step_by(512) {
                assert!(after[at..at + 512] == *wanted(at), "sector at {at}");
            }
            assert!(after[SIZE as usize..] == before[SIZE as usize..], "the mark stays");
        }
    }
}

#[test]
fn errors_are_of_the_requests_that_met_them() {
    let scratch = Scratch::new("stand-in-errors");
    let answer = |command: &Command| match command.start >> 16 {
        1 => Some(-libc::ENOSPC),
        2 => Some(-libc::EIO),
        // Half of it, and then nothing.
        3 => Some(i32::try_from(command.len).unwrap() / 2),
        4 => Some(0),
        _ => Some(i32::try_from(command.len).unwrap()),
    };
    let ran = sweep(&scratch.target(), Op::Write, None, answer);
    assert_eq!((ran.finished, ran.trouble), (16, None));
    let mut codes: Vec<i32> = ran.errors.iter().map(|error| error.code()).collect();
    codes.sort_unstable();
    // The third ends in steps of a block or more, the last of them less than one.
    assert_eq!(codes, [libc::EIO, libc::EIO, libc::EIO, libc::ENOSPC]);
}

#[test]
fn a_command_that_never_ends_ends_the_run() {
    let scratch = Scratch::new("never");
    let target = scratch.target();
    let answer =
        |command: &Command| (command.start >> 16 != 3).then_some(command.len.cast_signed());
    let ran = sweep(&target, Op::Write, Some(Span::from_ms(300)), answer);
    assert_eq!(ran.finished, 15, "the others went on");
    let trouble = ran.trouble.unwrap();
    let Trouble::Silent { path, command, others, waited, patience, refused: None } = &trouble
    else {
        panic!("{trouble}")
    };
    assert_eq!((path.as_path(), *others, *patience), (target.path(), 0, Span::from_ms(300)));
    assert_eq!(command, "a write of 65536 bytes at byte 196608");
    assert!(*waited > *patience);
    let text = trouble.to_string();
    assert!(text.contains("expected one within 0.3 s\nhint: look at the kernel's log"), "{text}");
    let path = target.path().to_owned();
    drop(target);
    let error = Target::open(&path, None).unwrap_err().to_string();
    assert!(error.contains("in use"), "the kernel may still write to it: {error}");
}

#[test]
fn time_in_which_the_process_was_stopped_is_not_the_devices() {
    let scratch = Scratch::new("stopped");
    let timeout = Span::from_secs(2);
    let driver = Box::new(StandIn { answer: |_: &Command| None, ended: Vec::new() });
    let (target, layout) = (scratch.target(), Layout::new(DEPTH, LEN, 4096).unwrap());
    let hub = Hub::new(driver, vec![target], DEPTH, layout, Some(timeout));
    let hub = Rc::new(RefCell::new(hub));
    let mut device = LiveDevice::new(Rc::clone(&hub), 0, DEPTH);
    let guard = LiveClock::new(hub, Vec::new()).guard();
    let io = Sweep::of(Op::Read).take(Time::ZERO).unwrap();
    device.start(Time::ZERO, &io.with(ReqId::new(0, 0)));
    let at = |ms: u64| Time::ZERO + Span::from_ms(ms);
    let ends = |from: u64| (from..).step_by(100).find(|&ms| !guard.look(at(ms)));
    assert!(guard.look(at(0)) && guard.look(at(100)));
    // It does not answer for an hour; then the device has its whole time again.
    assert_eq!(ends(3_600_000), Some(3_602_100));
}

#[test]
fn an_answer_that_came_while_the_process_was_stopped_counts() {
    let scratch = Scratch::new("answered-meanwhile");
    let answer = |command: &Command| Some(command.len.cast_signed());
    let driver = Box::new(StandIn { answer, ended: Vec::new() });
    let (target, layout) = (scratch.target(), Layout::new(DEPTH, LEN, 4096).unwrap());
    let hub = Hub::new(driver, vec![target], DEPTH, layout, Some(Span::from_ms(500)));
    let hub = Rc::new(RefCell::new(hub));
    let mut device = LiveDevice::new(Rc::clone(&hub), 0, DEPTH);
    let guard = LiveClock::new(hub, Vec::new()).guard();
    let io = Sweep::of(Op::Read).take(Time::ZERO).unwrap();
    device.start(Time::ZERO, &io.with(ReqId::new(0, 0)));
    assert!(
        guard.look(Time::ZERO + Span::from_ms(900)),
        "its result is collected before it is judged"
    );
    let mut done = Vec::new();
    device.advance(Time::ZERO + Span::from_ms(901), &mut done);
    assert_eq!(done.len(), 1);
}

#[test]
fn what_is_in_flight_when_a_run_fails_is_not_waited_for_without_end() {
    let scratch = Scratch::new("dropped");
    let target = scratch.target();
    let (sender, receiver) = std::sync::mpsc::channel();
    // On a thread of its own, which stays behind if it hangs.
    std::thread::spawn(move || {
        let driver = Box::new(StandIn { answer: |_: &Command| None, ended: Vec::new() });
        let layout = Layout::new(DEPTH, LEN, target.unit()).unwrap();
        let hub = Hub::new(driver, vec![target], DEPTH, layout, Some(Span::from_ms(200)));
        let hub = Rc::new(RefCell::new(hub));
        let mut device = LiveDevice::new(Rc::clone(&hub), 0, DEPTH);
        let io = Sweep::of(Op::Read).take(Time::ZERO).unwrap();
        device.start(Time::ZERO, &io.with(ReqId::new(0, 0)));
        drop((device, hub));
        sender.send(()).unwrap();
    });
    assert_eq!(receiver.recv_timeout(Duration::from_secs(30)), Ok(()), "it waits without end");
}

/// A device of two reads whose results are there, the first without a load to go to, and a hub without a time-out.
fn panics_at_the_first_of_two(scratch: &Scratch) -> LiveDevice {
    let target = scratch.target();
    let layout = Layout::new(DEPTH, LEN, target.unit()).unwrap();
    let (_, buffers) = Area::new(layout, Seed(5)).unwrap().split();
    let cargo = Cargo::default();
    let answer = |command: &Command| Some(command.len.cast_signed());
    let driver = Box::new(StandIn { answer, ended: Vec::new() });
    let hub = Hub::new(driver, vec![target], DEPTH, layout, None);
    let hub = Rc::new(RefCell::new(hub.carrying(LoadCopier::new(cargo.clone(), buffers))));
    let mut device = LiveDevice::new(hub, 0, DEPTH);
    let mut sweep = Sweep::of(Op::Read);
    for number in 0..2 {
        let io = sweep.take(Time::ZERO).unwrap();
        let stream = cargo.put(Load { start: io.start, bytes: vec![0; LEN as usize] });
        device.start(Time::ZERO, &Io { stream, ..io }.with(ReqId::new(number, 0)));
    }
    cargo.take(StreamId(0));
    device
}

#[test]
fn a_panic_over_a_result_leaves_the_results_behind_it() {
    let scratch = Scratch::new("panic-over-a-result");
    let mut device = panics_at_the_first_of_two(&scratch);
    let mut done = Vec::new();
    let mut advance = || device.advance(Time::ZERO, &mut done);
    assert!(catch_unwind(AssertUnwindSafe(&mut advance)).is_err());
    advance();
    let ended: Vec<_> = done.iter().map(|done| done.id).collect();
    assert_eq!(ended, [ReqId::new(1, 0)]);
}

/// Runs `run` on a thread of its own, which stays behind if it hangs. Returns whether it panics.
fn panics(run: impl FnOnce() + Send + 'static) -> Result<bool, RecvTimeoutError> {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let result = catch_unwind(AssertUnwindSafe(run));
        sender.send(result.is_err()).unwrap();
    });
    receiver.recv_timeout(Duration::from_secs(30))
}

#[test]
fn a_panic_over_a_result_ends_a_run_without_a_time_out() {
    let ends = panics(|| {
        let scratch = Scratch::new("panic-without-time-out");
        panics_at_the_first_of_two(&scratch).advance(Time::ZERO, &mut Vec::new());
    });
    assert_eq!(ends, Ok(true));
}

#[test]
fn a_panic_ends_a_run_over_a_device_that_never_answers() {
    let ends = panics(|| {
        let scratch = Scratch::new("panic-before-an-answer");
        let driver = Box::new(StandIn { answer: |_: &Command| None, ended: Vec::new() });
        let (target, layout) = (scratch.target(), Layout::new(DEPTH, LEN, 4096).unwrap());
        let hub = Hub::new(driver, vec![target], DEPTH, layout, None);
        let mut device = LiveDevice::new(Rc::new(RefCell::new(hub)), 0, DEPTH);
        let io = Sweep::of(Op::Read).take(Time::ZERO).unwrap();
        device.start(Time::ZERO, &io.with(ReqId::new(0, 0)));
        panic!("in the loop");
    });
    assert_eq!(ends, Ok(true));
}

#[test]
fn a_file_that_is_cut_ends_the_run_though_writes_make_it_grow() {
    let scratch = Scratch::new("cut-under-stand-in");
    let target = scratch.target();
    let file = File::options().write(true).open(target.path()).unwrap();
    let mut calls = 0;
    let answer = move |command: &Command| {
        calls += 1;
        if calls == 3 {
            file.set_len(4096).unwrap();
        }
        file.write_all_at(&vec![1; command.len as usize], command.start).unwrap();
        Some(command.len.cast_signed())
    };
    let driver = Box::new(StandIn { answer, ended: Vec::new() });
    let layout = Layout::new(DEPTH, LEN, target.unit()).unwrap();
    let hub = Rc::new(RefCell::new(Hub::new(driver, vec![target.clone()], DEPTH, layout, None)));
    let mut device = LiveDevice::new(Rc::clone(&hub), 0, DEPTH);
    let mut clock = LiveClock::new(hub, Vec::new());
    let guard = clock.guard();
    let limits = Limits::default();
    let end = run(&mut Sweep::of(Op::Write), &mut device, &mut clock, &mut (), limits).unwrap();
    // However short the run was, its end is checked.
    let trouble = guard.end(end.at, None).cloned();
    let (path, expected) = (target.path().to_owned(), SIZE + 4096);
    assert_eq!(trouble, Some(Trouble::Resized { path, found: SIZE, expected }));
    assert!(!guard.look(end.at), "once found, it stays");
    assert_eq!(std::fs::metadata(target.path()).unwrap().len(), SIZE, "the file stays as it is");
}

#[test]
fn a_view_of_a_file_is_no_file_that_was_cut() {
    let scratch = Scratch::new("view-under-guard");
    let target = scratch.target().view(4096, SIZE - 8192).unwrap();
    let layout = Layout::new(DEPTH, LEN, target.unit()).unwrap();
    let answer = |command: &Command| Some(command.len.cast_signed());
    let driver = Box::new(StandIn { answer, ended: Vec::new() });
    let hub = Rc::new(RefCell::new(Hub::new(driver, vec![target], DEPTH, layout, None)));
    let guard = LiveClock::new(hub, Vec::new()).guard();
    assert_eq!(guard.end(Time::ZERO, None), None);
}
