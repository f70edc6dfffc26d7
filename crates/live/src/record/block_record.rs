//! The record of a block: which versions of it may be on the disk.
//!
//! Versions of a block count from 1, in the order in which its writes begin. A version is a *candidate* from
//! before its write is submitted until a write that began after its acknowledgement is acknowledged. So the
//! candidates are the last acknowledged version, those that were in flight at the same time, and those that
//! still are: in whatever order a disk carries out writes, it has one of them. A block whose first write is not
//! acknowledged is not known: it may have the data from before.
//!
//! A record is eight words of a mapped file. Each step stores one word, and the order of the stores lets a
//! process be killed between any two: the record never lacks a version that may be on the disk. A record has
//! room for six candidates. With more it is *wide*: then it has the oldest candidate, and every later version
//! is a candidate until one is written while no other is in flight.

use std::sync::atomic::{AtomicU64, Ordering};

/// Words of a record.
pub(crate) const WORDS: usize = 8;

/// Candidates of a record that is not wide: words 1 to 6.
const CANDIDATES: std::ops::RangeInclusive<usize> = 1..=6;
/// The word with the only write in flight of a wide record, which may make it narrow again.
const SOLO: usize = 1;
/// The word with the oldest candidate of a wide record, and with the number of writes in flight.
const FLOOR: usize = 7;

/// Flag of a version of zeros: the block was discarded.
const DISCARDED: u32 = 1 << 31;
/// The greatest version number of a block.
const LAST: u32 = DISCARDED - 1;

/// The record of a block, in the file.
pub(crate) type Words = [AtomicU64; WORDS];

/// The session that writes now, and the first session whose writes count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Epochs {
    pub(crate) now: u32,
    pub(crate) valid_from: u32,
}

/// The effect of a write on a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Leaves {
    /// The data of its version.
    Data,
    /// The data of its version, copied into a page by this process, so that a kill may leave a part of it.
    DataByParts,
    /// Zeros.
    Zeros,
}

/// The version of a write.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Version(u32);

impl Version {
    /// Returns its number.
    pub(crate) const fn number(self) -> u32 {
        self.0 & LAST
    }

    /// Returns whether it is zeros.
    pub(crate) const fn is_zeros(self) -> bool {
        self.0 & DISCARDED != 0
    }

    /// Creates the version of data with this number.
    pub(crate) const fn data(number: u32) -> Self {
        Self(number & LAST)
    }
}

/// The first word: the latest version (31 bits), the session that wrote it (28 bits), and how to read the others.
#[derive(Clone, Copy)]
struct Head(u64);

impl Head {
    const EPOCH: u64 = (1 << 28) - 1;
    /// The data from before the first version may still be there.
    const UNKNOWN: u64 = 1 << 60;
    const WIDE: u64 = 1 << 61;
    const BY_PARTS: u64 = 1 << 62;
    /// It has used up all version numbers and is no longer checked.
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

/// A candidate. The lower half is its version, the upper half the latest version when its write ended, or 0 while the
/// write is in flight. Zero is no candidate. A wide record counts its writes in flight in the upper half.
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

/// Returns the head of `words` in this session. Writes that an earlier session had in flight have ended; writes from before
/// the data was given up do not count.
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

/// Records that a write of the block begins, before it is submitted. Returns its version.
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
        // The candidate last: after a kill in between, a version number is skipped.
        put(words, head);
        store(words, free, Candidate::new(version, 0));
        return version;
    }
    let all = || CANDIDATES.map(|at| load(words, at));
    let oldest = all().map(|candidate| candidate.version().number()).min().unwrap_or(number);
    let any_zeros = zeros || all().any(|candidate| candidate.version().is_zeros());
    let in_flight = all().filter(|candidate| candidate.is_in_flight()).count() as u32 + 1;
    let oldest = Version(oldest | if any_zeros { DISCARDED } else { 0 });
    store(words, FLOOR, Candidate::new(oldest, in_flight));
    put(words, head.with(Head::WIDE, true));
    store(words, SOLO, Candidate::NONE);
    version
}

