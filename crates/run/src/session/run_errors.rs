//! Messages for a run that failed: from the error of its loop, of its programs or of its policy.

use std::fmt;

use penstock_core::{RunError, Time};

use crate::ask::candidate::Quit;
use crate::failure::Failure;
use crate::measures::merge::MergeBook;

/// Returns an error if the policy called `under` quit because it failed.
pub(crate) fn quit(why: Option<&Quit>, under: &str) -> Result<(), Failure> {
    let Some(Quit::Failed { at, what, hint }) = why else { return Ok(()) };
    let message = format!("policy {under}, at {}: {what}", Seconds(*at));
    Err(Failure::run(message).hint(hint))
}

/// The failure of a run under the policy `under` in which a program of `class` arrived at `at`,
/// when the maximum number of programs was already under way.
pub(crate) fn too_many(class: &str, most: u32, at: Time, under: &str) -> Failure {
    Failure::run(format_args!(
        "class {class} found {most} programs under way at {} under {under}",
        Seconds(at)
    ))
    .hint("processors or device cannot follow: let fewer arrive, or raise max_outstanding")
}

/// The failure of a run of the classes `names` under the policy `under`, which ended with `error`
/// after `arrivals` requests.
pub(crate) fn failed(
    error: RunError,
    names: &[&str],
    arrivals: u64,
    merge: Option<&MergeBook>,
    under: &str,
) -> Failure {
    match error {
        RunError::Overload { class, at, max_outstanding } => {
            let class = names[class.index()];
            Failure::run(format_args!(
                "class {class} found {max_outstanding} requests outstanding at {} under {under}, \
                 after {arrivals} arrivals",
                Seconds(at)
            ))
            .hint("the device cannot follow: lower the rate, or raise max_outstanding")
        }
        RunError::Stalled { at, outstanding } => Failure::run(format_args!(
            "{outstanding} requests are outstanding at {} under {under}, and nothing goes on",
            Seconds(at)
        ))
        .hint("this is a mistake of the policy or of the device: please report it"),
        RunError::Deadlock { at } => match merge.and_then(MergeBook::starved) {
            Some(starved) => Failure::run(format_args!(
                "the cache is too small (deadlock): at {} under {under} {} {}",
                Seconds(at),
                names[starved.job as usize],
                starved.what()
            ))
            .hint(starved.hint())
            .of_deadlock(),
            None => Failure::run(format_args!(
                "nothing is outstanding at {} under {under}, and what asks waits for something",
                Seconds(at)
            ))
            .hint("this is a mistake of the workload: please report it"),
        },
        RunError::Endless { outstanding } => Failure::run(format_args!(
            "{outstanding} requests are outstanding after a hundred years under {under}"
        ))
        .hint("the device cannot follow: lower the rate, or what a request takes"),
        RunError::Spinning { at } => Failure::run(format_args!(
            "time stands still at {} under {under}: the device takes no time",
            Seconds(at)
        ))
        .hint("give the device a base time, or the closed loops a think time"),
    }
}

/// A point of time as a person reads it.
struct Seconds(Time);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} s", self.0.since(Time::ZERO).ns() as f64 / 1e9)
    }
}
