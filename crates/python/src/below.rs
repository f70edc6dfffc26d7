//! The device below, as a policy in Python sees it.
//!
//! It is lent for the time of one `dispatch`: the object outlives it, and raises an error when it
//! is used later.

use penstock_core::{Device, Op, Time};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// The device that is lent to a policy during a call.
#[derive(Clone, Copy)]
pub(crate) struct LentDevice<'a> {
    pub(crate) now: Time,
    pub(crate) device: &'a dyn Device,
}

impl LentDevice<'_> {
    /// Runs `call`, during which every [`Below`] of this thread answers for this device.
    pub(crate) fn while_in<T>(self, call: impl FnOnce() -> T) -> T {
        ASKED.set(self, call)
    }
}

scoped_tls_hkt::scoped_thread_local!(static ASKED: for<'a> LentDevice<'a>);

/// The device below, for the time of one `dispatch`.
#[pyclass(frozen, module = "penstock._native")]
pub(crate) struct Below;

#[pymethods]
#[expect(clippy::unused_self, reason = "methods in Python")]
impl Below {
    /// Number of further commands that the device takes now.
    fn room(&self) -> PyResult<u32> {
        asked(|asked| asked.device.room())
    }

    /// Whether it takes a command of this range now.
    fn admits(&self, op: &str, start: u64, len: u32) -> PyResult<bool> {
        let op = op_of(op)?;
        if len == 0 {
            let why = "len is at least 1, found 0: a command carries something";
            return Err(PyValueError::new_err(why));
        }
        asked(|asked| asked.device.admits(op, start, len))
    }

    /// Nanoseconds that it would take to reach `start`; 0 where position costs nothing.
    fn position(&self, op: &str, start: u64) -> PyResult<u64> {
        let op = op_of(op)?;
        asked(|asked| asked.device.position(asked.now, op, start).ns())
    }
}

/// The word for an operation in Python.
pub(crate) fn op_word(py: Python<'_>, op: Op) -> &Bound<'_, PyString> {
    match op {
        Op::Read => intern!(py, "read"),
        Op::Write => intern!(py, "write"),
        Op::Flush => intern!(py, "flush"),
        Op::Discard => intern!(py, "discard"),
    }
}

/// Parses an operation that Python wrote.
fn op_of(word: &str) -> PyResult<Op> {
    match word {
        "read" => Ok(Op::Read),
        "write" => Ok(Op::Write),
        "discard" => Ok(Op::Discard),
        _ => Err(PyValueError::new_err(format!("op is read, write or discard, not {word}"))),
    }
}

fn asked<T>(answer: impl FnOnce(LentDevice<'_>) -> T) -> PyResult<T> {
    if !ASKED.is_set() {
        let why = "the device below answers during dispatch, and on its thread";
        return Err(PyRuntimeError::new_err(why));
    }
    Ok(ASKED.with(answer))
}
