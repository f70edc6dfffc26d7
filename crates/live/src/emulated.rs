//! An emulated device: a model that answers in real time, as a slow disk on a fast laptop.
//!
//! The model has its own schedule. However late the machine wakes, the model handles its events at the
//! instants at which they are due. A request in answer to a completion counts as sent when that completion
//! was due, because the modelled disk would not wait for a late emulator. The lateness of each completion is
//! recorded. With a file underneath, every request is carried out there too, and ends when both have ended:
//! data is kept, and it is visible if the file is slower than the model.
//!
//! Source: absolute deadlines as in fio and DiskSim; the models of the papers' disks are ours.

use std::cell::{Cell, Ref, RefCell};
use std::rc::Rc;

use penstock_core::{Device, Done, Op, Request, Span, Time};

use crate::lateness::Lateness;
use crate::stage::device::LiveDevice;

/// The speed of a model relative to its own time, in thousandths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Speed(u32);

impl Speed {
    /// The model's own speed.
    pub const ONE: Self = Self(1000);

    /// Creates a speed of `thousandths` of the model's own; `None` for 0.
    pub const fn from_thousandths(thousandths: u32) -> Option<Self> {
        if thousandths == 0 { None } else { Some(Self(thousandths)) }
    }

    /// Returns the model's time when real time is `real`.
    pub fn model(self, real: Time) -> Time {
        scaled(real, u64::from(self.0), 1000, u128::div_euclid)
    }

    /// Returns the first instant of real time at which the model has reached `model`.
    pub fn real(self, model: Time) -> Time {
        scaled(model, 1000, u64::from(self.0), u128::div_ceil)
    }

    /// Converts a length of the model's time to real time.
    pub fn span(self, model: Span) -> Span {
        if self == Self::ONE { model } else { model.share(1000, u64::from(self.0)) }
    }
}

fn scaled(time: Time, numerator: u64, denominator: u64, divide: fn(u128, u128) -> u128) -> Time {
    // Most models run at their own speed, and 128-bit divisions are slow.
    if time == Time::NEVER || numerator == denominator {
        return time;
    }
    let ns = divide(u128::from(time.ns()) * u128::from(numerator), u128::from(denominator));
    Time::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
}

/// A model in real time, over a device that carries its requests out, such as a file, or over none.
pub struct Emulated<D, F = LiveDevice> {
    model: D,
    over: Option<F>,
    speed: Speed,
    /// Completions by either model or file that the other has not completed, if there is a file.
    halves: Vec<HalfDone>,
    /// Emptied by every turn; kept for its memory.
    ended: Vec<Done>,
    /// The turn in which the model reported completions last, and when the last of them was due, in the model's
    /// time.
    reported: (Time, Time),
    /// When the model had its last event, in the model's time.
    idle_since: Time,
    answers: Rc<Answers>,
    /// Whether the source's requests are due at the times in `answers`.
    answers_are_due: bool,
}

/// The completions of a model, for code outside of the stack.
#[derive(Debug)]
pub struct Answers {
    /// When the last completion was due in real time.
    last: Cell<Time>,
    lateness: RefCell<Lateness>,
    file_waits: RefCell<Lateness>,
}

impl Answers {
    /// Returns when the last completion was due in real time, by the model, or by the file if that was slower.
    pub fn last(&self) -> Time {
        self.last.get()
    }

    /// Forgets how late completions were so far.
    pub fn reset(&self) {
        self.lateness.replace(Lateness::new());
        self.file_waits.replace(Lateness::new());
    }

    /// Returns how late the model's completions were reported, compared with its schedule.
    pub fn lateness(&self) -> Ref<'_, Lateness> {
        self.lateness.borrow()
    }

    /// Returns how long completions of the model waited for the file.
    pub fn file_waits(&self) -> Ref<'_, Lateness> {
        self.file_waits.borrow()
    }
}

/// A completion by either model or file, whichever was first. Pieces of a request that have the same length have
/// the same ticket, and any two of them make a pair.
struct HalfDone {
    done: Done,
    /// Whether it is the model's.
    modelled: bool,
}

impl<D: Device, F: Device> Emulated<D, F> {
    /// Creates a device of `model` running at `speed`. Every request is carried out on `over` too, if there is one.
    pub fn new(model: D, speed: Speed, over: Option<F>) -> Self {
        let answers = Answers {
            last: Cell::new(Time::ZERO),
            lateness: RefCell::new(Lateness::new()),
            file_waits: RefCell::new(Lateness::new()),
        };
        Self {
            model,
            over,
            speed,
            halves: Vec::new(),
            ended: Vec::new(),
            reported: (Time::NEVER, Time::ZERO),
            idle_since: Time::ZERO,
            answers: Rc::new(answers),
            answers_are_due: false,
        }
    }

