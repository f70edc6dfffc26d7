//! Inside the cache: replacement, the index, times, and which commands go to the device and when.

use std::collections::VecDeque;

use penstock_core::{
    ClassId, Device, Done, Flags, Io, Op, Prio, ReqId, Request, Span, StreamId, Time,
};
use proptest::prelude::*;

use super::index::Index;
use super::pages::{DirtyCount, Pages};
use super::{Options, PAGE, PageCache, Topology};

/// Two lists as the module's text describes them, the most recently used first.
#[derive(Default)]
struct Lists {
    inactive: VecDeque<u64>,
    active: VecDeque<u64>,
    used: Vec<u64>,
}

impl Lists {
    fn read(&mut self, page: u64, capacity: usize) {
        let known = self.inactive.contains(&page) || self.active.contains(&page);
        if !known && self.inactive.len() + self.active.len() == capacity {
            let gone = self.inactive.pop_back().or_else(|| self.active.pop_back()).unwrap();
            self.used.retain(|&page| page != gone);
        }
        self.inactive.retain(|&known| known != page);
        self.active.retain(|&known| known != page);
        if self.used.contains(&page) {
            self.active.push_front(page);
        } else {
            self.used.push(page);
            self.inactive.push_front(page);
        }
        if self.active.len() > capacity / 3 * 2 {
            self.inactive.push_front(self.active.pop_back().unwrap());
        }
    }
}

proptest! {
    #[test]
    fn replacement_is_by_two_lists(
        capacity in 4_u32..40,
        reads in prop::collection::vec(0_u64..60, 1..400),
    ) {
        let (mut pages, mut lists) = (Pages::new(capacity, [0].into_iter(), DirtyCount::new(1, 0)), Lists::default());
        let none = ReqId::new(0, 0);
        for (number, page) in reads.into_iter().enumerate() {
            let before: Vec<bool> = (0..60).map(|page| pages.find(page).is_some()).collect();
            let known = |page: &u64| lists.inactive.contains(page) || lists.active.contains(page);
            let wanted: Vec<bool> = (0..60).map(|page| known(&page)).collect();
            prop_assert_eq!(before, wanted, "before read {}", number);
            if let Some(slot) = pages.find(page) {
                pages.touch(slot);
            } else {
                let slot = pages.take(page, 0).unwrap();
                pages.read(slot, none);
                pages.touch(slot);
                pages.filled(slot, Time::ZERO, true);
            }
            lists.read(page, capacity as usize);
        }
    }

    #[test]
    fn the_index_finds_what_is_in_it(
        steps in prop::collection::vec((0_u64..80, any::<bool>()), 1..400),
    ) {
        // Some neighbours are far apart, and the index gets as many as it can hold.
        let spread = |page: u64| page % 40 + page / 40 * (1 << 40);
        let mut index = Index::new(40);
        let mut expected: Vec<Option<u32>> = vec![None; 80];
        let mut count = 0;
        for (number, (page, into)) in steps.into_iter().enumerate() {
            match expected[page as usize] {
                None if into && count < 40 => {
                    index.insert(spread(page), number as u32);
                    expected[page as usize] = Some(number as u32);
                    count += 1;
                }
                Some(_) if !into => {
                    index.remove(spread(page));
                    expected[page as usize] = None;
                    count -= 1;
                }
                _ => {}
            }
            let found: Vec<_> = (0..80).map(|page| index.get(spread(page))).collect();
            prop_assert_eq!(&found, &expected);
        }
    }
}

/// A device that does nothing by itself: the test looks at its commands and ends them.
#[derive(Default)]
struct Hand {
    commands: Vec<Request>,
    done: Vec<Done>,
}

impl Device for Hand {
    fn capacity(&self) -> u64 {
        1 << 30
    }
    fn block(&self) -> u32 {
        512
    }
    fn room(&self) -> u32 {
        1000
    }
    fn start(&mut self, _: Time, req: &Request) {
        self.commands.push(*req);
    }
    fn wakeup(&self) -> Time {
        if self.done.is_empty() { Time::NEVER } else { Time::ZERO }
    }
    fn advance(&mut self, now: Time, done: &mut Vec<Done>) {
        done.extend(self.done.drain(..).map(|completion| Done { at: now, ..completion }));
    }
}

const OPTIONS: Options = Options {
    memory: 64 * PAGE as u64,
    base: Span::from_us(2),
    per_mb: Span::from_us(1000),
    dirty_background: 8 * PAGE as u64,
    dirty: 16 * PAGE as u64,
    dirty_expire: Span::from_ms(300),
    dirty_writeback: Span::from_ms(50),
    read_ahead: 0,
};

