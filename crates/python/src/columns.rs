//! All requests of a run for Python: the bytes of each column, in the machine's byte order.

use std::sync::PoisonError;

use penstock_run::Failure;
use penstock_run::result::Requests;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::policy::Raised;

/// Calls `take` with the number of a run and its requests. An exception that it raises goes to
/// `thrown`.
///
/// # Errors
/// [`Failure`]: it has raised an exception.
pub(crate) fn give(
    take: &Py<PyAny>,
    number: usize,
    requests: &Requests,
    thrown: &Raised,
) -> Result<(), Failure> {
    let called = Python::attach(|py| take.call1(py, (number, columns(py, requests)?)));
    called.map(drop).map_err(|error| {
        thrown.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        Failure::run("the requests of a run were not taken")
    })
}

fn columns<'py>(py: Python<'py>, requests: &Requests) -> PyResult<Bound<'py, PyDict>> {
    let Requests { due_ns, sent_ns, done_ns, class, op, offset, length, error } = requests;
    let columns = PyDict::new(py);
    for (name, values) in
        [("due_ns", due_ns), ("sent_ns", sent_ns), ("done_ns", done_ns), ("offset", offset)]
    {
        columns.set_item(name, bytes(py, values, u64::to_ne_bytes))?;
    }
    columns.set_item("class", bytes(py, class, u16::to_ne_bytes))?;
    columns.set_item("op", bytes(py, op, |value| [value]))?;
    columns.set_item("length", bytes(py, length, u32::to_ne_bytes))?;
    columns.set_item("error", bytes(py, error, i32::to_ne_bytes))?;
    Ok(columns)
}

fn bytes<'py, T: Copy, const N: usize>(
    py: Python<'py>,
    values: &[T],
    to_bytes: impl Fn(T) -> [u8; N],
) -> Bound<'py, PyBytes> {
    let all: Vec<u8> = values.iter().flat_map(|&value| to_bytes(value)).collect();
    PyBytes::new(py, &all)
}
