//! The engine for Python: jobs go in as paths and text, results come out as JSON.
//!
//! Private to the package `penstock`, which gives it a face. Nothing is decided here: arguments and
//! results are converted, the interpreter is released while a job runs, and what it has to say about
//! signals is passed on.

#![deny(unsafe_code)]

mod amounts;
mod answer;
mod below;
mod columns;
mod gate;
mod kernel;
mod ledger;
mod merge;
mod papers;
mod passes;
mod policy;
mod served;
mod served_target;
mod session;
mod target;
mod text;
mod traces;
mod units;
mod watch;

use std::path::PathBuf;

use penstock_jobs::{Job, Study, list, path_text};
use penstock_run::Failure as RunFailure;
use penstock_run::record::replay;
use pyo3::prelude::*;

use crate::answer::{Failure, heeding, heeding_signals, json, json_with_paths, raise};
use crate::below::Below;
use crate::text::{Text, strings};

/// Lets a command report that memory has run out.
#[global_allocator]
static ALLOCATOR: penstock_run::Noting = penstock_run::Noting;

/// The engine of Penstock.
#[pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use super::{
        Below, Failure, device, devices, doctor, drawn, engines, exit_without_memory, is_right,
        merge_facts, policies, policy_named, replay_decisions, schema, study, text_file,
        without_detail,
    };
    #[pymodule_export]
    use crate::amounts::{job_amounts, job_from_fio, trace_made};
    #[pymodule_export]
    use crate::gate::Gate;
    #[pymodule_export]
    use crate::kernel::{HeldQueues, disks, io_priority, set_disk, set_io_priority, tracefs};
    #[pymodule_export]
    use crate::merge::MergeSession;
    #[pymodule_export]
    use crate::papers::{merge_layout, merge_rings, online_batch};
    #[pymodule_export]
    use crate::passes::PassSession;
    #[pymodule_export]
    use crate::served::Served;
    #[pymodule_export]
    use crate::served_target::ServedTarget;
    #[pymodule_export]
    use crate::session::{Pace, Session};
    #[pymodule_export]
    use crate::traces::{
        Meter, Recorder, scheduler_agreement, trace_convert, trace_describe, trace_formats,
        trace_races,
    };
    #[pymodule_export]
    use crate::units::{duration, size};

    #[expect(non_upper_case_globals, reason = "as Python writes it")]
    #[pymodule_export]
    const __version__: &str = penstock_run::VERSION;
}

/// Feeds the record at `path` to its policy and returns the comparison of decisions as JSON.
#[pyfunction]
#[pyo3(signature = (path, *, sets=Vec::new()))]
fn replay_decisions(py: Python<'_>, path: PathBuf, sets: Vec<Text>) -> PyResult<String> {
    let sets = strings(sets);
    heeding(py, move || replay::replay(&path, &sets))
}

/// Makes the process end with a message and exit code 1 when the engine runs out of memory, where
/// it would abort; takes over SIGABRT. Returns the hint in that message.
#[pyfunction]
fn exit_without_memory() -> &'static str {
    penstock_run::exit_without_memory()
}

/// Whether the job `text` called `name`, or the one in the file of that name, is valid with these
/// changes.
#[pyfunction]
fn is_right(name: Text, text: Option<Text>, sets: Vec<Text>) -> bool {
    let (name, sets) = (name.0, strings(sets));
    match text {
        Some(text) => Job::parse(&name, &text.0, &sets).is_ok(),
        None => Job::load(&path_text::path(&name), &sets).is_ok(),
    }
}

/// Returns what the merges of the job `text` need, as JSON.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "converted arguments are owned")]
fn merge_facts(py: Python<'_>, name: Text, text: Text, sets: Vec<Text>) -> PyResult<String> {
    let facts = penstock_run::merge_facts(&name.0, &text.0, &strings(sets));
    facts.map(|facts| json(&facts)).map_err(|failure| raise(py, &failure))
}

/// Returns every policy with its parameters, as JSON.
#[pyfunction]
fn policies() -> String {
    json(&list::policies())
}

/// Returns the policy called `name`, as JSON.
#[pyfunction]
fn policy_named(py: Python<'_>, name: &str) -> PyResult<String> {
    list::policy(name).map(|policy| json(&policy)).map_err(|error| raise(py, &error.into()))
}

/// Returns every named device, as JSON.
#[pyfunction]
fn devices() -> String {
    json(&list::devices())
}

/// Returns the names of all engines, as JSON.
#[pyfunction]
fn engines() -> String {
    json(&list::engines())
}

/// Returns the device called `name`, or of a device file, as a device file with every default in
/// place.
#[pyfunction]
fn device(py: Python<'_>, name: Text) -> PyResult<String> {
    heeding_signals(py, move || penstock_jobs::machines::text(&name.0).map_err(Into::into))
}

/// Returns the text of the file at `path`, which is short and written by hand; `kind` names the kind of file
/// in messages, and `hint` says what it should be.
#[pyfunction]
fn text_file(py: Python<'_>, path: PathBuf, kind: Text, hint: Text) -> PyResult<String> {
    heeding_signals(py, move || {
        penstock_jobs::text_file(&path, &kind.0, &hint.0).map_err(Into::into)
    })
}

/// Checks what this machine can do, and the storage under `path`, and returns the findings as JSON.
/// With `clean`, removes what runs have left behind.
#[pyfunction]
#[pyo3(signature = (path, *, clean=false))]
fn doctor(py: Python<'_>, path: PathBuf, clean: bool) -> PyResult<String> {
    heeding(py, move || penstock_run::doctor::doctor(&path, clean))
}

/// Returns the JSON Schema of the kind `job`, `device` or `result`, as JSON.
#[pyfunction]
fn schema(py: Python<'_>, kind: &str) -> PyResult<String> {
    let schema = penstock_run::schema(kind);
    schema.map(|schema| json(&schema)).map_err(|failure| raise(py, &failure))
}

/// Returns the JSON of a comparison without the detail of its runs, and with `verdict` (JSON) if it
/// is given; all else stays as it is written.
#[pyfunction]
#[pyo3(signature = (text, verdict=None))]
fn without_detail(py: Python<'_>, text: &str, verdict: Option<&str>) -> PyResult<String> {
    py.detach(|| penstock_run::without_detail(text, verdict)).map_err(|failure| raise(py, &failure))
}

/// Returns the contents of the study file at `path`, as JSON.
#[pyfunction]
fn study(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    heeding_signals(py, move || {
        let study = Study::load(&path).map_err(RunFailure::from);
        study.map(|study| json_with_paths(&study.facts()))
    })
}

/// A number for each of `count` runs of a study with this seed, from the streams called `label`.
#[pyfunction]
fn drawn(seed: u64, label: &str, count: u64) -> Vec<u64> {
    penstock_jobs::study::drawn(seed, label, count)
}
