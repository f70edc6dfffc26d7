//! Builds devices: whole, or the disks below queues of their own.

use std::rc::Rc;

use penstock_core::{Device, Seed};
use penstock_device::hdd::Angle;

use super::{DeviceSpec, Watch};

impl DeviceSpec {
    /// Builds the device; its faults and the initial angles of its platters derive from `seed`.
    pub fn build(&self, seed: Seed) -> Box<dyn Device> {
        self.build_whole(seed, 0, None)
    }

    /// Builds the device with its disks numbered from `first`, for a device behind the disks of
    /// other devices. The number of a disk decides which random numbers it draws.
    pub fn build_behind(&self, seed: Seed, first: u32) -> Box<dyn Device> {
        self.build_whole(seed, first, None)
    }

    /// Builds the device with each of its disks observed by `watch(number)`.
    pub fn build_watched(
        &self,
        seed: Seed,
        watch: &dyn Fn(u32) -> Rc<dyn Watch>,
    ) -> Box<dyn Device> {
        self.build_whole(seed, 0, Some(watch))
    }

    /// Builds the devices below each queue: the whole device, or its disks, numbered and observed
    /// as in [`Self::build_behind`] and [`Self::build_watched`].
    pub fn lanes(
        &self,
        seed: Seed,
        first: u32,
        watch: &dyn Fn(u32) -> Rc<dyn Watch>,
    ) -> Vec<Box<dyn Device>> {
        match self.array_of_queues() {
            Some(_) => self.build_disks(seed, first, Some(watch)),
            None => vec![self.build_whole(seed, first, Some(watch))],
        }
    }

    fn build_whole(
        &self,
        seed: Seed,
        first: u32,
        watch: Option<&dyn Fn(u32) -> Rc<dyn Watch>>,
    ) -> Box<dyn Device> {
        let mut disks = self.build_disks(seed, first, watch);
        match &self.array {
            Some(array) => Box::new(array.over(disks).expect("checked when it was read")),
            None => disks.swap_remove(0),
        }
    }

    /// Builds its disks, numbered from `first`.
    fn build_disks(
        &self,
        seed: Seed,
        first: u32,
        watch: Option<&dyn Fn(u32) -> Rc<dyn Watch>>,
    ) -> Vec<Box<dyn Device>> {
        let phase = |number| {
            self.array.as_ref().map_or(Angle::default(), |array| array.phase(number, seed))
        };
        let watch = |number| watch.map(|watch| watch(number));
        let disk = |number| self.disk(number, phase(number), seed, watch(number));
        (first..first + self.disks()).map(disk).collect()
    }
}
