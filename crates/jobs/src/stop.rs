//! The end of a run.

use penstock_core::{ClassId, Span};
use serde_json::{Value as Json, json};

use crate::amount::TIME;
use crate::classes::{self, Class};
use crate::describe::{any, from_digit, words};
use crate::diagnose::{JobError, Origin, quote};
use crate::kinds::{Kind, Own};
use crate::nearest::suggest;
use crate::text::quoted;
use crate::tree::Node;
use crate::units::duration_text;
use crate::workload::WorkloadSpec;

/// Prefix of a stop that waits for the programs of a class.
const DONE: &str = "done:";
/// Prefix of a stop at the dispatch of a class's last request.
const SENT: &str = "sent:";
/// Stops that are a single word.
const STOPS: [&str; 3] = ["drained", "last-arrival", "durable"];

/// The end of a run. A class is given by its index among the job's classes, or by its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop<C = ClassId> {
    /// All requests have finished.
    Drained,
    /// No more requests can arrive: the last agent's time is over, or the last request of a trace
    /// has arrived. Agents without an end in time have no such moment.
    LastArrival,
    /// All requests have finished and everything that was written is on its device.
    Durable,
    /// The last program of this class has ended.
    Done(C),
    /// The last request of this class has been dispatched, whatever is outstanding.
    Sent(C),
    /// A fixed time, whatever is outstanding.
    At(Span),
}

/// Kind of the key in a job.
pub(crate) const KIND: Own<Stop<String>> = Own { read, text, schema };

fn read(node: &Node) -> Result<Stop<String>, JobError> {
    let expected = "`drained`, `durable`, `last-arrival`, `done:CLASS`, `sent:CLASS` or a time such as `12min`";
    match node.word() {
        Some(text) if text.starts_with(DONE) => Ok(Stop::Done(text[DONE.len()..].into())),
        Some(text) if text.starts_with(SENT) => Ok(Stop::Sent(text[SENT.len()..].into())),
        Some(text) if text == STOPS[0] => Ok(Stop::Drained),
        Some(text) if text == STOPS[1] => Ok(Stop::LastArrival),
        Some(text) if text == STOPS[2] => Ok(Stop::Durable),
        Some(text) if !text.starts_with(|c: char| c.is_ascii_digit()) => {
            Err(node.expected(expected).hint(suggest(text, STOPS)))
        }
        _ => TIME.above_zero().hint("nothing would run").read(node).map(Stop::At),
    }
}

fn text(stop: &Stop<String>) -> String {
    match stop {
        Stop::Drained => quoted(STOPS[0]),
        Stop::LastArrival => quoted(STOPS[1]),
        Stop::Durable => quoted(STOPS[2]),
        Stop::Done(class) => quoted(&format!("{DONE}{class}")),
        Stop::Sent(class) => quoted(&format!("{SENT}{class}")),
        Stop::At(at) => TIME.text(at),
    }
}

fn schema() -> Json {
    let of_class = json!({"type": "string", "pattern": format!("^({DONE}|{SENT}).")});
    any([words(STOPS), of_class, from_digit("time-above-zero")])
}

impl Stop {
    /// Replaces the index of the class by its name.
    pub(crate) fn named(self, classes: &[Class]) -> Stop<String> {
        match self {
            Self::Drained => Stop::Drained,
            Self::LastArrival => Stop::LastArrival,
            Self::Durable => Stop::Durable,
            Self::Done(class) => Stop::Done(classes[class.index()].name.clone()),
            Self::Sent(class) => Stop::Sent(classes[class.index()].name.clone()),
            Self::At(at) => Stop::At(at),
        }
    }
}

impl Stop<String> {
    /// Checks a stop that was written at `origin` against the job, and looks up its class.
    pub(crate) fn resolve(
        self,
        origin: &Origin,
        duration: Span,
        classes: &[Class],
        workload: &WorkloadSpec,
    ) -> Result<Stop, JobError> {
        match self {
            Self::Drained => Ok(Stop::Drained),
            Self::Durable => Ok(Stop::Durable),
            Self::LastArrival => {
                if workload.agents().iter().any(|agent| agent.stop == Span::MAX) {
                    let message = "`last-arrival` is a time, and an agent has no end in time";
                    let hint = "give the job a `duration`, or stop with `sent:CLASS`";
                    return Err(JobError::new(message).at(origin).hint(hint));
                }
                Ok(Stop::LastArrival)
            }
            Self::Done(name) => {
                let hint = "only of programs is known when they have ended; set `drained`";
                if workload.programs().is_none() {
                    let message = "`done:` belongs to a job with programs";
                    return Err(JobError::new(message).at(origin).hint(hint));
                }
                classes::named(&name, origin, classes).map(Stop::Done)
            }
            Self::Sent(name) => {
                let class = classes::named(&name, origin, classes)?;
                let mut agents = workload.agents().iter();
                if agents.any(|agent| agent.class == class && agent.buffered) {
                    let message =
                        format!("class {} is buffered: a cache sends for it", quote(&name));
                    let hint = "name a class that is `direct`, or stop with `last-arrival`";
                    return Err(JobError::new(message).at(origin).hint(hint));
                }
                if workload.requests(class).is_none() {
                    let message = format!("class {} has no last request", quote(&name));
                    let hint = "give each of its agents a `count`: it says which one is the last";
                    return Err(JobError::new(message).at(origin).hint(hint));
                }
                Ok(Stop::Sent(class))
            }
            Self::At(at) if at >= duration => Ok(Stop::At(at)),
            Self::At(at) => {
                let (at, end) = (duration_text(at), duration_text(duration));
                let message = format!("the run stops at {at}, before its agents do at {end}");
                let hint = format!("`stop` is at least `{end}`; to end sooner, lower `duration`");
                Err(JobError::new(message).at(origin).hint(hint))
            }
        }
    }
}
