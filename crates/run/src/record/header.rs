//! The header of a record.

use std::num::NonZeroU32;

use penstock_core::{ClassInfo, Device, IoPrio, Prio, Served};
use penstock_jobs::Job;
use penstock_policy::Params;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// Facts that a replay needs in addition to the events.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Header {
    /// Version of Penstock that recorded.
    pub penstock: String,
    /// Name of the policy.
    pub policy: String,
    /// Name of the job file.
    pub job: String,
    /// The whole job with every default in place, the policy's parameters among them.
    pub text: String,
    /// Commands that the device takes at once.
    pub room: u32,
    /// Bytes of the device.
    pub capacity: u64,
    /// Block of the device in bytes.
    pub block: u32,
    /// Whether the device finishes by itself, as real ones do; true in records that do not say.
    #[serde(default = "yes")]
    pub polled: bool,
    /// Whether buffered requests went through the page cache of the machine, below the policy.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub machine_cache: bool,
    /// Classes and disks that the policy served, each policy if there are several queues; older
    /// records do not say.
    pub served: Option<RecordedServed>,
    /// The disk or the device below each queue, if there are several; above, `room` and `block` are those
    /// of the first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<RecordedDisk>,
}

/// A disk of an array or a device of several, below a queue of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RecordedDisk {
    /// Commands that it takes at once.
    pub room: u32,
    /// Capacity in bytes.
    pub capacity: u64,
    /// Facts about an independent device; `None` for a disk of an array.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane: Option<RecordedLane>,
}

/// A device that knows nothing of the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RecordedLane {
    /// Block of the device in bytes.
    pub block: u32,
    /// Number of its disks.
    pub disks: NonZeroU32,
}

/// Returns the text of a job that stands for requests which no job made, with an agent for each of `classes`: its
/// policies and streams are what counts.
fn stand_in(classes: &[ClassInfo]) -> String {
    let agent = |ClassInfo { name, .. }: &ClassInfo| {
        format!(
            "[class.{name}]\n[[agent]]\nclass = \"{name}\"\nop = \"read\"\nsize = \"4KiB\"\n\
             pattern = \"random\"\narrivals = {{ kind = \"closed\", depth = 1 }}\n"
        )
    };
    format!("duration = \"1s\"\n{}", classes.iter().map(agent).collect::<String>())
}

impl Header {
    /// Describes a record of requests that programs make to `device` under the policy called `policy` with
    /// `params`, those of a class as one stream; `name` stands in the place of a job's.
    ///
    /// # Errors
    /// No job can have the parameters.
    pub(crate) fn of_programs(
        name: &str,
        (policy, params): (&'static str, &Params),
        device: &impl Device,
        served: &Served<'_>,
    ) -> Result<Self, Failure> {
        let mut job = Job::parse(name, &stand_in(served.classes), &[])?;
        for (known, its_params) in &mut job.policies {
            if *known == policy {
                its_params.clone_from(params);
            }
        }
        Ok(Self {
            penstock: crate::result::version::VERSION.into(),
            policy: policy.into(),
            job: name.into(),
            text: job.text(),
            room: device.room(),
            capacity: device.capacity(),
            block: device.block(),
            polled: device.polled(),
            machine_cache: false,
            served: Some(RecordedServed::new(served)),
            queues: Vec::new(),
        })
    }

    /// Whether its queues are above independent devices, and not above the disks of an array.
    pub(super) fn is_of_lanes(&self) -> bool {
        !self.queues.is_empty() && self.queues.iter().all(|disk| disk.lane.is_some())
    }
}

impl RecordedDisk {
    /// Describes `device` as a disk of an array.
    pub(crate) fn of(device: &impl Device) -> Self {
        Self { room: device.room(), capacity: device.capacity(), lane: None }
    }
}

/// A [`Served`] in a header.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RecordedServed {
    disks: NonZeroU32,
    classes: Vec<RecordedClass>,
}

/// A [`ClassInfo`] in a header.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct RecordedClass {
    name: String,
    weight: NonZeroU32,
    prio: u8,
    /// I/O priority as in a job; the default in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ioprio: Option<String>,
}

impl RecordedServed {
    pub(crate) fn new(served: &Served<'_>) -> Self {
        let class = |class: &ClassInfo| {
            let ClassInfo { name, weight, prio, ioprio } = class.clone();
            let ioprio = (ioprio != IoPrio::DEFAULT).then(|| ioprio.to_string());
            RecordedClass { name, weight, prio: prio.0, ioprio }
        };
        Self { disks: served.disks, classes: served.classes.iter().map(class).collect() }
    }

    /// Returns the number of classes.
    pub(super) fn classes(&self) -> usize {
        self.classes.len()
    }

    /// Returns the names of the classes.
    pub(crate) fn names(&self) -> Vec<String> {
        self.classes.iter().map(|class| class.name.clone()).collect()
    }

    /// Returns the classes and the number of disks of a [`Served`].
    pub(crate) fn parts(&self) -> (Vec<ClassInfo>, NonZeroU32) {
        let class = |class: &RecordedClass| {
            let RecordedClass { name, weight, prio, ioprio } = class.clone();
            let ioprio = ioprio.and_then(|text| text.parse().ok()).unwrap_or_default();
            ClassInfo { name, weight, prio: Prio(prio), ioprio }
        };
        (self.classes.iter().map(class).collect(), self.disks)
    }
}

fn yes() -> bool {
    true
}
