//! Errors of a change of a disk's settings.

use std::io;
use std::path::PathBuf;

use crate::exit_codes::{CANNOT, FAILED, UNSAFE_TARGET, WRONG_INPUT};

/// Why the settings of a disk were not changed.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// No disk with a scheduler holds the data.
    #[error(
        "{}: found no disk with a scheduler under it; expected a file or a device on one\n\
         hint: `penstock doctor {}` says what lies there", path.display(), path.display()
    )]
    NoDisk {
        /// The target.
        path: PathBuf,
    },
    /// The disk does not have this scheduler.
    #[error("{disk} has no scheduler {name}; it has {}", known.join(", "))]
    Unknown {
        /// The disk.
        disk: String,
        /// The requested scheduler.
        name: String,
        /// The schedulers of the disk.
        known: Vec<String>,
    },
    /// Neither the scheduler nor the queue has this setting.
    #[error(
        "{disk}: found no tunable {key} of {scheduler}; expected {}\n\
         hint: or a writable attribute of its queue, as nr_requests",
        if known.is_empty() { "none, as it has none".into() } else { known.join(", ") }
    )]
    NoSetting {
        /// The disk.
        disk: String,
        /// Its scheduler.
        scheduler: String,
        /// The requested setting.
        key: String,
        /// The tunables of the scheduler.
        known: Vec<String>,
    },
    /// The setting could not be put back.
    #[error(
        "{disk}: found {attribute}; expected a setting that can be put back: {}\n\
         hint: {attribute} is not one: {reason}", known.join(", ")
    )]
    NoWayBack {
        /// The disk.
        disk: String,
        /// The requested setting.
        attribute: String,
        /// Why it could not be put back.
        reason: &'static str,
        /// The attributes of the queue that can be.
        known: Vec<&'static str>,
    },
    /// Another run has changed it and is measuring.
    #[error(
        "{disk}: found another run that has changed its settings; expected none\n\
         hint: two of them would measure each other: wait for the other to end"
    )]
    InUse {
        /// The disk.
        disk: String,
    },
    /// Another program changed a setting during a run.
    #[error(
        "{disk}: found {attribute} at {found} when the run ended; expected {value}\n\
         hint: something else changes settings, as udev rules or tuned do: stop it and run again"
    )]
    Changed {
        /// The disk.
        disk: String,
        /// The attribute, as `scheduler`.
        attribute: String,
        /// The value that it was given.
        value: String,
        /// The value that it has.
        found: String,
    },
    /// The system refused.
    #[error(
        "{disk}: cannot set {attribute} to {value}: {source}\nhint: {}",
        if source.kind() == io::ErrorKind::InvalidInput {
            "the kernel refuses this value"
        } else {
            "only root may, where /sys is writable"
        }
    )]
    Refused {
        /// The disk.
        disk: String,
        /// The attribute, as `scheduler`.
        attribute: String,
        /// The requested value.
        value: String,
        /// The system's error.
        source: io::Error,
    },
}

impl QueueError {
    /// Returns the exit code of the command: 77 for what this machine cannot do, 2 for a wrong target,
    /// scheduler or setting, 5 for a disk in use, 1 if another program changed a setting.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NoDisk { .. }
            | Self::Unknown { .. }
            | Self::NoSetting { .. }
            | Self::NoWayBack { .. } => WRONG_INPUT,
            Self::Refused { source, .. } if source.kind() == io::ErrorKind::InvalidInput => {
                WRONG_INPUT
            }
            Self::Changed { .. } => FAILED,
            Self::InUse { .. } => UNSAFE_TARGET,
            Self::Refused { .. } => CANNOT,
        }
    }
}
