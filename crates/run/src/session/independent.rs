//! Load on threads without a Penstock policy: what an unscheduled machine gives to programs that
//! share its disk, under a scheduler of the kernel.
//!
//! Each agent has its own thread on each target, and each thread has its own engine and clock, as
//! independent processes have: to the block layer a thread is a process with its own I/O context,
//! by which the kernel's fair schedulers share. Above the kernel, no agent waits for another. Each
//! agent has a thread on a target, with the I/O priority of its class.

use penstock_core::ClassId;
use penstock_jobs::Class;
use penstock_live::Target;
use penstock_live::queue_settings::{self, Held, SchedulerStep, Setting};

use crate::ask::candidate::AS_IS;
use crate::failure::Failure;
use crate::place::{Place, block};
use crate::progress::report::Progress;
use crate::result::RunResult;
use crate::session::class_groups::ClassGroups;
use crate::session::runner::Runner;
use crate::session::threads::{self, ThreadTask};
use crate::workload::Load;

/// The remark in results on how to read the device time of such a run.
const REMARK: &str = "each class ran at the same time as the others on threads and engines of its own: device time is what each of \
                      them saw, and counts twice where both had something at the disk";

/// The remark on I/O priorities above a loop device over a real disk.
const ENDS_AT_LOOP: &str = "a loop device does not pass on I/O priorities: its own scheduler sees the `ioprio` of classes, and the disk \
                            below it does not";

/// Runs `runner` at `place` with the disks below it under the kernel's scheduler `name` with
/// `settings`.
pub(crate) fn run(
    runner: &Runner<'_>,
    place: &Place,
    (name, settings): (&str, &[Setting]),
    progress: &mut dyn Progress,
) -> Result<RunResult, Failure> {
    let mut tasks: Vec<_> = loads(runner)?
        .into_iter()
        .map(|(class, load)| ThreadTask::alone(class, load, place))
        .collect();
    threads::check(runner, &tasks)?;
    let targets: Vec<&Target> = place.targets().iter().map(|live| &live.target).collect();
    let served = place.targets().iter().any(|live| live.server.is_some());
    let depth = served.then(|| block::depth(runner.job.block_depth));
    let step = SchedulerStep { scheduler: name.into(), settings: settings.to_vec() };
    let steps: Vec<SchedulerStep> = depth.into_iter().chain([step]).collect();
    let switches = name != AS_IS && !targets.is_empty();
    let held = switches.then(|| queue_settings::hold(&targets, &steps)).transpose()?;
    let rounded = held.as_ref().map(|held| rounded(held, settings)).unwrap_or_default();
    let classes = ClassGroups::new(runner, &targets, name);
    for task in &mut tasks {
        task.groups = classes.groups.as_ref();
    }
    let mut all = threads::run(runner, place, &tasks, progress)?;
    classes.written_to(&mut all);
    if runner.load.classes.len() > 1 {
        all.remarks.push(REMARK.into());
    }
    if !served
        && targets.iter().any(|target| target.is_loop_device())
        && runner.job.classes.iter().any(Class::has_ioprio)
    {
        all.remarks.push(ENDS_AT_LOOP.into());
    }
    all.remarks.extend(threads::engines(&tasks));
    all.remarks.extend(rounded);
    if let Some(Err(changed)) = held.map(|held| held.check()) {
        all.failure.get_or_insert(changed.to_string());
    }
    Ok(all)
}

/// Remarks on the values of `asked` for which the kernel took others.
fn rounded(held: &Held, asked: &[Setting]) -> Vec<String> {
    let others = held.settings().filter(|(_, taken)| !asked.contains(taken));
    others
        .map(|(disk, Setting { key, value })| format!("the kernel set {key} of {disk} to {value}"))
        .collect()
}

/// The load of each thread, with its class.
fn loads(runner: &Runner<'_>) -> Result<Vec<(ClassId, Load)>, Failure> {
    let threads = |_| runner.job.live.threads.map_or(usize::MAX, |threads| threads as usize);
    let mut loads = Vec::new();
    for class in 0..runner.load.classes.len() {
        let class = ClassId(class as u16);
        for part in runner.load.split(class, &threads)? {
            if part.lanes.len() > 1 {
                loads.extend(part.split_by_lane().into_iter().map(|lane| (class, lane)));
            } else {
                loads.push((class, part));
            }
        }
    }
    Ok(loads)
}
