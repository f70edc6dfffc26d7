//! The stack of a run: queues with policies over the devices at its bottom, and the record of what
//! they do.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::Path;

use penstock_core::{Clock, Device, Policy, Queued, Served, Unscheduled};
use penstock_device::{Array, Rack};
use penstock_jobs::Stop;
use penstock_live::{Caching, Guard};

use crate::ask::candidate::QuitFlag;
use crate::failure::Failure;
use crate::measures::courses::Courses;
use crate::measures::last_sent::LastSent;
use crate::measures::measure::Measure;
use crate::place::model_data::ModelData;
use crate::place::{Backend, Place};
use crate::progress::policy_levels::PolicyLevels;
use crate::progress::report::Progress;
use crate::record::recorded::Recorded;
use crate::record::{Header, RecordedDisk, RecordedLane, RecordedServed, Recorder};
use crate::result::RunResult;
use crate::session::bottom::{Bottom, Layout};
use crate::session::observer::Ends;
use crate::session::run_errors;
use crate::session::runner::Runner;
use crate::session::verify::Verification;

/// A run over one stack: what its queues, its loop and its result share.
pub(super) struct StackRun<'a> {
    pub(super) runner: &'a Runner<'a>,
    pub(super) ends: Ends,
    /// The series over time, if details are wanted.
    courses: Option<Courses>,
    /// The requests at the policies, if a person watches.
    pub(super) levels: Option<PolicyLevels>,
    pub(super) recorder: Option<Recorder>,
    /// Measures of the devices and of programs.
    pub(super) measures: Vec<Box<dyn Measure>>,
    pub(super) progress: &'a mut dyn Progress,
}

/// A policy in front of a device.
pub(super) type Queue = Queued<Box<dyn Policy>, Box<dyn Device>>;

/// The layers of a run above the devices at the bottom.
pub(super) trait Stack: Device {
    /// Returns its policies, in the order of their disks.
    fn policies(&self) -> Vec<&dyn Policy>;
}

impl<D: Device> Stack for Unscheduled<D> {
    fn policies(&self) -> Vec<&dyn Policy> {
        Vec::new()
    }
}

impl Stack for Queue {
    fn policies(&self) -> Vec<&dyn Policy> {
        vec![self.policy()]
    }
}

impl Stack for Rack<Queue> {
    fn policies(&self) -> Vec<&dyn Policy> {
        self.devices().flat_map(Stack::policies).collect()
    }
}

impl Stack for Array<Queue> {
    fn policies(&self) -> Vec<&dyn Policy> {
        self.disks().flat_map(Stack::policies).collect()
    }
}

impl Runner<'_> {
    /// Runs over `bottom`, the devices of `place`, with a queue before each. `guard` watches a
    /// device that may not answer.
    pub(super) fn run_over(
        &self,
        bottom: Bottom,
        place: &Place,
        clock: &mut impl Clock,
        guard: Option<Guard>,
        progress: &mut dyn Progress,
    ) -> Result<RunResult, Failure> {
        let create = |path: &Path| {
            Recorder::create(path, &header(self, place, &bottom))
                .map_err(|error| Failure::unwritable(path, &error))
        };
        let recorder = self.record.map(create).transpose()?;
        let Bottom { mut devices, layout, measures, programs, courses } = bottom;
        let sent = match layout {
            // A request has pieces on several disks.
            Layout::Disks(_) => None,
            Layout::Single | Layout::Lanes => self.last_sent(),
        };
        let data = match self.verification {
            Verification::Models(plan) => Some(ModelData::new(plan)),
            Verification::Targets(_) | Verification::Off => None,
        };
        // A figure about decisions needs a policy, even one that passes everything on.
        let unscheduled = self.policy.kernel().is_some() && sent.is_none() && courses.is_none();
        let ends = Ends { quit: QuitFlag::default(), guard, programs, sent, data };
        let recorded = recorder.clone();
        let is_watched = self.watch.is_some() && !unscheduled;
        let levels = is_watched.then(|| PolicyLevels::new(self.load.classes.len()));
        let mut run =
            StackRun { runner: self, ends, courses, levels, recorder, measures, progress };
        let result = if unscheduled {
            let (device, _) = devices.swap_remove(0);
            run.drive_any(&mut Unscheduled::new(device), clock)
        } else {
            let queues = (0..).zip(devices);
            let mut queues: Vec<Queue> =
                queues.map(|(number, (device, disks))| run.queue(number, device, disks)).collect();
            match layout {
                Layout::Single => run.drive(&mut queues.swap_remove(0), clock),
                Layout::Lanes => run.drive_any(&mut Rack::new(queues), clock),
                Layout::Disks(array) => {
                    run.drive_any(&mut array.over(queues).expect("checked when it was read"), clock)
                }
            }
        };
        let (Some(path), Some(recorder)) = (self.record, recorded) else { return result };
        let written = recorder.finish().map_err(|error| Failure::half_written(path, &error));
        // The run's own error says more than a file that ended with it.
        result.and_then(|result| written.map(|()| result))
    }

    /// The counter of the class whose requests the run waits for, if it does.
    fn last_sent(&self) -> Option<LastSent> {
        let Stop::Sent(class) = self.job.stop else { return None };
        self.job.workload.requests(class).map(|requests| LastSent::new(class, requests))
    }
}

