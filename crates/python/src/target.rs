//! A target as Python names it.

use penstock_run::TargetOptions;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::text::Text;

/// A `penstock.target.Target`.
pub(crate) struct Target(pub(crate) TargetOptions);

impl FromPyObject<'_, '_> for Target {
    type Error = PyErr;

    fn extract(target: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let Text(text) = target.call_method0("json")?.extract()?;
        let options = serde_json::from_str(&text);
        options.map(Self).map_err(|error| PyTypeError::new_err(format!("{error} of {text}")))
    }
}
