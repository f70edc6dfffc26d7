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

/// The blocking class must renew its reads more often than this. Once is possible with the data that it
/// had read before the stall.
pub const GENERATIONS: u64 = 2;

/// A request of which arrival and completion are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Followed {
    /// Its class.
    pub class: u32,
    /// The disk that it goes to, by number.
    pub disk: u32,
    /// Its operation; only reads and writes matter.
    pub op: Op,
    /// Its length.
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

/// One race.
#[derive(Clone, PartialEq, Debug)]
pub struct Race {
    /// The two classes, and the disk.
    pub pair: Pair,
    /// When the first stall began.
    pub from: Time,
    /// When the last stall ended.
    pub to: Time,
    /// How long the blocked class stalled in this time.
    pub lost: Span,
    /// The largest number of the blocking class's writes at the disk.
    pub queued_most: u64,
    /// Bytes that the blocking class queued for each byte that was written, while the queue grew; none
    /// if nothing was written.
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

/// What was found.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Races {
    /// In the order in which they began.
    pub races: Vec<Race>,
    /// Every pair with a stall.
    pub pairs: BTreeMap<Pair, Stalls>,
    /// The most reads that each class had outstanding.
    pub reads_most: Vec<u64>,
}

impl Races {
    /// The time in which there was at least one race.
    pub fn time(&self) -> Span {
        let (mut sum, mut until) = (Span::ZERO, Time::ZERO);
        for race in &self.races {
            sum += race.to.since(race.from.max(until).min(race.to));
            until = race.to.max(until);
        }
        sum
    }
}

/// Follows requests in the order of time; at one instant those that end come first.
#[derive(Debug, Default)]
pub struct Finder {
    /// The next request's number.
    next: u64,
    outstanding: BTreeMap<u64, Followed>,
    classes: Vec<Class>,
    disks: Vec<Disk>,
    found: Races,
}

/// A class, as far as it is known whatever the disk.
#[derive(Clone, Debug, Default)]
struct Class {
    /// Reads.
    outstanding: u64,
    most: u64,
    /// The disks at which it has any, and those at which it has writes: a trace may have thousands.
    reads_at: Vec<u32>,
    writes_at: Vec<u32>,
}

/// Requests at a disk, by their numbers in order, of each class that has any there.
#[derive(Debug, Default)]
struct Disk {
    reads: BTreeMap<u32, VecDeque<u64>>,
    writes: BTreeMap<u32, VecDeque<u64>>,
    /// Stalls that go on now.
    stalls: Vec<Stall>,
    /// Pairs with a stall since the queue of the blocking class's writes was last empty.
    spells: Vec<Spell>,
}

/// A stall that goes on.
#[derive(Clone, Copy, Debug)]
struct Stall {
    blocked: u32,
    by: u32,
    since: Time,
    /// Requests from this number on came later.
    first: u64,
    /// Its oldest read at the disk.
    oldest: u64,
    /// Writes before that.
    before: usize,
    /// Later reads of the blocking class that have completed.
    went_on: u64,
}

/// The stalls of a pair while the queue of the blocking class's writes was never empty.
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
    /// Bytes that were queued and written since then, and until there were most.
    flow: Flow,
    growing: Flow,
}

#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    queued: u64,
    written: u64,
}

impl Finder {
    /// A request arrives at `at`. Returns its number.
    pub fn asked(&mut self, at: Time, request: Followed) -> u64 {
        let number = self.next;
        self.next += 1;
        self.outstanding.insert(number, request);
        let Followed { class, disk, op, bytes } = request;
        grow(&mut self.classes, class);
        grow(&mut self.disks, disk);
        let here = &mut self.disks[disk as usize];
        match op {
            Op::Read => {
                let of = &mut self.classes[class as usize];
                of.outstanding += 1;
                of.most = of.most.max(of.outstanding);
                let reads = here.reads.entry(class).or_default();
                reads.push_back(number);
                if reads.len() == 1 {
                    of.reads_at.push(disk);
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
                    spell.is_queued(queued);
                }
            }
            Op::Flush | Op::Discard => {}
        }
        number
    }

