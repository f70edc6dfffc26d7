//! Tests of tasks on a disk that serves one request at a time and takes a millisecond for every 10
//! kB or part of it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use penstock_core::{
    ClassId, Done, Flags, Io, Op, Prio, ReqId, Seed, Source, Span, StreamId, Time,
};
use proptest::prelude::*;

use super::{Cpus, Event, Order, Phase, Pick, Program, Programs, Starts};
use crate::agent::Pattern;

const ONLINE: ClassId = ClassId(0);
const BATCH: ClassId = ClassId(1);

fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

fn cpu(ms: u64) -> Phase {
    Phase::Cpu(Span::from_ms(ms))
}

fn write(len: u32) -> Phase {
    Phase::Io { op: Op::Write, flags: Flags::SYNC, len }
}

fn program(class: ClassId, phases: Vec<Phase>, repeat: u32, starts: Starts) -> Program {
    Program {
        class,
        prio: Prio(class.0 as u8),
        phases,
        repeat,
        pattern: Pattern::Sequential,
        region: 0..1 << 30,
        starts,
        active: Time::ZERO..ms(3_000),
    }
}

fn once(count: u32) -> Starts {
    Starts::Once { count, stagger: Span::ZERO }
}

fn cpus(count: u32, order: Order) -> Cpus {
    Cpus { count, slice: Span::from_ms(10), order, preempt: false, pick: Pick::RoundRobin }
}

/// Returns the events, and whether a processor was ever idle while a task could have used it.
fn events(programs: &[Program], cpus: Cpus) -> (Vec<Event>, bool) {
    let events = Rc::new(RefCell::new(Vec::new()));
    let log = Rc::clone(&events);
    let observer = move |event| log.borrow_mut().push(event);
    let mut source = Programs::new(programs.to_vec(), cpus, u32::MAX, Seed(1), observer);
    let (mut disk, mut ends, mut now): (VecDeque<Io>, _, _) =
        (VecDeque::new(), Time::NEVER, Time::ZERO);
    let mut wasted = false;
    while source.next_due() < Time::NEVER || ends < Time::NEVER {
        now = now.max(source.next_due().min(ends));
        if ends <= now {
            let req = disk.pop_front().unwrap().with(ReqId::new(0, 0));
            let done = Done {
                id: req.id,
                at: now,
                begun: req.due,
                service: Span::ZERO,
                len: req.len,
                error: None,
            };
            source.finished(now, &req, &done);
            ends = Time::NEVER;
        }
        while source.next_due() <= now {
            let Some(io) = source.take(now) else { break };
            disk.push_back(io);
        }
        wasted |= source.scheduler().has_idle_cpu_for_waiting_task();
        if let (Some(io), Time::NEVER) = (disk.front(), ends) {
            ends = now + Span::from_ms(u64::from(io.len.div_ceil(10_000)));
        }
    }
    (events.take(), wasted)
}

/// Returns the times from arrival to end of the tasks of `class`, in milliseconds.
fn times(events: &[Event], class: ClassId) -> Vec<u64> {
    let time = |event: &Event| match *event {
        Event::Ended { class: ended, arrived, at, .. } if ended == class => {
            Some(at.since(arrived).ns() / 1_000_000)
        }
        _ => None,
    };
    events.iter().filter_map(time).collect()
}

#[test]
fn a_lone_transaction_takes_its_own_time() {
    let alone = program(ONLINE, vec![write(1_000), cpu(100), write(1_000)], 1, once(1));
    assert_eq!(times(&events(&[alone], cpus(4, Order::Fifo)).0, ONLINE), [102]);
}

#[test]
fn a_lone_batch_job_takes_its_own_time() {
    for (len, expected) in [(500_000, 11_000), (1_000_000, 12_000), (2_000_000, 14_000)] {
        let alone = program(BATCH, vec![cpu(500), write(len)], 20, once(1));
        assert_eq!(times(&events(&[alone], cpus(4, Order::Priority)).0, BATCH), [expected]);
    }
}

#[test]
fn tasks_take_turns_slice_by_slice() {
    let two = program(ONLINE, vec![cpu(25)], 1, once(2));
    // 10 10 10 10 5 5.
    assert_eq!(times(&events(&[two], cpus(1, Order::Fifo)).0, ONLINE), [45, 50]);
}

