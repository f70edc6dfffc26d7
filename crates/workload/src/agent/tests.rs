use std::num::NonZeroU32;

use penstock_core::{ClassId, Span};

use super::*;

fn agent(arrivals: Arrivals) -> Agent {
    Agent {
        pattern: Pattern::Sequential,
        active: Time::ZERO..Time::from_ns(10_000_000_000),
        ..Agent::new(ClassId(0), Op::Read, 4096, 0..40_960, arrivals)
    }
}

fn arrivals(agent: Agent) -> Vec<u64> {
    let mut agents = Agents::new(vec![agent], Seed(1));
    std::iter::from_fn(|| agents.take(Time::NEVER)).map(|io| io.due.ns()).collect()
}

#[test]
fn a_fixed_pace_is_even_to_the_nanosecond() {
    let open = Arrivals::open(4.0, Pace::Fixed);
    let times = arrivals(agent(open));
    assert_eq!(times, (0..40).map(|k| k * 250_000_000).collect::<Vec<_>>());
}

#[test]
fn a_curve_shapes_the_rate() {
    let curve = vec![0.0, 1.0, 3.0, 0.0, 1.0];
    let open =
        Arrivals::Open { rate: 1000.0, pace: Pace::Poisson, curve: curve.clone(), buffers: None };
    let times = arrivals(agent(open));
    for (part, factor) in (0_u64..).zip(curve) {
        let two_seconds = part * 2_000_000_000..(part + 1) * 2_000_000_000;
        let count = times.iter().filter(|t| two_seconds.contains(t)).count() as f64;
        let expected = 2000.0 * factor;
        // Five standard deviations of a Poisson count.
        assert!((count - expected).abs() <= 5.0 * expected.sqrt(), "part {part}: {count}");
    }
}

#[test]
fn poisson_gaps_have_the_mean_and_deviation_of_an_exponential() {
    let open = Arrivals::open(5000.0, Pace::Poisson);
    let times = arrivals(agent(open));
    let gaps: Vec<f64> = times.windows(2).map(|w| (w[1] - w[0]) as f64 / 200_000.0).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let var = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    assert!((mean - 1.0).abs() < 0.03 && (var - 1.0).abs() < 0.06, "{mean} {var}");
}

#[test]
fn a_closed_loop_keeps_its_depth_and_thinks() {
    let closed = Arrivals::closed(2, Span::from_ms(5));
    let mut agents = Agents::new(vec![agent(closed)], Seed(1));
    let first = agents.take(Time::ZERO).unwrap();
    assert!(agents.take(Time::ZERO).is_some());
    assert_eq!(agents.next_due(), Time::NEVER);
    let now = Time::from_ns(1_000_000);
    let id = penstock_core::ReqId::new(0, 0);
    let (service, len) = (Span::ZERO, 4096);
    let done = Done { id, at: now, begun: now, service, len, error: None };
    agents.finished(now, &first.with(id), &done);
    assert_eq!(agents.next_due(), Time::from_ns(6_000_000));
}

#[test]
fn a_burst_ends_with_a_pause_when_all_of_it_has_completed() {
    let burst = NonZeroU32::new(3);
    let closed = Arrivals::Closed { depth: 2, think: Think::Fixed(Span::from_ms(5)), burst };
    let mut agents = Agents::new(vec![agent(closed)], Seed(1));
    let [first, second] = [(); 2].map(|()| agents.take(Time::ZERO).unwrap());
    let ms = |ms: u64| Time::from_ns(ms * 1_000_000);
    finish(&mut agents, ms(1), &first);
    // The third and last follows at once, without a pause.
    let third = agents.take(ms(1)).unwrap();
    finish(&mut agents, ms(2), &second);
    assert_eq!(agents.next_due(), Time::NEVER, "the third is in flight");
    finish(&mut agents, ms(3), &third);
    assert_eq!(agents.next_due(), ms(8));
    assert!(agents.take(ms(8)).is_some() && agents.take(ms(8)).is_some());
    assert_eq!(agents.next_due(), Time::NEVER, "two at a time");
}

