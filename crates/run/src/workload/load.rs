//! A workload that is ready to run: what every kind does, and what is known of each.

use std::num::NonZeroU32;
use std::ops::Range;

use penstock_core::{ClassId, ClassInfo, Prio, Seed, Source, Span, StreamId, Time};
use penstock_device::page_cache::Topology;
use penstock_jobs::{Class, Job};
use penstock_live::{Caching, Engine, Order};
use penstock_workload::{Merge, merge, program};

use crate::failure::Failure;
use crate::place::lane::Lane;

/// What asks in a run. Every policy gets the same.
pub(crate) trait Workload: Send + Sync {
    /// Creates the source of the requests, whose random numbers descend from `seed`. At most `most`
    /// programs are under way at once. It tells `events` what its requests do not show.
    fn source(&self, seed: Seed, most: u32, events: SourceEvents) -> Box<dyn Source>;

    /// Whether it asks for anything but reads.
    fn writes(&self) -> bool;

    /// The same of one class only: each of its requests is asked for as if all were there.
    ///
    /// # Errors
    /// If this machine has no room for it.
    fn only(&self, class: ClassId) -> Result<Box<dyn Workload>, Failure>;

    /// What of `class` may be asked for on different threads: on so many at most as `threads` says of each
    /// engine. A part has one engine.
    ///
    /// # Errors
    /// If this machine has no room for it.
    fn split(&self, class: ClassId, _: &ThreadsOf<'_>) -> Result<Vec<Box<dyn Workload>>, Failure> {
        Ok(vec![self.only(class)?])
    }

    /// The engine that it names for a thread of its own; none: that of the run.
    fn engine(&self) -> Option<Engine> {
        None
    }

    /// Whether its requests go through the page cache.
    fn caching(&self) -> Caching {
        Caching::Direct
    }

    /// In which order those do that go through it.
    fn order(&self) -> Order {
        Order::Unknown
    }

    /// What of it is for these bytes, which are those of a file; none of what has no files.
    fn within(&self, _bytes: &Range<u64>) -> Option<Box<dyn Workload>> {
        None
    }

    /// Whether it may ask for anything.
    fn asks(&self) -> bool {
        true
    }

    /// Whether the requests of `stream` are planned ahead.
    fn is_planned(&self, stream: StreamId) -> bool;

    /// Whether all requests of `class` are.
    fn is_open(&self, class: ClassId) -> bool;

    /// Whether requests of `class` that come from one source ask for different things.
    fn mixes(&self, _class: ClassId) -> bool {
        false
    }

    /// That it gave every request that there is, when it says that there are no more.
    ///
    /// # Errors
    /// If some could not be read.
    fn check(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// The processors of its programs, if it has any.
    fn processors(&self) -> Option<Processors> {
        None
    }

    /// Its merges, if it has any.
    fn merges(&self) -> Option<&Merge> {
        None
    }
}

/// On how many threads may be what names an engine, or none.
pub(crate) type ThreadsOf<'a> = dyn Fn(Option<Engine>) -> usize + 'a;

/// The processors on which programs run.
#[derive(Clone, Copy)]
pub(crate) struct Processors {
    pub(crate) count: u32,
    /// The run is over when all programs of this class have ended.
    pub(crate) until: Option<ClassId>,
}

/// Receivers of what happens in a source that its requests do not show.
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
    /// How long it asks, as far as that is known beforehand.
    pub(crate) duration: Span,
    /// When its last request can arrive.
    pub(crate) last: Time,
    /// Until when it asks, whatever the device does; none if it asks so many times, or as fast as it
    /// is served.
    pub(crate) asks_until: Option<Time>,
    /// What is on a device of its own each, files or devices of a trace, in the order of their devices;
    /// none if there is one device for all.
    pub(crate) lanes: Vec<Lane>,
    /// The number of the only lane that it asks of, on a loop of its own; none if it asks of all.
    pub(crate) lane: Option<usize>,
    /// What lies below its page cache, if it has one.
    pub(crate) below_cache: Option<Topology>,
    /// The largest request in bytes.
    pub(crate) longest: u32,
    /// What its requests took on the drive that they were recorded on, one at a time, in nanoseconds
    /// and in ascending order.
    pub(crate) measured_ns: Option<Vec<u64>>,
    /// What has to be known of it to read the figures, in words.
    pub(crate) remarks: Vec<String>,
}

impl Load {
    /// The names of what is on a device of its own each.
    pub(crate) fn lane_names(&self) -> impl Iterator<Item = &str> {
        self.lanes.iter().map(|lane| lane.name.as_str())
    }

    /// The same of one class only.
    ///
    /// # Errors
    /// If this machine has no room for it.
    pub(crate) fn only(&self, class: ClassId) -> Result<Self, Failure> {
        Ok(self.with(self.workload.only(class)?))
    }

    /// The engine that it names for a thread of its own; none: that of the run.
    pub(crate) fn engine(&self) -> Option<Engine> {
        self.workload.engine()
    }

    /// A byte of each file that it asks of, or of each device without files.
    pub(crate) fn a_byte_of_each(&self) -> Vec<u64> {
        match self.lane {
            _ if self.lanes.is_empty() => vec![0],
            Some(lane) => vec![self.lanes[lane].first],
            None => self.lanes.iter().map(|lane| lane.first).collect(),
        }
    }

    /// The first byte of the device that it asks of, in the address space of the run.
    pub(crate) fn base(&self) -> u64 {
        self.lane.map_or(0, |lane| self.lanes[lane].base)
    }

    /// What of it each of its files is asked for, where something is: one at least.
    pub(crate) fn of_each_file(&self) -> Vec<Self> {
        let ends = self.lanes.iter().skip(1).map(|lane| lane.base).chain([u64::MAX]);
        let bytes = self.lanes.iter().zip(ends).map(|(lane, end)| lane.base..end);
        let of_file = |(lane, bytes): (usize, Range<u64>)| {
            let within = self.workload.within(&bytes)?;
            Some(Self { lane: Some(lane), ..self.with(within) })
        };
        let mut number = 0..;
        let mut all: Vec<Self> = bytes.enumerate().filter_map(of_file).collect();
        let any = all.iter().any(|one| one.workload.asks());
        all.retain(|one| one.workload.asks() || !any && number.next() == Some(0));
        all
    }

    /// What of `class` may be asked for on different threads: on so many at most as `threads` says of each
    /// engine.
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

    /// The same with a part of its workload.
    fn with(&self, workload: Box<dyn Workload>) -> Self {
        Self {
            workload,
            classes: self.classes.clone(),
            lanes: self.lanes.clone(),
            below_cache: self.below_cache.clone(),
            measured_ns: None,
            remarks: Vec::new(),
            ..*self
        }
    }
}

/// The classes of `job` as policies are given them.
pub(super) fn classes(job: &Job) -> Vec<ClassInfo> {
    let info = |class: &Class| {
        let weight = NonZeroU32::new(class.weight()).expect("checked when it was read");
        let (name, prio) = (class.name.clone(), Prio(class.prio));
        ClassInfo { name, weight, prio, ioprio: class.ioprio }
    };
    job.classes.iter().map(info).collect()
}
