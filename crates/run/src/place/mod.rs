//! Places where a job runs: a model in virtual time, a model that answers in real time, a real
//! target, or the null target.

pub(crate) mod block;
pub(crate) mod cached_devices;
pub(crate) mod extents;
pub(crate) mod geometry;
pub(crate) mod kind;
pub(crate) mod lane;
pub(crate) mod lane_models;
pub(crate) mod lane_targets;
pub(crate) mod live_target;
pub(crate) mod model_data;
pub(crate) mod open;
pub(crate) mod queues;
pub(crate) mod refusals;
pub(crate) mod target;

use penstock_jobs::devices::DeviceSpec;
use penstock_jobs::{Extent, Job, LaneDevice};
use penstock_live::{Engine, Null, Speed};

use self::geometry::{Geometry, sizes};
use self::lane::{Lane, LaneFile};
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
pub(crate) struct Place {
    name: String,
    geometry: Geometry,
    backend: Backend,
}

/// Server of the requests of a place.
#[derive(Clone)]
pub(crate) enum Backend {
    /// A model in virtual time.
    Modelled(DeviceSpec),
    /// Models of different kinds in virtual time, one for each lane.
    Mapped(LaneModels),
    /// A model that answers in real time.
    Emulated {
        spec: DeviceSpec,
        speed: Speed,
        /// The file that keeps the data.
        over: Option<Live>,
    },
    /// A real target.
    Live(Live),
    /// Real targets, one for each lane.
    Targets(LaneTargets),
    /// No target, in real time.
    Null,
}

impl Place {
    /// The place that `backend` serves, called `name` in results.
    fn new(name: impl Into<String>, backend: Backend) -> Self {
        let geometry = match &backend {
            Backend::Modelled(spec) => Geometry::of_model(spec),
            Backend::Mapped(models) => Geometry::of_models(&models.specs()),
            Backend::Emulated { spec, over, .. } => {
                let data = over.as_ref().map_or(u64::MAX, |live| live.size().0);
                Geometry::of_model(spec).cut_to(data)
            }
            Backend::Live(live) => Geometry::of_targets(std::slice::from_ref(live)),
            Backend::Targets(all) => Geometry::of_targets(all.targets()),
            Backend::Null => Geometry::NULL,
        };
        Self { name: name.into(), geometry, backend }
    }

    /// The modelled device that `spec` describes.
    pub(crate) fn modelled(spec: DeviceSpec) -> Self {
        Self::new(spec.name.clone(), Backend::Modelled(spec))
    }

    fn mapped_on(models: LaneModels) -> Self {
        Self::new(models.name().to_owned(), Backend::Mapped(models))
    }

    /// The real target `live`.
    pub(crate) fn live(live: Live) -> Self {
        Self::new(live.path.clone(), Backend::Live(live))
    }

    fn on_targets(all: LaneTargets) -> Self {
        Self::new(all.name().to_owned(), Backend::Targets(all))
    }

