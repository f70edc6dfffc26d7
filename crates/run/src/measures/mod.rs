//! The measures of a run, one file each: a measure observes the run and writes its part of the
//! result.

pub(crate) mod arm;
pub(crate) mod below;
pub(crate) mod busy;
pub(crate) mod completed;
pub(crate) mod courses;
pub(crate) mod device_stats;
pub(crate) mod durable;
pub(crate) mod errors;
pub(crate) mod histogram;
pub(crate) mod last_sent;
pub(crate) mod ledger;
pub(crate) mod machine;
pub(crate) mod measure;
pub(crate) mod merge;
pub(crate) mod policy_series;
pub(crate) mod programs;
pub(crate) mod shares;
pub(crate) mod stability;
pub(crate) mod subject;
pub(crate) mod values;
pub(crate) mod windows;

mod against_measured;
mod agents;
mod asked;
mod classes;
mod demand;
mod detail;
mod files;
mod requests;
mod schedule;

use self::measure::Measure;
use self::subject::Subject;

/// Returns the measures that observe the requests above the stack of `subject`.
pub(crate) fn all<'a>(subject: &Subject<'a>) -> Vec<Box<dyn Measure + 'a>> {
    let measures = [
        Some(classes::measure(subject)),
        Some(demand::measure(subject)),
        Some(files::measure(subject)),
        asked::measure(subject),
        schedule::measure(subject),
        against_measured::measure(subject),
        detail::measure(subject),
        agents::measure(subject),
        requests::measure(subject),
        stability::measure(subject),
    ];
    measures.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use penstock_core::{Request, Span, Time};
    use penstock_jobs::Job;
    use serde_json::Value;

    use super::measure::{Finished, samples};
    use super::*;
    use crate::place::Place;
    use crate::result::RunResult;
    use crate::workload;

    const JOB: &str = r#"
        device = "flash"
        duration = "10s"
        [class.open]
        [class.closed]
        [[agent]]
        class = "open"
        op = "read"
        size = "1KiB"
        pattern = "random"
        arrivals = { kind = "poisson", rate = "100/s" }
        [[agent]]
        class = "closed"
        op = "read"
        size = "1KiB"
        pattern = "random"
        arrivals = { kind = "closed" }
    "#;

    /// Requests of both classes and how they finished, every third of one class with an error.
    fn events() -> Vec<(Request, Finished)> {
        let event = |n: u64| {
            let due = Time::ZERO + Span::from_ms(n * 7 % 9_000);
            let req = samples::request((n % 2) as u16, due);
            let error = (n % 6 == 3).then_some(penstock_core::Errno::EIO);
            let (wait, service) = (Span::from_us(n * 13 % 5_000), Span::from_us(1 + n % 900));
            (req, samples::finished(&req, wait, service, error))
        };
        (0..2_000).map(event).collect()
    }

    /// The measures of `subject` on a thread that observes only the events for which `kept` is
    /// true.
    fn seen<'a>(subject: &Subject<'a>, kept: impl Fn(usize) -> bool) -> Vec<Box<dyn Measure + 'a>> {
        let mut measures = all(subject);
        let events = events();
        let mut order: Vec<(Time, usize, bool)> = Vec::new();
        for (number, (req, how)) in events.iter().enumerate().filter(|(number, _)| kept(*number)) {
            order.extend([(req.due, number, false), (how.at, number, true)]);
        }
        order.sort_unstable();
        for (at, number, ended) in order {
            let (req, how) = &events[number];
            for measure in &mut measures {
                if ended { measure.finished(at, req, how) } else { measure.arrived(at, req) }
            }
        }
        measures
    }

    fn written(measures: &mut [Box<dyn Measure + '_>], end: Time) -> Value {
        let mut result = RunResult::new("any", Value::Null);
        for measure in measures {
            measure.write(end, &mut result);
        }
        serde_json::to_value(&result).unwrap()
    }

    #[test]
    fn what_threads_have_measured_is_joined_to_what_one_would_have() {
        let job = Job::parse("job.toml", JOB, &[]).unwrap();
        let load = workload::load(&job, &Place::own(&job).unwrap()).unwrap();
        let (warmup, end) = (Time::ZERO, Time::ZERO + Span::from_secs(10));
        let (live, detail) = (true, true);
        let subject = Subject {
            load: &load,
            warmup,
            live,
            depth: 4,
            detail,
            requests: false,
            stability: false,
            durable: false,
        };
        let one = written(&mut seen(&subject, |_| true), end);
        for threads in [1, 3, 5] {
            let mut whole = all(&subject);
            for thread in 0..threads {
                let mut part = seen(&subject, |number| number % threads == thread);
                for (measure, part) in whole.iter_mut().zip(&mut part) {
                    measure.join(part.part(end).expect("every measure can be joined"));
                }
            }
            let joined = written(&mut whole, end);
            for class in [0, 1] {
                for field in
                    ["requests", "iops", "lat_ns", "wait_ns", "errors", "error_codes", "demand"]
                {
                    assert_eq!(
                        joined["classes"][class][field], one["classes"][class][field],
                        "{field}"
                    );
                }
                let (ours, whole) =
                    (&joined["detail"]["classes"][class], &one["detail"]["classes"][class]);
                assert_eq!(ours["lat_ns"], whole["lat_ns"]);
                let requests = |detail: &Value| -> Vec<Value> {
                    let rows = detail["series"].as_array().unwrap();
                    rows.iter().map(|row| row["requests"].clone()).collect()
                };
                assert_eq!(requests(ours), requests(whole));
            }
        }
    }
}
