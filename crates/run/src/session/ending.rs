//! How a run ended that did not come to its end.

use penstock_core::{Span, Time};
use penstock_live::{Guard, Trouble};

use crate::result::Ended;

/// A person who ends a run does not want to wait long for a device that does not answer.
const PATIENCE: Span = Span::from_secs(2);

/// Why a run ended early, if it did, and what is said of it.
#[derive(Default)]
pub(crate) struct Ending {
    pub(crate) ended: Option<Ended>,
    /// What failed, in words.
    pub(crate) failure: Option<String>,
    pub(crate) remarks: Vec<String>,
}

impl Ending {
    /// Of a run that ended at `at`: `early` or not, its target looked after by `guard`. Waits for
    /// what is in flight there.
    pub(crate) fn of(early: bool, at: Time, guard: Option<&Guard>) -> Self {
        let before = guard.is_some_and(|guard| guard.found().is_some());
        let asked = early && !before;
        let trouble = guard.and_then(|guard| guard.end(at, asked.then_some(PATIENCE)));
        let ended = asked.then_some(Ended::Asked);
        match trouble {
            None => Self { ended, ..Self::default() },
            Some(silent @ Trouble::Silent { .. }) if asked => {
                let message = silent.to_string();
                // The hint is for a person who waits.
                let remarks = message.lines().take(1).map(str::to_owned).collect();
                Self { ended, remarks, failure: None }
            }
            Some(trouble) => {
                let ended = match trouble {
                    Trouble::Silent { .. } => Ended::Timeout,
                    Trouble::Resized { .. } => Ended::Resized,
                    Trouble::Differs(_) => Ended::Differs,
                    Trouble::RecordLost { .. } => Ended::RecordLost,
                };
                let failure = Some(trouble.to_string());
                Self { ended: Some(ended), failure, remarks: Vec::new() }
            }
        }
    }
}
