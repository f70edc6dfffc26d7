//! Places where a job runs: a model in virtual time, a model that answers in real time, a real
//! target, or the null target.

pub(crate) mod cached_devices;
pub(crate) mod extents;
pub(crate) mod lane;
pub(crate) mod lane_models;
pub(crate) mod lane_targets;
pub(crate) mod live_target;
pub(crate) mod model_data;
pub(crate) mod open;
pub(crate) mod queues;
pub(crate) mod refusals;
pub(crate) mod target;

use std::num::NonZeroU32;

use penstock_core::Seed;
use penstock_jobs::devices::DeviceSpec;
use penstock_jobs::{Extent, Job, LaneDevice};
use penstock_live::{Engine, Null, Speed};

use self::lane::Lane;
use self::lane_models::LaneModels;
use self::lane_targets::LaneTargets;
use self::live_target::Live;
use crate::ask::candidate;
use crate::failure::Failure;
use crate::result::{FileResult, World};

/// The name of the target that does nothing.
const NULL: &str = "null";

/// A place where a job runs.
#[derive(Clone)]
pub(crate) enum Place {
    /// A model in virtual time.
    Modelled(DeviceSpec),
    /// Models of different kinds in virtual time, one for each file or each device of a trace.
    Mapped(LaneModels),
    /// A model that answers in real time.
    Emulated {
        /// The name as the user wrote it.
        name: String,
        spec: DeviceSpec,
        speed: Speed,
        /// The file that keeps the data.
        over: Option<Live>,
    },
    /// A real target.
    Live(Live),
    /// Real targets, one for each file.
    Targets(LaneTargets),
    /// No target, in real time.
    Null,
}

impl Place {
    /// The model that all runs use and how fast it answers; `None` if there is no such model.
    pub(crate) fn model(&self) -> Option<(&DeviceSpec, Speed)> {
        match self {
            Self::Modelled(spec) => Some((spec, Speed::ONE)),
            Self::Emulated { spec, speed, .. } => Some((spec, *speed)),
            Self::Mapped(_) | Self::Live(_) | Self::Targets(_) | Self::Null => None,
        }
    }

    /// The model below each of `lanes` lanes, each with its own queue; the one model, if there are
    /// no lanes. Empty if the place is no model.
    pub(crate) fn models(&self, lanes: usize) -> Vec<&DeviceSpec> {
        match self {
            Self::Modelled(spec) => vec![spec; lanes.max(1)],
            Self::Mapped(models) => models.devices().iter().map(|device| &device.spec).collect(),
            _ => Vec::new(),
        }
    }

    /// Keeps only the models of the devices that `lanes` use.
    pub(crate) fn playing(self, lanes: &[Lane]) -> Self {
        match self {
            Self::Mapped(models) => Self::Mapped(models.of(lanes)),
            other => other,
        }
    }

    /// The device of each of `files` files, one behind the other in the address space of a run; the
    /// one device, if there are no files.
    ///
    /// # Errors
    /// The devices have more bytes than an address can name.
    pub(crate) fn extents(&self, files: usize) -> Result<Vec<Extent>, Failure> {
        let sizes = match self {
            Self::Targets(all) => all.targets().iter().map(Live::size).collect(),
            Self::Null => vec![(Null::CAPACITY, 1); files.max(1)],
            Self::Emulated { .. } | Self::Live(_) => {
                queues::one_target(self.name(), files)?;
                return Ok(vec![Extent::whole(self.capacity(), self.block())]);
            }
            Self::Modelled(_) | Self::Mapped(_) => sizes(&self.models(files)),
        };
        extents::behind_each_other(sizes)
    }

    /// The model of each device, by name of the file or of the trace's device; empty if all are of
    /// one kind.
    pub(crate) fn mapped(&self) -> &[LaneDevice] {
        if let Self::Mapped(models) = self { models.devices() } else { &[] }
    }

    /// The part of the place that `job` views.
    pub(crate) fn viewed(&self, job: &Job) -> Result<Self, Failure> {
        let mut place = self.clone();
        match &mut place {
            Self::Live(live) | Self::Emulated { over: Some(live), .. } => {
                *live = live.viewed(job)?;
            }
            Self::Targets(all) => {
                *all = all.of(job)?;
                if let Some(only) = all.only() {
                    return Ok(Self::Live(only.clone()));
                }
            }
            _ => {}
        }
        Ok(place)
    }

    /// Returns `job` with everything that the place decides: the device, and parameters of policies
    /// that mean something else on a real device.
    pub(crate) fn configure(&self, job: &Job) -> Job {
        let mut job = job.clone();
        match self {
            // The job itself names the device of each.
            Self::Mapped(_) => {}
            Self::Targets(_) => job.workload.drop_file_models(),
            Self::Live(live) if live.is_of_file(&job) => job.workload.drop_file_models(),
            _ => job.workload.drop_lane_devices(),
        }
        match self {
            Self::Modelled(spec) | Self::Emulated { spec, .. } => job.device = Some(spec.clone()),
            Self::Mapped(_) => {}
            Self::Live(_) | Self::Targets(_) => {
                job.policies = candidate::on_a_real_device(&job.policies);
                let most = self.engine().map_or(u32::MAX, Engine::most_in_flight);
                job.live.depth.get_or_insert(job.live.target_depth().min(most));
                // The machine has its own page cache.
                job.page_cache = None;
            }
            Self::Null => job.live.depth = Some(job.live.target_depth()),
        }
        job
    }

