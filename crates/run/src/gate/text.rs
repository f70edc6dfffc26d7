//! The options of a gate from a text.

use penstock_jobs::GateSpec;

use super::open::{GateFile, GateOptions};
use crate::failure::Failure;

impl GateOptions {
    /// Reads the options from `text`, in TOML: `path = "ledger.img"`.
    ///
    /// # Errors
    /// [`Failure`]: no TOML, an unknown key or policy, or a wrong value.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let spec = GateSpec::parse(text)?;
        let GateSpec { paths, create, adopt, i_will_lose_data, even_if_not_empty, .. } = &spec;
        let file = |path: &String| GateFile {
            path: path.into(),
            create: create.clone(),
            adopt: *adopt,
            i_will_lose_data: i_will_lose_data.clone(),
            even_if_not_empty: *even_if_not_empty,
            lent: None,
        };
        let files = paths.iter().map(file).collect();
        let GateSpec { emulate, engine, depth, timeout, policy, sets, classes, .. } = spec;
        let interrupted = None;
        Ok(Self { files, policy, sets, emulate, engine, depth, timeout, classes, interrupted })
    }
}
