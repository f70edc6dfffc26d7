//! Several files whose commands fail: what is sent, what is not sent any more, and what is certain.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use penstock_core::{ClassId, Errno, Limits, Prio, Queued, Rng, Seed, Served, Virtual, run};
use penstock_live::{Cargo, LiveClock};
use penstock_policy::{Params, Value};
use proptest::prelude::*;
use rand::RngExt;

use super::*;
use crate::gate::counters::Counters;
use crate::gate::dispatcher::GateLoop;
use crate::gate::inbox::{Answer, Inbox, Order, Reply};
use crate::gate::levels::Levels;

/// Bytes to which ranges are rounded.
const GRAIN: u32 = 512;
/// Bytes of each file.
const CAPACITY: u64 = 1 << 20;

/// The pieces sent for one request: position, length, and whether it succeeded.
#[derive(Default)]
struct Sent {
    pieces: Vec<(u64, u32, bool)>,
    /// Whether a piece has failed, and the answer says so.
    failed: bool,
}

/// Requests that the files received, by file and stream of the request; streams are used again.
type Log = Rc<RefCell<BTreeMap<(u64, u32), Sent>>>;

/// A file that takes its time, answers in any order, and fails.
struct Failing {
    number: u64,
    rng: Rng,
    errors: f64,
    log: Log,
    /// End, request, and whether it fails.
    serving: Vec<(Time, Request, bool)>,
}

impl Device for Failing {
    fn capacity(&self) -> u64 {
        CAPACITY
    }

    fn block(&self) -> u32 {
        GRAIN
    }

    fn room(&self) -> u32 {
        32
    }

    fn start(&mut self, now: Time, req: &Request) {
        let grain = u64::from(GRAIN);
        let blocks = |req: &Request| (req.start / grain, req.end().div_ceil(grain));
        let (from, to) = blocks(req);
        for (_, other, _) in &self.serving {
            let (first, last) = blocks(other);
            let apart = last <= from || to <= first || req.op == Op::Flush || other.op == Op::Flush;
            assert!(apart, "two commands in flight share a block");
        }
        let mut log = self.log.borrow_mut();
        let sent = log.entry((self.number, req.due.ns() as u32)).or_default();
        assert!(!sent.failed, "a piece is sent after another has failed");
        let takes = Span::from_us(self.rng.random_range(1..500));
        let fails = self.rng.random::<f64>() < self.errors;
        sent.pieces.push((req.start, req.len, !fails));
        self.serving.push((now + takes, *req, fails));
    }

    fn wakeup(&self) -> Time {
        self.serving.iter().map(|(ends, ..)| *ends).min().unwrap_or(Time::NEVER)
    }

    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        self.serving.retain(|&(ends, req, fails)| {
            if ends <= now {
                let error = fails.then_some(Errno::EIO);
                let (service, begun) = (Span::from_us(1), now);
                done.push(Done { id: req.id, at: now, begun, service, len: req.len, error });
                if fails {
                    let mut log = self.log.borrow_mut();
                    log.get_mut(&(self.number, req.due.ns() as u32)).expect("sent").failed = true;
                }
            }
            ends > now
        });
    }
}

/// A request: of which file, when, from where, how long, and what.
#[derive(Clone, Debug)]
struct Asked {
    file: u32,
    gap_us: u64,
    offset: u64,
    len: u32,
    op: Op,
}

fn asked() -> impl Strategy<Value = Vec<Asked>> {
    let len = prop_oneof![1..600_u32, 1..9_000_u32, 1..200_000_u32];
    let op = prop::sample::select(vec![Op::Write, Op::Write, Op::Read, Op::Flush]);
    let one = (0..3_u32, 1..300_u64, 0..CAPACITY, len, op);
    let one = one.prop_map(|(file, gap_us, offset, len, op)| {
        let len = if op == Op::Flush { 0 } else { len.min((CAPACITY - offset) as u32) };
        Asked { file, gap_us, offset, len, op }
    });
    prop::collection::vec(one, 1..24)
}

