use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use penstock_core::{Done, Op, Prio, ReqId, Request, Seed, Source, Span, Time};
use proptest::prelude::*;
use rand::RngExt;

use super::*;

const SHAPE: Shape = Shape { runs: 20, run: 1000, block: 4096, read: 12, write: 40 };

/// The disk of each run of each job, a letter for each disk.
fn dealt(placement: &Placement, jobs: u32, disks: u32, runs: u32) -> Vec<String> {
    let letter = |disk: u32| char::from(b'a' + disk as u8);
    let text = |job: JobDisks| job.inputs.into_iter().map(letter).collect();
    placement.disks(jobs, disks, runs).unwrap().into_iter().map(text).collect()
}

#[test]
fn the_four_placements_of_the_paper() {
    let of_two = |placement| dealt(&placement, 2, 5, 8);
    assert_eq!(of_two(Placement::Dedicated), ["cdecdecd", "ecdecdec"]);
    assert_eq!(of_two(Placement::Separate), ["bcdebcde", "cdeacdea"]);
    // The runs of job 0 on disk 1 are now on disk 0, and those of job 1 on disk 0 on disk 1.
    assert_eq!(of_two(Placement::Shared), ["acdeacde", "cdebcdeb"]);
    assert_eq!(of_two(Placement::All), ["bcdeabcd", "cdeabcde"]);
    for job in 0..2 {
        let outputs = Placement::All.disks(2, 5, 8).unwrap();
        assert_eq!(outputs[job as usize].output, job);
    }
    assert_eq!(dealt(&Placement::Shared, 1, 3, 4), dealt(&Placement::Separate, 1, 3, 4));
}

#[test]
fn shared_moves_the_runs_of_the_disk_before() {
    for (jobs, disks) in [(2, 5), (5, 5), (3, 8)] {
        let separate = Placement::Separate.disks(jobs, disks, 20).unwrap();
        let shared = Placement::Shared.disks(jobs, disks, 20).unwrap();
        for (job, (from, to)) in (0..jobs).zip(separate.iter().zip(&shared)) {
            let before = (job + jobs - 1) % jobs;
            let moved = |disk: &u32| if *disk == before { job } else { *disk };
            assert_eq!(to.inputs, from.inputs.iter().map(moved).collect::<Vec<_>>());
            assert!(to.inputs.contains(&job) && !to.inputs.contains(&before));
        }
    }
}

/// If the number of runs is not a multiple of that of the disks, disks differ by a few runs at
/// most.
#[test]
fn what_is_read_is_spread_evenly() {
    for (jobs, disks) in [(8, 10), (9, 10), (10, 10), (5, 8)] {
        for placement in
            [Placement::Dedicated, Placement::Separate, Placement::Shared, Placement::All]
        {
            let Ok(jobs) = placement.disks(jobs, disks, 20) else { continue };
            let on = |disk: u32| {
                jobs.iter().flat_map(|job| &job.inputs).filter(|at| **at == disk).count()
            };
            let counts: Vec<usize> = (0..disks).map(on).filter(|count| *count > 0).collect();
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            assert!(most - least <= 2 + 20 / 9, "{placement:?}: {counts:?}");
        }
    }
}

#[test]
fn too_few_disks_are_told() {
    let error = |placement: Placement, jobs, disks| placement.disks(jobs, disks, 20).unwrap_err();
    let listed = |inputs: &[u32], output| {
        Placement::Listed(vec![JobDisks { inputs: inputs.into(), output }])
    };
    let messages = [
        error(Placement::All, 6, 5),
        error(Placement::Dedicated, 5, 5),
        error(Placement::Separate, 1, 1),
        error(listed(&[0], 0), 2, 5),
        error(listed(&[0, 5], 0), 1, 5),
        error(listed(&[0], 1), 1, 1),
        error(listed(&[], 0), 1, 5),
    ];
    assert_eq!(
        messages.map(|error| error.to_string()),
        [
            "6 jobs have a disk for the output of each, and there are 5 disks",
            "no disk is left to read from: it takes 6, and there are 5 disks",
            "no disk is left to read from: it takes 2, and there is 1 disk",
            "the placement lists the disks of 1 job; the number of jobs is 2",
            "job 0 is to use disk 5, and there are 5 disks, counted from 0",
            "job 0 is to use disk 1, and there is 1 disk, counted from 0",
            "job 0 has no disk to read from",
        ]
    );
}