#[test]
fn agents_that_take_turns_ask_one_at_a_time_and_each_once_in_a_round() {
    let taking_turns = |size, count| {
        let sizes = Weighted::always(size);
        Agent { sizes, count, ..agent(Arrivals::Turns) }
    };
    let mut agents = Agents::new(
        vec![taking_turns(4096, 3), taking_turns(8192, 3), taking_turns(1024, 1)],
        Seed(1),
    );
    let (mut order, mut position) = (Vec::new(), 0);
    while let Some(io) = agents.take(Time::from_ns(order.len() as u64)) {
        let now = io.due + Span::from_ns(1);
        assert_eq!(agents.next_due(), Time::NEVER, "one at a time");
        assert!(io.start == position || io.start == 0, "one behind the other");
        position = io.start + u64::from(io.len);
        order.push(io.stream.0);
        let id = penstock_core::ReqId::new(0, 0);
        let done =
            Done { id, at: now, begun: io.due, service: Span::ZERO, len: io.len, error: None };
        agents.finished(now, &io.with(id), &done);
    }
    let mut rounds: Vec<&mut [u32]> = Vec::new();
    let (first, rest) = order.split_at_mut(3);
    rounds.push(first);
    rounds.extend(rest.chunks_mut(2));
    for round in &mut rounds {
        round.sort_unstable();
    }
    assert_eq!(rounds, [&[0, 1, 2][..], &[0, 1], &[0, 1]]);
}

/// While a class runs alone, agents of the other classes are in this state.
#[test]
fn an_agent_in_turns_that_begins_later_and_never_asks_is_left_out_of_the_rounds() {
    let later = Time::from_ns(1_000);
    let silent = Agent { active: later..later, count: 3, ..agent(Arrivals::Turns) };
    assert_eq!(arrivals(silent.clone()), [0; 0]);
    let mut agents =
        Agents::new(vec![silent, Agent { count: 1, ..agent(Arrivals::Turns) }], Seed(1));
    assert_eq!(agents.take(Time::ZERO).map(|io| io.stream.0), Some(1));
}

#[test]
fn a_sequential_pattern_goes_round() {
    let open = Arrivals::open(4.0, Pace::Fixed);
    let mut agents = Agents::new(vec![agent(open)], Seed(1));
    let starts: Vec<u64> =
        std::iter::from_fn(|| agents.take(Time::NEVER)).map(|io| io.start).take(11).collect();
    assert_eq!(starts[..3], [0, 4096, 8192]);
    assert_eq!(starts[10], 0);
}

#[test]
fn reads_and_writes_of_a_mix_are_two_sequential_streams() {
    for pattern in [Pattern::Sequential, Pattern::Backwards] {
        let ops = Ops::Mix { reads: ALL_REQUESTS / 2 };
        let mix = Agent { ops, pattern, region: 0..40_960_000, ..agent(ten_a_second()) };
        let alone = Agent { ops: Ops::Only(Op::Read), count: 100, ..mix.clone() };
        let expected = places(alone);
        let mut agents = Agents::new(vec![Agent { count: 100, ..mix }], Seed(1));
        let all: Vec<Io> = std::iter::from_fn(|| agents.take(Time::NEVER)).collect();
        for op in [Op::Read, Op::Write] {
            let of_op = all.iter().filter(|io| io.op == op).map(|io| (io.start, io.len));
            let requests: Vec<_> = of_op.collect();
            assert!(requests.len() > 30);
            assert_eq!(requests, expected[..requests.len()]);
        }
    }
}

/// Returns the first byte and the length of every request.
fn places(agent: Agent) -> Vec<(u64, u32)> {
    let mut agents = Agents::new(vec![agent], Seed(1));
    std::iter::from_fn(|| agents.take(Time::NEVER)).map(|io| (io.start, io.len)).collect()
}

fn ten_a_second() -> Arrivals {
    Arrivals::open(10.0, Pace::Fixed)
}

#[test]
fn sizes_and_gaps_grow_and_the_end_of_the_region_leads_to_its_beginning() {
    let growth = Some(Growth { every: 2, size: 10, gap: 100 });
    let spacing = Spacing { first: 500, gap: 1, growth, ..Spacing::default() };
    let agent = Agent {
        sizes: Weighted::always(16),
        count: 7,
        spacing,
        region: 1_000..2_150,
        ..agent(ten_a_second())
    };
    assert_eq!(agent.longest(), 46);
    let requests = places(agent);
    assert_eq!(
        requests,
        [
            (1_500, 16),
            (1_517, 16),
            (1_534, 26),
            (1_661, 26),
            (1_788, 36),
            (2_025, 36),
            // Behind it and its gap, 2,262 would be beyond the region.
            (1_000, 46),
        ]
    );
}

