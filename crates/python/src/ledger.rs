//! Requests that a policy in Python has received and sent: its answers are checked here, because
//! the engine does not check them.
//!
//! Python knows a request by its number, in order of arrival from 0.

use std::collections::BTreeMap;

use penstock_core::{Flags, Go, Io, Part, ReqId, Request};
use pyo3::prelude::*;

/// All requests that are not finished.
pub(crate) struct Ledger {
    entries: Vec<Option<Entry>>,
    /// Slots by number.
    slots: BTreeMap<u64, u32>,
    arrivals: u64,
    /// Number of requests that are not completely sent.
    waiting: u64,
    /// Bytes that are sent and not completed.
    in_flight: u64,
}

struct Entry {
    req: Request,
    number: u64,
    sent: u32,
    /// The request as Python sees it: the same object in every call.
    seen: Py<PyAny>,
}

/// An answer of a policy with the right types.
pub(crate) struct Answer {
    /// Number of the request.
    pub(crate) number: u64,
    /// Bytes to send of it; 0 means all that is left.
    pub(crate) len: u32,
    /// Numbers of the adjacent requests behind it.
    pub(crate) chain: Vec<u64>,
}

impl Ledger {
    /// Creates a ledger without requests.
    pub(crate) fn new() -> Self {
        let (entries, slots) = (Vec::new(), BTreeMap::new());
        Self { entries, slots, arrivals: 0, waiting: 0, in_flight: 0 }
    }

    /// The number of the next request.
    pub(crate) fn next(&self) -> u64 {
        self.arrivals
    }

    /// Number of requests that are not completely sent.
    pub(crate) fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Whether requests wait although nothing is in flight.
    pub(crate) fn rests(&self) -> bool {
        self.waiting > 0 && self.in_flight == 0
    }

    /// Enters `req`, which Python sees as `seen`, under the next number.
    pub(crate) fn enter(&mut self, req: &Request, seen: Py<PyAny>) {
        let (number, index) = (self.arrivals, req.id.index());
        if self.entries.len() <= index {
            self.entries.resize_with(index + 1, || None);
        }
        self.entries[index] = Some(Entry { req: *req, number, sent: 0, seen });
        self.slots.insert(number, req.id.slot());
        self.arrivals += 1;
        self.waiting += 1;
    }

    /// Books the completion of `part` of the request under `id`. Returns the request as Python sees
    /// it.
    pub(crate) fn settle(&mut self, py: Python<'_>, id: ReqId, part: &Part) -> Py<PyAny> {
        self.in_flight -= u64::from(part.len);
        let entry = &mut self.entries[id.index()];
        let known = entry.as_ref().expect("the engine completes what it has");
        let (seen, number) = (known.seen.clone_ref(py), known.number);
        if part.last {
            *entry = None;
            self.slots.remove(&number);
        }
        seen
    }

    /// Books `answer` and puts its neighbours into `chain`.
    ///
    /// # Errors
    /// Why the engine cannot take the answer.
    pub(crate) fn send(&mut self, answer: &Answer, chain: &mut Vec<ReqId>) -> Result<Go, String> {
        let number = answer.number;
        let entry = self.unsent(number)?;
        let (id, io, left) = (entry.req.id, entry.req.io, entry.req.len - entry.sent);
        if answer.len > left {
            return Err(format!("{left} bytes are left of request {number}"));
        }
        let len = if answer.len == 0 { left } else { answer.len };
        if !answer.chain.is_empty() {
            if len < io.len {
                return Err(format!("a chain begins with a whole request, which {number} is not"));
            }
            chain.extend(self.neighbours(io, &answer.chain)?);
        }
        self.book(id, len);
        for &id in &*chain {
            self.book(id, u32::MAX);
        }
        Ok(Go { id, len: answer.len })
    }

    /// The ids of `numbers`, which must lie behind `head` and one another.
    fn neighbours(&self, head: Io, numbers: &[u64]) -> Result<Vec<ReqId>, String> {
        let (mut end, mut len) = (head.end(), head.len);
        let mut chain = Vec::with_capacity(numbers.len());
        for &number in numbers {
            let entry = self.unsent(number)?;
            let io = entry.req.io;
            if (head.flags.with(io.flags)).has(Flags::FUA) {
                return Err("a request with fua is never merged".into());
            }
            if entry.sent > 0 {
                return Err(format!("a part of request {number} was sent already"));
            }
            if io.op != head.op {
                return Err(format!("request {number} is of another op"));
            }
            if io.start != end {
                let start = io.start;
                return Err(format!("request {number} begins at {start}, not at {end}"));
            }
            end = io.end();
            len = len.checked_add(io.len).ok_or("the chain is longer than 4 GiB")?;
            chain.push(entry.req.id);
        }
        Ok(chain)
    }

    /// The request called `number`; an error if it is completely sent.
    fn unsent(&self, number: u64) -> Result<&Entry, String> {
        let slot = self.slots.get(&number).ok_or_else(|| {
            if number < self.arrivals {
                format!("request {number} is finished")
            } else {
                format!("there is no request {number}")
            }
        })?;
        let entry = self.entries[*slot as usize].as_ref().expect("numbered until it is finished");
        if entry.sent == entry.req.len {
            return Err(format!("request {number} was sent already"));
        }
        Ok(entry)
    }

    /// Books that up to `len` bytes of the request under `id` are sent.
    fn book(&mut self, id: ReqId, len: u32) {
        let entry = self.entries[id.index()].as_mut().expect("looked up before");
        let len = len.min(entry.req.len - entry.sent);
        entry.sent += len;
        self.in_flight += u64::from(len);
        self.waiting -= u64::from(entry.sent == entry.req.len);
    }
}
