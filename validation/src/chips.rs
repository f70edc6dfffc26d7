//! A drive whose chips have several dies, compared with the scheduling rules of `MQSim`.
//!
//! `MQSim` cannot be run here, so `Peer` follows its rules for reads: those of its sources
//! (`TSU_OutofOrder`, `NVM_PHY_ONFI_NVDDR2`; MIT licence) and of its paper (Tavakkol et al., FAST
//! 2018, section 4). A chip takes a command for each of its dies together, and the next ones when
//! the data of all of them have left. A channel carries data before commands.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use penstock_core::{Device, Op, Rng, Seed, Table, Time};
use penstock_jobs::devices;
use rand::RngExt;

use crate::disksim::io;

/// A device file with the facts of `MQSim`'s published defaults.
const DEVICE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/devices/mqsim.toml");

/// Allowed error of a rate, as a share; set before any was compared.
pub const BOUND: f64 = 0.1;

/// Number of reads of a rate.
const READS: usize = 50_000;

/// Number of the first reads, which are not counted.
const UNCOUNTED: usize = 10_000;

/// Random reads with a constant number outstanding.
#[derive(Debug)]
pub struct ReadRate {
    /// Length of a read in bytes.
    pub len: u32,
    /// Number of reads outstanding.
    pub outstanding: u32,
    /// Reads a second by `MQSim`'s rules.
    pub expected: f64,
    /// Reads a second of the model.
    pub found: f64,
}

impl ReadRate {
    /// Returns the error of the model, as a share.
    pub fn off(&self) -> f64 {
        self.found / self.expected - 1.0
    }

    /// Whether the error is within [`BOUND`].
    pub fn holds(&self) -> bool {
        self.off().abs() <= BOUND
    }
}

/// Returns the rates at every depth, of reads of half a page and of a page.
pub fn rates() -> Vec<ReadRate> {
    let depths = [1, 2, 4, 8, 16, 32, 64, 128, 256];
    let rate = |len, outstanding| ReadRate {
        len,
        outstanding,
        expected: Peer::new(len).rate(outstanding),
        found: modelled(len, outstanding),
    };
    let lengths = [PAGE / 2, PAGE];
    lengths.iter().flat_map(|&len| depths.map(|outstanding| rate(len, outstanding))).collect()
}

/// Returns the rate of the modelled drive.
fn modelled(len: u32, outstanding: u32) -> f64 {
    let mut drive = devices::find(DEVICE).expect("a device file").build(Seed(1));
    let mut rng = Seed(1).stream("reads", 0);
    let mut in_flight = Table::new();
    let pages = drive.capacity() / u64::from(PAGE);
    let mut start = |drive: &mut dyn Device, now, in_flight: &mut Table<()>| {
        let place = rng.random_range(0..pages) * u64::from(PAGE);
        let read = io(now, Op::Read, place, len);
        drive.start(now, &read.with(in_flight.insert_with(|_| ())));
    };
    for _ in 0..outstanding {
        start(&mut *drive, Time::ZERO, &mut in_flight);
    }
    let mut completed = Completed::default();
    let mut done = Vec::new();
    while !completed.all() {
        let now = drive.wakeup();
        drive.advance(now, &mut done);
        for read in done.drain(..) {
            completed.count(now.ns());
            in_flight.remove(read.id);
            start(&mut *drive, now, &mut in_flight);
        }
    }
    completed.rate()
}

/// Completed reads, and the time of those that count.
#[derive(Default)]
struct Completed {
    reads: usize,
    begun: u64,
    ended: u64,
}

impl Completed {
    fn count(&mut self, now: u64) {
        self.reads += 1;
        if self.reads == UNCOUNTED {
            self.begun = now;
        }
        self.ended = now;
    }

    fn all(&self) -> bool {
        self.reads >= READS
    }

    /// Returns the reads a second.
    fn rate(&self) -> f64 {
        (self.reads - UNCOUNTED) as f64 * 1e9 / (self.ended - self.begun) as f64
    }
}

// The published defaults (`ssdconfig.xml`, `ONFI_Channel_NVDDR2.h`).
const CHANNELS: usize = 8;
const CHIPS: usize = 4;
const DIES: u32 = 2;
const PAGE: u32 = 8 << 10;
/// Time of a read in a die, in nanoseconds.
const READ: u64 = 75_000;
/// Time of a command and its address on the channel: 20 + 6 × 25 + 100 + 20 ns.
const COMMAND: u64 = 290;
/// Time of two bytes on the channel at 333 million transfers a second, which is rounded down.
const TWO_BYTES: u64 = 6;

