//! A block device of the kernel over a front, with the settings of its queue.

use std::path::{Path, PathBuf};
use std::time::Duration;

use penstock_live::queue_settings::{self, Held, QueueError, SchedulerStep, Setting};
use penstock_live::serve::{Front, Served};

use crate::failure::Failure;

/// A block device over a front. Dropping it puts the settings back, and takes the device down.
pub(super) struct BlockNode {
    /// Put back before the device goes.
    _held: Held,
    served: Served,
}

impl BlockNode {
    /// Serves `front` in blocks of `block` bytes, under `scheduler`, or under `instead` where the kernel
    /// lacks it or one of its settings. `shown` is the name of its file where the kernel lists it. No other
    /// process can use it until it is handed out.
    ///
    /// # Errors
    /// [`Failure`]: the machine or the user lacks what it needs.
    pub(super) fn new(
        front: impl Front,
        block: u32,
        shown: &str,
        scheduler: SchedulerStep,
        instead: Option<SchedulerStep>,
    ) -> Result<Self, Failure> {
        let served = Served::new(front, block, shown)?;
        let longest = Setting::new("max_sectors_kb", (Served::LONGEST >> 10).to_string());
        let disk = served.node().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let hold = |mut step: SchedulerStep| {
            step.settings.insert(0, longest.clone());
            queue_settings::hold_served(&disk, &[step])
        };
        let held = match (hold(scheduler), instead) {
            (Err(QueueError::Unknown { .. } | QueueError::NoSetting { .. }), Some(step)) => {
                hold(step)
            }
            (held, _) => held,
        }?;
        Ok(Self { _held: held, served })
    }

    /// Returns its node, as `/dev/loop3`.
    pub(super) fn path(&self) -> &Path {
        self.served.node()
    }

    /// Returns where the report of the front lies.
    pub(super) fn report(&self) -> PathBuf {
        self.served.report()
    }

    /// Measures how long the kernel takes with a read that the front answers at once.
    ///
    /// # Errors
    /// [`Failure`]: a read fails.
    pub(super) fn round_trip(&self) -> Result<Duration, Failure> {
        self.served.round_trip().map_err(|error| Failure::here("read the device", &error))
    }

    /// Lets others use it.
    ///
    /// # Errors
    /// [`Failure`]: it cannot be opened.
    pub(super) fn hand_out(&mut self) -> Result<(), Failure> {
        self.served.hand_out().map_err(|error| Failure::here("open the device", &error))
    }

    /// Whether a file system on it is mounted, or another device holds it.
    pub(super) fn is_in_use(&self) -> bool {
        self.served.is_in_use()
    }
}
