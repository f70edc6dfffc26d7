//! Races: classes whose reads wait behind the writes of another class, which reads on and queues
//! still more writes.
//!
//! Two classes take part: the *blocked* class reads, the *blocking* class writes. The blocked class
//! *stalls* at a disk while two conditions hold: writes of the blocking class that were queued before its
//! oldest read there have not finished, and none of its reads completes at any disk.
//!
//! The stall is a *race* if the blocking class makes progress meanwhile: during one stall, it issues
//! reads that complete, more than [`GENERATIONS`] times as many as it ever has outstanding. It has
//! then used up all data that it had read before, and what it writes now comes from reads that it issued
//! during the stall. Those writes join the queue in which the blocked class waits. If the blocking class
//! reads from the disk that it writes, its own reads wait in that queue too, and it cannot run so far
//! ahead. A race lasts from the first stall until the queue of these writes is empty.
//!
//! The analysis needs the arrival and the completion of every request. It does not know which request at a
//! disk is in service: at a disk that serves several at once, a read counts as waiting until the writes
//! queued before it have completed.

use std::collections::{BTreeMap, VecDeque};

use penstock_core::{Op, Span, Time};

/// Number of times that the blocking class must exceed in renewing its outstanding reads. Once is
/// possible with the data that it had read before the stall.
pub const GENERATIONS: u64 = 2;

/// A request whose arrival and completion are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TrackedRequest {
    /// Its class.
    pub class: u32,
    /// Number of the disk that it goes to.
    pub disk: u32,
    /// Its operation; only reads and writes matter.
    pub op: Op,
    /// Its length in bytes.
    pub bytes: u32,
}

/// A blocked and a blocking class at a disk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Pair {
    /// The disk.
    pub disk: u32,
    /// The class whose reads waited.
    pub blocked: u32,
    /// The class whose writes were queued before these reads.
    pub by: u32,
}

/// A race.
#[derive(Clone, PartialEq, Debug)]
pub struct Race {
    /// The two classes, and the disk.
    pub pair: Pair,
    /// Beginning of the first stall.
    pub from: Time,
    /// End of the last stall.
    pub to: Time,
    /// Time for which the blocked class stalled meanwhile.
    pub lost: Span,
    /// The largest number of the blocking class's writes at the disk.
    pub queued_most: u64,
    /// Bytes that the blocking class queued per byte written while the queue grew; `None` if no
    /// byte was written.
    pub growth: Option<f64>,
    /// The largest number of reads that the blocking class issued and completed during one stall.
    pub went_on: u64,
}

/// All stalls of a pair, in races or not.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Stalls {
    /// Their total length.
    pub lost: Span,
    /// The longest one.
    pub longest: Span,
    /// The largest number of the blocking class's writes at the disk.
    pub queued_most: u64,
    /// The largest number of reads that the blocking class issued and completed during one of them.
    pub went_on: u64,
}

/// The result of the analysis.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Races {
    /// The races in the order in which they began.
    pub races: Vec<Race>,
    /// Every pair with a stall.
    pub pairs: BTreeMap<Pair, Stalls>,
    /// Largest number of outstanding reads of each class.
    pub reads_most: Vec<u64>,
}

impl Races {
    /// Total time in which there was at least one race.
    pub fn time(&self) -> Span {
        let (mut sum, mut until) = (Span::ZERO, Time::ZERO);
        for race in &self.races {
            sum += race.to.since(race.from.max(until).min(race.to));
            until = race.to.max(until);
        }
        sum
    }
}

/// Finds races in a stream of arrivals and completions in order of time. At one instant completions
/// come first.
#[derive(Debug, Default)]
pub struct Finder {
    /// Number of the next request.
    next: u64,
    outstanding: BTreeMap<u64, TrackedRequest>,
    classes: Vec<Class>,
    disks: Vec<Disk>,
    result: Races,
}

/// The requests of a class on all disks.
#[derive(Clone, Debug, Default)]
struct Class {
    /// Number of outstanding reads, and the largest so far.
    outstanding: u64,
    most: u64,
    /// Disks at which it has reads and writes. A trace may have thousands of disks.
    reads_at: Vec<u32>,
    writes_at: Vec<u32>,
}

