//! A workload that is ready to run, with the facts that all kinds of workloads have in common.

use std::ops::Range;

use penstock_core::{ClassId, ClassInfo, Seed, Source, Span, StreamId, Time};
use penstock_device::page_cache::Topology;
use penstock_jobs::{Class, Job};
use penstock_live::{Caching, Engine, Order};
use penstock_workload::{Merge, merge, program};

use crate::failure::Failure;
use crate::place::lane::{Lane, LaneFile};

/// The source of the requests of a run. Every policy gets the same.
pub(crate) trait Workload: Send + Sync {
    /// Creates the source of the requests, whose random numbers descend from `seed`. At most `most`
    /// programs are under way at once. It reports to `events` what its requests do not show.
    fn source(&self, seed: Seed, most: u32, events: SourceEvents) -> Box<dyn Source>;

    /// Returns whether it asks for anything but reads.
    fn writes(&self) -> bool;

    /// Returns the part of one class: each of its requests is asked for as if all classes were
    /// there.
    ///
    /// # Errors
    /// If this machine has no room for it.
    fn only(&self, class: ClassId) -> Result<Box<dyn Workload>, Failure>;

    /// Splits the load of `class` into one part per thread: at most `threads(engine)` parts for
    /// each engine. A part has one engine.
    ///
    /// # Errors
    /// If this machine has no room for it.
    fn split(&self, class: ClassId, _: &ThreadsOf<'_>) -> Result<Vec<Box<dyn Workload>>, Failure> {
        Ok(vec![self.only(class)?])
    }

    /// Returns the engine that it names for a thread of its own; `None`: the engine of the run.
    fn engine(&self) -> Option<Engine> {
        None
    }

    /// Returns whether its requests go through the page cache.
    fn caching(&self) -> Caching {
        Caching::Direct
    }

    /// Returns the order of the requests that go through the page cache.
    fn order(&self) -> Order {
        Order::Unknown
    }

    /// Returns the part whose requests are for `bytes`, the range of a file; `None` if the workload
    /// has no files.
    fn within(&self, _bytes: &Range<u64>) -> Option<Box<dyn Workload>> {
        None
    }

    /// Returns the class of each agent, in the order of the job; none for other workloads.
    fn agent_classes(&self) -> Vec<ClassId> {
        Vec::new()
    }

    /// Returns whether it may ask for anything.
    fn asks(&self) -> bool {
        true
    }

    /// Returns whether the requests of `stream` are planned ahead.
    fn is_planned(&self, stream: StreamId) -> bool;

    /// Returns whether all requests of `class` are planned ahead.
    fn is_open(&self, class: ClassId) -> bool;

    /// Returns whether a source of `class` mixes operations.
    fn mixes(&self, _class: ClassId) -> bool {
        false
    }