#[test]
fn requests_begin_at_multiples_of_the_alignment() {
    let spacing = Spacing { align: Some(100), ..Spacing::default() };
    let aligned = Agent {
        sizes: Weighted::always(250),
        count: 40,
        spacing,
        region: 50..1_350,
        ..agent(ten_a_second())
    };
    let starts: Vec<u64> = places(aligned.clone()).iter().map(|(start, _)| *start).collect();
    assert_eq!(starts[..6], [50, 350, 650, 950, 50, 350], "each at the next multiple");
    let random = Agent { pattern: Pattern::Random, ..aligned };
    let starts: std::collections::BTreeSet<u64> =
        places(random).into_iter().map(|(s, _)| s).collect();
    let possible: Vec<u64> = (0..=10).map(|step| 50 + step * 100).collect();
    assert!(starts.iter().all(|start| possible.contains(start)), "{starts:?}");
    assert!(starts.len() > 8, "more places than multiples of the size: {starts:?}");
}

#[test]
fn an_agent_issues_no_more_than_its_count() {
    let open = Agent { count: 3, ..agent(ten_a_second()) };
    assert_eq!(places(open).len(), 3);
    let closed = Arrivals::closed(2, Span::ZERO);
    let mut agents = Agents::new(vec![Agent { count: 3, ..agent(closed) }], Seed(1));
    let first = agents.take(Time::ZERO).unwrap();
    assert!(agents.take(Time::ZERO).is_some() && agents.take(Time::ZERO).is_none());
    let now = Time::from_ns(1_000);
    let req = first.with(penstock_core::ReqId::new(0, 0));
    let done = Done {
        id: req.id,
        at: now,
        begun: Time::ZERO,
        service: Span::ZERO,
        len: req.len,
        error: None,
    };
    agents.finished(now, &req, &done);
    assert!(agents.take(now).is_some());
    agents.finished(now, &req, &done);
    assert_eq!(agents.next_due(), Time::NEVER, "all three were issued");
}

/// Finishes each request of `agents` at once, one after the other, and returns up to `most` of
/// them.
fn served(agents: Vec<Agent>, most: usize) -> Vec<Io> {
    let mut agents = Agents::new(agents, Seed(1));
    let mut ios = Vec::new();
    while ios.len() < most && agents.next_due() < Time::NEVER {
        let io = agents.take(Time::LAST).expect("it is due");
        finish(&mut agents, io.due, &io);
        ios.push(io);
    }
    ios
}

fn finish(agents: &mut Agents, now: Time, io: &Io) {
    let req = io.with(penstock_core::ReqId::new(0, 0));
    let done =
        Done { id: req.id, at: now, begun: io.due, service: Span::ZERO, len: io.len, error: None };
    agents.finished(now, &req, &done);
}

fn loop_of_one() -> Arrivals {
    Arrivals::closed(1, Span::ZERO)
}

fn starts(agent: Agent, most: usize) -> Vec<u64> {
    served(vec![agent], most).iter().map(|io| io.start).collect()
}

#[test]
fn a_stride_counts_from_beginning_to_beginning() {
    let spacing = Spacing { stride: Some(10_000), ..Spacing::default() };
    let strided = Agent { spacing, region: 1_000..41_000, ..agent(loop_of_one()) };
    assert_eq!(starts(strided.clone(), 6), [1_000, 11_000, 21_000, 31_000, 1_000, 11_000]);
    assert_eq!(strided.requests_in_passes(3), Some(12));
    let shifted = Spacing { shift: 4_096, ..spacing };
    let shifted = Agent { spacing: shifted, region: 0..28_672, ..strided.clone() };
    let passes = [[0, 10_000, 20_000], [4_096, 14_096, 24_096]].concat();
    assert_eq!(starts(shifted.clone(), 6), passes, "each place once");
    assert_eq!(starts(shifted, 9)[6..], [8_192, 18_192, 0], "no pass begins a stride later");
    let aligned = Spacing { align: Some(4096), first: 5_000, ..spacing };
    let aligned = Agent { spacing: aligned, ..strided };
    assert_eq!(starts(aligned.clone(), 6), [9_192, 21_480, 33_768, 1_000, 13_288, 25_576]);
    assert_eq!(aligned.requests_in_passes(2), Some(6));
}

