//! A latency target for a class; while it is missed, classes with a looser one get a shorter queue.
//!
//! Rule: the disk has one line, first come, first served. A class joins it with as many requests as
//! its depth allows, in the line or in flight; further ones wait above, and join the end of the line
//! as those complete. At first no depth is limited. A window ends with the first completion after
//! its time. A class misses its target in a window if more than `missed` percent of its requests
//! that completed there had taken longer, from arrival to completion. Then the depth of each class
//! with a looser target, or with none, is halved: it becomes half of the most requests that the
//! class had at the disk in the window, and 1 at least. After `recovery` windows without such a miss
//! a depth that its class fills grows by a quarter, and by 1 at least. Requests are not merged,
//! sorted or split. O(1) per request, and O(classes) per window.
//!
//! Use it if one class has an objective for its latency and the others may take what is left, and no
//! share or limit is known that gives this. It does nothing while the target is met. It cannot help
//! a class that delays itself, nor one whose requests are delayed by single long ones; a target that
//! the device cannot meet keeps all others at one request for nothing. By default no class has a
//! target, and requests go in order of arrival.
//!
//! Promise: a depth that grows too far costs one window in `recovery` + 1, or two if the requests that
//! are at the disk by then spoil the next. So the default holds a target in 95 % of the windows if it
//! is held with the others at some depth, once their depths have fallen to it; each missed window
//! halves them. A class with waiting requests always has one at the disk, and its requests keep
//! their order. There is no bound in commands: any number of others may come before a request that
//! waits above joins the line.
//!
//! What it leaves out: the delays with which Linux slows down a process whose requests may not wait;
//! groups within groups; the mean, which Linux compares on disks that rotate. A class that completes
//! nothing in a window, while it has requests, has neither met nor missed its target there.
//!
//! Source: `io.latency` in the documentation of Linux's control groups v2, for the windows, the
//! queue depth, and which classes give way; the message of the change that made it compare the part
//! of the requests that miss, for 10 %. The numbers of the recovery are ours.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use penstock_core::{Counter, Go, Out, Part, Policy, ReqId, Request, Served, Span, Time};

use crate::entry::{Entry, Facts};
use crate::params::{Kind, Param, Params, Value};
use crate::per_class::PerClass;
use crate::queue::put;

/// The entry of the policy in the registry.
pub const ENTRY: Entry = Entry {
    name: "latency-target",
    summary: "in order of arrival, with shorter queues for classes that keep others from their target",
    params: &[
        Param {
            name: "target",
            kind: Kind::PerClass(&Kind::PositiveDurationOr(&["off"])),
            default: Value::Word("off"),
            doc: "the latency that requests of a class should have",
            source: "no target, as io.latency",
        },
        Param {
            name: "window",
            kind: Kind::PositiveDurationOr(&[]),
            default: Value::Duration(Span::from_ms(100)),
            doc: "time between two comparisons with the targets",
            source: "ours: tens of requests of a disk, thousands of a drive of flash",
        },
        Param {
            name: "missed",
            kind: Kind::CountIn(0, 99),
            default: Value::Count(10),
            doc: "percent of the requests of a window that may take longer than the target",
            source: "Linux compares the 90th percentile",
        },
        Param {
            name: "recovery",
            kind: Kind::Count(1),
            default: Value::Count(40),
            doc: "windows without a miss after which a depth grows by a quarter",
            source: "ours: a depth that grows too far then costs less than 5 % of the windows",
        },
    ],
    build: |params, served| Box::new(LatencyTarget::new(params, served)),
    bound: |_, _| None,
    facts: Facts::NONE,
};

/// The line of the disk, and the classes that join it.
#[derive(Debug)]
pub struct LatencyTarget {
    targets: PerClass,
    window: Span,
    missed: u64,
    recovery: u32,
    line: VecDeque<ReqId>,
    classes: Vec<TargetClass>,
    /// Arrival times, by slot.
    arrived: Vec<Time>,
    window_ends: Time,
    windows: u64,
}

/// A class, its depth, and what happened to it in this window.
#[derive(Debug)]
struct TargetClass {
    name: String,
    /// [`Span::MAX`] for none.
    target: Span,
    /// Requests that wait above the line.
    above: VecDeque<ReqId>,
    /// Requests in the line or in flight: now, and at most in this window.
    at_disk: u32,
    peak: u32,
    /// Most requests in the line or in flight.
    depth: u32,
    /// Requests that completed in this window, and those of them that took longer than the target.
    completed: u64,
    late: u64,
    /// Windows in a row in which no stricter class missed its target.
    calm: u32,
    windows_missed: u64,
}

