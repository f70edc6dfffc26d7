//! What is measured in a run: a file for each measure, which observes the run and writes its part of
//! the result.

pub(crate) mod arm;
pub(crate) mod busy;
pub(crate) mod courses;
pub(crate) mod device_stats;
pub(crate) mod errors;
pub(crate) mod histogram;
pub(crate) mod ledger;
pub(crate) mod measure;
pub(crate) mod merge;
pub(crate) mod policy_series;
pub(crate) mod programs;
pub(crate) mod subject;
pub(crate) mod values;
pub(crate) mod windows;

mod against_measured;
mod asked;
mod classes;
mod demand;
mod detail;
mod requests;
mod schedule;
mod stability;

use self::measure::Measure;
use self::subject::Subject;

/// The measures of what passes above the stack of `subject`.
pub(crate) fn all<'a>(subject: &Subject<'a>) -> Vec<Box<dyn Measure + 'a>> {
    let measures = [
        Some(classes::measure(subject)),
        Some(demand::measure(subject)),
        asked::measure(subject),
        schedule::measure(subject),
        against_measured::measure(subject),
        detail::measure(subject),
        requests::measure(subject),
        stability::measure(subject),
    ];
    measures.into_iter().flatten().collect()
}
