//! The end of a run: why it ended early, if it did.

use penstock_core::{Span, Time};
use penstock_live::{Guard, Trouble};

use crate::result::Ended;

/// Time to wait for commands in flight when a person ends a run: they do not want to wait long for
/// a device that does not answer.
const PATIENCE: Span = Span::from_secs(2);

/// Why a run ended early, if it did, and what its result says about it.
#[derive(Default)]
pub(crate) struct Ending {
    pub(crate) ended: Option<Ended>,
    /// The message about the failure.
    pub(crate) failure: Option<String>,
    pub(crate) remarks: Vec<String>,
}

impl Ending {
    /// Ends a run at `at` whose target `guard` watches. `early`: the run was stopped before its
    /// time. Waits for commands in flight at the target.
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