/// A cache over a [`Hand`], with the current time.
struct Stage {
    cache: PageCache<Hand>,
    now: Time,
    requests: u32,
}

impl Stage {
    fn new(options: &Options) -> Self {
        Self { cache: PageCache::new(options, Hand::default()), now: Time::ZERO, requests: 0 }
    }

    /// Two devices of 1,000 pages, the first with files of pages 0 to 99 and 100 to 150.
    fn of_two(options: &Options) -> Self {
        let page = u64::from(PAGE);
        let files = [0..100 * page, 100 * page..151 * page];
        let topology = Topology::new([1000 * page; 2], files);
        let cache = PageCache::over(options, &topology, Hand::default());
        Self { cache, now: Time::ZERO, requests: 0 }
    }

    /// Flushes the file or device that contains the page `first`.
    fn flush(&mut self, first: u64) {
        let io = Io { op: Op::Flush, start: first * u64::from(PAGE), len: 0, ..write() };
        let io = Io { due: self.now, flags: Flags::NONE, ..io };
        self.requests += 1;
        self.cache.start(self.now, &io.with(ReqId::new(self.requests, 0)));
    }

    /// Requests `pages` pages from `first` on, as the stream and class `stream_id`.
    fn ask(&mut self, op: Op, stream_id: u16, first: u64, pages: u32) {
        let (start, len) = (first * u64::from(PAGE), pages * PAGE);
        let stream = StreamId(stream_id.into());
        let (class, prio, flags) = (ClassId(stream_id), Prio(stream_id as u8), Flags::BUFFERED);
        let io = Io { due: self.now, start, len, stream, class, op, prio, flags };
        self.requests += 1;
        self.cache.start(self.now, &io.with(ReqId::new(self.requests, 0)));
    }

    /// Returns the commands sent since the last call: operation, first page, number of pages,
    /// class. They complete.
    fn below(&mut self) -> Vec<(Op, u64, u32, u16)> {
        let page = u64::from(PAGE);
        let command = |c: &Request| (c.op, c.start / page, c.len / PAGE, c.class.0);
        let commands = self.cache.below.commands.iter().map(command).collect();
        let done = self.cache.below.commands.drain(..).map(|c| {
            let (begun, service) = (c.due, Span::from_ms(1));
            Done { id: c.id, at: begun, begun, service, len: c.len, error: None }
        });
        self.cache.below.done.extend(done);
        commands
    }

    /// Returns the requests answered within `ms`: number, begin, device time.
    fn after(&mut self, ms: u64) -> Vec<(u32, Time, Span)> {
        let mut done = Vec::new();
        let until = self.now + Span::from_ms(ms);
        loop {
            self.cache.advance(self.now, &mut done);
            let next = self.cache.wakeup().max(self.now);
            if next > until {
                break;
            }
            self.now = next;
        }
        self.now = until;
        done.iter().map(|done| (done.id.slot(), done.begun, done.service)).collect()
    }
}

#[test]
fn a_hit_takes_the_time_of_memory_and_none_of_the_device() {
    let mut stage = Stage::new(&OPTIONS);
    stage.ask(Op::Read, 0, 5, 2);
    assert_eq!(stage.below(), [(Op::Read, 5, 2, 0)]);
    assert_eq!(stage.after(1), [(1, Time::ZERO, Span::from_ms(1))]);
    stage.ask(Op::Read, 1, 6, 1);
    assert_eq!(stage.below(), []);
    // 2 us and 4,096 bytes at 1 ns each.
    assert_eq!(stage.cache.wakeup(), Time::from_ns(1_000_000 + 2_000 + 4_096));
    assert_eq!(stage.after(1), [(2, Time::from_ns(1_000_000), Span::ZERO)]);
}

#[test]
fn many_dirty_pages_are_written_in_order_as_long_commands_of_their_last_writer() {
    let mut stage = Stage::new(&OPTIONS);
    for (stream_id, first) in [(1, 20), (1, 22), (1, 21), (2, 23), (1, 4), (1, 3), (1, 2), (1, 1)] {
        stage.ask(Op::Write, stream_id, first, 1);
        assert_eq!(stage.below(), [], "at most eight are kept");
    }
    stage.ask(Op::Write, 2, 22, 1);
    assert_eq!(stage.below(), [], "what is dirty is dirty once");
    stage.ask(Op::Write, 1, 40, 1);
    assert_eq!(stage.below(), [(Op::Write, 1, 4, 1)]);
    stage.after(1);
    assert_eq!(stage.cache.dirty(), 5 * u64::from(PAGE));
    stage.ask(Op::Write, 1, 10, 4);
    assert_eq!(stage.below(), [(Op::Write, 20, 2, 1)], "the pass is gone on with");
}

