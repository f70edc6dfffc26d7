//! Checks on the number of queues of a run: one, one before each disk of an array, or one before
//! each of several devices, which hold files or play those of a trace.

use penstock_core::Seed;
use penstock_jobs::Job;
use penstock_jobs::devices::{self, DeviceSpec};

use crate::ask::candidate::Chosen;
use crate::failure::Failure;
use crate::place::extents::too_many_bytes;

/// Checks that every model can have its own queue if there are several `lanes`, and that no policy
/// and no option of the job needs a single queue. `of_one_queue`: why an option needs one.
pub(crate) fn check(
    models: &[&DeviceSpec],
    lanes: usize,
    job: &Job,
    policies: &[Chosen],
    of_one_queue: Option<&str>,
) -> Result<(), Failure> {
    let several = lanes > 1;
    let of_trace = job.workload.trace().is_some();
    if several {
        let why = if of_trace {
            "each device of a trace has one queue"
        } else {
            "each device of files has one queue"
        };
        models.iter().try_for_each(|spec| check_single(spec, why))?;
        devices::check_memory(models.iter().copied())?;
        addresses(models)?;
    }
    let needs_one = match policies.iter().find(|policy| policy.is_foreign()) {
        Some(policy) => {
            format!("policy {} is from outside and decides for one queue", policy.name())
        }
        None => match of_one_queue {
            Some(why) => why.into(),
            None => return Ok(()),
        },
    };
    if several {
        let (whose, hint) = if of_trace {
            ("each device of the trace", "play one of them: trace.device")
        } else {
            ("each device of its files", "let the files share one: `device = \"disk0\"` in each")
        };
        return Err(Failure::wrong(format!("{needs_one}, and {whose} has its own"), hint));
    }
    models.iter().try_for_each(|spec| check_single(spec, &needs_one))
}

/// Checks that a trace of `lanes` devices can be played on the single target called `on`.
pub(crate) fn one_target(on: &str, lanes: usize) -> Result<(), Failure> {
    if lanes <= 1 {
        return Ok(());
    }
    let message = format!("the trace is of {lanes} devices, and {on} is one");
    let hint = "play one of them, which trace.device names, or lay them behind each other: \
                trace.layout = \"side-by-side\"";
    Err(Failure::wrong(message, hint))
}

/// Checks that `spec` has only one queue. `why`: the reason in the message.
pub(crate) fn check_single(spec: &DeviceSpec, why: &str) -> Result<(), Failure> {
    let Some(_) = spec.array_of_queues() else { return Ok(()) };
    let message = format!("{why}, and {} has one before each disk", spec.name);
    Err(Failure::wrong(message, "give its array scheduler = \"one\""))
}

/// Checks that every byte of `models`, which lie behind each other, has an address.
fn addresses(models: &[&DeviceSpec]) -> Result<(), Failure> {
    let mut bytes = models.iter().map(|spec| spec.build(Seed(0)).capacity());
    if bytes.try_fold(0, u64::checked_add).is_some() {
        return Ok(());
    }
    Err(too_many_bytes(models.len()))
}
