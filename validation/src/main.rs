//! Writes `docs/validation.md`: what every check gives now.

use std::path::PathBuf;
use std::process::ExitCode;

use penstock_validation::{page, sections};

fn main() -> ExitCode {
    let sections = sections();
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/validation.md");
    if let Err(error) = std::fs::write(&path, page::page(&sections)) {
        eprintln!("error: {}: {error}", path.display());
        return ExitCode::FAILURE;
    }
    let failed: Vec<_> =
        sections.iter().flat_map(|one| &one.cases).filter(|case| !case.holds()).collect();
    for case in &failed {
        eprintln!("does not hold: {} ({})", case.name, case.what);
    }
    ExitCode::from(u8::from(!failed.is_empty()))
}