/// The requests at a disk: their numbers in order, for each class that has any there.
#[derive(Debug, Default)]
struct Disk {
    reads: BTreeMap<u32, VecDeque<u64>>,
    writes: BTreeMap<u32, VecDeque<u64>>,
    /// Current stalls.
    stalls: Vec<Stall>,
    /// Pairs with a stall since the queue of the blocking class's writes was last empty.
    spells: Vec<Spell>,
}

/// A current stall.
#[derive(Clone, Copy, Debug)]
struct Stall {
    blocked: u32,
    by: u32,
    since: Time,
    /// Number from which on requests arrived after its beginning.
    first: u64,
    /// Number of the blocked class's oldest read at the disk.
    oldest: u64,
    /// Number of writes before that read.
    before: usize,
    /// Number of completed reads of the blocking class that were issued during the stall.
    went_on: u64,
}

/// The stalls of a pair while the queue of the blocking class's writes is not empty.
#[derive(Clone, Copy, Debug)]
struct Spell {
    blocked: u32,
    by: u32,
    from: Time,
    to: Time,
    lost: Span,
    longest: Span,
    went_on: u64,
    queued_most: u64,
    /// Bytes queued and written since its beginning, and up to the time of the longest queue.
    flow: Flow,
    growing: Flow,
}

#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    queued: u64,
    written: u64,
}

impl Finder {
    /// Adds a request that arrives at time `at`. Returns its number.
    pub fn arrived(&mut self, at: Time, request: TrackedRequest) -> u64 {
        let number = self.next;
        self.next += 1;
        self.outstanding.insert(number, request);
        let TrackedRequest { class, disk, op, bytes } = request;
        grow(&mut self.classes, class);
        grow(&mut self.disks, disk);
        let here = &mut self.disks[disk as usize];
        match op {
            Op::Read => {
                let reader = &mut self.classes[class as usize];
                reader.outstanding += 1;
                reader.most = reader.most.max(reader.outstanding);
                let reads = here.reads.entry(class).or_default();
                reads.push_back(number);
                if reads.len() == 1 {
                    reader.reads_at.push(disk);
                    here.stall(class, at, self.next);
                }
            }
            Op::Write => {
                let writes = here.writes.entry(class).or_default();
                writes.push_back(number);
                let queued = writes.len() as u64;
                if queued == 1 {
                    self.classes[class as usize].writes_at.push(disk);
                }
                for spell in here.spells.iter_mut().filter(|spell| spell.by == class) {
                    spell.flow.queued += u64::from(bytes);
                    spell.update_queued(queued);
                }
            }
            Op::Flush | Op::Discard => {}
        }
        number
    }

    /// Completes the request numbered `number` at time `at`.
    pub fn completed(&mut self, at: Time, number: u64) {
        let Some(TrackedRequest { class, disk, op, bytes }) = self.outstanding.remove(&number)
        else {
            return;
        };
        match op {
            Op::Read => {
                let Self { classes, disks, next, .. } = self;
                let reader = &mut classes[class as usize];
                reader.outstanding -= 1;
                for disk in &reader.writes_at {
                    let blocks = |stall: &&mut Stall| stall.by == class && number >= stall.first;
                    let stalls = disks[*disk as usize].stalls.iter_mut();
                    stalls.filter(blocks).for_each(|stall| stall.went_on += 1);
                }
                let emptied = remove(&mut disks[disk as usize].reads, class, number);
                for disk in &reader.reads_at {
                    let disk = &mut disks[*disk as usize];
                    disk.end_stalls(at, |stall| stall.blocked == class);
                    disk.stall(class, at, *next);
                }
                if emptied {
                    reader.reads_at.retain(|known| *known != disk);
                }
            }
            Op::Write => {
                let here = &mut self.disks[disk as usize];
                let emptied = remove(&mut here.writes, class, number);
                let before = |stall: &&mut Stall| stall.by == class && number < stall.oldest;
                here.stalls.iter_mut().filter(before).for_each(|stall| stall.before -= 1);
                here.end_stalls(at, |stall| stall.before == 0);
                for spell in here.spells.iter_mut().filter(|spell| spell.by == class) {
                    spell.flow.written += u64::from(bytes);
                }
                if emptied {
                    self.classes[class as usize].writes_at.retain(|known| *known != disk);
                    self.end_spells(disk, |spell| spell.by == class);
                }
            }
            Op::Flush | Op::Discard => {}
        }
    }

