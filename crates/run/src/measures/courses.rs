//! Figures over time in the detail of a run, in addition to those of its classes: the policy's counters and
//! the arm.

use penstock_core::{Policy, Time};

use crate::measures::arm::{ArmCourse, Stretch};
use crate::measures::measure::Measure;
use crate::measures::policy_series::PolicySeries;
use crate::measures::windows::Plan;
use crate::result::RunResult;

/// The counters and the arm of one run. Clones share their data.
#[derive(Clone)]
pub(crate) struct Courses {
    pub(crate) series: PolicySeries,
    pub(crate) arm: ArmCourse,
}

impl Courses {
    /// Creates the series of counters in the windows of `plan`, and the arm's in `stretch`.
    pub(crate) fn new(plan: Plan, stretch: Stretch) -> Self {
        Self { series: PolicySeries::new(plan), arm: ArmCourse::new(stretch) }
    }

    /// Observes `policy`, which serves `disks` disks, the next ones in order.
    pub(crate) fn over(&self, policy: Box<dyn Policy>, disks: u32) -> Box<dyn Policy> {
        self.arm.over(self.series.over(policy), disks)
    }
}

impl Measure for Courses {
    fn write(&mut self, end: Time, result: &mut RunResult) {
        self.series.write(end, result);
        self.arm.write(end, result);
    }
}
