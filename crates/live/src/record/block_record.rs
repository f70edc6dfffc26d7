//! What is known of one block: which versions of it may lie on the disk.
//!
//! Versions of a block count from 1, in the order in which its writes begin. A version is a *candidate* from
//! before its write is submitted until a write that began after its acknowledgement is acknowledged. So the
//! candidates are the last acknowledged version, those that were in flight at the same time, and those that
//! still are: whatever the order in which a disk carries out writes, it holds one of them. Of a block
//! whose first write is not acknowledged nothing is known: it may hold what was there before.
//!
//! A record is eight words in memory that a file maps. Each step is a store of one word, in such an order that
//! a process may be killed between any two of them: what is then in memory never lacks a version that may lie
//! on the disk. A record has room for six candidates. With more it is *wide*: then it has the oldest
//! of them, and every later version is a candidate until one was written alone.

use std::sync::atomic::{AtomicU64, Ordering};

/// Words of a record.
pub(crate) const WORDS: usize = 8;

/// Candidates of a record that is not wide: words 1 to 6.
const CANDIDATES: std::ops::RangeInclusive<usize> = 1..=6;
/// The word of the only write in flight of a wide record: it may end the width.
const SOLO: usize = 1;
/// The word with the oldest candidate of a wide record, and with how many writes are in flight.
const FLOOR: usize = 7;

/// The version is one of zeros: the block was discarded.
const DISCARDED: u32 = 1 << 31;
/// The last version that a block can have.
const LAST: u32 = DISCARDED - 1;

/// The record of a block, in the file.
pub(crate) type Words = [AtomicU64; WORDS];

/// Which session of the record writes now, and the first whose writes still count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Epochs {
    pub(crate) now: u32,
    pub(crate) valid_from: u32,
}

/// What a write leaves in a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Leaves {
    /// The data of its version.
    Data,
    /// The same, copied into the page by this process, so that a kill may leave a part of it.
    DataByParts,
    /// Zeros.
    Zeros,
}

/// A version, as it was given to a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Version(u32);

impl Version {
    /// Its number.
    pub(crate) const fn number(self) -> u32 {
        self.0 & LAST
    }

    /// Whether it is zeros.
    pub(crate) const fn is_zeros(self) -> bool {
        self.0 & DISCARDED != 0
    }

    /// The data with this number.
    pub(crate) const fn of(number: u32) -> Self {
        Self(number & LAST)
    }
}

/// The first word: the latest version (31 bits), the session that wrote it (28 bits), and how to read the others.
#[derive(Clone, Copy)]
struct Head(u64);

impl Head {
    const EPOCH: u64 = (1 << 28) - 1;
    /// What was there before the first version may still be there.
    const UNKNOWN: u64 = 1 << 60;
    const WIDE: u64 = 1 << 61;
    const BY_PARTS: u64 = 1 << 62;
    /// It had all versions that there are, and is checked no more.
    const WORN: u64 = 1 << 63;

    const fn latest(self) -> u32 {
        self.0 as u32 & LAST
    }

    const fn epoch(self) -> u32 {
        (self.0 >> 32 & Self::EPOCH) as u32
    }

    const fn has(self, flag: u64) -> bool {
        self.0 & flag != 0
    }

    const fn with(self, flag: u64, on: bool) -> Self {
        Self(if on { self.0 | flag } else { self.0 & !flag })
    }

    const fn with_latest(self, latest: u32) -> Self {
        Self(self.0 & !(LAST as u64) | latest as u64)
    }

    const fn with_epoch(self, epoch: u32) -> Self {
        Self(self.0 & !(Self::EPOCH << 32) | (epoch as u64 & Self::EPOCH) << 32)
    }
}

/// A candidate: its version below, and above what the latest version was when its write ended; 0 while
/// that is in flight. An empty word is none. A wide record counts its writes in flight above.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Candidate(u64);

impl Candidate {
    const NONE: Self = Self(0);

    const fn new(version: Version, ended: u32) -> Self {
        Self(version.0 as u64 | (ended as u64) << 32)
    }

    const fn version(self) -> Version {
        Version(self.0 as u32)
    }

    const fn ended(self) -> u32 {
        (self.0 >> 32) as u32
    }

    const fn is_in_flight(self) -> bool {
        self.0 != 0 && self.ended() == 0
    }
}

fn load(words: &Words, at: usize) -> Candidate {
    Candidate(words[at].load(Ordering::Acquire))
}

fn store(words: &Words, at: usize, candidate: Candidate) {
    words[at].store(candidate.0, Ordering::Release);
}

fn head(words: &Words) -> Head {
    Head(words[0].load(Ordering::Acquire))
}

