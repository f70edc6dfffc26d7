//! Traces as files.

use std::path::Path;

use penstock_jobs::traces;
use penstock_workload::trace::{self, Trace, TraceError};

use crate::failure::Failure;

/// Reads the trace at `path`, in the format of this name, by default the one that it looks like.
///
/// # Errors
/// When it cannot be read, or is not of that format.
pub(crate) fn load(
    path: &Path,
    format: Option<&str>,
) -> Result<(Trace, &'static trace::Format), Failure> {
    let format = format.map(traces::format).transpose()?;
    trace::load(path, format).map_err(|error| match error {
        TraceError::Kept { .. } => Failure::run_over(path, &error),
        _ => Failure::wrong_in(path, &error),
    })
}