    /// Removes the files that were made for runs that did not take place: wrong input leaves
    /// nothing behind.
    pub(crate) fn discard(&self) {
        self.targets().iter().for_each(Live::discard);
    }

    /// Keeps its files from now on, even if later runs fail.
    pub(crate) fn keep(&mut self) {
        match self {
            Self::Live(live) | Self::Emulated { over: Some(live), .. } => live.keep(),
            Self::Targets(all) => all.targets_mut().iter_mut().for_each(Live::keep),
            _ => {}
        }
    }

    /// The real targets, one for each file if there are several.
    pub(crate) fn targets(&self) -> &[Live] {
        match self {
            Self::Live(live) | Self::Emulated { over: Some(live), .. } => {
                std::slice::from_ref(live)
            }
            Self::Targets(all) => all.targets(),
            _ => &[],
        }
    }

    pub(crate) fn world(&self) -> World {
        match self {
            Self::Modelled(_) | Self::Mapped(_) => World::Simulated,
            Self::Emulated { .. } => World::Emulated,
            Self::Live(_) | Self::Targets(_) | Self::Null => World::Measured,
        }
    }

    /// Whether runs take place in real time.
    pub(crate) fn is_real(&self) -> bool {
        !matches!(self, Self::Modelled(_) | Self::Mapped(_))
    }

    /// The name in results.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Modelled(spec) => &spec.name,
            Self::Mapped(models) => models.name(),
            Self::Emulated { name, .. } => name,
            Self::Live(live) => &live.path,
            Self::Targets(all) => all.name(),
            Self::Null => NULL,
        }
    }

    /// Sets the path or the device of each of `files`.
    pub(crate) fn locate(&self, files: &mut [FileResult]) {
        for (number, file) in files.iter_mut().enumerate() {
            match self {
                Self::Live(live) => file.path = Some(live.path.clone()),
                Self::Targets(all) => file.path = Some(all.targets()[number].path.clone()),
                Self::Mapped(models) => {
                    file.device = Some(models.devices()[number].spec.name.clone());
                }
                Self::Modelled(_) | Self::Emulated { .. } | Self::Null => {
                    file.device = Some(self.name().into());
                }
            }
        }
    }

    pub(crate) fn engine(&self) -> Option<Engine> {
        self.targets().first().map(Live::engine)
    }

    /// Bytes that a job may use.
    pub(crate) fn capacity(&self) -> u64 {
        let model = |spec: &DeviceSpec| spec.build(Seed(0)).capacity();
        let file = |live: &Live| live.target.capacity();
        let sum = |sum: u64, live: &Live| sum.saturating_add(file(live));
        match self {
            Self::Modelled(spec) => model(spec),
            Self::Mapped(models) => models.capacity(),
            Self::Emulated { spec, over, .. } => {
                model(spec).min(over.as_ref().map_or(u64::MAX, file))
            }
            Self::Live(live) => file(live),
            Self::Targets(all) => all.targets().iter().fold(0, sum),
            Self::Null => Null::CAPACITY,
        }
    }

    /// Disks that work side by side.
    pub(crate) fn disks(&self) -> NonZeroU32 {
        match self {
            Self::Modelled(spec) | Self::Emulated { spec, .. } => disks(spec),
            Self::Mapped(models) => disks(models.first()),
            // Each target has its own policy, which serves one disk.
            Self::Live(_) | Self::Targets(_) | Self::Null => NonZeroU32::MIN,
        }
    }

    /// Number of equally large disks that lie behind each other in its address space; one, if it
    /// has no such layout.
    pub(crate) fn side_by_side(&self) -> NonZeroU32 {
        match self {
            Self::Modelled(spec) | Self::Emulated { spec, .. } => spec.side_by_side(),
            Self::Mapped(_) | Self::Live(_) | Self::Targets(_) | Self::Null => NonZeroU32::MIN,
        }
    }

    /// Block size to which ranges are rounded, in bytes.
    pub(crate) fn block(&self) -> u32 {
        match self {
            Self::Modelled(spec) | Self::Emulated { spec, .. } => spec.build(Seed(0)).block(),
            Self::Mapped(models) => models.block(),
            Self::Live(live) => live.target.block(),
            Self::Targets(all) => {
                all.targets().iter().map(|live| live.target.block()).max().unwrap_or(1)
            }
            Self::Null => 1,
        }
    }
}

/// The capacity and the block of each of `models`.
fn sizes(models: &[&DeviceSpec]) -> Vec<(u64, u32)> {
    let mut sizes: Vec<(u64, u32)> = Vec::with_capacity(models.len());
    for (number, spec) in models.iter().enumerate() {
        // Models of one kind are equal, and there may be many.
        let like_the_last = number.checked_sub(1).filter(|&before| models[before] == *spec);
        let built = || {
            let device = spec.build(Seed(0));
            (device.capacity(), device.block())
        };
        sizes.push(like_the_last.map_or_else(built, |before| sizes[before]));
    }
    sizes
}

/// Number of disks of a model that work in parallel.
pub(crate) fn disks(spec: &DeviceSpec) -> NonZeroU32 {
    NonZeroU32::new(spec.disks()).expect("an array has disks")
}
