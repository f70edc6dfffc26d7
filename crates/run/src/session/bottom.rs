//! The devices below the queues of a run, built for the place where it runs, and what is measured of
//! them.

use std::num::NonZeroU32;
use std::rc::Rc;

use penstock_core::{Bounded, Device, Seed, Time};
use penstock_jobs::devices::{ArraySpec, DeviceSpec};
use penstock_live::{Answers, Emulated, LiveDevice, Null, Speed};

use crate::measures::busy::DeviceBusy;
use crate::measures::courses::Courses;
use crate::measures::device_stats::DeviceStats;
use crate::measures::measure::Measure;
use crate::measures::programs::ProgramBook;
use crate::measures::windows::Plan;
use crate::place::Place;
use crate::place::geometry::disks as disks_of;
use crate::session::runner::Runner;

/// The devices below the queues of a run.
pub(super) struct Bottom {
    /// The device below each queue, and how many disks it has.
    pub(super) devices: Vec<(Box<dyn Device>, NonZeroU32)>,
    pub(super) layout: Layout,
    /// Measures of the devices and of programs, in the order in which they write.
    pub(super) measures: Vec<Box<dyn Measure>>,
    /// Records programs, which run on models only.
    pub(super) programs: Option<ProgramBook>,
    /// The series over time, if details are wanted.
    pub(super) courses: Option<Courses>,
}

/// How the devices below the queues form one address space.
pub(super) enum Layout {
    /// There is one device.
    Single,
    /// Independent devices lie behind each other, one for each lane of the load.
    Lanes,
    /// The devices are the disks of an array.
    Disks(ArraySpec),
}

impl Bottom {
    /// Builds the models of `place`.
    pub(super) fn of_models(runner: &Runner<'_>, place: &Place) -> Self {
        let (load, seed) = (runner.load, Seed(runner.seed));
        let models = place.models(load.lanes.len());
        let disks = models.iter().map(|spec| spec.disks());
        let courses = courses(runner);
        let stats = stats(runner, disks.clone().sum(), Speed::ONE, courses.as_ref());
        let stats = stats.of_lanes(load, disks);
        let processors = load.workload.processors();
        let classes = load.classes.len();
        let programs = processors
            .map(|cpus| ProgramBook::new(classes, cpus.count, runner.job.warmup, cpus.until));
        let booked = |device: Box<dyn Device>| match &programs {
            Some(book) => Box::new(book.over_device(device)),
            None => device,
        };
        let layout = match models[0].array_of_queues() {
            _ if load.lanes.len() > 1 => Layout::Lanes,
            Some(array) => Layout::Disks(*array),
            None => Layout::Single,
        };
        let mut devices = Vec::new();
        let mut first = 0;
        for spec in models {
            let disks =
                if let Layout::Disks(_) = layout { NonZeroU32::MIN } else { disks_of(spec) };
            let below = spec.lanes(seed, first, &|number| stats.observer(number));
            devices
                .extend(below.into_iter().map(|device| (booked(bounded(runner, device)), disks)));
            first += spec.disks();
        }
        let mut measures: Vec<Box<dyn Measure>> = vec![Box::new(stats)];
        measures.extend(programs.clone().map(|book| Box::new(book) as Box<dyn Measure>));
        Self { devices, layout, programs, ..Self::measured(measures, courses) }
    }

    /// Builds the model `spec`, which answers in real time at `speed` and keeps its data in `file`,
    /// if there is one. Returns its answers too.
    pub(super) fn emulated(
        runner: &Runner<'_>,
        spec: &DeviceSpec,
        speed: Speed,
        file: Option<LiveDevice>,
    ) -> (Self, Rc<Answers>) {
        let courses = courses(runner);
        let stats = stats(runner, spec.disks(), speed, courses.as_ref());
        let model = spec.build_watched(Seed(runner.seed), &|number| stats.observer(number));
        let device = Emulated::new(bounded(runner, model), speed, file);
        let answers = Rc::clone(device.answers());
        let bottom = Self::measured(vec![Box::new(stats)], courses);
        (bottom.over(Box::new(device), disks_of(spec)), answers)
    }

    /// Takes the real `device`.
    pub(super) fn real(runner: &Runner<'_>, device: LiveDevice) -> Self {
        let busy = DeviceBusy::new(Time::ZERO + runner.job.warmup);
        let device = Box::new(busy.over(device));
        Self::measured(vec![Box::new(busy)], courses(runner)).over(device, NonZeroU32::MIN)
    }

    /// Builds the device of a run without a target.
    pub(super) fn null(runner: &Runner<'_>) -> Self {
        let device = Box::new(Null::new(runner.job.live.target_depth()));
        Self::measured(Vec::new(), courses(runner)).over(device, NonZeroU32::MIN)
    }

    /// Creates a bottom without devices, with `measures` and then `courses`, which learn from it
    /// when the run ended.
    fn measured(mut measures: Vec<Box<dyn Measure>>, courses: Option<Courses>) -> Self {
        measures.extend(courses.clone().map(|courses| Box::new(courses) as Box<dyn Measure>));
        Self { devices: Vec::new(), layout: Layout::Single, measures, programs: None, courses }
    }

    /// Sets its only device, which has `disks` disks.
    fn over(self, device: Box<dyn Device>, disks: NonZeroU32) -> Self {
        Self { devices: vec![(device, disks)], ..self }
    }
}

/// The series over time of `runner`, if details are wanted.
fn courses(runner: &Runner<'_>) -> Option<Courses> {
    let plan = || Plan::new(runner.load.classes.len(), runner.load.duration);
    runner.detail.map(|stretch| Courses::new(plan(), stretch))
}

/// The measures of `disks` modelled disks that run at `speed`; those of the arm go to `courses`.
fn stats(runner: &Runner<'_>, disks: u32, speed: Speed, courses: Option<&Courses>) -> DeviceStats {
    let warmup = Time::ZERO + runner.job.warmup;
    DeviceStats::new(disks, warmup, speed).with_arm(courses.map(|courses| &courses.arm))
}

/// `device`, limited to the queue depth of the job if it sets one.
fn bounded(runner: &Runner<'_>, device: Box<dyn Device>) -> Box<dyn Device> {
    match runner.job.live.depth {
        Some(depth) => Box::new(Bounded::new(device, depth)),
        None => device,
    }
}
