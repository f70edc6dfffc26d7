//! Chips of several dies, which take commands for their dies together.
//!
//! The rules are those of the simulator `MQSim` (Tavakkol et al., FAST 2018, section 4). An idle
//! chip takes a command for each of its dies: reads, or else programs. It is idle again when the
//! data of all these reads have left, or the programs have ended. A channel carries fetched pages
//! before commands, which go to its idle chips in turn.
//!
//! Programs wait while reads do, without a limit: where reads wait at every chip all the time, writes
//! hardly go on once the buffer is full. `MQSim` has no limit either.

use std::collections::VecDeque;

use penstock_core::ReqId;

use super::die::{Die, Times};
use super::events::{Event, Events, Page};
use super::facts::{Facts, ns_at, within};

/// The chips of a drive, and the channels that they share. Dies are assigned to chips in turn, and
/// chips to channels.
#[derive(Debug)]
pub(super) struct Chips {
    /// Pages to be read by each die, in order of arrival.
    waiting: Box<[VecDeque<PagesOfDie>]>,
    /// Number of dies of each chip that read, hold a page or program.
    active: Box<[u32]>,
    channels: Box<[Channel]>,
}

/// Pages of a read that one die has: `next`, and each that lies as many pages behind as there are
/// dies.
#[derive(Clone, Copy, Debug)]
struct PagesOfDie {
    id: ReqId,
    start: u64,
    end: u64,
    next: u64,
}

#[derive(Clone, Debug, Default)]
struct Channel {
    busy: bool,
    /// Pages that wait to pass, in order.
    fetched: VecDeque<Page>,
    /// Number of the chip that last had its turn, less that of the channel.
    turn: usize,
}

/// The rest of the drive that chips work with.
pub(super) struct Parts<'a> {
    pub(super) facts: &'a Facts,
    pub(super) times: &'a Times,
    pub(super) dies: &'a mut [Die],
    pub(super) events: &'a mut Events,
}

impl Chips {
    pub(super) fn new(facts: &Facts) -> Self {
        Self {
            waiting: vec![VecDeque::new(); facts.dies as usize].into(),
            active: vec![0; facts.dies.div_ceil(facts.dies_per_chip) as usize].into(),
            channels: vec![Channel::default(); facts.channels as usize].into(),
        }
    }

    /// Queues a read at the dies that have its pages.
    pub(super) fn read(
        &mut self,
        at: u64,
        (id, start, end): (ReqId, u64, u64),
        parts: &mut Parts<'_>,
    ) {
        let (size, dies) = (u64::from(parts.facts.page), parts.dies.len() as u64);
        let first = start / size;
        let pages = first..end.div_ceil(size).min(first + dies);
        for next in pages.clone() {
            self.waiting[(next % dies) as usize].push_back(PagesOfDie { id, start, end, next });
        }
        for number in pages {
            self.use_channel(at, (number % dies) as u32, parts);
        }
    }

    /// Queues a page, which its die has fetched, for the channel.
    pub(super) fn fetched(&mut self, at: u64, page: Page, parts: &mut Parts<'_>) {
        let channel = self.channel(page.die);
        self.channels[channel].fetched.push_back(page);
        self.use_channel(at, page.die, parts);
    }

    /// Handles a page that has passed the channel: both its die and the channel are free.
    pub(super) fn passed(&mut self, at: u64, page: Page, parts: &mut Parts<'_>) {
        self.die_free(page.die);
        self.channel_free(at, page.die, parts);
    }

    /// Handles the end of a transfer on the channel of a die.
    pub(super) fn channel_free(&mut self, at: u64, die: u32, parts: &mut Parts<'_>) {
        let channel = self.channel(die);
        self.channels[channel].busy = false;
        self.use_channel(at, die, parts);
    }

    /// Handles the end of an operation of a die.
    pub(super) fn die_free(&mut self, die: u32) {
        let chip = self.chip(die);
        self.active[chip] -= 1;
    }

    /// Gives the channel of a die, if it is free, to a fetched page, or else to commands.
    pub(super) fn use_channel(&mut self, at: u64, die: u32, parts: &mut Parts<'_>) {
        let number = self.channel(die);
        let (channels, chips) = (self.channels.len(), self.active.len());
        let channel = &mut self.channels[number];
        if channel.busy {
            return;
        }
        if let Some(page) = channel.fetched.pop_front() {
            channel.busy = true;
            let out = at + ns_at(parts.facts.channel_rate, page.bytes);
            parts.dies[page.die as usize].hold(at, out);
            return parts.events.plan(out, Event::Passed(page));
        }
        for _ in (number..chips).step_by(channels) {
            let channel = &mut self.channels[number];
            channel.turn += channels;
            if number + channel.turn >= chips {
                channel.turn = 0;
            }
            let chip = number + channel.turn;
            if self.active[chip] > 0 || self.begin_reads(at, chip, parts) {
                continue;
            }
            let sent = self.begin_programs(at, chip, parts);
            if sent > at {
                self.channels[number].busy = true;
                return parts.events.plan(sent, Event::Sent { die });
            }
        }
    }

    /// Begins the next read of each die of an idle chip. Returns whether there was one.
    fn begin_reads(&mut self, at: u64, chip: usize, parts: &mut Parts<'_>) -> bool {
        for die in (chip..parts.dies.len()).step_by(self.active.len()) {
            if let Some(page) = self.next_page(die, parts.facts) {
                let ends = parts.dies[die].read(at, parts.facts.read_time.ns(), parts.times);
                parts.events.plan(ends, Event::Read(page));
                self.active[chip] += 1;
            }
        }
        self.active[chip] > 0
    }

    /// Takes the next page that waits for a die.
    fn next_page(&mut self, die: usize, facts: &Facts) -> Option<Page> {
        let size = u64::from(facts.page);
        let PagesOfDie { id, start, end, next } = self.waiting[die].front_mut()?;
        let page = Page { id: *id, die: die as u32, bytes: within(*next, size, *start, *end) };
        *next += u64::from(facts.dies);
        if *next * size >= *end {
            self.waiting[die].pop_front();
        }
        Some(page)
    }

    /// Begins the next operation for writes on each die of an idle chip. Returns when their data
    /// have passed the channel.
    fn begin_programs(&mut self, at: u64, chip: usize, parts: &mut Parts<'_>) -> u64 {
        let bytes = parts.facts.program_bytes();
        let mut sent = at;
        for die in (chip..parts.dies.len()).step_by(self.active.len()) {
            let ends = parts.dies[die].begin(at, parts.times, |programs| {
                sent += u64::from(programs) * ns_at(parts.facts.channel_rate, bytes);
                sent
            });
            if let Some(ends) = ends {
                parts.events.plan(ends, Event::Worked { die: die as u32 });
                self.active[chip] += 1;
            }
        }
        sent
    }

    fn chip(&self, die: u32) -> usize {
        die as usize % self.active.len()
    }

    fn channel(&self, die: u32) -> usize {
        self.chip(die) % self.channels.len()
    }
}
