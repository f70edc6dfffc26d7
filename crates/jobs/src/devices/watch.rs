//! How a disk is watched while a run goes on.

use std::cell::Cell;
use std::rc::Rc;

use penstock_core::{Device, Time};
use penstock_device::hdd::Access;
use penstock_device::ssd::Buffered;

/// Watches one disk of a modelled device.
pub trait Watch {
    /// A disk with an arm begins an access at `at`.
    fn accessed(&self, at: Time, access: &Access);

    /// Where a drive of flash says what its write buffer has done.
    fn gauge(&self) -> Rc<Cell<Buffered>>;

    /// `device`, watched for what its requests take.
    fn over(self: Rc<Self>, device: Box<dyn Device>) -> Box<dyn Device>;
}
