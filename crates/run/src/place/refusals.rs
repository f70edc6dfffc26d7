//! What an open place refuses: jobs, policies and options that do not go with it.

use penstock_jobs::{AgentSpec, Job, Stop};
use penstock_live::{Target, queue_settings};

use crate::ask::candidate::{AS_IS, Chosen};
use crate::failure::Failure;
use crate::place::{Backend, Place, queues};

/// A job and the policies that it runs under.
pub(crate) struct Asked<'a> {
    pub(crate) job: &'a Job,
    pub(crate) policies: Vec<Chosen>,
}

impl Place {
    /// Returns an error if the job or one of its policies cannot run here.
    pub(crate) fn check(&self, asked: &Asked<'_>, speed: Option<&str>) -> Result<(), Failure> {
        self.kind().check(self.name(), asked, speed)?;
        match self.backend() {
            Backend::Live(_) | Backend::Targets(_) => {
                self.targets()[0].check_engine(asked.job, &asked.policies)
            }
            _ => Ok(()),
        }
    }

    /// Checks that the disks below have each scheduler of the kernel among `policies`.
    pub(crate) fn check_schedulers(&self, policies: &[Chosen]) -> Result<(), Failure> {
        let targets: Vec<&Target> = self.targets().iter().map(|live| &live.target).collect();
        let mut named = policies.iter().filter_map(|policy| Some(policy.kernel()?.0));
        if targets.is_empty() {
            return Ok(());
        }
        named.try_for_each(|name| match name {
            AS_IS => Ok(()),
            _ => Ok(queue_settings::check(&targets, name)?),
        })
    }

    /// Checks that each of `lanes` lanes can have its own queue here, and that neither `asked` nor
    /// the option for which `of_one_queue` is the reason needs a single queue.
    pub(crate) fn check_queues(
        &self,
        asked: &Asked<'_>,
        lanes: usize,
        of_one_queue: Option<&str>,
    ) -> Result<(), Failure> {
        if let Stop::Sent(class) = asked.job.stop {
            self.check_sent(asked, &asked.job.classes[class.index()].name)?;
        }
        self.check_order(asked, lanes)?;
        let models = self.models(lanes);
        if models.is_empty() {
            // Each file was checked before to need only its own loop.
            let of_trace = asked.job.workload.files().is_empty();
            return if of_trace { queues::one_target(self.name(), lanes) } else { Ok(()) };
        }
        queues::check(&models, lanes, asked.job, &asked.policies, of_one_queue)
    }

    /// Checks that a single Penstock queue sends the requests of `class`.
    fn check_sent(&self, asked: &Asked<'_>, class: &str) -> Result<(), Failure> {
        if let Backend::Modelled(spec) = self.backend() {
            queues::check_single(
                spec,
                &format!("stop = \"sent:{class}\" counts what one queue sends"),
            )?;
        }
        let Some(kernel) = asked.policies.iter().find(|policy| policy.kernel().is_some()) else {
            return Ok(());
        };
        let message = format!("stop = \"sent:{class}\", and {} has no queue here", kernel.name());
        Err(Failure::wrong(message, "stop at a time, or with `last-arrival`"))
    }

    /// Checks that agents which wait for others or end others are driven by one loop.
    fn check_order(&self, asked: &Asked<'_>, lanes: usize) -> Result<(), Failure> {
        let kernel = asked.policies.iter().find(|policy| policy.kernel().is_some());
        let apart = match kernel {
            Some(kernel) => format!("under {} each agent has a thread of its own", kernel.name()),
            None if self.is_real() && lanes > 1 => "each file has a loop of its own here".into(),
            None => return Ok(()),
        };
        if !asked.job.workload.agents().iter().any(AgentSpec::is_ordered) {
            return Ok(());
        }
        let message = format!("an agent has `after` or `ends_class`, and {apart}");
        Err(Failure::wrong(message, "take a policy of Penstock on one device, as noop; or a model"))
    }

    /// Checks that the requests of `job` are multiples of the unit of direct I/O.
    pub(crate) fn check_units(&self, job: &Job) -> Result<(), Failure> {
        if matches!(self.backend(), Backend::Emulated { .. }) {
            return Ok(());
        }
        let lanes = job.workload.file_lanes();
        for (number, live) in self.targets().iter().enumerate() {
            let unit = live.target.unit();
            let several = matches!(self.backend(), Backend::Targets(_));
            let on_it = |file: u32| lanes[file as usize] == number;
            let here = |agent: &&AgentSpec| !several || agent.file_numbers().any(on_it);
            let mut agents = job.workload.agents().iter().filter(here);
            agents.try_for_each(|agent| agent.fits_units(unit, &live.path))?;
            let merges = job.workload.merges();
            merges.map_or(Ok(()), |merges| merges.fits_units(unit, &live.path))?;
        }
        Ok(())
    }
}