#[test]
fn outputs_lie_behind_before_or_between_the_runs() {
    // Two jobs of four runs of ten blocks on one disk each, all of it on disk 0.
    let both = || JobDisks { inputs: vec![0], output: 0 };
    let placement = Placement::Listed(vec![both(), both()]);
    let blocks = |output| {
        let layout = placement.layout(2, 1, (4, 10), output).unwrap();
        assert_eq!(layout.used, [160]);
        let runs = layout.jobs.iter().flat_map(|job| job.runs.iter().map(|run| run.block));
        (
            runs.collect::<Vec<_>>(),
            layout.jobs.iter().map(|job| job.output.block).collect::<Vec<_>>(),
        )
    };
    let last = (vec![0, 10, 20, 30, 40, 50, 60, 70], vec![80, 120]);
    assert_eq!(blocks(OutputAt::Last), last);
    let first = (last.0.iter().map(|block| block + 80).collect(), vec![0, 40]);
    assert_eq!(blocks(OutputAt::First), first);
    let middle = (vec![0, 10, 20, 30, 120, 130, 140, 150], vec![40, 80]);
    assert_eq!(blocks(OutputAt::Middle), middle);
}

#[test]
fn what_is_enough_memory() {
    let enough = |memory: Memory, jobs| memory.always_enough(&SHAPE, jobs);
    assert_eq!(enough(Memory::Partition(1), 5), Some(511));
    assert_eq!(enough(Memory::Pool(1), 5), Some(5 * 511));
    assert_eq!(enough(Memory::Writes(1), 5), Some(40));
    assert_eq!(enough(Memory::Unlimited, 5), None);
    let least = |when_full| Memory::Partition(1).least(&SHAPE, when_full);
    // All first groups, and three more of one run: 39 blocks are used up before the first write.
    assert_eq!(least(WhenFull::Block), Some(240 + 4 * 12));
    assert_eq!(least(WhenFull::Defer), Some(240));
}

/// Returns the standard deviation of the used blocks per run when half of all blocks are used up.
fn spread(depletion: Depletion, seed: u64) -> f64 {
    let mut order = depletion::DepletionOrder::new(depletion, &SHAPE, Seed(seed).stream("test", 0));
    let mut used = vec![0_u32; 20];
    for _ in 0..SHAPE.blocks() / 2 {
        used[order.next_run() as usize] += 1;
    }
    let square = |used: u32| (f64::from(used) - 500.0).powi(2);
    (used.into_iter().map(square).sum::<f64>() / 20.0).sqrt()
}

#[test]
fn the_more_keys_a_block_has_the_more_evenly_runs_are_used_up() {
    let mean = |depletion| (1..=20).map(|seed| spread(depletion, seed)).sum::<f64>() / 20.0;
    // Random runs: the square root of 10,000 · 1/20 · 19/20. Keys are drawn from 20,000 without
    // replacement, which halves the variance, and it is divided by the keys of a block. With many
    // keys only the rounding to whole blocks is left.
    let expected = [
        (Depletion::RandomBlock, 21.8),
        (Depletion::Keys(1), 15.4),
        (Depletion::Keys(64), 1.95),
        (Depletion::Keys(1024), 0.56),
    ];
    for (depletion, expected) in expected {
        let deviation = mean(depletion);
        assert!(
            (deviation / expected - 1.0).abs() < 0.15,
            "{depletion:?}: {deviation} of {expected}"
        );
    }
}

#[test]
fn every_block_is_used_up_once() {
    for depletion in [Depletion::RandomBlock, Depletion::Keys(1), Depletion::Keys(7)] {
        let shape = Shape { runs: 5, run: 30, ..SHAPE };
        let mut order =
            depletion::DepletionOrder::new(depletion, &shape, Seed(3).stream("test", 0));
        let mut used = [0; 5];
        while !order.is_over() {
            used[order.next_run() as usize] += 1;
        }
        assert_eq!(used, [30; 5], "{depletion:?}");
    }
}

/// A run of merges over disks that serve in the order of arrival.
struct Played {
    /// Requests in the order in which they were issued, with their ends.
    requests: Vec<(Request, Time)>,
    events: Vec<Event>,
    /// The most blocks that each job had in memory, and all of them.
    held: Vec<u64>,
    held_by_all: u64,
    /// Whether all jobs finished.
    over: bool,
}