#[test]
fn the_lower_priority_number_goes_first_at_the_end_of_a_slice_or_at_once() {
    let batch = program(BATCH, vec![cpu(25)], 1, once(1));
    let late = Starts::Groups { offsets: vec![Span::from_ms(4)], period: Span::from_secs(9) };
    let both = [batch, program(ONLINE, vec![cpu(8)], 1, late)];
    let time = |cpus| {
        let (events, _) = events(&both, cpus);
        (times(&events, ONLINE)[0], times(&events, BATCH)[0])
    };
    assert_eq!(time(cpus(1, Order::Fifo)), (14, 33));
    assert_eq!(time(cpus(1, Order::Priority)), (14, 33));
    assert_eq!(time(Cpus { preempt: true, ..cpus(1, Order::Priority) }), (8, 33));
    assert_eq!(time(Cpus { preempt: true, ..cpus(1, Order::Fifo) }), (14, 33), "none is higher");
}

#[test]
fn a_task_is_given_the_next_idle_processor_or_the_lowest() {
    let each = Starts::Once { count: 3, stagger: Span::from_ms(20) };
    let short = [program(ONLINE, vec![cpu(5)], 1, each)];
    let allocated = |pick| {
        let (events, _) = events(&short, Cpus { pick, ..cpus(4, Order::Fifo) });
        let on = |event: &Event| match *event {
            Event::On { cpu, .. } => Some(cpu),
            _ => None,
        };
        events.iter().filter_map(on).collect::<Vec<_>>()
    };
    assert_eq!(allocated(Pick::RoundRobin), [0, 1, 2]);
    assert_eq!(allocated(Pick::Lowest), [0, 0, 0]);
}

#[test]
fn the_last_of_a_class_is_reported() {
    let three =
        program(BATCH, vec![cpu(5)], 1, Starts::Once { count: 3, stagger: Span::from_ms(2) });
    let (events, _) = events(&[three], cpus(1, Order::Fifo));
    let last = |event: &Event| match *event {
        Event::Ended { last, .. } => Some(last),
        _ => None,
    };
    assert_eq!(events.iter().filter_map(last).collect::<Vec<_>>(), [false, false, true]);
}

#[test]
fn random_arrivals_have_their_rate() {
    let some = program(ONLINE, vec![cpu(1)], 1, Starts::Poisson { rate: 1_000.0 });
    let (events, _) = events(&[some], cpus(4, Order::Fifo));
    let count = times(&events, ONLINE).len() as f64;
    // Five standard deviations.
    assert!((count - 3_000.0).abs() < 5.0 * 3_000_f64.sqrt(), "{count}");
}

#[test]
fn what_is_asked_for_lies_behind_one_another_and_goes_round() {
    let mut asks = program(ONLINE, vec![write(4_000), write(2_000)], 3, once(1));
    asks.region = 0..10_000;
    let mut source = Programs::new(vec![asks], cpus(1, Order::Fifo), u32::MAX, Seed(1), |_| {});
    let mut starts = Vec::new();
    while let Some(io) = source.take(Time::ZERO) {
        starts.push((io.start, io.len, io.stream));
        let req = io.with(ReqId::new(0, 0));
        let (id, at, len) = (req.id, Time::ZERO, io.len);
        let done = Done { id, at, begun: at, service: Span::ZERO, len, error: None };
        source.finished(Time::ZERO, &req, &done);
    }
    let at = |start, len| (start, len, StreamId(0));
    let first_pass = [at(0, 4_000), at(4_000, 2_000), at(6_000, 4_000)];
    assert_eq!(starts[..3], first_pass);
    assert_eq!(starts[3..], [at(0, 2_000), at(2_000, 4_000), at(6_000, 2_000)]);
}

fn any_program() -> impl Strategy<Value = Program> {
    let phase = prop_oneof![(1_u64..40).prop_map(cpu), (1_u32..90_000).prop_map(write)];
    let starts = prop_oneof![
        (1_u32..7, 0_u64..30)
            .prop_map(|(count, stagger)| Starts::Once { count, stagger: Span::from_ms(stagger) }),
        (1_usize..6, 0_u64..3, 40_u64..300).prop_map(|(n, gap, period)| Starts::Groups {
            offsets: (0..n as u64).map(|k| Span::from_ms(k * gap)).collect(),
            period: Span::from_ms(period),
        }),
        (1_u32..30).prop_map(|rate| Starts::Poisson { rate: f64::from(rate) }),
    ];
    (0_u16..3, prop::collection::vec(phase, 1..4), 1_u32..4, starts)
        .prop_map(|(class, phases, repeat, starts)| program(ClassId(class), phases, repeat, starts))
}

