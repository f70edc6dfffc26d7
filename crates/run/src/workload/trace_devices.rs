//! The devices of a trace by name, and the devices that they are played on.

use penstock_core::Seed;
use penstock_jobs::LaneDevice;
use penstock_jobs::diagnose::quote;
use penstock_jobs::nearest::suggest;
use penstock_jobs::traces::TraceSpec;
use penstock_workload::trace::{DeviceId, Trace};

use crate::failure::Failure;

/// Largest number of names in a hint.
const NAMED: usize = 4;

/// Finds the device of `trace` called `name`.
pub(super) fn number(trace: &Trace, spec: &TraceSpec, name: &str) -> Result<DeviceId, Failure> {
    let known = || trace.devices.iter().map(String::as_str);
    let at = known().position(|known| known == name);
    at.map(|at| DeviceId(at as u16)).ok_or_else(|| {
        let message = format!("device {} is not in the trace {}", quote(name), spec.file.display());
        Failure::wrong(message, suggest(name, known()))
    })
}

/// Returns the sizes of the devices `on`, by number of the device of `trace` that is played on
/// each; empty if `on` is empty.
pub(super) fn sizes(
    trace: &Trace,
    spec: &TraceSpec,
    on: &[LaneDevice],
) -> Result<Vec<Option<u64>>, Failure> {
    if on.is_empty() {
        return Ok(Vec::new());
    }
    let mut sizes = vec![None; trace.devices.len()];
    for device in on {
        let at = number(trace, spec, &device.name)?;
        sizes[at.index()] = Some(device.spec.build(Seed(0)).capacity());
    }
    Ok(sizes)
}

/// Checks that each of the `lanes`, devices of `trace` with requests, is among the devices `on`, if
/// there are any.
pub(super) fn check(
    trace: &Trace,
    spec: &TraceSpec,
    on: &[LaneDevice],
    lanes: &[DeviceId],
) -> Result<(), Failure> {
    let named = |name: &str| on.iter().any(|device| device.name == name);
    let names = lanes.iter().filter_map(|lane| trace.devices.get(lane.index()));
    let lacking: Vec<&str> = names.map(String::as_str).filter(|name| !named(name)).collect();
    let (Some(first), false) = (lacking.first(), on.is_empty()) else { return Ok(()) };
    let few: Vec<String> = lacking.iter().take(NAMED).map(|name| quote(name)).collect();
    let more = if lacking.len() > NAMED { " …" } else { "" };
    let (what, need) = match lacking.len() {
        1 => (format!("device {}", few[0]), "has no device to be played on"),
        several => {
            (format!("{several} devices ({}{more})", few.join(" ")), "have none to be played on")
        }
    };
    let message = format!("{what} of the trace {} {need}", spec.file.display());
    let kind = &on[0].spec.name;
    let (key, only) = if spec.of_command {
        (format!("`--on {first}={kind}`"), "`--device NAME`")
    } else {
        (format!("`on.{first:?} = {kind:?}` in `[trace]`"), "`device = [\"NAME\"]`")
    };
    Err(Failure::wrong(
        message,
        format!("{key} gives it one; {only} plays only those that it names"),
    ))
}
