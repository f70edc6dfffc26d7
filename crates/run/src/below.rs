//! What a measured result says of what lay below its target: schedulers of the kernel, and what
//! makes its figures others than those of a disk as it is.

use std::collections::BTreeMap;

use penstock_live::{Below, Target};

use crate::result::{BelowResult, RunResult};

/// The schedulers in front of the disks below a target, as results have them.
pub(crate) type Schedulers = BTreeMap<String, Option<String>>;

/// What lay below a target when a run began.
pub(crate) struct Seen {
    target: Target,
    below: Below,
}

impl Seen {
    /// What lies below `target` now.
    pub(crate) fn now(target: &Target) -> Self {
        Self { target: target.clone(), below: Below::of(target) }
    }

    /// The disks and their schedulers.
    pub(crate) fn schedulers(&self) -> Schedulers {
        schedulers(&self.below)
    }

    /// What has to be known to read the figures, in words.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let memory = self.below.memory.iter().map(|what| {
            let path = self.target.path().display();
            format!("{path} lies in memory ({what}): the figures are of memory, not of a disk")
        });
        let left = self.below.left_behind().into_iter().map(|left| {
            let (disk, own) = (&left.disk, &left.scheduler);
            format!(
                "{disk} was not under its own scheduler {own}, since a run was killed that had \
                 switched it: `penstock doctor --clean` gives it back"
            )
        });
        memory.chain(left).collect()
    }

    /// Both.
    pub(crate) fn result(&self) -> BelowResult {
        BelowResult { schedulers: self.schedulers(), remarks: self.remarks() }
    }

    /// `result`, which has just ended, with all that.
    pub(crate) fn written_to(&self, result: RunResult) -> RunResult {
        let (before, after) = (self.schedulers(), schedulers(&Below::of(&self.target)));
        let changed = before.iter().filter_map(|(disk, scheduler)| {
            let now = after.get(disk).filter(|&now| now != scheduler)?;
            let name = |scheduler: &Option<String>| scheduler.clone().unwrap_or("none".into());
            let (from, to) = (name(scheduler), name(now));
            Some(format!(
                "{disk} went from the scheduler {from} to {to} during the run: something else \
                 switches schedulers, as udev rules or tuned do"
            ))
        });
        let remarks = result.remarks.into_iter().chain(self.remarks()).chain(changed).collect();
        RunResult { remarks, schedulers: before, ..result }
    }
}

fn schedulers(below: &Below) -> Schedulers {
    let one = |disk: &penstock_live::Disk| (disk.name.clone(), disk.in_force().map(str::to_owned));
    below.disks.iter().map(one).collect()
}