#[test]
fn backwards_goes_from_the_end_of_the_region_to_its_beginning_and_again() {
    let back = Agent { pattern: Pattern::Backwards, region: 1_000..11_000, ..agent(loop_of_one()) };
    assert_eq!(starts(back.clone(), 4), [5_096, 1_000, 5_096, 1_000], "places of a forward pass");
    assert_eq!(back.requests_in_passes(2), Some(4));
    let gap =
        Agent { spacing: Spacing { gap: 1_000, ..Spacing::default() }, region: 0..20_480, ..back };
    assert_eq!(starts(gap.clone(), 5), [16_384, 11_288, 6_192, 1_096, 16_384]);
    assert_eq!(gap.requests_in_passes(1), Some(4));
    let stride = Spacing { stride: Some(8_192), align: Some(512), ..Spacing::default() };
    let stride = Agent { spacing: stride, ..gap };
    assert_eq!(starts(stride.clone(), 4), [16_384, 8_192, 0, 16_384]);
    assert_eq!(stride.requests_in_passes(1), Some(3));
}

#[test]
fn passes_are_times_through_the_region() {
    for (first, count) in [(0, 10), (4_096, 9), (38_000, 10)] {
        let spacing = Spacing { first, ..Spacing::default() };
        let agent = Agent { spacing, ..agent(loop_of_one()) };
        let count = Some(count);
        assert_eq!(agent.requests_in_passes(1), count, "from {first} on");
        assert_eq!(agent.requests_in_passes(4), count.map(|count| count + 30));
        let again = starts(agent, 20).iter().rposition(|start| *start == 0);
        assert_eq!(again.map(|again| again as u64 % 10), count.map(|count| count % 10));
    }
    let random = Agent { pattern: Pattern::Random, region: 0..10_000, ..agent(loop_of_one()) };
    assert_eq!(random.requests_in_passes(3), Some(6), "as many whole requests as the region holds");
    let sizes = Weighted::new([(512, 1), (1_024, 1)]).expect("weights");
    assert_eq!(Agent { sizes, ..random }.requests_in_passes(3), None);
}

#[test]
fn a_total_ends_with_a_shorter_request_whatever_was_planned() {
    for arrivals in [Arrivals::closed(4, Span::from_ms(1)), ten_a_second(), Arrivals::Turns] {
        let agent = Agent { bytes: 10_000, ..agent(arrivals) };
        let lens: Vec<u32> = served(vec![agent], 100).iter().map(|io| io.len).collect();
        assert_eq!(lens, [4096, 4096, 1808]);
    }
    // Another agent continues, and so do the rounds of those that take turns.
    let short = Agent { bytes: 4096, ..agent(Arrivals::Turns) };
    let long = Agent { bytes: 5 * 4096, ..short.clone() };
    let streams: Vec<u32> = served(vec![short, long], 100).iter().map(|io| io.stream.0).collect();
    assert_eq!(streams.len(), 6);
    assert_eq!(streams[2..], [1; 4]);
}