    /// The name in results.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn geometry(&self) -> Geometry {
        self.geometry
    }

    pub(crate) fn backend(&self) -> &Backend {
        &self.backend
    }

    pub(crate) fn world(&self) -> World {
        self.kind().world()
    }

    /// Whether runs take place in real time.
    pub(crate) fn is_real(&self) -> bool {
        self.world() != World::Simulated
    }

    /// The model that all runs use and how fast it answers; `None` if there is no such model.
    pub(crate) fn model(&self) -> Option<(&DeviceSpec, Speed)> {
        match &self.backend {
            Backend::Modelled(spec) => Some((spec, Speed::ONE)),
            Backend::Emulated { spec, speed, .. } => Some((spec, *speed)),
            Backend::Mapped(_) | Backend::Live(_) | Backend::Targets(_) | Backend::Null => None,
        }
    }

    /// The model below each of `lanes` lanes, each with its own queue; the one model, if there are
    /// no lanes. Empty if the place is no model.
    pub(crate) fn models(&self, lanes: usize) -> Vec<&DeviceSpec> {
        match &self.backend {
            Backend::Modelled(spec) => vec![spec; lanes.max(1)],
            Backend::Mapped(models) => models.devices().iter().map(|device| &device.spec).collect(),
            _ => Vec::new(),
        }
    }

    /// Keeps only the models of the devices that `lanes` use.
    pub(crate) fn playing(self, lanes: &[Lane]) -> Self {
        match self.backend {
            Backend::Mapped(models) => Self::mapped_on(models.of(lanes)),
            backend => Self { backend, ..self },
        }
    }

    /// The device of each of `lanes` lanes, one behind the other in the address space of a run; the
    /// one device, if there are no lanes.
    ///
    /// # Errors
    /// The devices have more bytes than an address can name.
    pub(crate) fn extents(&self, lanes: usize) -> Result<Vec<Extent>, Failure> {
        let sizes = match &self.backend {
            Backend::Targets(all) => all.targets().iter().map(Live::size).collect(),
            Backend::Null => vec![(Null::CAPACITY, 1); lanes.max(1)],
            Backend::Emulated { .. } | Backend::Live(_) => {
                queues::one_target(self.name(), lanes)?;
                let Geometry { capacity, block, .. } = self.geometry;
                return Ok(vec![Extent::whole(capacity, block)]);
            }
            Backend::Modelled(_) | Backend::Mapped(_) => sizes(&self.models(lanes)),
        };
        extents::behind_each_other(sizes)
    }

    /// The model of each device, by name of the lane; empty if all are of
    /// one kind.
    pub(crate) fn mapped(&self) -> &[LaneDevice] {
        if let Backend::Mapped(models) = &self.backend { models.devices() } else { &[] }
    }

    /// The part of the place that `job` views.
    pub(crate) fn viewed(&self, job: &Job) -> Result<Self, Failure> {
        Ok(match &self.backend {
            Backend::Live(live) => Self::live(live.viewed(job)?),
            Backend::Emulated { spec, speed, over } => {
                let over = over.as_ref().map(|live| live.viewed(job)).transpose()?;
                let backend = Backend::Emulated { spec: spec.clone(), speed: *speed, over };
                Self::new(&self.name, backend)
            }
            Backend::Targets(all) => {
                let all = all.of(job)?;
                all.only().cloned().map_or_else(|| Self::on_targets(all), Self::live)
            }
            Backend::Modelled(_) | Backend::Mapped(_) | Backend::Null => self.clone(),
        })
    }

    /// Returns `job` with everything that the place decides: the device, and parameters of policies
    /// that mean something else on a real device.
    pub(crate) fn configure(&self, job: &Job) -> Job {
        let mut job = job.clone();
        match &self.backend {
            // The job itself names the device of each, and files that share one share it on `null`.
            Backend::Mapped(_) | Backend::Null => {}
            Backend::Targets(_) => job.workload.drop_file_models(),
            Backend::Live(live) if live.is_of_files(&job) => job.workload.drop_file_models(),
            // Files that share a device share the target.
            Backend::Live(live) => job.workload.put_on_target(&live.path),
            Backend::Modelled(spec) | Backend::Emulated { spec, .. } => {
                job.device = job.workload.put_on(spec).then(|| spec.clone());
            }
        }
        match &self.backend {
            Backend::Mapped(_) | Backend::Modelled(_) | Backend::Emulated { .. } => {}
            Backend::Live(_) | Backend::Targets(_) => {
                job.policies = candidate::on_a_real_device(&job.policies);
                let most = self.engine().map_or(u32::MAX, Engine::most_in_flight);
                job.live.depth.get_or_insert(job.live.target_depth().min(most));
                // The machine has its own page cache.
                job.page_cache = None;
            }
            Backend::Null => job.live.depth = Some(job.live.target_depth()),
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
        match &mut self.backend {
            Backend::Live(live) | Backend::Emulated { over: Some(live), .. } => live.keep(),
            Backend::Targets(all) => all.targets_mut().iter_mut().for_each(Live::keep),
            _ => {}
        }
    }

    /// The real targets, one for each lane if there are several.
    pub(crate) fn targets(&self) -> &[Live] {
        match &self.backend {
            Backend::Live(live) | Backend::Emulated { over: Some(live), .. } => {
                std::slice::from_ref(live)
            }
            Backend::Targets(all) => all.targets(),
            _ => &[],
        }
    }

    /// Sets the path or the device of each of `files`, which are the `placed` ones on `lanes`.
    pub(crate) fn locate(&self, lanes: &[Lane], placed: &[LaneFile], files: &mut [FileResult]) {
        for (number, file) in files.iter_mut().enumerate() {
            let lane = placed.get(number).map_or(0, |file| file.lane);
            let on_it = placed.iter().filter(|other| other.lane == lane).count();
            file.shared = (on_it > 1).then(|| lanes[lane].name.clone());
            match &self.backend {
                Backend::Live(live) => file.path = Some(live.path.clone()),
                Backend::Targets(all) => file.path = Some(all.targets()[lane].path.clone()),
                Backend::Mapped(models) => {
                    file.device = Some(models.devices()[lane].spec.name.clone());
                }
                Backend::Modelled(_) | Backend::Emulated { .. } | Backend::Null => {
                    file.device = Some(self.name().into());
                }
            }
        }
    }

    pub(crate) fn engine(&self) -> Option<Engine> {
        self.targets().first().map(Live::engine)
    }
}