    /// Ends all stalls at `end` and returns the result.
    pub fn finish(mut self, end: Time) -> Races {
        for disk in 0..self.disks.len() as u32 {
            self.disks[disk as usize].end_stalls(end, |_| true);
            self.end_spells(disk, |_| true);
        }
        let Self { mut result, classes, .. } = self;
        result.reads_most = classes.iter().map(|class| class.most).collect();
        // The largest number of outstanding reads of each class is known only now.
        let Races { races, reads_most, .. } = &mut result;
        races.retain(|race| race.went_on > GENERATIONS * reads_most[race.pair.by as usize]);
        races.sort_by_key(|race| (race.from, race.pair));
        result
    }

    /// Ends the spells at the disk numbered `number` that `ends` selects, and adds them to the
    /// result.
    fn end_spells(&mut self, number: u32, ends: impl Fn(&Spell) -> bool) {
        let Self { disks, classes, result, .. } = self;
        for spell in disks[number as usize].spells.extract_if(.., |spell| ends(spell)) {
            let Spell { blocked, by, from, to, lost, queued_most, went_on, growing, .. } = spell;
            if lost == Span::ZERO {
                continue;
            }
            let pair = Pair { disk: number, blocked, by };
            let stalls = result.pairs.entry(pair).or_default();
            stalls.lost += lost;
            stalls.longest = stalls.longest.max(spell.longest);
            stalls.queued_most = stalls.queued_most.max(queued_most);
            stalls.went_on = stalls.went_on.max(went_on);
            if went_on > GENERATIONS * classes[by as usize].most {
                let Flow { queued, written } = growing;
                let growth = (written > 0).then(|| queued as f64 / written as f64);
                result.races.push(Race { pair, from, to, lost, queued_most, growth, went_on });
            }
        }
    }
}

impl Disk {
    /// Begins the stalls of `class` at time `at`: behind each other class that has writes queued
    /// here before the oldest read of `class`. Requests from number `first` on arrive later.
    fn stall(&mut self, class: u32, at: Time, first: u64) {
        let Some(&oldest) = self.reads.get(&class).and_then(VecDeque::front) else { return };
        for (&by, writes) in &self.writes {
            let before = writes.partition_point(|number| *number < oldest);
            if by == class || before == 0 {
                continue;
            }
            let stall = Stall { blocked: class, by, since: at, first, oldest, before, went_on: 0 };
            self.stalls.push(stall);
            if !self.spells.iter().any(|spell| (spell.blocked, spell.by) == (class, by)) {
                self.spells.push(Spell::new(class, by, at, writes.len() as u64));
            }
        }
    }

    /// Ends the stalls that `ends` selects.
    fn end_stalls(&mut self, at: Time, ends: impl Fn(&Stall) -> bool) {
        for stall in self.stalls.extract_if(.., |stall| ends(stall)) {
            let same = |spell: &&mut Spell| (spell.blocked, spell.by) == (stall.blocked, stall.by);
            let spell =
                self.spells.iter_mut().find(same).expect("it lasts while writes are queued");
            let lost = at.since(stall.since);
            spell.to = at;
            spell.lost += lost;
            spell.longest = spell.longest.max(lost);
            spell.went_on = spell.went_on.max(stall.went_on);
        }
    }
}

impl Spell {
    fn new(blocked: u32, by: u32, at: Time, queued: u64) -> Self {
        Self {
            blocked,
            by,
            from: at,
            to: at,
            lost: Span::ZERO,
            longest: Span::ZERO,
            went_on: 0,
            queued_most: queued,
            flow: Flow::default(),
            growing: Flow::default(),
        }
    }

    /// Updates the maximum: `queued` writes are at the disk.
    fn update_queued(&mut self, queued: u64) {
        if queued > self.queued_most {
            self.queued_most = queued;
            self.growing = self.flow;
        }
    }
}

/// Extends `list` so that it has an element numbered `number`.
fn grow<T: Default>(list: &mut Vec<T>, number: u32) {
    if list.len() <= number as usize {
        list.resize_with(number as usize + 1, T::default);
    }
}

/// Removes the request numbered `number`. Returns whether `class` has none left.
fn remove(queues: &mut BTreeMap<u32, VecDeque<u64>>, class: u32, number: u64) -> bool {
    let Some(requests) = queues.get_mut(&class) else { return false };
    if let Ok(at) = requests.binary_search(&number) {
        requests.remove(at);
    }
    let emptied = requests.is_empty();
    if emptied {
        queues.remove(&class);
    }
    emptied
}

#[cfg(test)]
mod tests;