#[test]
fn a_flush_follows_so_many_writes_and_takes_the_place_of_a_request() {
    let writes = Agent {
        ops: Ops::Only(Op::Write),
        flush: NonZeroU32::new(2),
        flags: Flags::SYNC.with(Flags::FUA),
        count: 5,
        ..agent(loop_of_one())
    };
    let ios = served(vec![writes.clone()], 100);
    let ops: Vec<Op> = ios.iter().map(|io| io.op).collect();
    assert_eq!(ops, [Op::Write, Op::Write, Op::Flush, Op::Write, Op::Write, Op::Flush, Op::Write]);
    assert_eq!((ios[2].start, ios[2].len, ios[2].flags), (0, 0, Flags::SYNC));
    assert_eq!(ios[3].start, 8192, "places go on behind a flush");

    // There are never more, even if several requests are in flight.
    let deep = Agent { arrivals: Arrivals::closed(3, Span::from_ms(1)), ..writes.clone() };
    let mut agents = Agents::new(vec![deep], Seed(1));
    let first: Vec<Io> = std::iter::from_fn(|| agents.take(Time::ZERO)).collect();
    assert_eq!(first.len(), 3);
    let now = Time::from_ns(500);
    finish(&mut agents, now, &first[0]);
    finish(&mut agents, now, &first[1]);
    let flush = agents.take(now).expect("at once, without a pause");
    assert_eq!((flush.op, flush.due), (Op::Flush, now));
    assert!(agents.take(now).is_none());

    // Reads call for none, and neither does the end of the agent's time.
    let reads = Agent { ops: Ops::Only(Op::Read), ..writes.clone() };
    assert!(served(vec![reads], 100).iter().all(|io| io.op == Op::Read));
    let active = Time::ZERO..Time::from_ns(1);
    let mut agents = Agents::new(vec![Agent { active, ..writes }], Seed(1));
    let last = agents.take(Time::ZERO).expect("it began");
    finish(&mut agents, now, &last);
    assert_eq!(agents.next_due(), Time::NEVER);
}

#[test]
fn an_open_loop_with_buffers_waits_for_a_completion_and_keeps_its_schedule() {
    let buffers = NonZeroU32::new(2);
    let open = Arrivals::Open { rate: 10.0, pace: Pace::Fixed, curve: vec![], buffers };
    let mut agents = Agents::new(vec![Agent { count: 4, ..agent(open) }], Seed(1));
    let late = Time::from_ns(1_000_000_000);
    let first: Vec<Io> = std::iter::from_fn(|| agents.take(late)).collect();
    assert_eq!(first.len(), 2, "no more than its buffers");
    finish(&mut agents, late, &first[1]);
    let third = agents.take(late).expect("a buffer is free");
    assert_eq!(third.due, Time::from_ns(200_000_000), "as the schedule has it");
    assert!(agents.take(late).is_none());
    finish(&mut agents, late, &third);
    finish(&mut agents, late, &first[0]);
    assert_eq!(agents.take(late).map(|io| io.due), Some(Time::from_ns(300_000_000)));
    assert_eq!(agents.next_due(), Time::NEVER);
}

#[test]
fn a_mix_has_its_share_of_reads_and_only_writes_are_durable() {
    let flags = Flags::SYNC.with(Flags::FUA);
    let mix =
        Agent { ops: Ops::Mix { reads: ALL_REQUESTS / 10 * 7 }, flags, ..agent(loop_of_one()) };
    let ios = served(vec![mix.clone()], 100_000);
    let reads = ios.iter().filter(|io| io.op == Op::Read).count();
    // Four standard deviations.
    assert!(reads.abs_diff(70_000) < 4 * 145, "{reads}");
    assert!(ios.iter().all(|io| io.flags.has(Flags::FUA) == (io.op == Op::Write)));
    let all = |reads| served(vec![Agent { ops: Ops::Mix { reads }, ..mix.clone() }], 1_000);
    assert!(all(0).iter().all(|io| io.op == Op::Write));
    assert!(all(ALL_REQUESTS).iter().all(|io| io.op == Op::Read));
}

#[test]
fn operations_and_think_times_leave_the_places_as_they_are() {
    let random = Agent { pattern: Pattern::Random, ..agent(loop_of_one()) };
    let places = starts(random.clone(), 1_000);
    let think = Think::Exponential(Span::from_us(10));
    let other = Agent {
        ops: Ops::Mix { reads: ALL_REQUESTS / 2 },
        arrivals: Arrivals::Closed { depth: 1, think, burst: None },
        ..random
    };
    assert_eq!(starts(other, 1_000), places);
}

