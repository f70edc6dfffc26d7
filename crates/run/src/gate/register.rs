//! The requests in flight through a gate: the dispatcher's side of an order.

use std::cell::RefCell;
use std::rc::Rc;

use penstock_core::{ClassId, Errno, Op, StreamId};

use super::inbox::Reply;
use super::levels::Levels;

/// A request in flight.
pub(super) struct Entry {
    pub(super) op: Op,
    pub(super) reply: Reply,
    /// Whether it counts as short.
    pub(super) short: bool,
    /// Number of the counters in which it is booked.
    pub(super) book: usize,
    pub(super) class: ClassId,
    /// Whether it must be on stable media when it is answered.
    pub(super) sync: bool,
    /// Position of its first byte in the address space of all files.
    pub(super) start: u64,
    pub(super) pieces: u64,
    /// Position and error of its first piece that failed.
    pub(super) failed: Option<(u64, Errno)>,
}

/// Requests by stream. Clones share their contents.
#[derive(Clone)]
pub(super) struct Register(Rc<RefCell<Entries>>);

struct Entries {
    levels: Levels,
    by_stream: Vec<Option<Entry>>,
    /// Short requests of which no piece has been sent.
    short_waiting: u32,
    /// Pieces of long requests that were sent while a short one waited.
    long_first: u64,
}

impl Register {
    /// Creates an empty register, which counts in `levels` the requests that begin.
    pub(super) fn new(levels: Levels) -> Self {
        let entries = Entries { levels, by_stream: Vec::new(), short_waiting: 0, long_first: 0 };
        Self(Rc::new(RefCell::new(entries)))
    }

    pub(super) fn put(&self, stream: StreamId, entry: Entry) {
        let mut this = self.0.borrow_mut();
        let place = stream.0 as usize;
        if this.by_stream.len() <= place {
            this.by_stream.resize_with(place + 1, || None);
        }
        this.short_waiting += u32::from(entry.short);
        this.by_stream[place] = Some(entry);
    }

    pub(super) fn take(&self, stream: StreamId) -> Entry {
        self.0.borrow_mut().by_stream[stream.0 as usize].take().expect("a request is registered")
    }

    /// Records that a piece is sent to the device. Returns whether it must be on stable media, or
    /// the earlier error because of which it need not be sent.
    pub(super) fn begin(&self, stream: StreamId) -> Result<bool, Errno> {
        let mut this = self.0.borrow_mut();
        let short_waiting = this.short_waiting;
        let entry = this.by_stream[stream.0 as usize].as_mut().expect("a request is registered");
        entry.pieces += 1;
        let answer = entry.failed.map_or(Ok(entry.sync), |(_, error)| Err(error));
        let (short, flush, first) = (entry.short, entry.op == Op::Flush, entry.pieces == 1);
        let (book, class) = (entry.book, entry.class);
        if first {
            this.levels.begun(book, class);
        }
        if short && first {
            this.short_waiting -= 1;
        }
        if !short && !flush && short_waiting > 0 {
            this.long_first += 1;
        }
        answer
    }

    /// Records that the piece at `place` has failed.
    pub(super) fn fail(&self, stream: StreamId, place: u64, error: Errno) {
        let mut this = self.0.borrow_mut();
        let entry = this.by_stream[stream.0 as usize].as_mut().expect("a request is registered");
        if entry.failed.is_none_or(|(before, _)| place < before) {
            entry.failed = Some((place, error));
        }
    }

    pub(super) fn long_first(&self) -> u64 {
        self.0.borrow().long_first
    }
}