    /// Prepares it for a source that issues each request in response to a completion, and whose requests are due
    /// at the time of that completion (see [`answers`](Self::answers)). A request that finds the model idle then
    /// begins when it was due, even if another device had the completion.
    #[must_use]
    pub fn answers_are_due(self) -> Self {
        Self { answers_are_due: true, ..self }
    }

    /// Returns its completions, for code outside of the stack.
    pub fn answers(&self) -> &Rc<Answers> {
        &self.answers
    }

    /// Returns the model's time for a request at `now`: the time of the completions that it answers, or at most
    /// the time of the next completion.
    fn present(&self, now: Time) -> Time {
        match self.reported {
            (turn, due) if turn == now => due,
            _ => self.speed.model(now).min(self.model.wakeup()),
        }
    }

    /// Returns the completion of a request if `done` is the second of its two.
    fn settle(&mut self, done: Done, modelled: bool) -> Option<Done> {
        let is_pair = |half: &HalfDone| {
            half.modelled != modelled && (half.done.id, half.done.len) == (done.id, done.len)
        };
        let Some(index) = self.halves.iter().position(is_pair) else {
            self.halves.push(HalfDone { done, modelled });
            return None;
        };
        let first = self.halves.swap_remove(index).done;
        if !modelled {
            self.answers.file_waits.borrow_mut().record(done.at.since(first.at).ns());
        }
        let (model, file) = if modelled { (done, first) } else { (first, done) };
        Some(Done { at: done.at, error: model.error.or(file.error), ..model })
    }
}

impl<D: Device, F: Device> Device for Emulated<D, F> {
    fn capacity(&self) -> u64 {
        let file = self.over.as_ref().map_or(u64::MAX, Device::capacity);
        self.model.capacity().min(file)
    }

    fn block(&self) -> u32 {
        self.model.block()
    }

    fn room(&self) -> u32 {
        let file = self.over.as_ref().map_or(u32::MAX, Device::room);
        self.model.room().min(file)
    }

    fn admits(&self, op: Op, start: u64, len: u32) -> bool {
        self.room() > 0 && self.model.admits(op, start, len)
    }

    fn position(&self, now: Time, op: Op, start: u64) -> Span {
        self.speed.span(self.model.position(self.present(now), op, start))
    }

    fn start(&mut self, now: Time, req: &Request) {
        // A request that is due after the completion is not an answer to it.
        let is_idle = self.model.wakeup() == Time::NEVER;
        let present =
            if self.answers_are_due && is_idle { self.idle_since } else { self.present(now) };
        let since = present.max(self.speed.model(req.due.min(now)));
        if self.reported.0 == now {
            self.reported.1 = since;
        }
        self.model.start(since, req);
        if let Some(file) = &mut self.over {
            file.start(now, req);
        }
    }

    fn wakeup(&self) -> Time {
        self.speed.real(self.model.wakeup())
    }

    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        let mut ended = std::mem::take(&mut self.ended);
        let first = done.len();
        let present = self.speed.model(now);
        // The file first: its completions mostly came before the model's were due.
        if let Some(file) = &mut self.over {
            file.advance(now, &mut ended);
            done.extend(ended.drain(..).filter_map(|half| self.settle(half, false)));
        }
        let by_file = done.len();
        let (mut due, room) = (present, self.model.room());
        while self.model.wakeup() <= present {
            due = self.model.wakeup();
            self.idle_since = due;
            let from = ended.len();
            self.model.advance(due, &mut ended);
            let late = now.since(self.speed.real(due)).ns();
            for done in &mut ended[from..] {
                self.answers.lateness.borrow_mut().record(late);
                let (begun, service) = (self.speed.real(done.begun), self.speed.span(done.service));
                *done = Done { at: now, begun, service, ..*done };
            }
        }
        if self.over.is_none() {
            done.append(&mut ended);
        } else {
            done.extend(ended.drain(..).filter_map(|half| self.settle(half, true)));
        }
        // A completion that waited for the file counts from the end of the file's command.
        let opened = self.model.room() > room;
        let answers_the_model = (done.len() > by_file || opened) && by_file == first;
        if done.len() > first {
            let due = if answers_the_model { self.speed.real(due).min(now) } else { now };
            self.answers.last.set(due);
        }
        self.reported = if answers_the_model { (now, due) } else { (Time::NEVER, due) };
        self.ended = ended;
    }

    fn polled(&self) -> bool {
        self.over.is_some()
    }
}
