//! What the length of a cycle of `fairio` depends on: what the requests of each class cost on a
//! device, how stable they are, and how busy they keep it.
//!
//! The job runs once under `fcfs`, with as few requests at the device as `fairio` would have there:
//! more of them would cost less each, as disks sort what they have.

use std::path::Path;

use penstock_jobs::Job;
use serde::Serialize;

use crate::failure::Failure;
use crate::options::Options;
use crate::result::{RunResult, World};
use crate::run::of_the_device;
use crate::session::{Session, Variant};
use crate::stability::{ClassStability, load_of};
use crate::step::Step;
use crate::target_options::TargetOptions;

/// What a cycle depends on.
#[derive(Debug, Serialize)]
pub struct CycleInputs {
    /// Whether it was simulated or measured.
    pub world: World,
    /// The device, or path of the target.
    pub device: String,
    /// Disks that work side by side.
    pub disks: u32,
    /// Requests that were at the device at once, at most.
    pub load: u32,
    /// Part of the time of all disks that was device time of requests.
    pub busy: f64,
    /// Seconds that were measured.
    pub duration_s: f64,
    /// What has to be known to read the figures, in words.
    pub remarks: Vec<String>,
    /// In the order of the job.
    pub classes: Vec<CycleClass>,
}

/// What a cycle depends on, of one class.
#[derive(Debug, Serialize)]
pub struct CycleClass {
    /// Its name.
    pub name: String,
    /// Its weight.
    pub weight: u32,
    /// Its part of the device time of all classes.
    pub share: f64,
    /// The part that its weight promises; `None` if it asked for nothing.
    pub ideal_share: Option<f64>,
    /// It asked for less than that.
    pub limited_by_demand: bool,
    /// How stable it is, and what it costs.
    #[serde(flatten)]
    pub stability: ClassStability,
}

/// The job to run: in a file, or at hand.
#[derive(Clone, Copy, Debug)]
pub struct CycleJob<'a> {
    /// Path of the file, or what the text is called.
    pub name: &'a str,
    /// The job itself.
    pub text: Option<&'a str>,
    /// Changes of it.
    pub sets: &'a [String],
}

/// Runs `job` on `target` with at most `load` requests there at once, or 2 for each disk.
///
/// # Errors
/// [`Failure`], as from [`compare`](crate::compare), and if a run ended early.
pub fn inputs(
    job: CycleJob<'_>,
    target: TargetOptions,
    load: Option<u32>,
    progress: &mut dyn FnMut(Step<'_>) -> bool,
) -> Result<CycleInputs, Failure> {
    let asked =
        Options { policies: vec!["fcfs".into()], target, stability: true, ..Options::default() };
    let (sets, options) = of_the_device(job.sets, &asked)?;
    let mut job = match job.text {
        Some(text) => Job::parse(job.name, text, &sets)?,
        None => Job::load(Path::new(job.name), &sets)?,
    };
    // What the job says of it does not count.
    job.live.depth = load;
    let variants: [Variant; 1] = [job.into()];
    let session = Session::open(options, &variants, progress)?;
    let (_, mut comparisons) = session.run(&variants, progress)?;
    let mut comparison = comparisons.pop().expect("one for the job");
    let mut run = comparison.runs.pop().ok_or_else(|| Failure::run("the run was ended early"))?;
    if let Some(why) = run.failure.take() {
        return Err(Failure::run(why));
    }
    let surveys = run.stability.take().expect("it was asked for");
    let surveys = surveys.map_err(|error| Failure::here("keep the times of requests", &error))?;
    let disks = comparison.disks;
    let remarks = [comparison.remarks, run.remarks.clone()].concat();
    Ok(CycleInputs {
        world: comparison.world,
        device: comparison.device,
        disks: disks.get(),
        load: load.unwrap_or_else(|| load_of(disks)),
        busy: busy(&run, disks.get()),
        duration_s: run.duration_s,
        remarks,
        classes: run
            .classes
            .into_iter()
            .zip(surveys)
            .map(|(class, stability)| CycleClass {
                name: class.name,
                weight: class.shares.weight,
                share: class.share,
                ideal_share: class.shares.ideal_share,
                limited_by_demand: class.shares.limited_by_demand,
                stability,
            })
            .collect(),
    })
}

/// Part of the time of `disks` disks that was device time of the requests of `run`.
fn busy(run: &RunResult, disks: u32) -> f64 {
    let used: f64 = run.classes.iter().map(|class| class.device_time_s).sum();
    let all = run.duration_s * f64::from(disks);
    if all > 0.0 { (used / all).min(1.0) } else { 0.0 }
}
