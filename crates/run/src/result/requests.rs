//! Every request of a run, kept only on demand. It is not in the JSON: a run has millions.

use penstock_core::{Op, Request, Span, Time};

/// The finished requests of a run, in the order in which they finished; a column for each property.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    /// When each was due, in nanoseconds from the beginning of the run.
    pub due_ns: Vec<u64>,
    /// When its first piece was sent.
    pub sent_ns: Vec<u64>,
    /// When it was done.
    pub done_ns: Vec<u64>,
    /// The number of its class.
    pub class: Vec<u16>,
    /// 0 read, 1 write, 2 flush, 3 discard.
    pub op: Vec<u8>,
    /// Where it begins, in bytes.
    pub offset: Vec<u64>,
    /// Its length in bytes.
    pub length: Vec<u32>,
    /// The kernel's number of the error that it failed with; 0 if it succeeded.
    pub error: Vec<i32>,
}

impl Requests {
    /// Adds `req`, done at `done` after waiting for `wait`; `error` is 0 if it succeeded.
    pub(crate) fn push(&mut self, req: &Request, wait: Span, done: Time, error: i32) {
        let ns = |time: Time| time.since(Time::ZERO).ns();
        self.due_ns.push(ns(req.due));
        self.sent_ns.push(ns(req.due + wait));
        self.done_ns.push(ns(done));
        self.class.push(req.class.0);
        self.op.push(match req.op {
            Op::Read => 0,
            Op::Write => 1,
            Op::Flush => 2,
            Op::Discard => 3,
        });
        self.offset.push(req.start);
        self.length.push(req.len);
        self.error.push(error);
    }

    /// Appends the requests of `other`.
    pub(crate) fn append(&mut self, mut other: Self) {
        self.due_ns.append(&mut other.due_ns);
        self.sent_ns.append(&mut other.sent_ns);
        self.done_ns.append(&mut other.done_ns);
        self.class.append(&mut other.class);
        self.op.append(&mut other.op);
        self.offset.append(&mut other.offset);
        self.length.append(&mut other.length);
        self.error.append(&mut other.error);
    }
}
