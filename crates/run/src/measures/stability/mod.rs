//! Measures how stable the requests of each class are, on demand.

mod blocks;
pub(crate) mod survey;

use std::io;

use penstock_core::{ClassId, Request, Time};

use self::survey::StabilitySurvey;
use crate::measures::measure::{Finished, Measure};
use crate::measures::subject::Subject;
use crate::result::RunResult;

struct ClassSurveys {
    warmup: Time,
    classes: Vec<StabilitySurvey>,
    failed: Option<io::Error>,
}

/// Returns the measure for a run whose stability is asked for.
pub(crate) fn measure<'a>(subject: &Subject<'a>) -> Option<Box<dyn Measure + 'a>> {
    let open = |index| subject.load.workload.is_open(ClassId(index as u16));
    let classes = || (0..subject.load.classes.len()).map(open).map(StabilitySurvey::new).collect();
    subject.stability.then(|| {
        let surveys = ClassSurveys { warmup: subject.warmup, classes: classes(), failed: None };
        Box::new(surveys) as Box<dyn Measure>
    })
}

impl Measure for ClassSurveys {
    fn arrived(&mut self, _: Time, req: &Request) {
        if req.due >= self.warmup && self.failed.is_none() {
            self.failed = self.classes[req.class.index()].asked(req).err();
        }
    }

    fn finished(&mut self, _: Time, req: &Request, how: &Finished) {
        if how.counted && how.error.is_none() && req.moved() > 0 {
            self.classes[req.class.index()].served(how.service);
        }
    }

    fn write(&mut self, _: Time, result: &mut RunResult) {
        let figures = || self.classes.iter().map(StabilitySurvey::figures).collect();
        result.stability = Some(self.failed.take().map_or_else(figures, Err));
    }
}
