//! The verdict of a replay: whether it makes the recorded decisions.

use std::io;

use penstock_core::{Decision, Go, ReqId, Time};
use serde::Serialize;

use super::format::Event;
use super::reader::Decisions;

/// A decision in which a replay differs from the record.
#[derive(Debug, Serialize)]
pub struct Difference {
    /// Number of the decision, from 0.
    pub decision: u64,
    /// The recorded decision; null if the record ends here.
    pub recorded: Option<String>,
    /// The decision of the replay; null if it made no more.
    pub replayed: Option<String>,
}

/// Compares decisions as they are made.
pub(super) struct Verdict {
    tape: Decisions,
    pub(super) recorded: u64,
    pub(super) alike: u64,
    pub(super) difference: Option<Difference>,
    pub(super) failed: Option<io::Error>,
}

impl Verdict {
    pub(super) fn new(tape: Decisions) -> Self {
        Self { tape, recorded: 0, alike: 0, difference: None, failed: None }
    }

    pub(super) fn agrees(&self) -> bool {
        self.difference.is_none() && self.failed.is_none()
    }

    fn recorded(&mut self) -> Option<Decision> {
        let next = self.tape.read().unwrap_or_else(|error| {
            self.failed = Some(error);
            None
        });
        self.recorded += u64::from(next.is_some());
        next
    }

    pub(super) fn compare(&mut self, queue: u16, at: Time, go: Go, chain: &[ReqId]) {
        if !self.agrees() {
            return;
        }
        let recorded = self.recorded();
        match &recorded {
            Some(d)
                if (d.at, d.go, d.chain.as_slice()) == (at, go, chain)
                    && self.tape.queue() == queue =>
            {
                self.alike += 1;
            }
            _ => {
                let replayed = Decision { at, go, chain: chain.to_vec() };
                self.differ(recorded, Some(replayed));
            }
        }
    }

    /// Ends the replay before `next` of the record. A recorded decision that it did not make is a
    /// difference too, and so is a completion of a command that it did not send.
    pub(super) fn end(&mut self, next: Event) {
        if !self.agrees() {
            return;
        }
        if let Some(recorded) = self.recorded() {
            self.differ(Some(recorded), None);
        } else if self.agrees() && next != Event::End {
            let recorded = Some(format!("{next:?}"));
            self.difference = Some(Difference { decision: self.alike, recorded, replayed: None });
        }
    }

    fn differ(&mut self, recorded: Option<Decision>, replayed: Option<Decision>) {
        let text = |d: Decision| {
            let (slot, age, len) = (d.go.id.slot(), d.go.id.age(), d.go.len);
            let length = if len == 0 { "the rest".to_owned() } else { format!("{len} bytes") };
            format!("at {:?}: {length} of request {slot}/{age}, {} merged", d.at, d.chain.len())
        };
        let decision = self.alike;
        self.difference = Some(Difference {
            decision,
            recorded: recorded.map(text),
            replayed: replayed.map(text),
        });
    }
}