fn put(words: &Words, head: Head) {
    words[0].store(head.0, Ordering::Release);
}

/// The head of `words` in this session: what an earlier one had in flight has ended by now, and what it wrote
/// before its data was given up does not count.
fn renewed(words: &Words, epochs: Epochs) -> Head {
    let head = head(words);
    if head.epoch() == epochs.now {
        return head;
    }
    let counts = head.epoch() >= epochs.valid_from;
    if !counts {
        CANDIDATES.for_each(|at| store(words, at, Candidate::NONE));
        let head =
            head.with(Head::WIDE | Head::BY_PARTS | Head::UNKNOWN, false).with_epoch(epochs.now);
        put(words, head);
        return head;
    }
    if head.has(Head::WIDE) {
        store(words, FLOOR, Candidate::new(load(words, FLOOR).version(), 0));
        store(words, SOLO, Candidate::NONE);
    } else {
        for at in CANDIDATES {
            let candidate = load(words, at);
            if candidate.is_in_flight() {
                store(words, at, Candidate::new(candidate.version(), head.latest().max(1)));
            }
        }
    }
    let head = head.with_epoch(epochs.now);
    put(words, head);
    head
}

/// A write of the block begins: its version. It is in the record before the write is submitted.
pub(crate) fn begin(words: &Words, epochs: Epochs, leaves: Leaves) -> Version {
    let head = renewed(words, epochs);
    let number = head.latest() + 1;
    if number >= LAST || head.has(Head::WORN) {
        put(words, head.with(Head::WORN, true));
        return Version(LAST);
    }
    let zeros = leaves == Leaves::Zeros;
    let version = Version(number | if zeros { DISCARDED } else { 0 });
    let by_parts = head.has(Head::BY_PARTS) || leaves == Leaves::DataByParts;
    let head = head.with_latest(number).with(Head::BY_PARTS, by_parts);
    let is_first = !head.has(Head::WIDE)
        && CANDIDATES.into_iter().all(|at| load(words, at) == Candidate::NONE);
    let head = head.with(Head::UNKNOWN, is_first || head.has(Head::UNKNOWN));
    if head.has(Head::WIDE) {
        let floor = load(words, FLOOR);
        let alone = floor.ended() == 0;
        store(words, SOLO, if alone { Candidate::new(version, 0) } else { Candidate::NONE });
        let oldest = Version(floor.version().0 | if zeros { DISCARDED } else { 0 });
        store(words, FLOOR, Candidate::new(oldest, floor.ended() + 1));
        put(words, head);
        return version;
    }
    if let Some(free) = CANDIDATES.into_iter().find(|&at| load(words, at) == Candidate::NONE) {
        // The candidate last: the number of a version that was never submitted is only left out.
        put(words, head);
        store(words, free, Candidate::new(version, 0));
        return version;
    }
    let all = || CANDIDATES.map(|at| load(words, at));
    let oldest = all().map(|one| one.version().number()).min().unwrap_or(number);
    let any_zeros = zeros || all().any(|one| one.version().is_zeros());
    let in_flight = all().filter(|one| one.is_in_flight()).count() as u32 + 1;
    let oldest = Version(oldest | if any_zeros { DISCARDED } else { 0 });
    store(words, FLOOR, Candidate::new(oldest, in_flight));
    put(words, head.with(Head::WIDE, true));
    store(words, SOLO, Candidate::NONE);
    version
}

/// The write of `version` has ended, `acknowledged` or with an error. What a write with an error left in the
/// block is not known, so it stays a candidate next to those before it.
pub(crate) fn end(words: &Words, version: Version, acknowledged: bool) {
    let head = head(words);
    if head.has(Head::WORN) {
        return;
    }
    if head.has(Head::WIDE) {
        let floor = load(words, FLOOR);
        let in_flight = floor.ended().saturating_sub(1);
        let head = head.with(Head::UNKNOWN, head.has(Head::UNKNOWN) && !acknowledged);
        let alone = acknowledged && load(words, SOLO).version() == version;
        let oldest = if alone { version } else { floor.version() };
        store(words, FLOOR, Candidate::new(oldest, in_flight));
        if alone && in_flight == 0 {
            CANDIDATES.skip(1).for_each(|at| store(words, at, Candidate::NONE));
            store(words, SOLO, Candidate::new(version, head.latest()));
            put(words, head.with(Head::WIDE | Head::BY_PARTS, false));
        } else {
            put(words, head);
        }
        return;
    }
    let own = |&at: &usize| load(words, at) == Candidate::new(version, 0);
    // A write without a version may have come in between, which made an end of all.
    let Some(own) = CANDIDATES.into_iter().find(own) else { return };
    store(words, own, Candidate::new(version, head.latest()));
    if !acknowledged {
        return;
    }
    let mut others = 0;
    for at in CANDIDATES.filter(|&at| at != own) {
        let other = load(words, at);
        if other.ended() != 0 && other.ended() < version.number() {
            store(words, at, Candidate::NONE);
        } else {
            others += u32::from(other != Candidate::NONE);
        }
    }
    put(
        words,
        head.with(Head::UNKNOWN, false)
            .with(Head::BY_PARTS, head.has(Head::BY_PARTS) && others > 0),
    );
}

