//! The most requests that were outstanding at once after the warm-up.
//!
//! A measure in 35 lines, to copy to `crates/run/src/measures`. Its part of the result is a field of
//! `RunResult`, declared and documented in `crates/run/src/result`.

use penstock_core::{Request, Time};

use crate::measures::measure::{Finished, Measure};
use crate::measures::subject::Subject;
use crate::result::RunResult;

struct MostOutstanding {
    warmup: Time,
    outstanding: u64,
    most: u64,
}

/// Creates the measure of `subject`.
pub(crate) fn measure<'a>(subject: &Subject<'a>) -> Box<dyn Measure + 'a> {
    Box::new(MostOutstanding { warmup: subject.warmup, outstanding: 0, most: 0 })
}

impl Measure for MostOutstanding {
    fn arrived(&mut self, now: Time, _: &Request) {
        self.outstanding += 1;
        if now >= self.warmup {
            self.most = self.most.max(self.outstanding);
        }
    }

    fn finished(&mut self, _: Time, _: &Request, _: &Finished) {
        self.outstanding -= 1;
    }

    fn write(&mut self, _: Time, result: &mut RunResult) {
        result.most_outstanding = self.most;
    }
}