/// Asks for all of it in virtual time; the answers, and what the files were given.
fn serve(all: &[Asked], policy: &str, split: u64, depth: u32, errors: f64) -> (Vec<Answer>, Log) {
    let log = Log::default();
    let file = |number| {
        let (rng, log) = (Seed(7).stream("file", number), Rc::clone(&log));
        Box::new(Failing { number, rng, errors, log, serving: Vec::new() }) as Box<dyn Device>
    };
    let levels = Levels::new(1, 0);
    let register = Register::new(levels.clone());
    let carrier = Carrier::new((0..3).map(file).collect(), depth, GRAIN, register.clone());
    let entry = penstock_policy::find(policy).expect("a policy");
    let mut params: Params = entry.defaults();
    if policy == "size-priority" {
        params.set("split", Value::Size(split));
    }
    let bell = LiveClock::bare().bell().expect("it can be woken");
    let inbox = Arc::new(Inbox::new(1024, bell));
    let mut at = Time::ZERO;
    let answers: Vec<_> = all
        .iter()
        .map(|one| {
            let (reply, answer) = sync_channel(1);
            // Each at an instant of its own, by which it is recognised below.
            at += Span::from_us(one.gap_us);
            let (op, file, offset) = (one.op, one.file, one.offset);
            let bytes = vec![0; one.len as usize];
            let (reply, len, sync) = (Reply::Thread(reply), one.len, false);
            let (class, prio, book) = (ClassId(0), Prio(0), 0);
            let order = Order { op, file, offset, bytes, len, sync, class, prio, book, reply };
            assert!(inbox.put(at, order, Duration::from_secs(1), || false).is_ok());
            answer
        })
        .collect();
    inbox.close();
    let counters = Arc::new(Mutex::new(Counters::new(1, 0, levels, false)));
    let mut desk = GateLoop {
        inbox,
        cargo: Cargo::default(),
        register,
        counters,
        threshold: 4096,
        recorder: None,
    };
    let mut stack = Queued::new((entry.build)(&params, &Served::ONE_DISK), carrier);
    let limits = Limits { until: Time::NEVER, max_outstanding: 1024 };
    run(&mut desk, &mut stack, &mut Virtual::default(), &mut (), limits).expect("it ends");
    (answers.iter().map(|answer| answer.recv().expect("an answer")).collect(), log)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn after_a_failure_nothing_more_is_sent_and_what_is_done_is_certain(
        all in asked(),
        policy in prop::sample::select(vec!["size-priority", "fcfs", "cfq", "deadline", "sstf"]),
        split in prop::sample::select(vec![1_000_u64, 4_096, 65_536]),
        depth in prop::sample::select(vec![1_u32, 3, 32]),
        errors in prop::sample::select(vec![0.0, 0.1, 0.5, 1.0]),
    ) {
        let (answers, log) = serve(&all, policy, split, depth, errors);
        let log = log.take();
        let mut at = Time::ZERO;
        for (one, answer) in all.iter().zip(&answers) {
            at += Span::from_us(one.gap_us);
            let mut pieces = log[&(u64::from(one.file), at.ns() as u32)].pieces.clone();
            pieces.sort_unstable();
            let mut end = one.offset;
            let mut certain = None;
            for &(start, len, ok) in &pieces {
                prop_assert_eq!(start, if one.op == Op::Flush { start } else { end });
                end = start + u64::from(len);
                if !ok {
                    certain.get_or_insert(start - one.offset);
                }
            }
            match certain {
                // Each byte was sent once.
                None => {
                    prop_assert!(answer.error.is_none());
                    prop_assert!(one.op == Op::Flush || end == one.offset + u64::from(one.len));
                    prop_assert_eq!(answer.done, u64::from(one.len));
                }
                Some(certain) => {
                    prop_assert_eq!(answer.error, Some(Errno::EIO));
                    prop_assert!(one.op == Op::Flush || answer.done == certain);
                }
            }
        }
    }
}
