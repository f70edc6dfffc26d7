//! Counts failed requests by error.

use std::borrow::Cow;
use std::collections::BTreeMap;

use penstock_core::{Errno, Request, Span, Time};

use crate::result::{ErrorResult, FirstError};

/// The errors of a class. There are few kinds of them, so a list is enough.
#[derive(Default)]
pub(crate) struct Errors(Vec<(Errno, ErrorResult)>);

impl Errors {
    /// Counts `req`, which failed at `at`.
    pub(crate) fn add(&mut self, error: Errno, at: Time, req: &Request) {
        if let Some((_, known)) = self.0.iter_mut().find(|(other, _)| *other == error) {
            known.requests += 1;
            return;
        }
        let at_s = at.since(Time::ZERO).ns() as f64 / Span::from_secs(1).ns() as f64;
        let first = FirstError { at_s, op: req.op.into(), start: req.start, len: req.len };
        self.0.push((error, ErrorResult { requests: 1, first }));
    }

    /// Adds the errors of `other`.
    pub(crate) fn join(&mut self, other: &Self) {
        for (error, result) in &other.0 {
            let Some((_, known)) = self.0.iter_mut().find(|(known, _)| known == error) else {
                self.0.push((*error, result.clone()));
                continue;
            };
            known.requests += result.requests;
            if result.first.at_s < known.first.at_s {
                known.first = result.first.clone();
            }
        }
    }

    /// How many requests failed.
    pub(crate) fn count(&self) -> u64 {
        self.0.iter().map(|(_, result)| result.requests).sum()
    }

    /// Returns the errors by name.
    pub(crate) fn by_name(&self) -> BTreeMap<Cow<'static, str>, ErrorResult> {
        self.0.iter().map(|(error, result)| (name(*error), result.clone())).collect()
    }
}

/// Returns the name that `errno(3)` gives the error on Linux, for errors with which requests to
/// disks and files end.
pub(crate) fn name(error: Errno) -> Cow<'static, str> {
    let known = match error.code() {
        1 => "EPERM",
        5 => "EIO",
        6 => "ENXIO",
        11 => "EAGAIN",
        12 => "ENOMEM",
        16 => "EBUSY",
        19 => "ENODEV",
        22 => "EINVAL",
        27 => "EFBIG",
        28 => "ENOSPC",
        30 => "EROFS",
        52 => "EBADE",
        61 => "ENODATA",
        67 => "ENOLINK",
        74 => "EBADMSG",
        84 => "EILSEQ",
        95 => "EOPNOTSUPP",
        108 => "ESHUTDOWN",
        110 => "ETIMEDOUT",
        116 => "ESTALE",
        117 => "EUCLEAN",
        121 => "EREMOTEIO",
        122 => "EDQUOT",
        125 => "ECANCELED",
        code => return format!("errno {code}").into(),
    };
    known.into()
}

#[cfg(test)]
mod tests {
    use penstock_core::{ClassId, Flags, Io, Op, Prio, ReqId, StreamId};

    use super::*;
    use crate::result::OpResult;

    #[test]
    fn each_kind_is_counted_and_its_first_is_kept() {
        let mut errors = Errors::default();
        for (code, start) in [(28, 4096), (5, 0), (28, 8192), (4095, 1)] {
            let io = Io {
                due: Time::ZERO,
                start,
                len: 512,
                stream: StreamId(0),
                class: ClassId(0),
                op: Op::Write,
                prio: Prio(0),
                flags: Flags::NONE,
            };
            let error = Errno::new(code).unwrap();
            let at = Time::ZERO + Span::from_ms(start);
            errors.add(error, at, &io.with(ReqId::new(0, 0)));
        }
        assert_eq!(errors.count(), 4);
        let by_name = errors.by_name();
        let names: Vec<&str> = by_name.keys().map(AsRef::as_ref).collect();
        assert_eq!(names, ["EIO", "ENOSPC", "errno 4095"]);
        let ErrorResult { requests, first } = &by_name["ENOSPC"];
        assert_eq!((*requests, first.op, first.start, first.len), (2, OpResult::Write, 4096, 512));
        assert!((first.at_s - 4.096).abs() < 1e-12);
    }
}
