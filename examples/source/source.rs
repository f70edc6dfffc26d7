//! Volleys: a number of reads at once in every period, each read behind the one before.

use penstock_core::{ClassId, Done, Flags, Io, Op, Prio, Request, Source, Span, StreamId, Time};

/// Reads in volleys.
#[derive(Clone, Debug)]
pub struct Volley {
    /// The class of the reads.
    pub class: ClassId,
    /// Their priority.
    pub prio: Prio,
    /// Bytes of each read.
    pub size: u32,
    /// Reads of a volley.
    pub count: u32,
    /// Time from one volley to the next.
    pub period: Span,
    /// Time at which the volleys end.
    pub end: Time,
    /// Bytes of the target.
    pub capacity: u64,
}

/// The source of a [`Volley`].
pub struct Volleys {
    volley: Volley,
    due: Time,
    /// Reads left of the volley that is due.
    left: u32,
    start: u64,
}

impl Volleys {
    /// Begins the volleys.
    pub fn new(volley: Volley) -> Self {
        let left = volley.count;
        Self { volley, due: Time::ZERO, left, start: 0 }
    }
}

impl Source for Volleys {
    fn next_due(&self) -> Time {
        if self.due < self.volley.end { self.due } else { Time::NEVER }
    }

    fn take(&mut self, now: Time) -> Option<Io> {
        if self.next_due() > now {
            return None;
        }
        let Volley { class, prio, size, count, period, capacity, .. } = self.volley;
        if self.start + u64::from(size) > capacity {
            self.start = 0;
        }
        let (due, start) = (self.due, self.start);
        self.start += u64::from(size);
        self.left -= 1;
        if self.left == 0 {
            (self.left, self.due) = (count, due + period);
        }
        let (op, stream, flags) = (Op::Read, StreamId(0), Flags::NONE);
        Some(Io { due, start, len: size, stream, class, op, prio, flags })
    }

    fn finished(&mut self, _: Time, _: &Request, _: &Done) {}
}
