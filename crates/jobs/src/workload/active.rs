//! The time in which an agent or a program is active.

use penstock_core::Span;

use crate::diagnose::JobError;
use crate::keys::{Key, Maybe};
use crate::reader::Reader;
use crate::units::duration_text;

/// Returns when an agent or a program, called `subject` in messages, stops in a job that runs for
/// `duration`. Checks that it stops after its start.
pub(crate) fn active(
    reader: &Reader<'_>,
    subject: &str,
    (starts, stops): (&Key<Span>, &Key<Span, Maybe>),
    duration: Span,
) -> Result<Span, JobError> {
    let start = reader.get(starts)?;
    let stop = reader.find(stops)?.unwrap_or(duration);
    if stop > duration {
        let (stop, duration) = (duration_text(stop), duration_text(duration));
        let message = format!("the {subject} stops at {stop}, after the job's end at {duration}");
        let hint = "leave `stop` out to go on until the end";
        return Err(JobError::new(message).at(reader.origin(stops)).hint(hint));
    }
    if start >= stop {
        let (start, stop) = (duration_text(start), duration_text(stop));
        let message = format!("the {subject} starts at {start}, when it has stopped: at {stop}");
        let hint = "`start` must lie before `stop` and before the job's end";
        return Err(JobError::new(message).at(reader.origin(starts)).hint(hint));
    }
    Ok(stop)
}
