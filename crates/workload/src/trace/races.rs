//! Races: who stood still because the writes of another were queued before his reads, and whether those
//! writes fed themselves.
//!
//! A class *stands still* behind another at a disk as long as this holds: before the oldest of its reads
//! there, writes of the other had been queued that have not finished, and none of its reads is answered
//! anywhere.
//!
//! It is a *race* if the other goes on meanwhile, so far that it lives on what it has read since: while the
//! first stands still, more than [`GENERATIONS`] times as many of its reads are asked for and answered as it
//! ever has outstanding. All that it had in hand is used up then, and read anew, and used up again: what it
//! writes of that joins the very queue in which the first waits. Where the other reads from the disk that it
//! writes, its reads come to stand in the queue too, and it stops before that. A race lasts from when
//! the first comes to stand still until the queue of these writes is empty.
//!
//! Both times of every request are needed. Which of the requests at a disk is in service is not: one that
//! is at a disk which serves several at once counts as waiting until what was queued before it is over.

use std::collections::{BTreeMap, VecDeque};

use penstock_core::{Op, Span, Time};

/// As many times must the other's reads be renewed: once would be what it could ask for with what it had.
pub const GENERATIONS: u64 = 2;

/// A request whose course is followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Followed {
    /// Whose it is.
    pub class: u32,
    /// The disk that it goes to, by number.
    pub disk: u32,
    /// What it asks for; only reads and writes matter.
    pub op: Op,
    /// Its length.
    pub bytes: u32,
}

/// A class that stood still behind another at a disk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Pair {
    /// The disk.
    pub disk: u32,
    /// Who stood still.
    pub blocked: u32,
    /// Whose writes were queued before its reads.
    pub by: u32,
}

/// One race.
#[derive(Clone, PartialEq, Debug)]
pub struct Race {
    /// Between whom, and where.
    pub pair: Pair,
    /// When the first stand began.
    pub from: Time,
    /// When the last stand ended.
    pub to: Time,
    /// How long the class stood still meanwhile.
    pub lost: Span,
    /// The most of the other's writes that were at the disk.
    pub queued_most: u64,
    /// Bytes of the other's writes that were queued for each that was written, while the queue grew; none if
    /// nothing was written.
    pub growth: Option<f64>,
    /// Reads of the other that were asked for and answered within one stand, at most.
    pub went_on: u64,
}

/// What a class lost behind another at a disk, in races or not.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Stands {
    /// How long it stood still.
    pub lost: Span,
    /// The longest time at a stretch.
    pub longest: Span,
    /// The most of the other's writes that were at the disk.
    pub queued_most: u64,
    /// Reads of the other that were asked for and answered within one of these times, at most.
    pub went_on: u64,
}

/// What was found.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Races {
    /// By the time at which they began.
    pub races: Vec<Race>,
    /// Whoever stood still.
    pub pairs: BTreeMap<Pair, Stands>,
    /// The most reads that each class had outstanding.
    pub reads_most: Vec<u64>,
}

impl Races {
    /// The time in which there was a race at least.
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
    /// Who stands still here now.
    stands: Vec<Stand>,
    /// Who has stood still since the writes of another began to be queued here.
    spells: Vec<Spell>,
}

/// A class stands still behind another.
#[derive(Clone, Copy, Debug)]
struct Stand {
    blocked: u32,
    by: u32,
    since: Time,
    /// Requests from this number on came later.
    first: u64,
    /// Its oldest read at the disk.
    oldest: u64,
    /// Writes before that.
    before: usize,
    /// Reads of the other that came later and were answered.
    went_on: u64,
}

/// What came of a pair while the other's writes at a disk never ended.
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
    /// A request is asked for at `at`. Returns its number.
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
                    here.stand(class, at, self.next);
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
                    let goes_on = |stand: &&mut Stand| stand.by == class && number >= stand.first;
                    let stands = disks[*disk as usize].stands.iter_mut();
                    stands.filter(goes_on).for_each(|stand| stand.went_on += 1);
                }
                let emptied = remove(&mut disks[disk as usize].reads, class, number);
                for disk in &of.reads_at {
                    let disk = &mut disks[*disk as usize];
                    disk.end_stands(at, |stand| stand.blocked == class);
                    disk.stand(class, at, *next);
                }
                if emptied {
                    of.reads_at.retain(|one| *one != disk);
                }
            }
            Op::Write => {
                let here = &mut self.disks[disk as usize];
                let emptied = remove(&mut here.writes, class, number);
                let before = |stand: &&mut Stand| stand.by == class && number < stand.oldest;
                here.stands.iter_mut().filter(before).for_each(|stand| stand.before -= 1);
                here.end_stands(at, |stand| stand.before == 0);
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
            self.disks[disk as usize].end_stands(end, |_| true);
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
    /// From `at` on `class` stands still behind whoever has writes here before the oldest of its reads;
    /// requests from the number `first` on come later.
    fn stand(&mut self, class: u32, at: Time, first: u64) {
        let Some(&oldest) = self.reads.get(&class).and_then(VecDeque::front) else { return };
        for (&by, writes) in &self.writes {
            let before = writes.partition_point(|number| *number < oldest);
            if by == class || before == 0 {
                continue;
            }
            let stand = Stand { blocked: class, by, since: at, first, oldest, before, went_on: 0 };
            self.stands.push(stand);
            if !self.spells.iter().any(|spell| (spell.blocked, spell.by) == (class, by)) {
                self.spells.push(Spell::new(class, by, at, writes.len() as u64));
            }
        }
    }

    /// Those that stand still here stand no longer.
    fn end_stands(&mut self, at: Time, which: impl Fn(&Stand) -> bool) {
        for stand in self.stands.extract_if(.., |stand| which(stand)) {
            let of = |spell: &&mut Spell| (spell.blocked, spell.by) == (stand.blocked, stand.by);
            let spell = self.spells.iter_mut().find(of).expect("it lasts while writes are queued");
            let lost = at.since(stand.since);
            spell.to = at;
            spell.lost += lost;
            spell.longest = spell.longest.max(lost);
            spell.went_on = spell.went_on.max(stand.went_on);
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
