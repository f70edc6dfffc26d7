//! One policy's run: what it is made of, and how it drives a target.

use std::path::Path;

use penstock_core::{Seed, Time};
use penstock_device::page_cache::Options;
use penstock_jobs::{CachedPages, Job, Stop};
use penstock_live::{Caching, Engine, LiveClock, LiveDevice, Order, Settings, Stage};

use crate::ask::candidate::Chosen;
use crate::failure::Failure;
use crate::measures::arm::Stretch;
use crate::measures::subject::Subject;
use crate::place::live_target::Live;
use crate::progress::snapshot::Watch;
use crate::session::verify::Verification;
use crate::workload::Load;

/// A run of a policy, ready to begin.
#[derive(Clone, Copy)]
pub(crate) struct Runner<'a> {
    pub(crate) job: &'a Job,
    pub(crate) policy: &'a Chosen,
    pub(crate) load: &'a Load,
    pub(crate) seed: u64,
    pub(crate) record: Option<&'a Path>,
    /// Set if the full detail is wanted, with the arm in this stretch of the run.
    pub(crate) detail: Option<Stretch>,
    pub(crate) requests: bool,
    pub(crate) stability: bool,
    pub(crate) watch: Option<Watch<'a>>,
    /// Whether it is one of several threads, whose figures are joined.
    pub(crate) is_part: bool,
    /// The verifiers of its data.
    pub(crate) verification: &'a Verification,
}

impl Runner<'_> {
    /// Drops the pages of `live` from the page cache if the job goes through it or lays files out
    /// anew. Returns a remark if not all could be dropped, or if the job keeps them.
    pub(crate) fn drop_page_cache(&self, live: &Live) -> Result<Option<String>, Failure> {
        if self.load.workload.caching() == Caching::Direct && !self.job.live.lay_out {
            return Ok(None);
        }
        if self.job.live.cached_pages == CachedPages::Keep {
            return Ok(Some(format!(
                "pages of {} were not dropped from the page cache before the run, as \
                 live.page_cache = \"keep\" says",
                live.target.path().display()
            )));
        }
        live.target.drop_cached().map_err(|error| {
            let path = live.target.path().display();
            Failure::run(format!("cannot drop the pages of {path} from the page cache: {error}"))
        })
    }

    /// Maximum number of commands in flight of `engine` at `live`.
    pub(crate) fn depth(&self, live: &Live, engine: Engine) -> u32 {
        // More than the kernel gives the device at once would wait there in their order of arrival.
        let served = live.server.is_some() && self.policy.kernel().is_none();
        let most = self.job.block_depth.filter(|_| served).unwrap_or(u32::MAX);
        let depth = self.job.live.target_depth().min(most);
        // The depth set for the run need not suit the engine of an agent.
        if engine == live.engine() { depth } else { depth.min(engine.most_in_flight()) }
    }

    /// Opens `live` behind `engine` in real time, with buffers for the largest command of this run.
    pub(crate) fn stage(
        &self,
        live: &Live,
        engine: Engine,
        caching: Caching,
    ) -> Result<(LiveClock, LiveDevice), Failure> {
        // Merging makes commands longer than any request, and so do reading ahead and writing back.
        let cache = self.job.buffered().map_or(0, |_| Options::LONGEST);
        let longest = self.load.longest.max(self.policy.longest()).max(cache);
        let settings = Settings {
            batch: self.job.live.batch,
            caching,
            order: if self.job.live.advise { self.load.workload.order() } else { Order::Unknown },
            nowait: self.job.live.nowait,
            fsync: self.job.live.fsync,
            huge_pages: self.job.live.huge_pages,
            seed: Seed(self.seed),
            timeout: self.job.live.timeout,
            ..Settings::new(self.depth(live, engine), longest)
        };
        let target = live.target.clone();
        let Verification::Targets(verifiers) = self.verification else {
            return Ok(Stage::single(engine, target, settings)?);
        };
        let verifiers = vec![Some(verifiers[self.load.lane.unwrap_or(0)].clone())];
        let Stage { clock, mut devices } =
            Stage::verifying(engine, vec![target], settings, verifiers)?;
        Ok((clock, devices.pop().expect("a device for the target")))
    }

    /// The facts about this run that its measures need; `live`: it runs in real time.
    pub(crate) fn subject(&self, live: bool) -> Subject<'_> {
        let warmup = Time::ZERO + self.job.warmup;
        let depth = self.job.live.target_depth();
        Subject {
            load: self.load,
            warmup,
            live,
            depth,
            detail: self.detail.is_some(),
            requests: self.requests,
            stability: self.stability,
            durable: self.job.stop == Stop::Durable,
        }
    }
}
