//! Device time by class, where a page cache stands between the device and the classes.
//!
//! A page cache writes back data of requests that ended long ago, and reads ahead for requests that
//! did not wait for it. So device time is booked by the class of each command below the cache, when
//! it comes back.

use std::cell::RefCell;
use std::rc::Rc;

use penstock_core::{ClassId, Device, Done, Op, Request, Span, Tap, Time};

use crate::measures::durable::Flushing;

/// A command that came back.
#[derive(Clone, Copy)]
pub(crate) struct Spent {
    pub(crate) class: ClassId,
    pub(crate) begun: Time,
    pub(crate) at: Time,
    pub(crate) service: Span,
}

/// Commands that came back and are not booked yet. Clones share their data.
#[derive(Clone, Default)]
pub(crate) struct Ledger(Rc<RefCell<LedgerEntries>>);

#[derive(Default)]
struct LedgerEntries {
    /// Class of each command below, by its ticket's slot; `None` for a flush at the end of the run.
    classes: Vec<Option<ClassId>>,
    spent: Vec<Spent>,
}

impl Ledger {
    /// Wraps `device` so that the time of its commands is entered here, except for flushes while
    /// the run is `flushing` at its end.
    pub(crate) fn over<D: Device>(
        &self,
        device: D,
        flushing: Option<Flushing>,
    ) -> impl Device + use<D> {
        let (begun, ended) = (Rc::clone(&self.0), Rc::clone(&self.0));
        let begin = move |_, req: &Request| {
            let classes = &mut begun.borrow_mut().classes;
            if classes.len() <= req.id.index() {
                classes.resize(req.id.index() + 1, None);
            }
            let last = req.op == Op::Flush && flushing.as_ref().is_some_and(Flushing::has_begun);
            classes[req.id.index()] = (!last).then_some(req.class);
        };
        let end = move |_, done: &[Done]| {
            let LedgerEntries { classes, spent } = &mut *ended.borrow_mut();
            spent.extend(done.iter().filter_map(|done| {
                let Done { begun, at, service, .. } = *done;
                classes[done.id.index()].map(|class| Spent { class, begun, at, service })
            }));
        };
        Tap::new(device, begin, end)
    }

    /// Calls `book` with each command that came back since the last call, in order.
    pub(crate) fn book(&self, mut book: impl FnMut(Spent)) {
        self.0.borrow_mut().spent.drain(..).for_each(&mut book);
    }
}
