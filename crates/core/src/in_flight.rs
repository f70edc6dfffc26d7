//! Commands and bytes at the device, by class.

use alloc::vec::Vec;

/// Commands and bytes in flight for each of a few classes, numbered from 0. A policy that bounds
/// its commands in flight records each dispatch and each completion here.
#[derive(Clone, Debug, Default)]
pub struct InFlight {
    classes: Vec<DeviceLoad>,
}

#[derive(Clone, Copy, Debug, Default)]
struct DeviceLoad {
    commands: u32,
    bytes: u64,
}

impl InFlight {
    /// Creates an empty account for `classes` classes. Further classes are added on first use.
    pub fn new(classes: usize) -> Self {
        let mut account = Self::default();
        account.classes.resize(classes, DeviceLoad::default());
        account
    }

    /// A command of `len` bytes was sent.
    pub fn sent(&mut self, class: usize, len: u32) {
        if class >= self.classes.len() {
            self.classes.resize(class + 1, DeviceLoad::default());
        }
        self.classes[class].commands += 1;
        self.classes[class].bytes += u64::from(len);
    }

    /// A command of `len` bytes completed.
    pub fn finished(&mut self, class: usize, len: u32) {
        self.classes[class].commands -= 1;
        self.classes[class].bytes -= u64::from(len);
    }

    /// Commands of `class` at the device.
    pub fn commands(&self, class: usize) -> u32 {
        self.classes.get(class).map_or(0, |load| load.commands)
    }

    /// Bytes of `class` at the device.
    pub fn bytes(&self, class: usize) -> u64 {
        self.classes.get(class).map_or(0, |load| load.bytes)
    }
}