    /// Checks, after the last request, that every request of the workload was given.
    ///
    /// # Errors
    /// If some could not be read.
    fn check(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// Returns the processors of its programs, if it has any.
    fn processors(&self) -> Option<Processors> {
        None
    }

    /// Returns its merges, if it has any.
    fn merges(&self) -> Option<&Merge> {
        None
    }
}

/// Function from an engine, or none, to the largest number of threads for its load.
pub(crate) type ThreadsOf<'a> = dyn Fn(Option<Engine>) -> usize + 'a;

/// The processors on which programs run.
#[derive(Clone, Copy)]
pub(crate) struct Processors {
    pub(crate) count: u32,
    /// The run is over when all programs of this class have ended.
    pub(crate) until: Option<ClassId>,
}

/// Receivers of events of a source that its requests do not show.
#[derive(Default)]
pub(crate) struct SourceEvents {
    pub(crate) programs: Option<Box<dyn FnMut(program::Event)>>,
    pub(crate) merges: Option<Box<dyn FnMut(merge::Event)>>,
}

/// The workload of a job on one target.
pub(crate) struct Load {
    pub(crate) workload: Box<dyn Workload>,
    /// The classes; a `ClassId` is an index into them.
    pub(crate) classes: Vec<ClassInfo>,
    /// How long it asks, as far as that is known in advance.
    pub(crate) duration: Span,
    /// When its last request can arrive.
    pub(crate) last: Time,
    /// When it stops asking, whatever the device does; `None` if it asks a fixed number of times,
    /// or as fast as it is served.
    pub(crate) asks_until: Option<Time>,
    /// Devices of its files or of its trace, in the order of their addresses; empty if one device
    /// serves all.
    pub(crate) lanes: Vec<Lane>,
    /// Files on the lanes, in the order of the job; for a trace, each lane is one.
    pub(crate) files: Vec<LaneFile>,
    /// Number of the only lane that it uses, on a loop of its own; `None` if it uses all.
    pub(crate) lane: Option<usize>,
    /// Topology below its page cache, if it has one.
    pub(crate) below_cache: Option<Topology>,
    /// The largest request in bytes.
    pub(crate) longest: u32,
    /// Response times of its requests on the drive that they were recorded on, one at a time, in
    /// nanoseconds and in ascending order.
    pub(crate) measured_ns: Option<Vec<u64>>,
    /// Facts that a reader of the figures must know, in words.
    pub(crate) remarks: Vec<String>,
}

impl Load {
    /// Returns the load of one class only.
    ///
    /// # Errors
    /// If this machine has no room for it.
    pub(crate) fn only(&self, class: ClassId) -> Result<Self, Failure> {
        Ok(self.with(self.workload.only(class)?))
    }

    /// Returns the engine that it names for a thread of its own; `None`: the engine of the run.
    pub(crate) fn engine(&self) -> Option<Engine> {
        self.workload.engine()
    }

    /// Returns the address of a byte of each file that it uses, or of each device without files.
    pub(crate) fn byte_of_each_file(&self) -> Vec<u64> {
        if self.files.is_empty() {
            return vec![0];
        }
        let used = |file: &&LaneFile| self.lane.is_none_or(|lane| lane == file.lane);
        self.files.iter().filter(used).map(|file| file.first).collect()
    }

    /// Returns the first byte of the device that it uses, in the address space of the run.
    pub(crate) fn base(&self) -> u64 {
        self.lane.map_or(0, |lane| self.lanes[lane].base)
    }

    /// Splits the load by lane; lanes without requests are left out, but at least one part remains.
    pub(crate) fn split_by_lane(&self) -> Vec<Self> {
        let ends = self.lanes.iter().skip(1).map(|lane| lane.base).chain([u64::MAX]);
        let bytes = self.lanes.iter().zip(ends).map(|(lane, end)| lane.base..end);
        let of_lane = |(lane, bytes): (usize, Range<u64>)| {
            let within = self.workload.within(&bytes)?;
            Some(Self { lane: Some(lane), ..self.with(within) })
        };
        let mut number = 0..;
        let mut all: Vec<Self> = bytes.enumerate().filter_map(of_lane).collect();
        let any = all.iter().any(|load| load.workload.asks());
        all.retain(|load| load.workload.asks() || !any && number.next() == Some(0));
        all
    }

    /// Splits the load of `class` into one part per thread: at most `threads(engine)` parts for
    /// each engine. A part has one engine.
    ///
    /// # Errors
    /// If this machine has no room for it.
    pub(crate) fn split(
        &self,
        class: ClassId,
        threads: &ThreadsOf<'_>,
    ) -> Result<Vec<Self>, Failure> {
        let parts = self.workload.split(class, threads)?;
        Ok(parts.into_iter().map(|part| self.with(part)).collect())
    }

    /// Returns the load with `workload`, a part of its own.
    fn with(&self, workload: Box<dyn Workload>) -> Self {
        Self {
            workload,
            classes: self.classes.clone(),
            lanes: self.lanes.clone(),
            files: self.files.clone(),
            below_cache: self.below_cache.clone(),
            measured_ns: None,
            remarks: Vec::new(),
            ..*self
        }
    }
}

/// Returns the classes of `job` as policies are given them.
pub(super) fn classes(job: &Job) -> Vec<ClassInfo> {
    job.classes.iter().map(Class::info).collect()
}
