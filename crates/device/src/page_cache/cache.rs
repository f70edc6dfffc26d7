//! The state of a page cache. Each other file of this folder does one part of its work.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use penstock_core::{Device, Done, Errno, Io, ReqId, Span, Table, Time};

use super::commands::Commands;
use super::dirty::WriteBack;
use super::entry::CacheRequest;
use super::limits::Limits;
use super::options::{Options, PAGE};
use super::pages::{DirtyCount, Pages};
use super::read_ahead::ReadStreams;
use super::topology::{Extents, Topology};

/// A page cache over `D`.
pub struct PageCache<D> {
    pub(super) below: D,
    pub(super) base: Span,
    pub(super) per_mb: Span,
    pub(super) extents: Extents,
    pub(super) limits: Limits,
    pub(super) pages: Pages,
    pub(super) streams: ReadStreams,
    pub(super) requests: Table<CacheRequest>,
    pub(super) commands: Commands,
    /// State of each device.
    pub(super) lanes: Box<[DeviceState]>,
    /// Copies under way by the time at which they are done; a number keeps ties in order.
    pub(super) copies: BinaryHeap<Reverse<(Time, u64, ReqId)>>,
    pub(super) copied: u64,
    /// Requests that wait for a free page.
    pub(super) starved: VecDeque<ReqId>,
    /// The newest stamp of each extent that a flush covers.
    pub(super) covered: Box<[u64]>,
    /// Requests that no longer wait for a command.
    pub(super) ready: Vec<ReqId>,
    /// Completions from below.
    pub(super) completions: Vec<Done>,
    /// The error of each extent's write-back, until a flush reports it.
    pub(super) failed: Box<[Option<Errno>]>,
}

/// The state of one device.
#[derive(Clone, Debug)]
pub(super) struct DeviceState {
    pub(super) back: WriteBack,
    /// Writers that wait until fewer pages are dirty.
    pub(super) throttled: VecDeque<ReqId>,
    /// Flushes that wait until the pages that are older than they are have been written.
    pub(super) flushes: VecDeque<ReqId>,
}

impl<D: Device> PageCache<D> {
    /// Creates an empty cache over `below`, which is one device without files.
    ///
    /// # Panics
    /// See [`over`](Self::over).
    pub fn new(options: &Options, below: D) -> Self {
        let topology = Topology::new([below.capacity()], []);
        Self::over(options, &topology, below)
    }

    /// Creates an empty cache over `below`, whose devices and files lie as `topology` says. No
    /// request to the cache crosses a border between these ranges.
    ///
    /// # Panics
    /// If `memory` is smaller than [`Options::LEAST_MEMORY`] for each device, or has more pages
    /// than 32 bits can number.
    pub fn over(options: &Options, topology: &Topology, below: D) -> Self {
        let pages = |bytes: u64| bytes / u64::from(PAGE);
        let (devices, extents) = (topology.devices(), Extents::new(topology));
        let least = Options::LEAST_MEMORY * u64::from(devices);
        assert!(options.memory >= least, "{options:?} for {devices} devices");
        let memory = u32::try_from(pages(options.memory)).expect("pages are numbered in 32 bits");
        let count = |bytes: u64| pages(bytes).min(memory.into()) as u32;
        // At least one page can always become dirty, and write-back begins before writers stop.
        let limit = count(options.dirty).clamp(devices, memory - 1);
        let background = count(options.dirty_background).min(limit - 1);
        let limits = Limits::new(limit, background, devices);
        let lane = DeviceState {
            back: WriteBack::new(options.dirty_expire, options.dirty_writeback),
            throttled: VecDeque::new(),
            flushes: VecDeque::new(),
        };
        let unclean = DirtyCount::new(devices, limits.reserve());
        Self {
            below,
            base: options.base,
            per_mb: options.per_mb,
            pages: Pages::new(memory, extents.devices(), unclean),
            streams: ReadStreams::new(pages(options.read_ahead), extents.len()),
            requests: Table::new(),
            commands: Commands::new(devices),
            lanes: vec![lane; devices as usize].into(),
            copies: BinaryHeap::new(),
            copied: 0,
            starved: VecDeque::new(),
            covered: vec![0; extents.len()].into(),
            ready: Vec::new(),
            completions: Vec::new(),
            failed: vec![None; extents.len()].into(),
            extents,
            limits,
        }
    }

    /// Returns the bytes that may not yet be on their device.
    pub fn dirty(&self) -> u64 {
        u64::from(self.pages.unclean().unclean()) * u64::from(PAGE)
    }

    /// Returns the bytes that may not yet be on the device `device`.
    pub fn dirty_on(&self, device: usize) -> u64 {
        u64::from(self.pages.unclean().unclean_on(device)) * u64::from(PAGE)
    }

    /// Makes `request` wait for `command`.
    pub(super) fn wait(&mut self, command: ReqId, request: ReqId) {
        if self.commands.wait(command, request) {
            self.entry(request).pending += 1;
        }
    }

    /// Queues the command `id`: `io` for `pages` pages of `extent` from `first` on.
    pub(super) fn queue(&mut self, extent: usize, id: ReqId, first: u64, pages: u32, io: Io) {
        let extent = self.extents.get(extent);
        let (start, len) = extent.bytes(first, pages);
        self.commands.queue(extent.device, id, pages, Io { start, len, ..io });
    }

    pub(super) fn entry(&mut self, id: ReqId) -> &mut CacheRequest {
        self.requests.get_mut(id).expect("a request that is not here")
    }
}