#[test]
fn old_pages_are_written_when_the_cache_looks() {
    let mut stage = Stage::new(&OPTIONS);
    stage.ask(Op::Write, 0, 7, 1);
    stage.after(299);
    assert_eq!(stage.below(), []);
    stage.ask(Op::Write, 0, 30, 1);
    stage.after(2);
    assert_eq!(stage.below(), [(Op::Write, 7, 1, 0)]);
    stage.after(298);
    assert_eq!(stage.below(), []);
    stage.after(52);
    assert_eq!(stage.below(), [(Op::Write, 30, 1, 0)]);
    stage.after(1);
    assert_eq!((stage.cache.dirty(), stage.cache.wakeup()), (0, Time::NEVER));
}

#[test]
fn writers_wait_while_too_much_is_dirty() {
    let mut stage = Stage::new(&OPTIONS);
    stage.ask(Op::Write, 0, 0, 20);
    stage.ask(Op::Write, 1, 40, 1);
    stage.ask(Op::Write, 0, 3, 1);
    assert_eq!(stage.after(1).len(), 1, "a page that is dirty may be written again");
    assert_eq!(stage.cache.dirty(), 16 * u64::from(PAGE));
    assert_eq!(stage.below(), [(Op::Write, 0, 16, 0)]);
    let answered: Vec<u32> = stage.after(1).iter().map(|done| done.0).collect();
    assert_eq!(answered, [2, 1], "the shorter is copied sooner");
}

#[test]
fn a_part_of_a_page_is_written_when_the_rest_was_read() {
    let mut stage = Stage::new(&OPTIONS);
    let io = Io { start: 100, len: 8192, ..write() };
    stage.cache.start(Time::ZERO, &io.with(ReqId::new(1, 0)));
    assert_eq!(stage.below(), [(Op::Read, 0, 1, 0), (Op::Read, 2, 1, 0)]);
    assert_eq!(stage.after(1).len(), 1);
    let again = Io { start: 0, len: 10, ..io };
    stage.cache.start(stage.now, &again.with(ReqId::new(2, 0)));
    assert_eq!(stage.below(), []);
}

#[test]
fn a_stream_in_passing_does_not_displace_what_is_used_again() {
    let mut stage = Stage::new(&OPTIONS);
    for _ in 0..2 {
        stage.ask(Op::Read, 0, 0, 20);
        stage.below();
        stage.after(1);
    }
    for first in (1000..1500).step_by(10) {
        stage.ask(Op::Read, 1, first, 10);
        stage.below();
        stage.after(1);
    }
    stage.ask(Op::Read, 0, 0, 20);
    assert_eq!(stage.below(), []);
}

#[test]
fn reading_ahead_is_under_way_before_it_is_needed() {
    let mut stage = Stage::new(&Options { read_ahead: 16 * u64::from(PAGE), ..OPTIONS });
    let mut windows = Vec::new();
    for page in 0..20 {
        stage.ask(Op::Read, 3, page, 1);
        windows.extend(stage.below().into_iter().map(|(_, first, count, _)| (page, first, count)));
        stage.after(1);
    }
    assert_eq!(windows, [(0, 0, 1), (1, 1, 4), (2, 5, 8), (5, 13, 16), (13, 29, 16)]);
}

fn write() -> Io {
    Io {
        due: Time::ZERO,
        start: 0,
        len: PAGE,
        stream: StreamId(0),
        class: ClassId(0),
        op: Op::Write,
        prio: Prio(0),
        flags: Flags::BUFFERED,
    }
}

#[test]
fn a_flush_is_of_its_file_and_waits_for_no_other() {
    let mut stage = Stage::of_two(&OPTIONS);
    // Both files, the rest of their device, and the other device.
    for first in [7, 120, 500, 1007] {
        stage.ask(Op::Write, 0, first, 1);
    }
    stage.after(1);
    stage.flush(0);
    assert_eq!(stage.below(), [(Op::Write, 7, 1, 0)]);
    assert_eq!(stage.after(0), []);
    assert_eq!(stage.below(), [(Op::Flush, 0, 0, 0)]);
    assert_eq!(stage.after(0), [(5, Time::from_ns(1_000_000), Span::from_ms(1))]);
    // A flush that begins in no file covers the whole device.
    stage.flush(999);
    assert_eq!(stage.below(), [(Op::Write, 120, 1, 0), (Op::Write, 500, 1, 0)]);
    stage.after(0);
    assert_eq!(stage.below(), [(Op::Flush, 999, 0, 0)]);
    assert_eq!(stage.after(0).len(), 1);
    stage.flush(1000);
    assert_eq!(stage.below(), [(Op::Write, 1007, 1, 0)]);
    stage.after(0);
    assert_eq!(stage.below(), [(Op::Flush, 1000, 0, 0)]);
    assert_eq!((stage.after(0).len(), stage.cache.dirty()), (1, 0));
}