/// Plays `merge`. `service` returns the time that a request of a number of blocks takes.
fn play(merge: &Merge, seed: u64, mut service: impl FnMut(&Request, u32) -> Span) -> Played {
    let events = Rc::new(RefCell::new(Vec::new()));
    let log = Rc::clone(&events);
    let mut source = Merges::new(Arc::new(merge.clone()), Seed(seed), move |event| {
        log.borrow_mut().push(event);
    });
    let (disks, jobs) = (merge.layout.used.len(), merge.jobs() as usize);
    let mut queues: Vec<VecDeque<(Request, Time)>> = vec![VecDeque::new(); disks];
    let mut free = vec![Time::ZERO; disks];
    let mut requests = Vec::new();
    let (mut held, mut most, mut most_of_all) = (vec![0_u64; jobs], vec![0; jobs], 0);
    loop {
        let next = queues.iter().filter_map(|queue| queue.front()).map(|(_, ends)| *ends).min();
        let now = next.unwrap_or(Time::NEVER).min(source.next_due());
        if now == Time::NEVER {
            break;
        }
        for queue in &mut queues {
            while let Some((req, ends)) = queue.pop_front_if(|(_, ends)| *ends <= now) {
                let done = Done {
                    id: req.id,
                    at: ends,
                    begun: ends,
                    service: Span::ZERO,
                    len: req.len,
                    error: None,
                };
                if req.op == Op::Write {
                    held[req.stream.0 as usize] -= u64::from(req.len / merge.shape.block);
                }
                source.finished(now, &req, &done);
            }
        }
        while source.next_due() <= now {
            let Some(io) = source.take(now) else { continue };
            let (job, disk) = (io.stream.0 as usize, (io.start / merge.disk) as usize);
            assert_eq!(disk as u64, (io.end() - 1) / merge.disk, "a request crosses a border");
            let blocks = io.len / merge.shape.block;
            if io.op == Op::Read {
                held[job] += u64::from(blocks);
                most[job] = held[job].max(most[job]);
                most_of_all = held.iter().sum::<u64>().max(most_of_all);
            }
            let req = io.with(ReqId::new(requests.len() as u32, 0));
            free[disk] = free[disk].max(now) + service(&req, blocks);
            queues[disk].push_back((req, free[disk]));
            requests.push((req, free[disk]));
        }
    }
    let over = !source.waits();
    drop(source);
    let events = Rc::into_inner(events).expect("the source is gone").into_inner();
    Played { requests, events, held: most, held_by_all: most_of_all, over }
}

/// Merges of one job on two disks, read from the second and written to the first.
fn one_job(shape: Shape) -> Merge {
    let layout = Placement::Separate.layout(1, 2, (shape.runs, shape.run), OutputAt::Last).unwrap();
    Merge {
        shape,
        layout,
        disk: 1 << 30,
        memory: Memory::Unlimited,
        when_full: WhenFull::Block,
        depletion: Depletion::RandomBlock,
        stagger: Span::ZERO,
        cpu: Span::ZERO,
        prios: vec![Prio(0)],
        only: None,
    }
}

/// Compares the requests of a run of four blocks, in groups of two and writes of three, a
/// millisecond per block, with those worked out by hand.
#[test]
fn a_merge_of_one_run_by_hand() {
    let shape = Shape { runs: 1, run: 4, block: 4096, read: 2, write: 3 };
    let each = |_: &Request, blocks: u32| Span::from_ms(blocks.into());
    let played = play(&one_job(shape), 1, each);
    let requests = played.requests.iter().map(|(req, _)| {
        let block = req.start % (1 << 30) / 4096;
        (req.due.ns() / 1_000_000, req.op, req.start >> 30, block, req.len / 4096)
    });
    let requests: Vec<_> = requests.collect();
    assert_eq!(
        requests,
        [
            (0, Op::Read, 1, 0, 2),
            // The first block of a group is used up when the group arrives, so the next is
            // requested.
            (2, Op::Read, 1, 2, 2),
            (4, Op::Write, 0, 0, 3),
            // The rest at the end is written too.
            (4, Op::Write, 0, 3, 1),
        ]
    );
    let ms = |at: Time| at.ns() / 1_000_000;
    let waits = played.events.iter().filter_map(|event| match event {
        Event::Waits { at, wait: Wait::Read, .. } => Some((ms(*at), "waits")),
        Event::GoesOn { at, .. } => Some((ms(*at), "goes on")),
        Event::UsedUp { at, blocks, .. } => Some((ms(*at), if *blocks == 2 { "2" } else { "4" })),
        Event::Finished { at, .. } => Some((ms(*at), "finished")),
        Event::Waits { .. } => None,
    });
    let waits: Vec<_> = waits.collect();
    assert_eq!(
        waits,
        [
            (0, "waits"),
            (2, "goes on"),
            (2, "2"),
            (2, "waits"),
            (4, "goes on"),
            (4, "4"),
            (8, "finished"),
        ]
    );
}

