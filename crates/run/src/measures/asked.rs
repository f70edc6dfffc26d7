//! Counts what a live run asks for, warm-up included, for comparison with the kernel's counts.

use penstock_core::{Op, Request, Time};

use crate::measures::measure::{Finished, Measure};
use crate::measures::subject::Subject;
use crate::result::parts::{ThreadPart, unpack};
use crate::result::{AskedResult, RunResult};

struct WhatWasAsked(AskedResult);

/// Returns the measure for `subject` if it is live.
pub(crate) fn measure<'a>(subject: &Subject<'a>) -> Option<Box<dyn Measure + 'a>> {
    subject.live.then(|| Box::new(WhatWasAsked(AskedResult::default())) as Box<dyn Measure>)
}

impl Measure for WhatWasAsked {
    fn finished(&mut self, _: Time, req: &Request, how: &Finished) {
        let Self(asked) = self;
        let (requests, bytes) = match req.op {
            Op::Read => (&mut asked.reads, &mut asked.read_bytes),
            Op::Write => (&mut asked.writes, &mut asked.write_bytes),
            _ => return,
        };
        if how.error.is_none() {
            *requests += 1;
            *bytes += u64::from(req.len);
        }
    }

    fn part(&mut self, _: Time) -> Option<ThreadPart> {
        Some(Box::new(self.0))
    }

    fn join(&mut self, part: ThreadPart) {
        self.0 = self.0.plus(unpack(part));
    }

    fn write(&mut self, _: Time, result: &mut RunResult) {
        result.asked = self.0;
    }
}
