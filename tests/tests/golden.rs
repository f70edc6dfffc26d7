//! One small scenario under every policy, as a table that a reviewer can read.
//!
//! `make accept` writes the tables anew; look at the difference before committing it.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::num::NonZeroU32;

use penstock_core::{
    ClassId, ClassInfo, Flags, Go, Io, Limits, Op, PolicyObserver, Prio, Queued, ReqId, Request,
    Served, Span, StreamId, Time, Virtual, Witness, run,
};
use penstock_device::{Cost, Fixed};
use penstock_policy::iocost::model::{self, Rates};
use penstock_policy::params::Value;
use penstock_policy::{Entry, POLICIES, Params};
use penstock_tests::Script;

const KIB: u64 = 1024;

/// Name, arrival in ms, operation, first KiB, KiB, stream. Neighbours: `b` behind `a`, `c` before
/// `a`; `L` and `M` are long; `s` are short ones that come while the long ones are under way.
const SCENARIO: &[(&str, u64, Op, u64, u32, u32)] = &[
    ("first", 0, Op::Write, 500, 4, 0),
    ("a", 1, Op::Write, 104, 4, 0),
    ("b", 1, Op::Write, 108, 4, 0),
    ("c", 1, Op::Write, 100, 4, 0),
    ("far", 1, Op::Write, 90_000, 8, 1),
    ("near", 1, Op::Write, 600, 8, 1),
    ("L", 2, Op::Write, 10_000, 256, 2),
    ("M", 2, Op::Read, 20_000, 192, 3),
    ("r1", 2, Op::Read, 700, 4, 1),
    ("r2", 2, Op::Read, 300, 4, 1),
    ("r3", 2, Op::Read, 900, 4, 1),
    ("s1", 8, Op::Write, 40, 4, 0),
    ("s2", 9, Op::Read, 50_000, 4, 1),
    ("s3", 17, Op::Write, 60, 4, 0),
    ("trim", 18, Op::Discard, 108, 4, 0),
    ("flush", 19, Op::Flush, 0, 0, 0),
    ("last", 19, Op::Read, 1, 4, 3),
];

/// Returns the requests, divided among `classes` classes.
fn scenario(classes: u32) -> Vec<Io> {
    let io = |&(_, ms, op, start, len, stream): &(&str, u64, Op, u64, u32, u32)| Io {
        due: Time::ZERO + Span::from_ms(ms),
        start: start * KIB,
        len: len * KIB as u32,
        stream: StreamId(stream),
        class: ClassId((stream % classes) as u16),
        op,
        prio: Prio(0),
        flags: Flags::NONE,
    };
    SCENARIO.iter().map(io).collect()
}

/// Passes every request that enters the policy to a function.
struct Entries<'a>(&'a dyn Fn(&Request));

impl PolicyObserver for Entries<'_> {
    fn enqueued(&mut self, _: Time, req: &Request) {
        (self.0)(req);
    }
}

/// Policies that have a second rule: the name, and the parameter that selects the rule.
const MODES: &[(&str, &str, &str)] = &[("cfq", "mode", "slices")];

/// Policies that distinguish classes, and use nothing else of them.
const BY_CLASS: &[&str] = &["round-robin", "max-queued", "token-bucket", "latency-target"];