/// Random reads by `MQSim`'s rules, without mapping tables and the host's side. Reads of two planes
/// by one command are left out: random ones seldom allow it.
struct Peer {
    channels: [Channel; CHANNELS],
    /// Time that the data of a read take on a channel.
    passes: u64,
    now: u64,
    /// Events by time, and in the order in which they were planned.
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    planned: u64,
    rng: Rng,
}

#[derive(Default)]
struct Channel {
    chips: [Chip; CHIPS],
    /// The chip whose turn it is to take commands.
    turn: usize,
    busy: bool,
    /// Chips of fetched pages that wait to pass, in order.
    fetched: VecDeque<usize>,
}

#[derive(Default)]
struct Chip {
    /// Die of each read that waits.
    waiting: VecDeque<u32>,
    /// Number of dies with a read that has not passed the channel.
    active: u32,
}

/// An event of a channel.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// Commands have passed.
    Commanded { channel: usize },
    /// A die of a chip has fetched its page.
    Fetched { channel: usize, chip: usize },
    /// The data of a chip's read have passed.
    Passed { channel: usize, chip: usize },
}

impl Peer {
    fn new(len: u32) -> Self {
        Self {
            channels: Default::default(),
            passes: u64::from(len) / 2 * TWO_BYTES,
            now: 0,
            events: BinaryHeap::new(),
            planned: 0,
            rng: Seed(1).stream("peer", 0),
        }
    }

    /// Returns the reads a second with so many outstanding.
    fn rate(mut self, outstanding: u32) -> f64 {
        for _ in 0..outstanding {
            self.submit();
        }
        let mut completed = Completed::default();
        while !completed.all() {
            let Reverse((now, _, event)) = self.events.pop().expect("reads are under way");
            self.now = now;
            match event {
                Event::Commanded { channel } => self.released(channel),
                Event::Fetched { channel, chip } => {
                    self.channels[channel].fetched.push_back(chip);
                    self.go_on(channel);
                }
                Event::Passed { channel, chip } => {
                    self.channels[channel].chips[chip].active -= 1;
                    completed.count(now);
                    self.submit();
                    self.released(channel);
                }
            }
        }
        completed.rate()
    }

    fn plan(&mut self, at: u64, event: Event) {
        self.events.push(Reverse((at, self.planned, event)));
        self.planned += 1;
    }

    /// Queues a read at a random die.
    fn submit(&mut self) {
        let channel = self.rng.random_range(0..CHANNELS);
        let chip = self.rng.random_range(0..CHIPS);
        let die = self.rng.random_range(0..DIES);
        self.channels[channel].chips[chip].waiting.push_back(die);
        self.go_on(channel);
    }

    fn released(&mut self, channel: usize) {
        self.channels[channel].busy = false;
        self.go_on(channel);
    }

    /// Uses a channel that is free: for data, or else for the commands of the next idle chip.
    fn go_on(&mut self, number: usize) {
        let channel = &mut self.channels[number];
        if channel.busy {
            return;
        }
        if let Some(chip) = channel.fetched.pop_front() {
            channel.busy = true;
            return self.plan(self.now + self.passes, Event::Passed { channel: number, chip });
        }
        for _ in 0..CHIPS {
            let chip = channel.turn;
            channel.turn = (chip + 1) % CHIPS;
            let taken = channel.chips[chip].take();
            if taken > 0 {
                channel.busy = true;
                let mut passed = self.now;
                for _ in 0..taken {
                    passed += COMMAND;
                    self.plan(passed + READ, Event::Fetched { channel: number, chip });
                }
                return self.plan(passed, Event::Commanded { channel: number });
            }
        }
    }
}

impl Chip {
    /// Takes the first read of each die if it is idle. Returns their number.
    fn take(&mut self) -> u32 {
        if self.active > 0 {
            return 0;
        }
        for die in 0..DIES {
            if let Some(first) = self.waiting.iter().position(|&waits| waits == die) {
                self.waiting.remove(first);
                self.active += 1;
            }
        }
        self.active
    }
}
