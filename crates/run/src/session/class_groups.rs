//! Control groups of a run's classes, where the kernel's scheduler divides by their weights, and remarks on
//! weights that do not apply.

use penstock_jobs::Class;
use penstock_live::{Caching, ControlGroups, Target};

use crate::ask::candidate::{AS_IS, kernel_heeds};
use crate::measures::below::DiskSnapshot;
use crate::result::RunResult;
use crate::session::runner::Runner;

/// The remark on buffered writes of classes with weights.
const WRITTEN_BACK: &str = "the kernel writes buffered data back outside of the classes' control groups: weights hold for \
                            direct requests and buffered reads";

/// Greatest relative difference of two ratios of weights that counts as none.
const ALIKE: f64 = 0.01;

/// The control groups of a run's classes.
pub(super) struct ClassGroups {
    /// The groups, in the order of the classes of the job, if their weights apply.
    pub(super) groups: Option<ControlGroups>,
    remarks: Vec<String>,
}

impl ClassGroups {
    /// Makes the groups for a run on `targets` under the kernel's scheduler `name`, which is in force, if the
    /// job gives weights and the scheduler divides by them.
    pub(super) fn new(runner: &Runner<'_>, targets: &[&Target], name: &str) -> Self {
        let classes = &runner.job.classes;
        if targets.is_empty() || classes.iter().all(|class| class.own_weight.is_none()) {
            return Self { groups: None, remarks: Vec::new() };
        }
        let schedulers = DiskSnapshot::take_all(targets.iter().copied()).schedulers();
        let mut in_force = schedulers.values().flatten().map(String::as_str);
        let divides = |scheduler: &str| kernel_heeds(scheduler, |facts| facts.heeds_weights);
        let scheduler = match name {
            AS_IS => in_force.find(|scheduler| divides(scheduler)).unwrap_or(name),
            _ => name,
        };
        let weights: Vec<u32> = classes.iter().map(Class::weight).collect();
        let groups = if divides(scheduler) {
            ControlGroups::new(scheduler, &weights).map_err(|why| why.to_string())
        } else {
            Err(format!("kernel:{name} does not divide by weights"))
        };
        match groups {
            Err(why) => {
                let remark = format!("the weights of classes did not apply: {why}");
                Self { groups: None, remarks: vec![remark] }
            }
            Ok(groups) => {
                let remarks = remarks(runner, scheduler, &weights, &groups.weights());
                Self { groups: Some(groups), remarks }
            }
        }
    }

    /// Adds the weights in force and the remarks to `result`.
    pub(super) fn written_to(&self, result: &mut RunResult) {
        let weights = self.groups.iter().flat_map(ControlGroups::weights);
        for (class, weight) in result.classes.iter_mut().zip(weights) {
            class.kernel_weight = Some(weight);
        }
        result.remarks.extend(self.remarks.iter().cloned());
    }
}

/// Remarks on `weights`, for which the scheduler has `taken`.
fn remarks(runner: &Runner<'_>, scheduler: &str, weights: &[u32], taken: &[u32]) -> Vec<String> {
    let ratio = |(asked, taken): (&u32, &u32)| f64::from(*taken) / f64::from(*asked);
    let mut ratios = weights.iter().zip(taken).map(ratio);
    let first = ratios.next().unwrap_or(1.0);
    let mut remarks = Vec::new();
    if ratios.any(|ratio| (ratio / first - 1.0).abs() > ALIKE) {
        let taken: Vec<String> = taken.iter().map(u32::to_string).collect();
        remarks.push(format!(
            "{scheduler} takes weights of 1 to 1000, which cannot have the ratios of the classes' weights: it has {}",
            taken.join(", ")
        ));
    }
    if runner.load.workload.caching() != Caching::Direct && runner.load.workload.writes() {
        remarks.push(WRITTEN_BACK.into());
    }
    remarks
}
