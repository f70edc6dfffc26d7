//! How many queues a run has: one, one before each disk of an array, or one before each of the devices
//! that those of a trace are played on. Here is what goes with which.

use penstock_core::Seed;
use penstock_spec::devices::{self, DeviceSpec};

use crate::candidate::Chosen;
use crate::failure::Failure;

/// That `models`, of which there are several if a trace has so many `lanes`, can each have a queue of
/// its own, and that `policies` and what is `of_one_queue` need no more than one.
pub(crate) fn check(
    models: &[&DeviceSpec],
    lanes: usize,
    policies: &[Chosen],
    of_one_queue: Option<&str>,
) -> Result<(), Failure> {
    let several = lanes > 1;
    if several {
        let one = |spec: &&DeviceSpec| self::one(spec, "each device of a trace has one queue");
        models.iter().try_for_each(one)?;
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
        let message = format!("{needs_one}, and each device of the trace has its own");
        return Err(Failure::wrong(message, "play one of them: trace.device"));
    }
    models.iter().try_for_each(|spec| one(spec, &needs_one))
}

/// That a trace of so many `lanes` needs no more than the one target called `on`.
pub(crate) fn one_target(on: &str, lanes: usize) -> Result<(), Failure> {
    if lanes <= 1 {
        return Ok(());
    }
    let message = format!("the trace is of {lanes} devices, and {on} is one");
    let hint = "play one of them, which trace.device names, or lay them behind each other: \
                trace.layout = \"side-by-side\"";
    Err(Failure::wrong(message, hint))
}

/// That `spec` has one queue, since `why`.
pub(crate) fn one(spec: &DeviceSpec, why: &str) -> Result<(), Failure> {
    let Some(_) = spec.array_of_queues() else { return Ok(()) };
    let message = format!("{why}, and {} has one before each disk", spec.name);
    Err(Failure::wrong(message, "give its array scheduler = \"one\""))
}

/// That every byte of `models`, which lie behind each other, has an address.
fn addresses(models: &[&DeviceSpec]) -> Result<(), Failure> {
    let mut bytes = models.iter().map(|spec| spec.build(Seed(0)).capacity());
    if bytes.try_fold(0, u64::checked_add).is_some() {
        return Ok(());
    }
    let message = format!("{} devices of a trace have more than 16 EiB together", models.len());
    Err(Failure::wrong(message, "play them on smaller devices, with trace.fit"))
}