impl LatencyTarget {
    /// Takes all parameters.
    pub fn new(params: &Params, served: &Served<'_>) -> Self {
        let window = params.duration("window");
        let mut policy = Self {
            targets: PerClass::new(params, "target"),
            window,
            missed: params.count("missed").into(),
            recovery: params.count("recovery"),
            line: VecDeque::new(),
            classes: Vec::new(),
            arrived: Vec::new(),
            window_ends: Time::ZERO + window,
            windows: 0,
        };
        served.classes.iter().for_each(|class| policy.add_class(class.name.clone()));
        policy
    }

    fn add_class(&mut self, name: String) {
        let target = match self.targets.of(self.classes.len()) {
            0 => Span::MAX,
            ns => Span::from_ns(ns),
        };
        self.classes.push(TargetClass {
            name,
            target,
            above: VecDeque::new(),
            at_disk: 0,
            peak: 0,
            depth: u32::MAX,
            completed: 0,
            late: 0,
            calm: 0,
            windows_missed: 0,
        });
    }

    /// Compares a window with the targets, and sets the depths.
    fn end_window(&mut self) {
        let strictest = |holds: &dyn Fn(&TargetClass) -> bool| {
            let targets =
                self.classes.iter().filter(|class| holds(class)).map(|class| class.target);
            targets.min().unwrap_or(Span::MAX)
        };
        let misses = |class: &TargetClass| class.late * 100 > class.completed * self.missed;
        let missed = strictest(&misses);
        let unknown = strictest(&|class| class.completed == 0 && class.at_disk > 0);
        self.windows += 1;
        for class in &mut self.classes {
            class.windows_missed += u64::from(class.late * 100 > class.completed * self.missed);
            if missed < class.target {
                class.depth = (class.depth.min(class.peak) / 2).max(1);
                class.calm = 0;
            } else if unknown >= class.target {
                class.calm += 1;
            }
            if class.calm >= self.recovery {
                class.calm = 0;
                if class.peak >= class.depth {
                    class.depth = class.depth.saturating_add((class.depth / 4).max(1));
                }
            }
            (class.completed, class.late, class.peak) = (0, 0, class.at_disk);
            class.join(&mut self.line);
        }
    }
}

impl TargetClass {
    /// Lets requests that wait above join `line`, as many as the depth allows.
    fn join(&mut self, line: &mut VecDeque<ReqId>) {
        while self.at_disk < self.depth
            && let Some(next) = self.above.pop_front()
        {
            self.at_disk += 1;
            line.push_back(next);
        }
        self.peak = self.peak.max(self.at_disk);
    }
}

impl Policy for LatencyTarget {
    fn enqueue(&mut self, now: Time, req: &Request) {
        while self.classes.len() <= req.class.index() {
            self.add_class(format!("{}", self.classes.len()));
        }
        put(&mut self.arrived, req.id.slot(), now);
        let class = &mut self.classes[req.class.index()];
        class.above.push_back(req.id);
        class.join(&mut self.line);
    }

    fn dispatch(&mut self, _: Time, _: &mut Out<'_>) -> Option<Go> {
        self.line.pop_front().map(Go::all)
    }

    fn complete(&mut self, now: Time, req: &Request, _: &Part) {
        let class = &mut self.classes[req.class.index()];
        let latency = now.since(self.arrived[req.id.index()]);
        class.completed += 1;
        class.late += u64::from(latency > class.target);
        class.at_disk -= 1;
        class.join(&mut self.line);
        if now >= self.window_ends {
            self.window_ends = now + self.window;
            self.end_window();
        }
    }