/// The block is written without a version: nothing is known of it any more.
pub(crate) fn forget(words: &Words, epochs: Epochs) {
    let head = renewed(words, epochs);
    CANDIDATES.for_each(|at| store(words, at, Candidate::NONE));
    put(words, head.with(Head::WIDE | Head::BY_PARTS, false));
}

/// What is known of the block now.
pub(crate) fn known(words: &Words, epochs: Epochs) -> Known {
    let mut copy = [0; WORDS];
    for (to, from) in copy.iter_mut().zip(words) {
        *to = from.load(Ordering::Acquire);
    }
    let head = Head(copy[0]);
    if head.epoch() < epochs.valid_from {
        copy[1..].fill(0);
        copy[0] = head.with(Head::WIDE | Head::BY_PARTS, false).0;
    }
    Known { words: copy, in_session: head.epoch() == epochs.now }
}

/// What was known of a block at some time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Known {
    words: [u64; WORDS],
    /// What is in flight is so now; else it was when an earlier session ended.
    in_session: bool,
}

impl Known {
    fn head(&self) -> Head {
        Head(self.words[0])
    }

    fn all(&self) -> impl Iterator<Item = Candidate> {
        let candidates = if self.is_wide() { &[][..] } else { &self.words[CANDIDATES] };
        candidates.iter().map(|&word| Candidate(word)).filter(|one| *one != Candidate::NONE)
    }

    /// Whether there were too many candidates to keep each.
    pub(crate) fn is_wide(&self) -> bool {
        self.head().has(Head::WIDE)
    }

    /// Whether a verified write of the block is known, and was acknowledged: until then what lay there before may
    /// still be there.
    pub(crate) fn is_written(&self) -> bool {
        let can_be_known = !self.head().has(Head::WORN) && !self.head().has(Head::UNKNOWN);
        can_be_known && (self.is_wide() || self.all().next().is_some())
    }

    /// The latest version that began.
    pub(crate) fn latest(&self) -> u32 {
        self.head().latest()
    }

    /// The oldest candidate of a wide record.
    fn floor(&self) -> Version {
        Candidate(self.words[FLOOR]).version()
    }

    /// The numbers of versions with data that may lie on the disk, from the oldest known on.
    pub(crate) fn data(&self) -> impl Iterator<Item = u32> {
        let wide = self.is_wide().then(|| self.floor().number()..=self.latest());
        let versions = self.all().map(Candidate::version).filter(|version| !version.is_zeros());
        versions.map(Version::number).chain(wide.into_iter().flatten())
    }

    /// Whether the data of version `number` may lie there.
    pub(crate) fn allows(&self, number: u32) -> bool {
        if self.is_wide() {
            return (self.floor().number()..=self.latest()).contains(&number);
        }
        self.all().any(|one| one.version() == Version::of(number))
    }

    /// Whether zeros may.
    pub(crate) fn allows_zeros(&self) -> bool {
        (self.is_wide() && self.floor().is_zeros())
            || self.all().any(|one| one.version().is_zeros())
    }

    /// Whether parts of several versions may, because a write was in flight or several were at once.
    pub(crate) fn allows_parts(&self) -> bool {
        let head = self.head();
        let busy = self.in_session && self.all().any(Candidate::is_in_flight);
        let ended = self.all().filter(|one| !one.is_in_flight()).count();
        self.is_wide() || head.has(Head::BY_PARTS) || busy || ended > 1
    }
}

/// As an agent knows it: `version 4`, or `version 4 or version 5, which was in flight`.
impl std::fmt::Display for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_wide() {
            return write!(f, "any of the versions {} to {}", self.floor().number(), self.latest());
        }
        for (number, one) in self.all().enumerate() {
            let between = if number == 0 { "" } else { " or " };
            let version = one.version();
            let what = if version.is_zeros() { "zeros, as version" } else { "version" };
            write!(f, "{between}{what} {}", version.number())?;
            match (one.is_in_flight(), self.in_session) {
                (true, true) => f.write_str(", which is in flight")?,
                (true, false) => f.write_str(", which was in flight")?,
                (false, _) => f.write_str(", which was acknowledged")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
