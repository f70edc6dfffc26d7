//! Engines by name.

use penstock_live::Engine;

use crate::diagnose::JobError;
use crate::nearest::nearest;

/// Names of all engines, the preferred one first.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    Engine::ALL.iter().map(|engine| engine.name())
}

/// Returns the engine called `name`.
///
/// # Errors
/// No engine has this name.
pub fn engine(name: &str) -> Result<Engine, JobError> {
    Engine::from_name(name).ok_or_else(|| {
        let hint = nearest(name, names()).map_or_else(
            || format!("engines: {}", names().collect::<Vec<_>>().join(", ")),
            |near| format!("did you mean {near}?"),
        );
        JobError::new(format!("unknown engine {name}")).hint(hint)
    })
}