/// Runs the scenario and lists each command: when it was sent, its length, and its requests. `mode`
/// is a parameter and its value.
fn table(entry: &Entry, mode: Option<(&str, &'static str)>) -> String {
    let shown = mode.map_or(String::new(), |(name, word)| format!(", {name} = \"{word}\""));
    let mut rows = format!("{}{shown}: {}\n\n", entry.name, entry.summary);
    rows.push_str("   sent  op       KiB from     KiB  carries\n");
    // A policy that uses weights, or distinguishes classes, divides between two classes: even
    // streams, and odd ones with three times the weight.
    let class = |weight| ClassInfo { weight, ..ClassInfo::new("class") };
    let weights = [1, 3].map(|weight| NonZeroU32::new(weight).expect("above zero"));
    let both = weights.map(class);
    // A policy that uses I/O priorities has a class of each kind: best-effort, real-time, idle.
    let levels = ["be:4", "rt:4", "idle"].map(|text| text.parse().expect("a priority"));
    let each = levels.map(|ioprio| ClassInfo { ioprio, ..ClassInfo::new("class") });
    let classes: &[ClassInfo] = match (
        entry.facts.heeds_weights || BY_CLASS.contains(&entry.name),
        entry.facts.heeds_ioprio,
    ) {
        (true, _) => &both,
        (false, true) => &each,
        (false, false) => &[],
    };
    let ios = scenario(classes.len().max(1) as u32);
    let seen = RefCell::new((&mut rows, vec![0_u64; ios.len()]));
    // The scenario's requests enter the policy in order: the n-th that enters is the n-th line that
    // is no flush.
    let met = RefCell::new(Vec::<(ReqId, usize)>::new());
    let order: Vec<usize> = (0..ios.len()).filter(|&n| ios[n].op != Op::Flush).collect();
    let enqueued = |req: &Request| {
        let number = order[met.borrow().len()];
        met.borrow_mut().push((req.id, number));
    };
    let decided = |at: Time, go: Go, chain: &[ReqId]| {
        let (rows, sent) = &mut *seen.borrow_mut();
        let number =
            |id: ReqId| met.borrow().iter().rev().find(|(known, _)| *known == id).unwrap().1;
        let first = number(go.id);
        let rest = u64::from(ios[first].len) - sent[first];
        let own = if go.len == 0 { rest } else { u64::from(go.len) };
        let merged: u64 = chain.iter().map(|&id| u64::from(ios[number(id)].len)).sum();
        let from = (ios[first].start + sent[first]) / KIB;
        let whole = own == u64::from(ios[first].len);
        let part = if whole { "" } else { " (a piece)" };
        let mut carries = format!("{}{part}", SCENARIO[first].0);
        for &id in chain {
            write!(carries, " + {}", SCENARIO[number(id)].0).unwrap();
        }
        sent[first] += own;
        let (ms, op) = (at.ns() as f64 / 1e6, format!("{:?}", ios[first].op).to_lowercase());
        writeln!(rows, "{ms:7.2}  {op:7} {from:9} {:7}  {carries}", (own + merged) / KIB).unwrap();
    };
    let cost = Cost::Linear { base: Span::from_ms(1), per_mb: Span::from_ms(20) };
    let params = settings(entry, mode);
    let served = Served { classes, ..Served::ONE_DISK };
    let policy = Witness::new((entry.build)(&params, &served), decided);
    let policy = Witness::with(policy, Entries(&enqueued));
    let mut stack = Queued::new(policy, Fixed::new(cost, 1 << 30));
    let mut source = Script::new(ios.clone());
    run(&mut source, &mut stack, &mut Virtual::default(), &mut (), Limits::default()).unwrap();
    rows
}

/// Returns the parameters that fit the scenario.
fn settings(entry: &Entry, mode: Option<(&str, &'static str)>) -> Params {
    // Facts that a policy would learn during a run are given to it.
    let mut params = entry.defaults();
    // Fewer than a class of the scenario queues at once.
    if entry.params.iter().any(|param| param.name == "writes") {
        params.set("writes", Value::Count(2));
    }
    if let Some((name, word)) = mode {
        params.set(name, Value::Word(word));
    }
    if entry.params.iter().any(|param| param.name == "split") {
        params.set("split", Value::Size(64 << 10));
    }
    // Cycles that fit the scenario.
    if entry.params.iter().any(|param| param.name == "cycle") {
        params.set("cycle", Value::Duration(Span::from_ms(6)));
    }
    // So low that the class with most requests waits for tokens.
    if entry.params.iter().any(|param| param.name == "iops") {
        params.set("iops", Value::List([Value::Count(200), Value::Word("off")].into()));
        params.set("iops_burst", Value::Count(2));
    }
    // Windows of some commands, the first of which misses the target of the second class.
    if entry.params.iter().any(|param| param.name == "target") {
        let target = Value::Duration(Span::from_ms(4));
        params.set("target", Value::List([Value::Word("off"), target].into()));
        params.set("window", Value::Duration(Span::from_ms(4)));
        params.set("recovery", Value::Count(1));
    }
    // The scenario's device, so that a class waits for budget.
    if model::lacks_rates(&params) {
        let rates = Rates { bps: 50_000_000, seqiops: 924, randiops: 924 };
        params = model::with_rates(&params, rates, rates);
    }
    // The even streams get a request each 5 ms, the odd ones at most one.
    if entry.params.iter().any(|param| param.name == "reservation") {
        params.set("reservation", Value::List(vec![Value::Count(200), Value::Count(0)]));
        params.set("limit", Value::List(vec![Value::Count(0), Value::Count(200)]));
    }
    // So short that a request waits for too long.
    if entry.params.iter().any(|param| param.name == "prio_aging_expire") {
        params.set("prio_aging_expire", Value::Duration(Span::from_ms(4)));
    }
    params
}

#[test]
fn each_policy_has_its_golden_table() {
    for entry in POLICIES {
        holds(entry.name, &table(entry, None));
    }
    for &(policy, param, word) in MODES {
        let entry = penstock_policy::find(policy).expect("a policy");
        holds(&format!("{policy}.{word}"), &table(entry, Some((param, word))));
    }
}

fn holds(name: &str, table: &str) {
    insta::with_settings!({
        snapshot_path => "../golden", prepend_module_to_snapshot => false, omit_expression => true,
    }, {
        insta::assert_snapshot!(name, table);
    });
}

/// A table of a policy that is gone or renamed would be read and believed.
#[test]
fn every_golden_table_belongs_to_a_policy() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/golden");
    for file in std::fs::read_dir(folder).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let table = name.trim_end_matches(".new").trim_end_matches(".snap");
        let is_mode = |&(policy, _, word): &(&str, &str, &str)| table == format!("{policy}.{word}");
        let known = penstock_policy::find(table).is_some() || MODES.iter().any(is_mode);
        assert!(known, "{name} names no policy");
    }
}
