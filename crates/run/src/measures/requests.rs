//! Keeps every request, on demand.

use penstock_core::{Request, Time};

use crate::measures::measure::{Finished, Measure};
use crate::measures::subject::Subject;
use crate::result::parts::{ThreadPart, unpack};
use crate::result::{Requests, RunResult};

struct KeptRequests(Requests);

/// Returns the measure for a run whose requests are all kept.
pub(crate) fn measure<'a>(subject: &Subject<'a>) -> Option<Box<dyn Measure + 'a>> {
    subject.requests.then(|| Box::new(KeptRequests(Requests::default())) as Box<dyn Measure>)
}

impl Measure for KeptRequests {
    fn finished(&mut self, _: Time, req: &Request, how: &Finished) {
        let error = how.error.map_or(0, penstock_core::Errno::code);
        self.0.push(req, how.wait, how.at, error);
    }

    fn part(&mut self, _: Time) -> Option<ThreadPart> {
        Some(Box::new(std::mem::take(&mut self.0)))
    }

    fn join(&mut self, part: ThreadPart) {
        self.0.append(unpack(part));
    }

    fn write(&mut self, _: Time, result: &mut RunResult) {
        result.requests = Some(std::mem::take(&mut self.0));
    }
}
