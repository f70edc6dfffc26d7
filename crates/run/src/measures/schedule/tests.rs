//! Runs whose lateness is known to the nanosecond: virtual time that comes back late as it is found.

use penstock_core::{ClassId, Clock, Done, Limits, Observer, Op, Queued, Seed, Virtual, run};
use penstock_device::{Cost, Fixed};
use penstock_policy::Params;
use penstock_policy::fcfs::Fcfs;
use penstock_workload::{Agent, Agents, Arrivals, Pace, Pattern};

use super::*;

/// Comes back late from each wait for a round 10 ms, in turn by what its list says.
struct Late<I> {
    clock: Virtual,
    by_us: I,
}

impl<I: Iterator<Item = u64>> Clock for Late<I> {
    fn now(&mut self) -> Time {
        self.clock.now()
    }

    fn park(&mut self, until: Time) -> bool {
        let arrival = until > self.clock.now() && until.ns().is_multiple_of(10_000_000);
        let late = if arrival { self.by_us.next().unwrap_or(0) } else { 0 };
        self.clock.park(until + Span::from_us(late))
    }
}

struct Watch<'a> {
    schedule: Schedule<'a>,
    stop_at: Time,
}

impl Observer for Watch<'_> {
    fn turn(&mut self, now: Time) -> bool {
        self.schedule.turn();
        now < self.stop_at
    }

    fn arrived(&mut self, now: Time, req: &Request) {
        self.schedule.arrived(now, req);
    }

    fn finished(&mut self, now: Time, req: &Request, done: &Done) {
        let how = Finished::new(req, done, Time::ZERO, done.service);
        self.schedule.finished(now, req, &how);
    }
}

fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

fn agent(class: u16, arrivals: Arrivals) -> Agent {
    let agent = Agent::new(ClassId(class), Op::Read, 4096, 0..40_960, arrivals);
    Agent { pattern: Pattern::Sequential, active: Time::ZERO..ms(100), ..agent }
}

/// Ten requests of class 0, one each 10 ms from 0, and what `others` ask, on a device that takes
/// 3 ms for each; waits come back late by `by_us`. The results of all, of class 0 and of class 1.
fn watched(
    by_us: &[u64],
    others: Vec<Agent>,
    warmup: Time,
    stop_at: Time,
) -> [Option<ScheduleResult>; 3] {
    let even = Arrivals::open(100.0, Pace::Fixed);
    let agents: Vec<Agent> = std::iter::once(agent(0, even)).chain(others).collect();
    let open = |agent: &Agent| matches!(agent.arrivals, Arrivals::Open { .. });
    let open: Vec<bool> = agents.iter().map(open).collect();
    let mut source = Agents::new(agents, Seed(1));
    let planned = Box::new(move |stream: StreamId| open[stream.0 as usize]);
    let mut watch = Watch { schedule: Schedule::new(2, warmup, 1, planned), stop_at };
    let cost = Cost::Linear { base: Span::from_ms(3), per_mb: Span::ZERO };
    let policy = Box::new(Fcfs::new(&Params::NONE));
    let mut stack = Queued::new(policy, Fixed::new(cost, 1 << 20));
    let mut clock = Late { clock: Virtual::default(), by_us: by_us.iter().copied() };
    let limits = Limits::default();
    let end = run(&mut source, &mut stack, &mut clock, &mut watch, limits).unwrap();
    watch.schedule.ended(&mut source, end.at, Time::NEVER);
    let Schedule { all, classes, .. } = &watch.schedule;
    [all, &classes[0], &classes[1]].map(|tally| tally.result(warmup))
}

#[test]
fn what_was_late_is_known_to_the_nanosecond() {
    let by_us = [0, 50, 100, 101, 1_000, 1_001, 2_000, 0, 0];
    let [all, class, other] = watched(&by_us, Vec::new(), Time::ZERO, Time::NEVER);
    let found = all.unwrap();
    assert_eq!((found.scheduled, found.due, found.made), (10, 10, 10));
    let held = [found.held.within_100us, found.held.within_1ms, found.held.within_10ms];
    assert_eq!(held.map(|share| (share * 10.0).round() as u64), [6, 8, 10]);
    assert!((found.lateness_ns.mean - 425_200.0).abs() < 1e-6);
    assert_eq!(found.lateness_ns.max, 2_000_000);
    assert_eq!((found.scheduled_s, found.taken_s), (0.09, 0.09));
    assert_eq!(found.late_while_full, 0, "one request at a time never fills the device");
    assert_eq!(class.unwrap().made, 10);
    assert!(other.is_none(), "a class that asks nothing has no schedule");
}

#[test]
fn a_closed_loop_has_no_schedule_and_fills_the_device() {
    let closed = agent(1, Arrivals::closed(1, Span::ZERO));
    let by_us = [0, 1_500];
    let [all, class, other] = watched(&by_us, vec![closed], Time::ZERO, Time::NEVER);
    assert!(other.is_none());
    let (all, class) = (all.unwrap(), class.unwrap());
    assert_eq!((all.made, class.made), (10, 10), "only what is planned counts");
    assert_eq!((all.late_while_full, class.late_while_full), (1, 1));
    assert_eq!(class.lateness_ns.max, 1_500_000);
}

#[test]
fn what_an_interrupted_run_did_not_play_is_counted() {
    // The wait for 40 ms lasts until 75 ms, where the run is ended.
    let [all, ..] = watched(&[0, 0, 0, 35_000], Vec::new(), Time::ZERO, ms(75));
    let found = all.unwrap();
    assert_eq!((found.scheduled, found.due, found.made), (10, 8, 4));
    let half = (found.held.within_10ms - 0.5).abs() < 1e-9;
    assert!(half, "what was due and never made was not held: {}", found.held.within_10ms);
    assert_eq!((found.scheduled_s, found.taken_s), (0.09, 0.03));
}

#[test]
fn the_warm_up_is_not_counted() {
    let [all, ..] = watched(&[500, 0, 0, 0, 0], Vec::new(), ms(20), Time::NEVER);
    let found = all.unwrap();
    assert_eq!((found.scheduled, found.made, found.lateness_ns.max), (8, 8, 0));
    assert_eq!((found.scheduled_s, found.taken_s), (0.07, 0.07));
}

/// A billion arrivals a second for 28 hours: it once took forever to end such a run.
#[test]
fn what_is_left_of_an_endless_schedule_is_not_counted_to_its_end() {
    let fast = Arrivals::open(1e9, Pace::Fixed);
    let agent = Agent { active: Time::ZERO..ms(100_000_000), ..agent(0, fast) };
    let mut schedule = Schedule::new(1, Time::ZERO, 1, Box::new(|_| true));
    schedule.ended(&mut Agents::new(vec![agent], Seed(1)), ms(1), Time::NEVER);
    let found = schedule.all.result(Time::ZERO).unwrap();
    assert_eq!((found.made, found.due, found.scheduled), (0, 1_000_001, LEFT_MOST.into()));
}