#[test]
fn a_flush_goes_on_while_one_before_it_waits_for_another_file() {
    let mut stage = Stage::of_two(&OPTIONS);
    stage.ask(Op::Write, 0, 7, 1);
    stage.ask(Op::Write, 0, 120, 1);
    stage.after(1);
    stage.flush(0);
    // The write of the first file is on the device: another write of that page has to wait.
    let first = std::mem::take(&mut stage.cache.below.commands);
    stage.ask(Op::Write, 0, 7, 1);
    stage.flush(0);
    stage.flush(100);
    assert_eq!(stage.below(), [(Op::Write, 120, 1, 0)]);
    assert_eq!(stage.after(1).len(), 1, "the write of page 7 is copied");
    assert_eq!(stage.below(), [(Op::Flush, 100, 0, 0)]);
    assert_eq!(stage.after(0).len(), 1);
    stage.cache.below.commands = first;
    stage.below();
    stage.after(0);
    // The first flush covers the earlier writes; the second has another write to send.
    assert_eq!(stage.below(), [(Op::Flush, 0, 0, 0), (Op::Write, 7, 1, 0)]);
    stage.after(0);
    assert_eq!(stage.below(), [(Op::Flush, 0, 0, 0)]);
}

#[test]
fn reading_ahead_ends_with_the_file_and_is_of_each() {
    let mut stage = Stage::of_two(&Options { read_ahead: 16 * u64::from(PAGE), ..OPTIONS });
    let mut windows = Vec::new();
    // One stream reads two files in turn.
    for step in 0..11 {
        for first in [89 + step, 100 + step] {
            stage.ask(Op::Read, 3, first, 1);
            windows.extend(stage.below().into_iter().map(|(_, first, count, _)| (first, count)));
            stage.after(1);
        }
    }
    let first: Vec<_> = windows.iter().copied().filter(|&(first, _)| first < 100).collect();
    let second: Vec<_> = windows.iter().copied().filter(|&(first, _)| first >= 100).collect();
    assert_eq!(first, [(89, 1), (90, 4), (94, 6)], "no window goes on into the second file");
    assert_eq!(second, [(100, 1), (101, 4), (105, 8), (113, 16)]);
}

#[test]
fn a_page_at_the_end_of_a_file_is_written_whole_without_its_rest() {
    let topology = Topology::new([1 << 20], [0..5000, 5000..20_000]);
    let cache = PageCache::over(&OPTIONS, &topology, Hand::default());
    let mut stage = Stage { cache, now: Time::ZERO, requests: 0 };
    let io = Io { start: 4096, len: 904, ..write() };
    stage.cache.start(Time::ZERO, &io.with(ReqId::new(1, 0)));
    let io = Io { start: 5000, len: 4096, ..write() };
    stage.cache.start(Time::ZERO, &io.with(ReqId::new(2, 0)));
    assert_eq!(stage.below(), [], "neither has to be read first");
    stage.after(1);
    stage.flush(0);
    let commands: Vec<_> = stage.cache.below.commands.iter().map(|c| (c.start, c.len)).collect();
    assert_eq!(commands, [(4096, 904)]);
}

#[test]
fn each_device_has_its_own_commands_and_its_own_waiting_writers() {
    let page = u64::from(PAGE);
    let (memory, dirty) = (4096 * page, 2048 * page);
    let options = Options { memory, dirty, dirty_background: 8 * page, ..OPTIONS };
    let topology = Topology::new([1 << 29; 2], []);
    let cache = PageCache::over(&options, &topology, Hand::default());
    let mut stage = Stage { cache, now: Time::ZERO, requests: 0 };
    let second = (1 << 29) / page;
    let ask_apart = |stage: &mut Stage, from: u64, count: u64| {
        (0..count).for_each(|n| stage.ask(Op::Write, 0, from + 2 * n, 1));
    };
    ask_apart(&mut stage, 0, 200);
    assert_eq!(stage.cache.below.commands.len(), 128);
    ask_apart(&mut stage, second, 200);
    assert_eq!(stage.cache.below.commands.len(), 256, "128 for each device");
    // One may have half of all before the parts apply: 1,024 pages. It waits, the other does not.
    ask_apart(&mut stage, 1000, 1000);
    assert_eq!((stage.cache.dirty_on(0), stage.cache.dirty_on(1)), (1024 * page, 200 * page));
    let before = stage.after(1).len();
    assert_eq!(before, 1224);
    ask_apart(&mut stage, second + 1000, 100);
    assert_eq!(stage.after(1).len(), 100);
}