/// The merge of one run with a processor that takes two milliseconds per block.
#[test]
fn a_processor_takes_its_time() {
    let shape = Shape { runs: 1, run: 4, block: 4096, read: 2, write: 3 };
    let merge = Merge { cpu: Span::from_ms(2), ..one_job(shape) };
    let played = play(&merge, 1, |_: &Request, blocks| Span::from_ms(blocks.into()));
    let due: Vec<_> = played.requests.iter().map(|(req, _)| req.due.ns() / 1_000_000).collect();
    assert_eq!(due, [0, 4, 8, 10]);
}

/// In a partition of two groups the third is requested when the first is written, which takes three
/// milliseconds per block.
#[test]
fn a_job_waits_for_memory_until_it_has_written() {
    let shape = Shape { runs: 1, run: 6, block: 4096, read: 2, write: 2 };
    let merge = Merge { memory: Memory::Partition(4), ..one_job(shape) };
    let service = |req: &Request, blocks: u32| {
        Span::from_ms(u64::from(blocks) * if req.op == Op::Read { 1 } else { 3 })
    };
    let played = play(&merge, 1, service);
    let requests = played.requests.iter().map(|(req, _)| (req.due.ns() / 1_000_000, req.op));
    let requests: Vec<_> = requests.collect();
    let expected = [
        (0, Op::Read),
        (2, Op::Read),
        (2, Op::Write),
        (8, Op::Read),
        (8, Op::Write),
        (10, Op::Write),
    ];
    assert_eq!(requests, expected);
    assert_eq!(played.held, [4]);
    let for_memory =
        |event: &&Event| matches!(event, Event::Waits { wait: Wait::Memory { .. }, .. });
    let at = played.events.iter().find(for_memory);
    let holds = Held { read: 1, output: 3 };
    assert_eq!(
        at,
        Some(&Event::Waits {
            job: 0,
            wait: Wait::Memory { needs: 2, holds },
            at: Time::from_ns(4_000_000),
        })
    );
}

#[derive(Debug)]
struct Case {
    merge: Merge,
    seed: u64,
}

fn any_case() -> impl Strategy<Value = Case> {
    let shape = (1_u32..7, 1_u32..40, 1_u32..12, 1_u32..15);
    let shape = shape.prop_map(|(runs, run, read, write)| Shape {
        runs,
        run,
        block: 512,
        read: read.min(run),
        write: write.min(run),
    });
    let placement = prop::sample::select(
        &[Placement::Dedicated, Placement::Separate, Placement::Shared, Placement::All][..],
    );
    let output = prop::sample::select(&[OutputAt::Last, OutputAt::First, OutputAt::Middle][..]);
    let memory = (0_u8..4, 0.0..1.5_f64);
    let when_full = prop::sample::select(&[WhenFull::Block, WhenFull::Defer][..]);
    let depletion = prop::sample::select(&[Depletion::RandomBlock, Depletion::Keys(3)][..]);
    let times = (0_u64..3, 0_u64..2)
        .prop_map(|(stagger, cpu)| (Span::from_ms(stagger * 7), Span::from_us(cpu * 300)));
    ((1_u32..5, shape, placement, output), (memory, when_full, depletion, times), any::<u64>())
        .prop_map(
            |((jobs, shape, placement, output), (memory, when_full, depletion, times), seed)| {
                let layout = placement.layout(jobs, 5, (shape.runs, shape.run), output).unwrap();
                // From less memory than is needed to more than is enough.
                let (kind, part) = memory;
                let blocks = |memory: Memory| {
                    let enough = memory.always_enough(&shape, jobs).unwrap_or(1) as f64;
                    (enough * part).round().max(1.0) as u32
                };
                let memory = match kind {
                    0 => Memory::Unlimited,
                    1 => Memory::Partition(blocks(Memory::Partition(1))),
                    2 => Memory::Pool(blocks(Memory::Pool(1))),
                    _ => Memory::Writes(blocks(Memory::Writes(1))),
                };
                let (stagger, cpu) = times;
                let prios = vec![Prio(0); jobs as usize];
                let merge = Merge {
                    shape,
                    layout,
                    disk: 1 << 24,
                    memory,
                    when_full,
                    depletion,
                    stagger,
                    cpu,
                    prios,
                    only: None,
                };
                Case { merge, seed }
            },
        )
}

