//! The outcome of a run: why it ended early, if it did, and its result.

use penstock_core::{End, Source, Span, Time};
use penstock_live::{Guard, Trouble};

use crate::result::{Ended, RunResult};
use crate::session::observer::{CellObserver, Ends};
use crate::session::runner::Runner;

/// Time to wait for commands in flight when a person ends a run: they do not want to wait long for
/// a device that does not answer.
const PATIENCE: Span = Span::from_secs(2);

/// The result of a run whose loop came to `end`, as `observer` measured it. What `source` plans before
/// `until` did not take place. Waits for commands in flight at the target.
pub(super) fn result(
    runner: &Runner<'_>,
    ends: &Ends,
    end: End,
    observer: &mut CellObserver<'_>,
    source: &mut dyn Source,
    until: Time,
) -> RunResult {
    let over = ends.over();
    let at = over.unwrap_or(end.at);
    observer.ended(source, at, until);
    let early = over.is_none() && end.interrupted || ends.quit.get().is_some();
    let Ending { ended, failure, remarks } = Ending::of(early, at, ends.guard.as_ref());
    // A run whose requests are all done early counts until the end of its load's time.
    let asked = runner.load.asks_until.map_or(at, |asked| asked.min(until).max(at));
    let at = if over.is_some() || ended.is_some() { at } else { asked };
    let mut result = RunResult {
        interrupted: ended.is_some(),
        ended,
        failure,
        remarks,
        ..RunResult::new(runner.policy.name(), runner.policy.params_json())
    };
    observer.write(at, runner.is_part, &mut result);
    result
}

/// Why a run ended early, if it did, and what its result says about it.
#[derive(Default)]
struct Ending {
    ended: Option<Ended>,
    /// The message about the failure.
    failure: Option<String>,
    remarks: Vec<String>,
}

impl Ending {
    /// Ends a run at `at` whose target `guard` watches. `early`: the run was stopped before its
    /// time. Waits for commands in flight at the target.
    fn of(early: bool, at: Time, guard: Option<&Guard>) -> Self {
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
