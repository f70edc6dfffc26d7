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
    let open = Arrivals::Open { rate: 4.0, pace: Pace::Fixed, curve: vec![] };
    let times = arrivals(agent(open));
    assert_eq!(times, (0..40).map(|k| k * 250_000_000).collect::<Vec<_>>());
}

#[test]
fn a_curve_shapes_the_rate() {
    let curve = vec![0.0, 1.0, 3.0, 0.0, 1.0];
    let open = Arrivals::Open { rate: 1000.0, pace: Pace::Poisson, curve: curve.clone() };
    let times = arrivals(agent(open));
    for (part, factor) in (0_u64..).zip(curve) {
        let two_seconds = part * 2_000_000_000..(part + 1) * 2_000_000_000;
        let found = times.iter().filter(|t| two_seconds.contains(t)).count() as f64;
        let expected = 2000.0 * factor;
        // Five standard deviations of a Poisson count.
        assert!((found - expected).abs() <= 5.0 * expected.sqrt(), "part {part}: {found}");
    }
}

#[test]
fn poisson_gaps_have_the_mean_and_deviation_of_an_exponential() {
    let open = Arrivals::Open { rate: 5000.0, pace: Pace::Poisson, curve: vec![] };
    let times = arrivals(agent(open));
    let gaps: Vec<f64> = times.windows(2).map(|w| (w[1] - w[0]) as f64 / 200_000.0).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let var = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    assert!((mean - 1.0).abs() < 0.03 && (var - 1.0).abs() < 0.06, "{mean} {var}");
}

#[test]
fn a_closed_loop_keeps_its_depth_and_thinks() {
    let closed = Arrivals::Closed { depth: 2, think: Span::from_ms(5) };
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
fn agents_that_take_turns_ask_one_at_a_time_and_each_once_in_a_round() {
    let one = |size, count| Agent { size, count, ..agent(Arrivals::Turns) };
    let mut agents = Agents::new(vec![one(4096, 3), one(8192, 3), one(1024, 1)], Seed(1));
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

/// The state of every agent of another class while a class runs alone.
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
    let open = Arrivals::Open { rate: 4.0, pace: Pace::Fixed, curve: vec![] };
    let mut agents = Agents::new(vec![agent(open)], Seed(1));
    let starts: Vec<u64> =
        std::iter::from_fn(|| agents.take(Time::NEVER)).map(|io| io.start).take(11).collect();
    assert_eq!(starts[..3], [0, 4096, 8192]);
    assert_eq!(starts[10], 0);
}

/// First byte and bytes of every request.
fn places(agent: Agent) -> Vec<(u64, u32)> {
    let mut agents = Agents::new(vec![agent], Seed(1));
    std::iter::from_fn(|| agents.take(Time::NEVER)).map(|io| (io.start, io.len)).collect()
}

fn ten_a_second() -> Arrivals {
    Arrivals::Open { rate: 10.0, pace: Pace::Fixed, curve: vec![] }
}

#[test]
fn sizes_and_gaps_grow_and_the_end_of_the_region_leads_to_its_beginning() {
    let growth = Some(Growth { every: 2, size: 10, gap: 100 });
    let spacing = Spacing { first: 500, gap: 1, growth, align: None };
    let agent =
        Agent { size: 16, count: 7, spacing, region: 1_000..2_150, ..agent(ten_a_second()) };
    assert_eq!(agent.longest(), 46);
    let found = places(agent);
    assert_eq!(
        found,
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
    let aligned =
        Agent { size: 250, count: 40, spacing, region: 50..1_350, ..agent(ten_a_second()) };
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
    let closed = Arrivals::Closed { depth: 2, think: Span::ZERO };
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