impl StackRun<'_> {
    /// The queue `number`, with its own policy, before `device`, which has `disks` disks.
    fn queue(&self, number: u16, device: Box<dyn Device>, disks: NonZeroU32) -> Queue {
        let Self { runner: Runner { job, load, policy, .. }, ends, .. } = self;
        let served = Served { classes: &load.classes, disks };
        let (mut policy, mut device) = (policy.build(&served, &ends.quit), device);
        if let Some(sent) = &ends.sent {
            policy = Box::new(sent.counting(policy));
        }
        if let Some(levels) = &self.levels {
            policy = Box::new(levels.counting(policy));
        }
        if let Some(courses) = &self.courses {
            policy = courses.over(policy, disks.get());
        }
        if let Some(recorder) = &self.recorder {
            let recorder = recorder.for_queue(number);
            policy = Box::new(recorder.of_policy(policy));
            device = Box::new(Recorded::new(device, recorder));
        }
        Queued::new(policy, device).arrivals_first(job.workload.arrives_at_completions())
    }

    /// Adds the counters of `policies` to `result`; with the disk's number in the name, if there
    /// are several.
    pub(super) fn counted(
        &self,
        policies: &[&dyn Policy],
        mut result: RunResult,
    ) -> Result<RunResult, Failure> {
        let Self { runner, ends, courses, .. } = self;
        let mut policy_stats = BTreeMap::new();
        for (disk, policy) in policies.iter().enumerate() {
            let prefix = if policies.len() > 1 { format!("disk{disk}.") } else { String::new() };
            policy.counters(&mut |counter, value| {
                policy_stats.insert(format!("{prefix}{counter}"), value);
            });
            if let Some(courses) = courses {
                courses.series.ended(disk, *policy);
            }
        }
        run_errors::quit(ends.quit.get(), runner.policy.name())?;
        match (courses, &mut result.detail) {
            (Some(courses), Some(detail)) => detail.policy = courses.series.all_series(),
            (Some(courses), detail) if runner.is_part => *detail = Some(courses.series.detail()),
            _ => {}
        }
        Ok(RunResult { policy_stats, ..result })
    }
}

/// The header of the record of a run over `bottom`, the devices of `place`.
fn header(runner: &Runner<'_>, place: &Place, bottom: &Bottom) -> Header {
    let (first, disks) = &bottom.devices[0];
    let disk = |(device, _): &(Box<dyn Device>, _)| RecordedDisk::of(device);
    let lane = |(device, disks): &(Box<dyn Device>, NonZeroU32)| {
        let lane = Some(RecordedLane { block: device.block(), disks: *disks });
        RecordedDisk { lane, ..RecordedDisk::of(device) }
    };
    let (disks, queues): (_, Vec<_>) = match bottom.layout {
        Layout::Single => (*disks, Vec::new()),
        Layout::Lanes => (NonZeroU32::MIN, bottom.devices.iter().map(lane).collect()),
        Layout::Disks(_) => (NonZeroU32::MIN, bottom.devices.iter().map(disk).collect()),
    };
    let capacity = match bottom.layout {
        Layout::Lanes => queues.iter().map(|disk| disk.capacity).sum(),
        Layout::Single | Layout::Disks(_) => place.geometry().capacity,
    };
    Header {
        penstock: crate::result::version::VERSION.into(),
        policy: runner.policy.name().into(),
        job: runner.job.name.clone(),
        text: runner.job.text(),
        room: first.room(),
        capacity,
        block: place.geometry().block,
        polled: first.polled(),
        served: Some(RecordedServed::new(&Served { classes: &runner.load.classes, disks })),
        machine_cache: matches!(place.backend(), Backend::Live(_))
            && runner.load.workload.caching() != Caching::Direct,
        queues,
    }
}
