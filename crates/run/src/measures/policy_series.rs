//! The policy's own counters over time, in the windows in which classes are measured.
//!
//! A policy changes only when it is called, so its counters at the end of a window are those before
//! the first call after it. They are read then, some hundred times in a run, and never for a request.
//! Values are kept as they were read, whatever they mean: where windows are joined the later one holds.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use penstock_core::{Counter, Moves, Policy, PolicyObserver, Time, Witness};

use crate::measures::measure::Measure;
use crate::measures::windows::Plan;
use crate::result::{CounterKind, CounterSeries, Detail, RunResult};

/// At most this many classes have their counters kept, the first ones: no chart has more lines.
const CLASSES: usize = 8;
/// At most this many other counters are kept.
const OTHERS: usize = 16;
/// At most this many policies are sampled where each disk has its own.
const DISKS: usize = 8;

/// The series of all policies of a run. Clones share their data.
#[derive(Clone)]
pub(crate) struct PolicySeries {
    plan: Plan,
    end: Rc<Cell<Time>>,
    /// The counters of each policy, in the order of their disks.
    policies: Rc<RefCell<Vec<Rc<RefCell<Course>>>>>,
}

/// The counters of one policy.
struct Course {
    plan: Plan,
    /// When the open window ends.
    ends: Time,
    /// Number of windows that have ended.
    closed: usize,
    tracks: Vec<Track>,
    /// The classes of which counters are kept.
    classes: Vec<String>,
}

/// A counter; they are in the order in which the policy reports them.
struct Track {
    name: String,
    class: Option<String>,
    moves: Moves,
    now: u64,
    /// Values read at the end of each window that has ended.
    values: Vec<Option<u64>>,
}

/// Reads the counters of a policy before it is called.
struct Sampler {
    ends: Time,
    course: Rc<RefCell<Course>>,
}

impl PolicySeries {
    /// Creates the series, in the windows of `plan`.
    pub(crate) fn new(plan: Plan) -> Self {
        Self { plan, end: Rc::new(Cell::new(Time::ZERO)), policies: Rc::default() }
    }

    /// Wraps `policy`, the one of the next disk, so that its counters are sampled.
    pub(crate) fn over(&self, policy: Box<dyn Policy>) -> Box<dyn Policy> {
        let course = Rc::new(RefCell::new(Course::new(self.plan)));
        self.policies.borrow_mut().push(Rc::clone(&course));
        Box::new(Witness::with(policy, Sampler { ends: Time::ZERO + self.plan.length, course }))
    }

    /// Reads the last values of `policy`, the one of `disk`, when the run has ended.
    pub(crate) fn ended(&self, disk: usize, policy: &dyn Policy) {
        let policies = self.policies.borrow();
        let mut course = policies[disk].borrow_mut();
        course.close(self.end.get(), policy);
        course.push();
    }

    /// Returns the series of the policy of one thread, for [`joined`].
    pub(crate) fn detail(&self) -> Detail {
        let window = self
            .policies
            .borrow()
            .first()
            .map_or(self.plan.length, |course| course.borrow().plan.length);
        let (classes, agents, policy) = (Vec::new(), Vec::new(), self.all_series());
        Detail { window_s: window.ns() as f64 / 1e9, classes, agents, policy, arm: None }
    }

    /// Returns the series of all policies.
    pub(crate) fn all_series(&self) -> Vec<CounterSeries> {
        let policies = self.policies.borrow();
        let is_only = policies.len() == 1;
        let courses = policies.iter().take(DISKS).enumerate();
        let series = courses.flat_map(|(disk, course)| {
            let course = course.borrow();
            let tracks = course.tracks.iter().filter(|track| is_only || track.class.is_none());
            tracks.map(|track| track.series((!is_only).then_some(disk))).collect::<Vec<_>>()
        });
        series.collect()
    }
}

/// Renames the series in `detail`, of the only policy of a thread, to those of the policy of
/// `disk`, and drops those that are not sampled for that disk.
pub(crate) fn of_disk(mut detail: Detail, disk: usize) -> Detail {
    detail.policy.retain(|series| disk < DISKS && series.of_class.is_none());
    for series in &mut detail.policy {
        series.name = format!("disk{disk}.{}", series.name);
        series.disk = Some(disk);
    }
    detail
}

/// Joins all series in `details` into at most `windows` windows of `window_s`, which are at least
/// as long as the windows of any of them.
pub(crate) fn joined(details: Vec<Detail>, window_s: f64, windows: usize) -> Vec<CounterSeries> {
    let widened = |mut detail: Detail| {
        while detail.window_s < 0.75 * window_s {
            detail.policy.iter_mut().for_each(widen);
            detail.window_s *= 2.0;
        }
        detail.policy.iter_mut().for_each(|series| series.values.truncate(windows));
        detail.policy
    };
    details.into_iter().flat_map(widened).collect()
}

