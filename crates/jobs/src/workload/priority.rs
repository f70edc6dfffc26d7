//! An I/O priority as a condition of a rule: one, or all of a class.

use penstock_core::{IoClass, IoPrio};
use penstock_workload::trace::Record;

use crate::describe;
use crate::diagnose::JobError;
use crate::kinds::Own;
use crate::text::quoted;
use crate::tree::Node;

/// The kind of such a condition.
pub(crate) const PRIORITY: Own<Priority> = Own {
    read: Priority::read,
    text: |priority| priority.text(),
    schema: || describe::matching("^((rt|be)(:[0-7])?|idle)$"),
};

/// An I/O priority, or all of a class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Priority {
    class: IoClass,
    level: Option<u8>,
}

impl Priority {
    fn read(node: &Node) -> Result<Self, JobError> {
        let of_text = |text: &str| {
            let class = match text {
                "rt" => IoClass::RealTime,
                "be" => IoClass::BestEffort,
                _ => {
                    let ioprio = text.parse::<IoPrio>().ok()?;
                    return Some(Self { class: ioprio.class(), level: Some(ioprio.level()) });
                }
            };
            Some(Self { class, level: None })
        };
        node.word().and_then(of_text).ok_or_else(|| {
            node.expected("an I/O priority, as `rt:0`, or a class of them: `rt`, `be` or `idle`")
        })
    }

    fn text(self) -> String {
        match (self.level, self.class) {
            (None, IoClass::RealTime) => quoted("rt"),
            (None, _) => quoted("be"),
            (Some(level), class) => {
                quoted(&IoPrio::new(class, level).unwrap_or_default().to_string())
            }
        }
    }

    /// Whether the request has it. A request whose priority was not recorded has none.
    pub(crate) fn is_of(self, record: &Record) -> bool {
        record.ioprio.is_some_and(|ioprio| {
            ioprio.class() == self.class && self.level.is_none_or(|level| level == ioprio.level())
        })
    }
}
