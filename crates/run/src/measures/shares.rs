//! Computes shares of the device next to what weights promise, and next to what each class has
//! alone.

use penstock_core::ClassInfo;
use penstock_jobs::Class;

use crate::measures::values::ratio;
use crate::result::{ClassResult, RunResult, ShareResult};

/// A class is limited by its demand if fewer requests than this wait above the device on average:
/// then there is nothing more to send.
const WAITING: f64 = 1.0;

/// Writes the shares of the classes into the result of a run whose load has `classes`; the job has
/// `described`.
pub(crate) fn write(classes: &[ClassInfo], described: &[Class], run: &mut RunResult) {
    let is_given =
        |name: &str| described.iter().any(|class| class.name == name && class.own_weight.is_some());
    let weight_of = |name: &str| {
        let class = classes.iter().find(|class| class.name == name);
        class.map_or(ClassInfo::WEIGHT, |class| class.weight).get()
    };
    let weights: f64 = (run.classes.iter().filter(|class| has_requests(class)))
        .map(|class| f64::from(weight_of(&class.name)))
        .sum();
    let used_s: f64 = run.classes.iter().map(|class| class.device_time_s).sum();
    for class in &mut run.classes {
        let weight = weight_of(&class.name);
        let ideal_share = has_requests(class).then(|| f64::from(weight) / weights);
        let error = ideal_share.map(|ideal| 100.0 * (class.share - ideal));
        let short = error.is_some_and(|error| error < 0.0);
        let part_s = ideal_share.unwrap_or(0.0) * used_s;
        class.shares = ShareResult {
            weight,
            weight_is_given: is_given(&class.name),
            ideal_share,
            share_error_pct: error,
            limited_by_demand: short && asked_for_less(class, part_s, run.duration_s),
            of_alone: None,
            felt_error_pct: None,
        };
    }
}

/// Compares each run of a round with the runs of the same round that have one class alone, which
/// the `bool` marks.
pub(crate) fn against_alone(runs: &mut [(bool, &mut RunResult)]) {
    let alone: Vec<(String, f64, f64)> = (runs.iter().filter(|(alone, _)| *alone))
        .flat_map(|(_, run)| &run.classes)
        .map(|class| (class.name.clone(), class.bw_bytes, class.iops))
        .collect();
    for (_, run) in runs.iter_mut().filter(|(alone, _)| !alone) {
        for class in &mut run.classes {
            let by_itself = alone.iter().find(|(name, ..)| *name == class.name);
            class.shares.of_alone = by_itself.and_then(|&(_, bw_bytes, iops)| {
                let (part, whole) =
                    if bw_bytes > 0.0 { (class.bw_bytes, bw_bytes) } else { (class.iops, iops) };
                (whole > 0.0).then(|| part / whole)
            });
        }
        let felt: Option<Vec<f64>> = (run.classes.iter().filter(|class| has_requests(class)))
            .map(|class| class.shares.of_alone)
            .collect();
        let sum: f64 = felt.iter().flatten().sum();
        for class in &mut run.classes {
            let parts = class.shares.of_alone.zip(class.shares.ideal_share);
            let parts = parts.filter(|_| felt.is_some() && sum > 0.0);
            class.shares.felt_error_pct = parts.map(|(felt, ideal)| 100.0 * (felt / sum - ideal));
        }
    }
}

fn has_requests(class: &ClassResult) -> bool {
    class.requests + class.unfinished + class.errors > 0 || class.device_time_s > 0.0
}

