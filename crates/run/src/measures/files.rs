//! Measures what each file got: its requests and their bytes.

use penstock_core::{Request, Time};

use crate::measures::completed::{Completed, Rated};
use crate::measures::measure::{Finished, Measure};
use crate::measures::subject::Subject;
use crate::place::lane::LaneFile;
use crate::result::parts::{ThreadPart, unpack};
use crate::result::{FileResult, RunResult};

/// Name of the only file of a job without files.
const TARGET: &str = "target";

/// The figures of every file. The first byte of a request shows which file it is for.
struct FileBooks<'a> {
    names: Vec<&'a str>,
    /// The first byte of each and its number, in ascending order.
    firsts: Vec<(u64, usize)>,
    warmup: Time,
    rated: Rated,
    figures: Vec<FileFigures>,
}

#[derive(Default)]
struct FileFigures {
    /// Requests that were due after the warm-up.
    measured: Completed,
    /// Requests that completed after the warm-up, whenever they were due.
    completed: Completed,
}

/// Returns the measure of all files of `subject`.
pub(crate) fn measure<'a>(subject: &Subject<'a>) -> Box<dyn Measure + 'a> {
    let files = &subject.load.files;
    let named = |file: &'a LaneFile| if file.name.is_empty() { TARGET } else { &file.name };
    let mut names: Vec<&str> = files.iter().map(named).collect();
    let mut firsts: Vec<(u64, usize)> = files.iter().map(|file| file.first).zip(0..).collect();
    firsts.sort_unstable();
    if files.is_empty() {
        (names, firsts) = (vec![TARGET], vec![(0, 0)]);
    }
    let figures = names.iter().map(|_| FileFigures::default()).collect();
    let (warmup, rated) = (subject.warmup, Rated::of(subject));
    Box::new(FileBooks { names, firsts, warmup, rated, figures })
}

impl Measure for FileBooks<'_> {
    fn finished(&mut self, _: Time, req: &Request, how: &Finished) {
        if how.error.is_some() {
            return;
        }
        let behind = match self.firsts.len() {
            1 => 1,
            _ => self.firsts.partition_point(|(first, _)| *first <= req.start),
        };
        let file = &mut self.figures[self.firsts[behind - 1].1];
        if how.counted || how.at > self.warmup {
            file.completed.add(how.at, req);
        }
        if how.counted {
            file.measured.add(how.at, req);
        }
    }

    fn part(&mut self, _: Time) -> Option<ThreadPart> {
        Some(Box::new(std::mem::take(&mut self.figures)))
    }

    fn join(&mut self, part: ThreadPart) {
        let others: Vec<FileFigures> = unpack(part);
        for (file, other) in self.figures.iter_mut().zip(&others) {
            file.measured.join(&other.measured);
            file.completed.join(&other.completed);
        }
    }

    fn write(&mut self, end: Time, result: &mut RunResult) {
        let of_file = |(file, name): (&FileFigures, &&str)| FileResult {
            name: (*name).to_owned(),
            requests: file.measured.requests,
            bytes: file.measured.bytes,
            bw_bytes: self.rated.rate(file.completed.bytes, &file.completed, end),
            ..FileResult::default()
        };
        result.files = self.figures.iter().zip(&self.names).map(of_file).collect();
    }
}

#[cfg(test)]
mod tests {
    use penstock_core::{Errno, Span};
    use penstock_jobs::Job;

    use super::*;
    use crate::measures::measure::samples::{finished, request};
    use crate::place::Place;
    use crate::workload;

    #[test]
    fn a_request_counts_for_the_file_that_it_begins_in() {
        let text = "duration = \"1s\"\nwarmup = \"100ms\"\n[class.a]\n[[file]]\nname = \"data\"\ncount = 2\n\
                    size = \"1MiB\"\ndevice = \"hdd-7200\"\n[[agent]]\nclass = \"a\"\nop = \"read\"\n\
                    size = \"4KiB\"\npattern = \"random\"\narrivals = { kind = \"fixed\", rate = \"10/s\" }\n";
        let job = Job::parse("job.toml", text, &[]).unwrap();
        let load = workload::load(&job, &Place::own(&job).unwrap()).unwrap();
        let at = |ms| Time::ZERO + Span::from_ms(ms);
        let subject = Subject {
            load: &load,
            warmup: at(100),
            live: false,
            depth: 1,
            detail: false,
            requests: false,
            stability: false,
            durable: false,
        };
        let mut measure = measure(&subject);
        let second = load.lanes[1].base;
        // Due before the warm-up's end and completed after it; due after; completed before it; failed.
        let done =
            [(second, 90, None), (second, 200, None), (0, 50, None), (0, 300, Some(Errno::EIO))];
        for (start, due, error) in done {
            let mut req = request(0, at(due));
            req.io.start = start;
            let mut how = finished(&req, Span::ZERO, Span::from_ms(20), error);
            how.counted = req.due >= at(100);
            measure.finished(how.at, &req, &how);
        }
        let mut result = RunResult::default();
        measure.write(at(1100), &mut result);
        let found: Vec<_> =
            result.files.iter().map(|f| (&f.name[..], f.requests, f.bytes, f.bw_bytes)).collect();
        // What the load asks for lasts until 1 s.
        assert_eq!(found, [("data.0", 0, 0, 0.0), ("data.1", 1, 1000, 2000.0 / 0.9)]);
    }
}
