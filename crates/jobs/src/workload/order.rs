//! Reads which agents wait until others have ended, and which end others.

use penstock_core::{ClassId, Span};
use serde_json::{Value as Json, json};

use crate::classes::{self, Class};
use crate::describe;
use crate::diagnose::{JobError, Origin};
use crate::keys::{Key, keys, required, without};
use crate::kinds::{Each, Kind, Own, SWITCH};
use crate::reader::Reader;
use crate::rows::Rows;
use crate::tree::Node;

keys! {
    /// The order of an agent among the others.
    KEYS:
    /// A class, or several. The agent begins when all of their agents have ended: their requests
    /// are complete.
    AFTER after: Vec<String> = Own {
        read: after,
        text: |names| Each(&classes::NAMES).text(names),
        schema: || describe::any([describe::text(), describe::some(&describe::text())]),
    };
    /// Whether the other agents of its class issue no more requests when this one has ended.
    ENDS_CLASS ends_class: bool = SWITCH, or false;
}

/// The order of an agent among the others.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct AgentOrder {
    /// Classes whose agents have to end before it begins.
    pub(crate) after: Vec<ClassId>,
    /// Whether the other agents of its class end with it.
    pub(crate) ends_class: bool,
    pub(crate) origin: Origin,
}

fn after(node: &Node) -> Result<Vec<String>, JobError> {
    let names = Each(&classes::NAMES).read(node)?;
    if names.is_empty() {
        let hint = "leave it out: the agent then begins with the job, or at its `start`";
        return Err(node.expected("a class, or several").hint(hint));
    }
    Ok(names)
}

impl AgentOrder {
    /// Reads the order of an agent of `class`, which may begin at the time `start` instead.
    pub(crate) fn read(
        reader: &Reader<'_>,
        class: ClassId,
        classes: &[Class],
        start: &Key<Span>,
    ) -> Result<Self, JobError> {
        let origin = reader.place(&AFTER);
        let names = reader.find(&AFTER)?.unwrap_or_default();
        if !names.is_empty() {
            let why = "does not go with `after`, which says when the agent begins";
            reader.exclude(&AFTER, &[start], why, "keep one of the two")?;
        }
        let mut after = Vec::new();
        for name in names {
            let other = classes::named(&name, origin, classes)?;
            if other == class {
                let message = format!("an agent of class {name} waits for its own class");
                let hint = "give the agents that come first a class of their own";
                return Err(JobError::new(message).at(origin).hint(hint));
            }
            after.push(other);
        }
        Ok(Self { after, ends_class: reader.get(&ENDS_CLASS)?, origin: origin.clone() })
    }

    /// Adds its keys to those of an agent.
    pub(crate) fn write(&self, rows: Rows, classes: &[Class]) -> Rows {
        let name = |class: &ClassId| classes[class.index()].name.clone();
        let after: Vec<String> = self.after.iter().map(name).collect();
        rows.maybe(&AFTER, Some(&after).filter(|after| !after.is_empty()))
            .maybe(&ENDS_CLASS, Some(&self.ends_class).filter(|ends| **ends))
    }
}

/// Describes that an agent which waits has no time `start`.
pub(crate) fn rule(start: &Key<Span>) -> Json {
    json!({"if": required(&[&AFTER]), "then": without(&[start])})
}
