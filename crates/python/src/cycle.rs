//! What the length of a cycle depends on, for Python.

use penstock_run::cycle::{CycleJob, inputs};
use pyo3::prelude::*;

use crate::answer::json;
use crate::target::Target;
use crate::watch;

/// Runs the job at the path `job` under `fcfs` and returns what the length of a cycle depends on, as
/// JSON. With `text` that is the job, and `job` only what it is called. At most `load` requests are
/// at the device at once; 2 for each disk if not given.
#[pyfunction]
#[pyo3(signature = (job, *, target=None, sets=Vec::new(), text=None, load=None, progress=None))]
#[expect(clippy::needless_pass_by_value, reason = "converted arguments are owned")]
pub(crate) fn cycle_inputs(
    py: Python<'_>,
    job: String,
    target: Option<Target>,
    sets: Vec<String>,
    text: Option<String>,
    load: Option<u32>,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let target = target.map(Into::into).unwrap_or_default();
    let work = move |progress: &mut dyn FnMut(penstock_run::Step<'_>) -> bool| {
        let job = CycleJob { name: &job, text: text.as_deref(), sets: &sets };
        inputs(job, target, load, progress).map(|found| json(&found))
    };
    watch::run(py, progress.as_ref(), work).whole(py)
}
