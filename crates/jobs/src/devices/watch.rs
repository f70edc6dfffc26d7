//! Observation of disks during a run.

use std::cell::Cell;
use std::rc::Rc;

use penstock_core::{Device, Time};
use penstock_device::hdd::Access;
use penstock_device::ssd::Buffered;

/// Observes one disk of a modelled device.
pub trait Watch {
    /// Called when a disk with an arm begins an access at `at`.
    fn accessed(&self, at: Time, access: &Access);

    /// Returns the cell in which a drive of flash reports what its write buffer has done.
    fn gauge(&self) -> Rc<Cell<Buffered>>;

    /// Wraps `device` to observe the service of its requests.
    fn over(self: Rc<Self>, device: Box<dyn Device>) -> Box<dyn Device>;
}
