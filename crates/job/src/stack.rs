//! From a device's description to the device.

use penstock_core::{Device, Queued, Seed};
use penstock_device::{Faults, Fixed, hdd::Hdd};

use crate::devices::{DeviceSpec, Model, QueueSpec};
use crate::drives;

/// The device that `spec` describes; its faults descend from `seed`.
pub(crate) fn device(spec: &DeviceSpec, seed: Seed) -> Box<dyn Device> {
    let bare: Box<dyn Device> = match &spec.model {
        Model::Fixed { cost, capacity } => Box::new(Fixed::new(*cost, *capacity)),
        Model::Hdd { drive, options, queue } => {
            let drive = drives::drive(drive).expect("checked when it was read");
            queued(queue, Hdd::new(&drive, *options).expect("named drives are sound"))
        }
    };
    match &spec.faults {
        Some(faults) => Box::new(Faults::new(bare, faults.rates(), seed.stream("faults", 0))),
        None => bare,
    }
}

/// A disk behind its own queue; a queue of one command is no queue.
fn queued(queue: &QueueSpec, disk: Hdd) -> Box<dyn Device> {
    if queue.depth == 1 {
        return Box::new(disk);
    }
    let entry = penstock_policy::find(queue.policy).expect("checked when it was read");
    Box::new(Queued::with_depth((entry.build)(&queue.params), disk, queue.depth))
}
