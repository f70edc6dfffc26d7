//! When a run ends.

use penstock_core::{ClassId, Span};

use crate::agents;
use crate::classes::Class;
use crate::diagnose::JobError;
use crate::nearest::suggest;
use crate::tree::{Node, Value};
use crate::units::{self, duration_text};

/// What begins the end of a run with the last program of a class.
pub(crate) const DONE: &str = "done:";
/// Ends of a run that are a word.
pub(crate) const STOPS: [&str; 2] = ["drained", "last-arrival"];

/// When a run ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// When every request has finished.
    Drained,
    /// When nobody can ask any more: at the end of the last agent's time, or with the last request
    /// of a trace.
    LastArrival,
    /// When the last program of this class has ended.
    Done(ClassId),
    /// At this time, whatever is outstanding.
    At(Span),
}

impl Stop {
    /// As a job has it.
    pub(crate) fn text(self, classes: &[Class]) -> String {
        match self {
            Self::Drained => STOPS[0].into(),
            Self::LastArrival => STOPS[1].into(),
            Self::Done(class) => format!("{DONE}{}", classes[class.index()].name),
            Self::At(at) => duration_text(at),
        }
    }
}

/// When a job of `duration` ends; `classes` are those of programs, if it has any.
pub(crate) fn read(
    node: &Node,
    duration: Span,
    classes: Option<&[Class]>,
) -> Result<Stop, JobError> {
    match node.word() {
        Some(text) if text.starts_with(DONE) => {
            let hint = "only of programs is known when they have ended; set `drained`";
            let none = || JobError::new("`done:` belongs to a job with programs").hint(hint);
            let classes = classes.ok_or_else(|| none().at(&node.origin))?;
            let name = Value::Word(text[DONE.len()..].into());
            let name = Node { value: name, origin: node.origin.clone() };
            agents::class(&name, classes).map(Stop::Done)
        }
        Some("drained") => Ok(Stop::Drained),
        Some("last-arrival") => Ok(Stop::LastArrival),
        Some(text) if !text.starts_with(|c: char| c.is_ascii_digit()) => {
            let hint = suggest(text, STOPS);
            Err(node
                .expected("`drained`, `last-arrival`, `done:CLASS` or a time such as `12min`")
                .hint(hint))
        }
        _ => match units::duration(node)? {
            Span::ZERO => Err(node.expected("a time above zero").hint("nothing would run")),
            at if at >= duration => Ok(Stop::At(at)),
            at => {
                let (at, end) = (duration_text(at), duration_text(duration));
                let found = format!("the run stops at {at}, before its agents do at {end}");
                let hint = format!("`stop` is at least `{end}`; to end sooner, lower `duration`");
                Err(JobError::new(found).at(&node.origin).hint(hint))
            }
        },
    }
}