fn any_cpus() -> impl Strategy<Value = Cpus> {
    (1_u32..6, 1_u64..20, any::<[bool; 3]>()).prop_map(|(count, slice, [prio, preempt, low])| {
        Cpus {
            count,
            slice: Span::from_ms(slice),
            order: if prio { Order::Priority } else { Order::Fifo },
            preempt,
            pick: if low { Pick::Lowest } else { Pick::RoundRobin },
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A processor has one task at a time, and a task always the same processor. No processor is
    /// idle while a task could use it. Every task computes for exactly as long as its program says.
    /// A second run is the same.
    #[test]
    fn processors_are_given_out_as_is_promised(
        programs in prop::collection::vec(any_program(), 1..4),
        cpus in any_cpus(),
    ) {
        let (events_seen, wasted) = events(&programs, cpus);
        prop_assert!(!wasted, "a processor was idle while a task waited for it");
        prop_assert_eq!(&events(&programs, cpus).0, &events_seen);
        let mut running = vec![None; cpus.count as usize];
        let mut bound = Vec::new();
        let (mut used, mut arrived, mut ended) = ([Span::ZERO; 3], [0_u64; 3], [0_u64; 3]);
        for event in events_seen {
            match event {
                Event::Arrived { class, .. } => arrived[class.index()] += 1,
                Event::On { cpu, task, class, at } => {
                    prop_assert!(running[cpu as usize].is_none(), "two tasks on processor {}", cpu);
                    running[cpu as usize] = Some((class, at));
                    bound.resize(bound.len().max(task as usize + 1), None);
                    prop_assert_eq!(*bound[task as usize].get_or_insert(cpu), cpu);
                }
                Event::Off { cpu, at } => {
                    let (class, since): (ClassId, Time) = running[cpu as usize].take().unwrap();
                    let ran = at.since(since);
                    prop_assert!(ran <= cpus.slice, "longer than a slice");
                    used[class.index()] += ran;
                }
                Event::Ended { task, class, .. } => {
                    ended[class.index()] += 1;
                    // A task with I/O only never had a processor.
                    if let Some(slot) = bound.get_mut(task as usize) {
                        *slot = None;
                    }
                }
                Event::Full { .. } => prop_assert!(false, "there is room for all"),
            }
        }
        prop_assert_eq!(arrived, ended);
        let computing: Span = programs.iter().map(computes).fold(Span::ZERO, |sum, span| sum + span);
        let all: Span = used.into_iter().fold(Span::ZERO, |sum, span| sum + span);
        let tasks: u64 = arrived.into_iter().sum();
        if programs.len() == 1 {
            prop_assert_eq!(all.ns(), computing.ns() * tasks);
        }
    }
}

/// Returns the computing time of a task of `program`.
fn computes(program: &Program) -> Span {
    let burst = |phase: &Phase| match phase {
        Phase::Cpu(span) => *span,
        Phase::Io { .. } => Span::ZERO,
    };
    let once = program.phases.iter().map(burst).fold(Span::ZERO, |sum, span| sum + span);
    once.share(program.repeat.into(), 1)
}

#[test]
fn a_program_may_go_through_its_region_backwards() {
    let back = Program {
        pattern: Pattern::Backwards,
        region: 1_000..11_000,
        ..program(ONLINE, vec![write(4_000)], 4, once(1))
    };
    let mut source = Programs::new(vec![back], cpus(1, Order::Fifo), u32::MAX, Seed(1), |_| {});
    let mut starts = Vec::new();
    while source.next_due() < Time::NEVER {
        let now = source.next_due();
        let Some(io) = source.take(now) else { break };
        starts.push(io.start);
        let (id, len) = (ReqId::new(0, 0), io.len);
        let done = Done { id, at: now, begun: now, service: Span::ZERO, len, error: None };
        source.finished(now, &io.with(id), &done);
    }
    assert_eq!(starts, [7_000, 3_000, 7_000, 3_000]);
}