/// Whether `class` asked for less than `part_s` seconds of device time in a run of `duration_s`.
fn asked_for_less(class: &ClassResult, part_s: f64, duration_s: f64) -> bool {
    if class.open_loop {
        let unfinished_s = class.unfinished as f64 * class.service_ns.mean / 1e9;
        return class.device_time_s + unfinished_s < part_s;
    }
    let waited_s = class.wait_ns.mean / 1e9 * class.requests as f64;
    ratio(waited_s, duration_s) < WAITING
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use serde_json::Value;

    use super::*;

    fn info(name: &str, weight: u32) -> ClassInfo {
        ClassInfo { weight: NonZeroU32::new(weight).unwrap(), ..ClassInfo::new(name) }
    }

    /// A class that used `used_s` of ten seconds, whose requests waited for `waited_s` altogether.
    fn class(name: &str, used_s: f64, waited_s: f64) -> ClassResult {
        let mut class = ClassResult { name: name.into(), requests: 100, ..ClassResult::default() };
        class.device_time_s = used_s;
        class.share = used_s / 10.0;
        class.service_ns.mean = used_s * 1e7;
        class.wait_ns.mean = waited_s * 1e7;
        (class.bw_bytes, class.iops) = (used_s, 2.0 * used_s);
        class
    }

    fn run(classes: Vec<ClassResult>) -> RunResult {
        let infos = [info("small", 1), info("large", 3), info("idle", 100)];
        let new = RunResult::new("any", Value::Null);
        let mut run = RunResult { classes, duration_s: 10.0, ..new };
        write(&infos, &[], &mut run);
        run
    }

    fn near(found: Option<f64>, expected: f64) -> bool {
        found.is_some_and(|found| (found - expected).abs() < 1e-9)
    }

    #[test]
    fn classes_that_have_no_requests_have_no_part() {
        let idle = ClassResult { name: "idle".into(), ..ClassResult::default() };
        let run = run(vec![class("small", 4.0, 50.0), class("large", 6.0, 50.0), idle]);
        let [small, large, idle] = &run.classes[..] else { panic!() };
        assert!(near(small.shares.ideal_share, 0.25) && near(large.shares.ideal_share, 0.75));
        assert!(near(small.shares.share_error_pct, 15.0));
        assert!(near(large.shares.share_error_pct, -15.0));
        assert_eq!((idle.shares.ideal_share, idle.shares.weight), (None, 100));
    }

    #[test]
    fn a_class_that_has_nothing_waiting_asked_for_less() {
        let limited = |run: &RunResult| run.classes[1].shares.limited_by_demand;
        assert!(!limited(&run(vec![class("small", 4.0, 0.0), class("large", 6.0, 20.0)])));
        assert!(limited(&run(vec![class("small", 4.0, 0.0), class("large", 6.0, 5.0)])));
        let mut open = class("large", 6.0, 20.0);
        open.open_loop = true;
        assert!(limited(&run(vec![class("small", 4.0, 0.0), open])));
        // With what is left unfinished it asked for more than its part.
        let mut open = class("large", 6.0, 20.0);
        (open.open_loop, open.unfinished) = (true, 30);
        let run = run(vec![class("small", 4.0, 0.0), open]);
        assert!(!limited(&run) && !run.classes[0].shares.limited_by_demand);
    }

    #[test]
    fn what_is_felt_is_the_part_of_what_each_has_alone() {
        let mut shared = run(vec![class("small", 4.0, 50.0), class("large", 6.0, 50.0)]);
        let mut small = run(vec![class("small", 8.0, 50.0)]);
        let mut large = run(vec![class("large", 10.0, 50.0)]);
        against_alone(&mut [(false, &mut shared), (true, &mut small)]);
        assert!(near(shared.classes[0].shares.of_alone, 0.5));
        assert_eq!(shared.classes[0].shares.felt_error_pct, None, "large did not run alone");
        against_alone(&mut [(false, &mut shared), (true, &mut small), (true, &mut large)]);
        let [small, large] = &shared.classes[..] else { panic!() };
        assert!(near(small.shares.of_alone, 0.5) && near(large.shares.of_alone, 0.6));
        assert!(near(small.shares.felt_error_pct, 100.0 * (0.5 / 1.1 - 0.25)));
        assert!(near(large.shares.felt_error_pct, 100.0 * (0.6 / 1.1 - 0.75)));
    }
}