/// Joins neighbouring windows: half as many, twice as long.
fn widen(series: &mut CounterSeries) {
    let pair = |pair: &[Option<u64>]| match series.kind {
        CounterKind::Level => pair.last().copied().flatten(),
        CounterKind::Total => pair.iter().copied().flatten().reduce(|sum, more| sum + more),
    };
    series.values = series.values.chunks(2).map(pair).collect();
}

impl Measure for PolicySeries {
    fn write(&mut self, end: Time, _: &mut RunResult) {
        self.end.set(end);
    }
}

impl Course {
    fn new(plan: Plan) -> Self {
        let ends = Time::ZERO + plan.length;
        Self { plan, ends, closed: 0, tracks: Vec::new(), classes: Vec::new() }
    }

    /// Closes every window that has ended at `now`, with the current counters of `policy`.
    fn close(&mut self, now: Time, policy: &dyn Policy) {
        let mut next = 0;
        policy.counters(&mut |counter, value| {
            if let Some(at) = self.place(&counter, next) {
                self.tracks[at].now = value;
                next = at + 1;
            }
        });
        while self.ends <= now {
            self.push();
            if self.closed >= self.plan.most {
                self.widen();
            }
            self.ends += self.plan.length;
        }
    }

    /// Returns where `counter` is kept, most probably at `next`; `None` if there are too many
    /// counters.
    fn place(&mut self, counter: &Counter<'_>, next: usize) -> Option<usize> {
        if self.tracks.get(next).is_some_and(|track| track.is(counter)) {
            return Some(next);
        }
        let known = self.tracks.iter().position(|track| track.is(counter));
        known.or_else(|| self.admit(counter))
    }

    fn admit(&mut self, counter: &Counter<'_>) -> Option<usize> {
        match counter.class {
            None => {
                let others = self.tracks.iter().filter(|track| track.class.is_none()).count();
                if others >= OTHERS {
                    return None;
                }
            }
            Some(class) if self.classes.iter().any(|known| known == class) => {}
            Some(class) if self.classes.len() < CLASSES => self.classes.push(class.to_owned()),
            Some(_) => return None,
        }
        let mut values = Vec::with_capacity(self.plan.most);
        values.resize(self.closed, None);
        self.tracks.push(Track {
            name: counter.name.to_owned(),
            class: counter.class.map(str::to_owned),
            moves: counter.moves,
            now: 0,
            values,
        });
        Some(self.tracks.len() - 1)
    }

    /// Ends the open window with the values that were read last.
    fn push(&mut self) {
        self.tracks.iter_mut().for_each(|track| track.values.push(Some(track.now)));
        self.closed += 1;
    }

    /// Joins neighbouring windows: half as many, twice as long.
    fn widen(&mut self) {
        for track in &mut self.tracks {
            let mut number = 0..;
            track.values.retain(|_| number.next().is_some_and(|number| number % 2 == 1));
        }
        self.closed /= 2;
        self.plan.length = self.plan.length + self.plan.length;
    }
}

impl Track {
    fn is(&self, counter: &Counter<'_>) -> bool {
        self.name == counter.name && self.class.as_deref() == counter.class
    }

    /// Returns the series as results have it; `disk` is the disk of the policy if each has its own.
    fn series(&self, disk: Option<usize>) -> CounterSeries {
        let counter = Counter { name: &self.name, class: self.class.as_deref(), moves: self.moves };
        let prefix = disk.map_or_else(String::new, |disk| format!("disk{disk}."));
        let (kind, values) = match self.moves {
            Moves::Level => (CounterKind::Level, self.values.clone()),
            Moves::Total => (CounterKind::Total, added(&self.values)),
        };
        CounterSeries {
            name: format!("{prefix}{counter}"),
            counter: self.name.clone(),
            of_class: self.class.clone(),
            disk,
            kind,
            values,
        }
    }
}

/// Returns what was added from each of `totals` to the next.
fn added(totals: &[Option<u64>]) -> Vec<Option<u64>> {
    let mut before = 0;
    let step = |total: &Option<u64>| {
        total.map(|total| total.saturating_sub(std::mem::replace(&mut before, total)))
    };
    totals.iter().map(step).collect()
}

impl PolicyObserver for Sampler {
    fn before(&mut self, now: Time, policy: &dyn Policy) {
        if now >= self.ends {
            let mut course = self.course.borrow_mut();
            course.close(now, policy);
            self.ends = course.ends;
        }
    }
}