    /// The request of this number has ended at `at`.
    pub fn ended(&mut self, at: Time, number: u64) {
        let Some(Followed { class, disk, op, bytes }) = self.outstanding.remove(&number) else {
            return;
        };
        match op {
            Op::Read => {
                let Self { classes, disks, next, .. } = self;
                let of = &mut classes[class as usize];
                of.outstanding -= 1;
                for disk in &of.writes_at {
                    let goes_on = |stall: &&mut Stall| stall.by == class && number >= stall.first;
                    let stalls = disks[*disk as usize].stalls.iter_mut();
                    stalls.filter(goes_on).for_each(|stall| stall.went_on += 1);
                }
                let emptied = remove(&mut disks[disk as usize].reads, class, number);
                for disk in &of.reads_at {
                    let disk = &mut disks[*disk as usize];
                    disk.end_stalls(at, |stall| stall.blocked == class);
                    disk.stall(class, at, *next);
                }
                if emptied {
                    of.reads_at.retain(|one| *one != disk);
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
                    self.classes[class as usize].writes_at.retain(|one| *one != disk);
                    self.end_spells(disk, |spell| spell.by == class);
                }
            }
            Op::Flush | Op::Discard => {}
        }
    }

    /// What was found until `end`.
    pub fn finish(mut self, end: Time) -> Races {
        for disk in 0..self.disks.len() as u32 {
            self.disks[disk as usize].end_stalls(end, |_| true);
            self.end_spells(disk, |_| true);
        }
        let Self { mut found, classes, .. } = self;
        found.reads_most = classes.iter().map(|class| class.most).collect();
        // How many reads a class has outstanding was not known before.
        let Races { races, reads_most, .. } = &mut found;
        races.retain(|race| race.went_on > GENERATIONS * reads_most[race.pair.by as usize]);
        races.sort_by_key(|race| (race.from, race.pair));
        found
    }

    fn end_spells(&mut self, number: u32, which: impl Fn(&Spell) -> bool) {
        let Self { disks, classes, found, .. } = self;
        for spell in disks[number as usize].spells.extract_if(.., |spell| which(spell)) {
            let Spell { blocked, by, from, to, lost, queued_most, went_on, growing, .. } = spell;
            if lost == Span::ZERO {
                continue;
            }
            let pair = Pair { disk: number, blocked, by };
            let all = found.pairs.entry(pair).or_default();
            all.lost += lost;
            all.longest = all.longest.max(spell.longest);
            all.queued_most = all.queued_most.max(queued_most);
            all.went_on = all.went_on.max(went_on);
            if went_on > GENERATIONS * classes[by as usize].most {
                let Flow { queued, written } = growing;
                let growth = (written > 0).then(|| queued as f64 / written as f64);
                found.races.push(Race { pair, from, to, lost, queued_most, growth, went_on });
            }
        }
    }
}

impl Disk {
    /// From `at` on `class` stalls behind each class with writes queued here before its oldest read.
    /// Requests from number `first` on arrive later.
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

    /// Ends the stalls that `which` names.
    fn end_stalls(&mut self, at: Time, which: impl Fn(&Stall) -> bool) {
        for stall in self.stalls.extract_if(.., |stall| which(stall)) {
            let of = |spell: &&mut Spell| (spell.blocked, spell.by) == (stall.blocked, stall.by);
            let spell = self.spells.iter_mut().find(of).expect("it lasts while writes are queued");
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

    /// So many writes are at the disk.
    fn is_queued(&mut self, queued: u64) {
        if queued > self.queued_most {
            self.queued_most = queued;
            self.growing = self.flow;
        }
    }
}

/// Makes `list` so long that it has one of this number.
fn grow<T: Default>(list: &mut Vec<T>, number: u32) {
    if list.len() <= number as usize {
        list.resize_with(number as usize + 1, T::default);
    }
}

/// Removes the request of this number, and says whether `class` has none left.
fn remove(of: &mut BTreeMap<u32, VecDeque<u64>>, class: u32, number: u64) -> bool {
    let Some(requests) = of.get_mut(&class) else { return false };
    if let Ok(at) = requests.binary_search(&number) {
        requests.remove(at);
    }
    let emptied = requests.is_empty();
    if emptied {
        of.remove(&class);
    }
    emptied
}

#[cfg(test)]
mod tests;