impl Case {
    fn play(&self) -> Played {
        let mut times = Seed(self.seed).stream("service", 0);
        play(&self.merge, self.seed, move |_, blocks| {
            Span::from_us(times.random_range(0..5_000) + 1_000 * u64::from(blocks))
        })
    }

    /// Checks that each block of each run is read once and in order, and each output block written
    /// once.
    fn moves_every_block(&self, played: &Played) {
        let Merge { shape, layout, disk, .. } = &self.merge;
        for (number, job) in (0..).zip(&layout.jobs) {
            let transfers = |op| {
                let own = played
                    .requests
                    .iter()
                    .filter(move |(req, _)| req.stream.0 == number && req.op == op);
                own.map(|(req, _)| (req.start, req.len)).collect::<Vec<_>>()
            };
            let address = |place: &Place| u64::from(place.disk) * disk + place.block * 512;
            for run in &job.runs {
                let bytes = u64::from(shape.run) * 512;
                let within = |start: &u64| (address(run)..address(run) + bytes).contains(start);
                let mut next = address(run);
                for (start, len) in
                    transfers(Op::Read).into_iter().filter(|(start, _)| within(start))
                {
                    assert_eq!(start, next);
                    next += u64::from(len);
                }
                assert_eq!(next, address(run) + bytes, "a run is read whole");
            }
            let mut next = address(&job.output);
            for (start, len) in transfers(Op::Write) {
                assert_eq!(start, next);
                next += u64::from(len);
            }
            assert_eq!(
                next - address(&job.output),
                shape.blocks() * 512,
                "the output is written whole"
            );
        }
    }
}

proptest! {
    #[test]
    fn every_block_is_read_and_written_once_within_the_memory(case in any_case()) {
        let (merge, played) = (&case.merge, case.play());
        let least = merge.memory.least(&merge.shape, merge.when_full);
        let enough = merge.memory.always_enough(&merge.shape, merge.jobs());
        let blocks = merge.memory.blocks().map(u64::from);
        if blocks >= enough {
            prop_assert!(played.over, "{} of {enough:?} blocks are not enough", blocks.unwrap_or(0));
        }
        if blocks < least {
            prop_assert!(!played.over, "{} blocks should not do", blocks.unwrap_or(0));
        }
        if played.over {
            case.moves_every_block(&played);
        } else {
            let starved = |event: &Event| matches!(event, Event::Waits { wait: Wait::Memory { .. }, .. });
            prop_assert!(played.events.iter().any(starved), "who does not end waits for memory");
        }
        match merge.memory {
            Memory::Partition(most) => prop_assert!(played.held.iter().all(|held| *held <= most.into())),
            Memory::Pool(most) => prop_assert!(played.held_by_all <= most.into()),
            Memory::Unlimited | Memory::Writes(_) => {}
        }
    }

    #[test]
    fn places_do_not_overlap(case in any_case()) {
        let Merge { shape, layout, .. } = &case.merge;
        let mut taken = Vec::new();
        for job in &layout.jobs {
            taken.extend(job.runs.iter().map(|run| (run.disk, run.block, u64::from(shape.run))));
            taken.push((job.output.disk, job.output.block, shape.blocks()));
        }
        taken.sort_unstable();
        for pair in taken.windows(2) {
            let [(disk, block, blocks), (next, begins, _)] = pair else { unreachable!() };
            prop_assert!(disk != next || block + blocks == *begins, "no gap and no overlap: {pair:?}");
        }
        for (disk, used) in (0..).zip(&layout.used) {
            let own = taken.iter().filter(|(on, ..)| *on == disk);
            prop_assert_eq!(*used, own.map(|(_, block, blocks)| block + blocks).max().unwrap_or(0));
        }
    }

    #[test]
    fn a_job_alone_asks_for_the_same(case in any_case()) {
        let merge = Merge { memory: Memory::Unlimited, ..case.merge };
        let case = Case { merge, ..case };
        let places = |played: &Played, job| {
            let own = played.requests.iter().filter(move |(req, _)| req.stream.0 == job);
            let mut all: Vec<_> = own.map(|(req, _)| (req.op, req.start, req.len)).collect();
            all.sort_unstable();
            all
        };
        let together = case.play();
        let alone = Case { merge: Merge { only: Some(0), ..case.merge.clone() }, ..case };
        let alone = alone.play();
        prop_assert!(alone.over && alone.requests.iter().all(|(req, _)| req.stream.0 == 0));
        prop_assert_eq!(places(&together, 0), places(&alone, 0));
    }
}
