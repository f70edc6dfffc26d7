//! A target as Python names it.

use penstock_run::TargetOptions;
use pyo3::prelude::*;

/// A `penstock.target.Target`.
#[derive(FromPyObject)]
pub(crate) struct Target {
    on: Option<String>,
    create: Option<String>,
    i_will_lose_data: Vec<String>,
    even_if_not_empty: bool,
    read_only: bool,
    engine: Option<String>,
}

impl From<Target> for TargetOptions {
    fn from(target: Target) -> Self {
        let Target { on, create, i_will_lose_data, even_if_not_empty, read_only, engine } = target;
        Self { on, create, i_will_lose_data, even_if_not_empty, read_only, engine }
    }
}
