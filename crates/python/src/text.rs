//! Text that may hold paths, between Python and the engine: the one place that converts them.
//!
//! Python writes a byte of a name that is not UTF-8 as a surrogate, which no encoder takes; the engine
//! writes it as `path_text` says. Paths that are nothing else are converted as paths, by `pyo3`.

use std::ffi::OsString;
use std::path::Path;

use penstock_jobs::path_text;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// A text from Python, as the engine has it.
#[derive(Debug, Default)]
pub(crate) struct Text(pub(crate) String);

impl FromPyObject<'_, '_> for Text {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let text = object.cast::<PyString>()?;
        if let Ok(text) = text.to_str() {
            return Ok(Self(text.into()));
        }
        let path: OsString = object.extract()?;
        Ok(Self(path_text::text(Path::new(&path))))
    }
}

/// Returns these texts as the engine has them.
pub(crate) fn strings(texts: Vec<Text>) -> Vec<String> {
    texts.into_iter().map(|Text(text)| text).collect()
}

/// Returns JSON whose paths Python can open: a byte that is not UTF-8 is a surrogate.
pub(crate) fn with_paths(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for character in json.chars() {
        match path_text::byte(character) {
            Some(byte) => text.extend(["\\udc", &format!("{byte:02x}")]),
            None => text.push(character),
        }
    }
    text
}