#[test]
fn exponential_think_times_have_their_mean_and_deviation() {
    let think = Think::Exponential(Span::from_us(50));
    let thinks = Agent {
        arrivals: Arrivals::Closed { depth: 1, think, burst: None },
        active: Time::ZERO..Time::NEVER,
        ..agent(loop_of_one())
    };
    let due: Vec<u64> = served(vec![thinks], 50_001).iter().map(|io| io.due.ns()).collect();
    let pauses: Vec<f64> = due.windows(2).map(|two| (two[1] - two[0]) as f64 / 50_000.0).collect();
    let mean = pauses.iter().sum::<f64>() / 50_000.0;
    let var = pauses.iter().map(|pause| (pause - mean).powi(2)).sum::<f64>() / 50_000.0;
    assert!((mean - 1.0).abs() < 0.02 && (var - 1.0).abs() < 0.06, "{mean} {var}");
}

/// Takes what is due of `agents` and completes it `service` later, one request after another.
fn played(agents: Vec<Agent>, service: Span) -> Vec<(u64, u16, Op)> {
    let mut agents = Agents::new(agents, Seed(1));
    let mut now = Time::ZERO;
    let mut issued = Vec::new();
    let mut flight: Vec<Io> = Vec::new();
    loop {
        while let Some(io) = agents.take(now) {
            issued.push((now.ns(), io.class.0, io.op));
            flight.push(io);
        }
        if flight.is_empty() {
            now = match agents.next_due() {
                Time::NEVER => return issued,
                due => due,
            };
            continue;
        }
        now += service;
        let io = flight.remove(0);
        let id = penstock_core::ReqId::new(0, 0);
        let req = io.with(id);
        let done = Done { id, at: now, begun: now, service, len: io.len, error: None };
        agents.finished(now, &req, &done);
    }
}

fn counted(class: u16, op: Op, count: u64) -> Agent {
    Agent {
        class: ClassId(class),
        ops: Ops::Only(op),
        count,
        ..agent(Arrivals::closed(1, Span::ZERO))
    }
}

#[test]
fn an_agent_begins_when_those_before_it_have_ended() {
    let write = counted(0, Op::Write, 3);
    let read = Agent { after: vec![ClassId(0)], ..counted(1, Op::Read, 2) };
    let paced = Agent {
        after: vec![ClassId(0), ClassId(1)],
        arrivals: Arrivals::open(1000.0, Pace::Fixed),
        count: 2,
        ..counted(2, Op::Read, 2)
    };
    let issued = played(vec![paced, read, write], Span::from_ns(10));
    let expected = [
        (0, 0, Op::Write),
        (10, 0, Op::Write),
        (20, 0, Op::Write),
        (30, 1, Op::Read),
        (40, 1, Op::Read),
        (50, 2, Op::Read),
        (1_000_050, 2, Op::Read),
    ];
    assert_eq!(issued, expected);
}

#[test]
fn a_flush_belongs_to_the_agent_that_others_wait_for() {
    let write = Agent { flush: NonZeroU32::new(2), ..counted(0, Op::Write, 2) };
    let read = Agent { after: vec![ClassId(0)], ..counted(1, Op::Read, 1) };
    let ops: Vec<Op> = played(vec![write, read], Span::from_ns(10)).iter().map(|i| i.2).collect();
    assert_eq!(ops, [Op::Write, Op::Write, Op::Flush, Op::Read]);
}

#[test]
fn the_first_to_end_stops_the_others_of_its_class() {
    let short = Agent { ends_class: true, ..counted(0, Op::Read, 2) };
    let long = counted(0, Op::Write, 100);
    let other = counted(1, Op::Read, 5);
    let after = Agent { after: vec![ClassId(0)], ..counted(2, Op::Read, 1) };
    let issued = played(vec![short, long, other, after], Span::from_ns(10));
    let of = |class: u16, op| issued.iter().filter(|i| i.1 == class && i.2 == op).count();
    assert_eq!((of(0, Op::Read), of(0, Op::Write)), (2, 2));
    assert_eq!((of(1, Op::Read), of(2, Op::Read)), (5, 1));
}

#[test]
fn an_agent_without_any_time_is_not_waited_for() {
    let absent = Agent { active: Time::ZERO..Time::ZERO, ..counted(0, Op::Read, 2) };
    let after = Agent { after: vec![ClassId(0)], ..counted(1, Op::Read, 1) };
    assert_eq!(played(vec![absent, after], Span::from_ns(10)), [(0, 1, Op::Read)]);
}
