//! When a run ends.

use penstock_core::{ClassId, Span};
use serde_json::{Value as Json, json};

use crate::amount::TIME;
use crate::classes::{self, Class};
use crate::diagnose::{JobError, Origin};
use crate::kinds::{Kind, Own};
use crate::nearest::suggest;
use crate::schema::build::{any, from_digit, words};
use crate::text::quoted;
use crate::tree::Node;
use crate::units::duration_text;

/// What begins the end of a run with the last program of a class.
const DONE: &str = "done:";
/// Ends of a run that are a word.
const STOPS: [&str; 2] = ["drained", "last-arrival"];

/// When a run ends. Its class is known by its place among the job's, or by its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop<C = ClassId> {
    /// When every request has finished.
    Drained,
    /// When no request can arrive any more: at the end of the last agent's time, or with the last request
    /// of a trace.
    LastArrival,
    /// When the last program of this class has ended.
    Done(C),
    /// At this time, whatever is outstanding.
    At(Span),
}

/// As a job has it.
pub(crate) const KIND: Own<Stop<String>> = Own { read, text, schema };

fn read(node: &Node) -> Result<Stop<String>, JobError> {
    let expected = "`drained`, `last-arrival`, `done:CLASS` or a time such as `12min`";
    match node.word() {
        Some(text) if text.starts_with(DONE) => Ok(Stop::Done(text[DONE.len()..].into())),
        Some(text) if text == STOPS[0] => Ok(Stop::Drained),
        Some(text) if text == STOPS[1] => Ok(Stop::LastArrival),
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
        Stop::Done(class) => quoted(&format!("{DONE}{class}")),
        Stop::At(at) => TIME.text(at),
    }
}

fn schema() -> Json {
    let done = json!({"type": "string", "pattern": format!("^{DONE}.")});
    any([words(STOPS), done, from_digit("time-above-zero")])
}

impl Stop {
    /// The same with the class by its name.
    pub(crate) fn named(self, classes: &[Class]) -> Stop<String> {
        match self {
            Self::Drained => Stop::Drained,
            Self::LastArrival => Stop::LastArrival,
            Self::Done(class) => Stop::Done(classes[class.index()].name.clone()),
            Self::At(at) => Stop::At(at),
        }
    }
}

impl Stop<String> {
    /// The same, written at `origin`, of a job of `duration`; `classes` are those of programs, if
    /// it has any.
    pub(crate) fn of(
        self,
        origin: &Origin,
        duration: Span,
        classes: Option<&[Class]>,
    ) -> Result<Stop, JobError> {
        match self {
            Self::Drained => Ok(Stop::Drained),
            Self::LastArrival => Ok(Stop::LastArrival),
            Self::Done(name) => {
                let hint = "only of programs is known when they have ended; set `drained`";
                let none = || JobError::new("`done:` belongs to a job with programs").hint(hint);
                let classes = classes.ok_or_else(|| none().at(origin))?;
                classes::named(&name, origin, classes).map(Stop::Done)
            }
            Self::At(at) if at >= duration => Ok(Stop::At(at)),
            Self::At(at) => {
                let (at, end) = (duration_text(at), duration_text(duration));
                let found = format!("the run stops at {at}, before its agents do at {end}");
                let hint = format!("`stop` is at least `{end}`; to end sooner, lower `duration`");
                Err(JobError::new(found).at(origin).hint(hint))
            }
        }
    }
}
