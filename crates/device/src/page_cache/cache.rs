//! The state of a page cache. Each of the other files in this folder does one part of its work.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use penstock_core::{Device, Done, Errno, Io, ReqId, Span, Table, Time};

use super::commands::Commands;
use super::dirty::WriteBack;
use super::entry::CacheRequest;
use super::options::{Options, PAGE};
use super::pages::Pages;
use super::read_ahead::ReadStreams;

/// A page cache over `D`.
pub struct PageCache<D> {
    pub(super) below: D,
    pub(super) base: Span,
    pub(super) per_mb: Span,
    /// The limit on dirty pages.
    pub(super) limit: u32,
    pub(super) pages: Pages,
    pub(super) streams: ReadStreams,
    pub(super) requests: Table<CacheRequest>,
    pub(super) commands: Commands,
    pub(super) back: WriteBack,
    /// Copies under way by the time at which they are done; a number keeps ties in order.
    pub(super) copies: BinaryHeap<Reverse<(Time, u64, ReqId)>>,
    pub(super) copied: u64,
    /// Writers that wait until less is dirty.
    pub(super) throttled: VecDeque<ReqId>,
    /// Requests that wait for a page.
    pub(super) starved: VecDeque<ReqId>,
    /// Flushes that wait until the pages that are as old as they are have been written.
    pub(super) flushes: VecDeque<ReqId>,
    /// Requests that wait for no command any more.
    pub(super) ready: Vec<ReqId>,
    /// Completions from below.
    pub(super) completions: Vec<Done>,
    /// Why write-back failed, until a flush reports it.
    pub(super) failed: Option<Errno>,
}

impl<D: Device> PageCache<D> {
    /// A cache, empty, over `below`.
    ///
    /// # Panics
    /// If `memory` is smaller than [`Options::LEAST_MEMORY`] or has more pages than 32 bits number.
    pub fn new(options: &Options, below: D) -> Self {
        let pages = |bytes: u64| bytes / u64::from(PAGE);
        assert!(options.memory >= Options::LEAST_MEMORY, "{options:?}");
        let memory = u32::try_from(pages(options.memory)).expect("pages are numbered in 32 bits");
        let count = |bytes: u64| pages(bytes).min(memory.into()) as u32;
        // One page can always be taken, and write-back begins before writers stop.
        let limit = count(options.dirty).clamp(1, memory - 1);
        let background = count(options.dirty_background).min(limit - 1);
        Self {
            below,
            base: options.base,
            per_mb: options.per_mb,
            limit,
            pages: Pages::new(memory),
            streams: ReadStreams::new(pages(options.read_ahead)),
            requests: Table::new(),
            commands: Commands::default(),
            back: WriteBack::new(background, options.dirty_expire, options.dirty_writeback),
            copies: BinaryHeap::new(),
            copied: 0,
            throttled: VecDeque::new(),
            starved: VecDeque::new(),
            flushes: VecDeque::new(),
            ready: Vec::new(),
            completions: Vec::new(),
            failed: None,
        }
    }

    /// Bytes that may not yet be on the device.
    pub fn dirty(&self) -> u64 {
        u64::from(self.pages.unclean()) * u64::from(PAGE)
    }

    /// `request` waits for `command`.
    pub(super) fn wait(&mut self, command: ReqId, request: ReqId) {
        if self.commands.wait(command, request) {
            self.entry(request).pending += 1;
        }
    }

    /// The bytes of `pages` pages from `first` on, as `io`; the device may end within the last
    /// page.
    pub(super) fn range(&self, first: u64, pages: u32, io: Io) -> Io {
        let start = first * u64::from(PAGE);
        let end = (start + u64::from(pages * PAGE)).min(self.below.capacity());
        Io { start, len: (end - start) as u32, ..io }
    }

    pub(super) fn entry(&mut self, id: ReqId) -> &mut CacheRequest {
        self.requests.get_mut(id).expect("a request that is not here")
    }
}