    fn counters(&self, report: &mut dyn FnMut(Counter<'_>, u64)) {
        report(Counter::total("windows"), self.windows);
        for class in &self.classes {
            if class.target < Span::MAX {
                let missed = Counter::total("windows_missed").for_class(&class.name);
                report(missed, class.windows_missed);
            }
            if class.depth < u32::MAX {
                report(Counter::level("depth").for_class(&class.name), class.depth.into());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use penstock_core::{ClassId, Device, Done, Flags, Io, Op, Prio, StreamId};

    use super::*;

    /// A device with room for everything.
    struct Roomy;

    impl Device for Roomy {
        fn capacity(&self) -> u64 {
            1 << 40
        }
        fn block(&self) -> u32 {
            1
        }
        fn room(&self) -> u32 {
            u32::MAX
        }
        fn start(&mut self, _: Time, _: &Request) {}
        fn advance(&mut self, _: Time, _: &mut Vec<Done>) {}
        fn wakeup(&self) -> Time {
            Time::NEVER
        }
    }

    const WINDOW: Span = Span::from_ms(10);

    /// A policy, its requests in flight, and the time.
    struct Scene {
        policy: LatencyTarget,
        in_flight: Vec<Request>,
        now: Time,
        requests: u32,
    }

    impl Scene {
        /// Three classes; the last has no target and sixteen requests.
        fn new() -> Self {
            let ms = |ms| Value::Duration(Span::from_ms(ms));
            let params = ENTRY
                .defaults()
                .with("target", Value::List([ms(1), ms(5), Value::Word("off")].into()))
                .with("window", Value::Duration(WINDOW))
                .with("recovery", Value::Count(2));
            let policy = LatencyTarget::new(&params, &Served::ONE_DISK);
            let (in_flight, now) = (Vec::new(), Time::ZERO);
            let mut scene = Self { policy, in_flight, now, requests: 0 };
            (0..16).for_each(|_| scene.send(2));
            scene
        }

        /// Adds a request of a class, and dispatches what may go.
        fn send(&mut self, class: u16) {
            let id = ReqId::new(self.requests, 0);
            self.requests += 1;
            let io = Io {
                due: self.now,
                start: 0,
                len: 4096,
                stream: StreamId(0),
                class: ClassId(class),
                op: Op::Read,
                prio: Prio(0),
                flags: Flags::NONE,
            };
            let request = Request { id, io };
            self.policy.enqueue(self.now, &request);
            self.in_flight.push(request);
            let mut chain = Vec::new();
            while self
                .policy
                .dispatch(self.now, &mut Out { chain: &mut chain, below: &Roomy })
                .is_some()
            {}
        }

        /// Completes the requests of a class that are in flight, each followed by another one.
        fn complete(&mut self, class: u16) {
            let at_disk = self.policy.classes[usize::from(class)].at_disk as usize;
            for _ in 0..at_disk {
                let first = self.in_flight.iter().position(|req| req.class.0 == class);
                let request = self.in_flight.remove(first.expect("it is in flight"));
                let (at, service, len) = (self.now, Span::ZERO, request.len);
                let part = Part { at, service, len, last: true, error: None };
                self.policy.complete(self.now, &request, &part);
                if class == 2 {
                    self.send(class);
                }
            }
        }

        /// A window in which a request of `class` takes `ms`. Returns the depths of the second and
        /// the third class after it.
        fn window(&mut self, class: u16, ms: u64) -> [u32; 2] {
            let begins = self.now;
            self.send(class);
            self.now = begins + Span::from_ms(ms);
            self.complete(class);
            self.now = begins + WINDOW;
            self.complete(2);
            [1, 2].map(|class| self.policy.classes[class].depth)
        }
    }

    #[test]
    fn depths_are_halved_to_one_and_grow_by_quarters() {
        let mut scene = Scene::new();
        let missed: Vec<u32> = (0..6).map(|_| scene.window(0, 2)[1]).collect();
        assert_eq!(missed, [8, 4, 2, 1, 1, 1]);
        let met: Vec<u32> = (0..18).map(|_| scene.window(0, 1)[1]).collect();
        assert_eq!(met, [1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 10, 10, 12]);
    }

    #[test]
    fn only_classes_with_looser_targets_give_way() {
        let mut scene = Scene::new();
        let [second, third] = scene.window(1, 6);
        assert_eq!((second, third), (u32::MAX, 8), "the second class missed its own target");
        let [second, third] = scene.window(1, 4);
        assert_eq!((second, third), (u32::MAX, 8), "it met its own target");
        let [second, third] = scene.window(0, 2);
        assert_eq!((second, third), (1, 4), "the second class had no request");
    }

    /// A request that takes many windows is no sign that its class has met its target.
    #[test]
    fn a_class_that_only_waits_lets_no_depth_grow() {
        let mut scene = Scene::new();
        assert_eq!(scene.window(0, 2)[1], 8);
        scene.send(0);
        for _ in 0..10 {
            scene.now += WINDOW;
            scene.complete(2);
            assert_eq!(scene.policy.classes[2].depth, 8);
        }
    }
}
