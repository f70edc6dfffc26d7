//! An agent on targets of known size: its copies on each file, and how much they ask for.

use std::ops::Range;

use penstock_core::{Flags, Op, Prio, Time};
use penstock_workload::{Agent, Arrivals, Ops, Spacing, Spread};

use crate::diagnose::{JobError, Origin};
use crate::units::size_text;
use crate::workload::agents::AgentSpec;
use crate::workload::extent::FileExtent;
use crate::workload::quota::Quota;
use crate::workload::sizes::REQUEST_MOST;

impl AgentSpec {
    /// Returns its copies on each of its files; `layout` has the extents of all files of the job.
    pub(crate) fn on(&self, layout: &[FileExtent], prio: u8) -> Result<Vec<Agent>, JobError> {
        let mut agents = Vec::new();
        for number in self.files.numbers() {
            let file = layout[number as usize];
            let region = self.places.region.on(file.size, file.step)?;
            for part in self.files.parts(region, file.step) {
                let agent = self.copy_on(part, file.step, prio)?;
                agents.push(Agent { region: file.place(agent.region), ..agent });
            }
        }
        Ok(agents)
    }

    /// Returns one copy, which works on `region` of a file.
    fn copy_on(&self, region: Range<u64>, step: u64, prio: u8) -> Result<Agent, JobError> {
        let bytes = region.end - region.start;
        let first = self.places.first(bytes, step)?;
        let cache = if self.buffered { Flags::BUFFERED } else { Flags::NONE };
        let durable = self.ops != Ops::Only(Op::Read) && self.ops != Ops::Only(Op::Discard);
        let mut agent = Agent {
            class: self.class,
            prio: Prio(prio),
            ops: self.ops,
            flush: self.flush,
            flags: cache.with(match (self.sync, durable) {
                (false, _) => Flags::NONE,
                (true, true) => Flags::SYNC.with(Flags::FUA),
                (true, false) => Flags::SYNC,
            }),
            sizes: self.sizes.clone(),
            pattern: self.places.pattern,
            spread: Spread::Uniform,
            spacing: Spacing { first, ..self.places.spacing },
            count: if let Some(Quota::Requests(count)) = self.quota {
                count.into()
            } else {
                u64::MAX
            },
            bytes: if let Some(Quota::Bytes(bytes)) = self.quota { bytes } else { u64::MAX },
            region,
            arrivals: self.arrivals.clone(),
            active: Time::ZERO + self.start..Time::ZERO + self.stop,
            after: self.order.after.clone(),
            ends_class: self.order.ends_class,
        };
        let longest = u64::from(agent.longest());
        if longest > REQUEST_MOST {
            let [last, most] = [longest, REQUEST_MOST].map(size_text);
            let message = format!("requests grow to {last}; at most {most} may be");
            let hint = "let them grow by less, or less often, or lower `count`";
            return Err(JobError::new(message).at(&self.size_origin).hint(hint));
        }
        if bytes < longest {
            if let Some(slice) = self.files.too_small(bytes, longest) {
                return Err(slice);
            }
            let (holds, size) = (size_text(bytes), size_text(longest));
            let message = format!("the region holds {holds}, less than one request of {size}");
            let hint = "make `region` larger, or `size` smaller";
            return Err(JobError::new(message).at(&self.size_origin).hint(hint));
        }
        agent.spread = self.places.spread(bytes, agent.places())?;
        if let Some(Quota::Passes(passes)) = self.quota {
            match agent.requests_in_passes(passes) {
                Some(requests) => agent.count = requests,
                None => agent.bytes = bytes.saturating_mul(passes.into()),
            }
        }
        Ok(agent)
    }

    /// Number of its requests, if that is known without the target.
    pub(crate) fn requests(&self) -> Option<u64> {
        match (self.quota?, self.sizes.single()) {
            (Quota::Requests(count), _) => Some(count.into()),
            (Quota::Bytes(bytes), Some(size)) => Some(bytes.div_ceil(size.into())),
            _ => None,
        }
    }

    /// Whether its amount of I/O depends on the size of its region.
    pub fn depends_on_target(&self) -> bool {
        matches!(self.quota, Some(Quota::Passes(_)))
    }

    /// Bytes of the last request, if the total makes it shorter than the others.
    pub fn shorter_last(&self) -> Option<u32> {
        let (Some(Quota::Bytes(total)), Some(size)) = (self.quota, self.sizes.single()) else {
            return None;
        };
        Some((total % u64::from(size)) as u32).filter(|rest| *rest > 0)
    }

    /// Number of agents on all of its files.
    pub fn agents(&self) -> u64 {
        self.files.agents()
    }

    /// Returns where the number of copies was written.
    pub(crate) fn copies_origin(&self) -> &Origin {
        self.files.copies_origin()
    }

    /// Returns the indices of its files among those of the job; 0, the target, if the job has none.
    pub fn file_numbers(&self) -> impl Iterator<Item = u32> {
        self.files.numbers()
    }

    /// Whether it takes turns with other agents.
    pub fn takes_turns(&self) -> bool {
        self.arrivals == Arrivals::Turns
    }

    /// Number of requests that it keeps outstanding by itself.
    pub fn depth(&self) -> u64 {
        self.agents()
            * match self.arrivals {
                Arrivals::Closed { depth, .. } => u64::from(depth),
                Arrivals::Turns => 1,
                Arrivals::Open { .. } => 0,
            }
    }
}
