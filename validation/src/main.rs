//! Writes `docs/validation.md` and its pictures: the present results of every check.

use std::process::ExitCode;

use penstock_validation::Checks;

fn main() -> ExitCode {
    let checks = Checks::run();
    for (path, text) in checks.files() {
        if let Err(error) = std::fs::write(&path, text) {
            eprintln!("error: {}: {error}", path.display());
            return ExitCode::FAILURE;
        }
    }
    let failed = checks.failed();
    for check in &failed {
        eprintln!("does not hold: {check}");
    }
    ExitCode::from(u8::from(!failed.is_empty()))
}