#[cfg(test)]
mod tests {
    use penstock_core::{Go, Out, Part, Request, Span};

    use super::*;
    use crate::measures::measure::samples;

    /// Counts its requests: reports the total, and a level for each of a number of classes.
    #[derive(Default)]
    struct CountsAsked(u64, usize);

    impl Policy for CountsAsked {
        fn enqueue(&mut self, _: Time, _: &Request) {
            self.0 += 1;
        }
        fn dispatch(&mut self, _: Time, _: &mut Out<'_>) -> Option<Go> {
            None
        }
        fn complete(&mut self, _: Time, _: &Request, _: &Part) {}
        fn counters(&self, report: &mut dyn FnMut(Counter<'_>, u64)) {
            report(Counter::total("asked"), self.0);
            if self.0 > 3 {
                report(Counter::level("late"), self.0);
            }
            for class in 0..self.1 {
                report(Counter::level("level").for_class(&class.to_string()), self.0);
            }
        }
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    /// The series of a run with a request every 10 ms from 5 ms on, for `ms` of a run planned for a
    /// second, with counters of `classes` classes.
    fn run(ms: u64, classes: usize) -> Vec<CounterSeries> {
        let plan = Plan::new(1, Span::from_secs(1));
        let mut series = PolicySeries::new(plan);
        let mut policy = series.over(Box::new(CountsAsked(0, classes)));
        for now in (5..ms).step_by(10) {
            policy.enqueue(at(now), &samples::request(0, at(now)));
        }
        series.write(at(ms), &mut RunResult::default());
        series.ended(0, &policy);
        series.all_series()
    }

    #[test]
    fn totals_come_as_what_was_added_and_levels_as_they_were() {
        let series = run(100, 1);
        let names: Vec<&str> = series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!(names, ["asked", "class.0.level", "late"]);
        // Windows of 5 ms: a request that comes when one ends belongs to the next.
        let expected: Vec<u64> = (0..21).map(|window| u64::from(window % 2 == 1)).collect();
        let found: Vec<u64> = series[0].values.iter().map(|value| value.unwrap()).collect();
        assert_eq!(found, expected);
        assert_eq!(series[1].values[..6], [0, 1, 1, 2, 2, 3].map(Some));
        assert_eq!(series[2].values[..9], [[None; 7].as_slice(), &[Some(4); 2]].concat());
    }

    #[test]
    fn series_of_threads_have_the_names_of_their_disks_and_windows_of_one_length() {
        let detail = |disk| {
            let (classes, policy) = (Vec::new(), run(100, 1));
            of_disk(
                Detail { window_s: 0.005, classes, agents: Vec::new(), policy, arm: None },
                disk,
            )
        };
        let series = joined(vec![detail(0), detail(2), detail(DISKS)], 0.010, 11);
        let found: Vec<_> = series.iter().map(|series| (&series.name[..], series.disk)).collect();
        let expected = [("asked", 0), ("late", 0), ("asked", 2), ("late", 2)];
        let names = expected.map(|(name, disk)| format!("disk{disk}.{name}"));
        let disks = expected.map(|(_, disk)| Some(disk));
        let expected: Vec<_> = names.iter().map(String::as_str).zip(disks).collect();
        assert_eq!(found, expected);
        assert_eq!(series[2].values, [[Some(1); 10].as_slice(), &[Some(0)]].concat());
        assert_eq!(series[3].values[..5], [[None; 3].as_slice(), &[Some(4), Some(5)]].concat());
        let short = joined(vec![detail(0)], 0.005, 4);
        assert_eq!(short[0].values, [0, 1, 0, 1].map(Some), "no longer than the run");
    }

    #[test]
    fn no_increment_is_lost_where_windows_are_joined() {
        for ms in [1000, 1003, 9990, 60_000] {
            let series = run(ms, 1);
            let counts: Vec<u64> = series[0].values.iter().map(|value| value.unwrap()).collect();
            assert!(counts.len() <= 401, "{} windows", counts.len());
            assert_eq!(counts.iter().sum::<u64>(), (ms + 4) / 10);
            assert_eq!(series[1].values.last(), Some(&Some((ms + 4) / 10)));
            assert!(series.iter().all(|series| series.values.len() == counts.len()));
        }
    }

    #[test]
    fn of_many_classes_the_first_ones_are_kept() {
        let series = run(100, 200);
        let classes = series.iter().filter_map(|series| series.of_class.as_deref());
        assert_eq!(classes.collect::<Vec<_>>(), ["0", "1", "2", "3", "4", "5", "6", "7"]);
        assert_eq!(series.len(), 10);
    }
}
