//! Every decision of a policy at DiskSim's own times.

use penstock_core::{Device, Done, Limits, Queued, Request, Time, Virtual, run};
use penstock_validation::disksim::{Trace, policy, text};

/// A disk with the service times of `DiskSim`'s disk. It checks that it gets the same requests.
struct Played {
    /// End of each access in nanoseconds, and its first block; the last row is next.
    rows: Vec<(u64, u64)>,
    differ: u64,
    serving: Option<Request>,
    now: Time,
}

impl Played {
    fn ends(&self) -> Time {
        self.rows.last().map_or(Time::NEVER, |&(ends, _)| Time::from_ns(ends))
    }
}

impl Device for Played {
    fn capacity(&self) -> u64 {
        1 << 40
    }
    fn block(&self) -> u32 {
        512
    }
    fn room(&self) -> u32 {
        u32::from(self.serving.is_none())
    }
    fn start(&mut self, now: Time, req: &Request) {
        self.serving = Some(*req);
        self.now = now;
        self.differ +=
            u64::from(self.rows.last().is_some_and(|&(_, block)| block * 512 != req.start));
    }
    fn wakeup(&self) -> Time {
        self.serving.map_or(Time::NEVER, |_| self.ends())
    }
    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        if self.ends() <= now
            && let Some(Request { id, io }) = self.serving.take()
        {
            self.rows.pop();
            let service = now.since(self.now);
            done.push(Done { id, at: now, begun: self.now, service, len: io.len, error: None });
        }
    }
}

/// `DiskSim`'s platter falls behind by some microseconds over the trace, so that sometimes a
/// request arrives between its decision and ours. At its own times every decision is the same.
#[test]
fn every_decision_of_shortest_seek_first_is_disksims() {
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let ms: f64 = fields[0].parse().expect("a time");
        ((ms * 1e6).round() as u64, fields[2].parse().expect("a block"))
    };
    let mut rows: Vec<(u64, u64)> =
        text("accesses/r4k_100_sstf.csv.gz").lines().skip(1).map(row).collect();
    assert_eq!(rows.len(), 9996);
    rows.reverse();
    let until = Time::from_ns(rows[0].0);
    let played = Played { rows, differ: 0, serving: None, now: Time::ZERO };
    let mut stack = Queued::new(policy("sstf"), played);
    let limits = Limits { until, ..Limits::default() };
    run(&mut Trace::new("r4k_100"), &mut stack, &mut Virtual::default(), &mut (), limits)
        .expect("a trace runs to its end");
    assert_eq!((stack.device().rows.len(), stack.device().differ), (0, 0));
}
