//! Models of a run with several devices of different kinds: on which the devices of a trace are
//! played, or on which files are.

use penstock_jobs::LaneDevice;
use penstock_jobs::devices::DeviceSpec;

use crate::place::lane::Lane;

/// Models, each for a device of a trace or for a file.
#[derive(Clone)]
pub(crate) struct LaneModels {
    name: String,
    devices: Vec<LaneDevice>,
}

impl LaneModels {
    /// Creates the mapping.
    ///
    /// # Panics
    /// Panics if `devices` is empty.
    pub(crate) fn new(devices: Vec<LaneDevice>) -> Self {
        assert!(!devices.is_empty(), "a device to play on");
        let each = devices.iter().map(|device| format!("{}={}", device.name, device.spec.name));
        Self { name: each.collect::<Vec<_>>().join(", "), devices }
    }

    /// Selects the models of `lanes`, in their order; all models if `lanes` is empty.
    pub(crate) fn of(self, lanes: &[Lane]) -> Self {
        let of = |lane: &Lane| self.devices.iter().find(|device| device.name == lane.name).cloned();
        match lanes {
            [] => self,
            lanes => Self::new(lanes.iter().filter_map(of).collect()),
        }
    }

    /// The name of all models in results.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn devices(&self) -> &[LaneDevice] {
        &self.devices
    }

    /// The models, in the order of their devices.
    pub(crate) fn specs(&self) -> Vec<&DeviceSpec> {
        self.devices.iter().map(|device| &device.spec).collect()
    }
}