/// Records that the write of `version` has ended, `acknowledged` or with an error. After an error it is not known what
/// the block has, so the version stays a candidate next to those before it.
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
    // A write without a version in between has removed all candidates.
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

/// Records that the block is written without a version: it is no longer known.
pub(crate) fn forget(words: &Words, epochs: Epochs) {
    let head = renewed(words, epochs);
    CANDIDATES.for_each(|at| store(words, at, Candidate::NONE));
    put(words, head.with(Head::WIDE | Head::BY_PARTS, false));
}

/// Returns the knowledge of the block now.
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

/// The knowledge of a block at some time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Known {
    words: [u64; WORDS],
    /// Whether writes in flight are in flight now, and not since the end of an earlier session.
    in_session: bool,
}

impl Known {
    fn head(&self) -> Head {
        Head(self.words[0])
    }

    fn all(&self) -> impl Iterator<Item = Candidate> {
        let candidates = if self.is_wide() { &[][..] } else { &self.words[CANDIDATES] };
        candidates
            .iter()
            .map(|&word| Candidate(word))
            .filter(|candidate| *candidate != Candidate::NONE)
    }

    /// Returns whether there were too many candidates to keep each.
    pub(crate) fn is_wide(&self) -> bool {
        self.head().has(Head::WIDE)
    }

    /// Returns whether a verified write of the block is known and was acknowledged: until then the data from before may
    /// still be there.
    pub(crate) fn is_written(&self) -> bool {
        let can_be_known = !self.head().has(Head::WORN) && !self.head().has(Head::UNKNOWN);
        can_be_known && (self.is_wide() || self.all().next().is_some())
    }

    /// Returns the latest version that began.
    pub(crate) fn latest(&self) -> u32 {
        self.head().latest()
    }

    /// Returns the oldest candidate of a wide record.
    fn floor(&self) -> Version {
        Candidate(self.words[FLOOR]).version()
    }

    /// Returns the versions with data that may be on the disk.
    pub(crate) fn data(&self) -> impl Iterator<Item = u32> {
        let wide = self.is_wide().then(|| self.floor().number()..=self.latest());
        let versions = self.all().map(Candidate::version).filter(|version| !version.is_zeros());
        versions.map(Version::number).chain(wide.into_iter().flatten())
    }

    /// Returns whether the data of version `number` may be on the disk.
    pub(crate) fn allows(&self, number: u32) -> bool {
        if self.is_wide() {
            return (self.floor().number()..=self.latest()).contains(&number);
        }
        self.all().any(|candidate| candidate.version() == Version::data(number))
    }

    /// Returns whether zeros may be on the disk.
    pub(crate) fn allows_zeros(&self) -> bool {
        (self.is_wide() && self.floor().is_zeros())
            || self.all().any(|candidate| candidate.version().is_zeros())
    }

    /// Returns whether parts of several versions may be on the disk: a write is in flight, or several were at once.
    pub(crate) fn allows_parts(&self) -> bool {
        let head = self.head();
        let busy = self.in_session && self.all().any(Candidate::is_in_flight);
        let ended = self.all().filter(|candidate| !candidate.is_in_flight()).count();
        self.is_wide() || head.has(Head::BY_PARTS) || busy || ended > 1
    }
}

/// Writes the candidates, as `version 4`, or `version 4 or version 5, which was in flight`.
impl std::fmt::Display for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_wide() {
            return write!(f, "any of the versions {} to {}", self.floor().number(), self.latest());
        }
        for (number, candidate) in self.all().enumerate() {
            let between = if number == 0 { "" } else { " or " };
            let version = candidate.version();
            let kind = if version.is_zeros() { "zeros, as version" } else { "version" };
            write!(f, "{between}{kind} {}", version.number())?;
            match (candidate.is_in_flight(), self.in_session) {
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
