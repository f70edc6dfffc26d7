//! The page cache of a job: the memory between its buffered agents and the scheduler.

use penstock_core::Span;
use penstock_device::page_cache::Options;

use crate::amount::{Amount, SHARE, SIZE, TIME};
use crate::diagnose::JobError;
use crate::keys::{Declared, Key, keys, table};
use crate::kinds::section;
use crate::reader::Reader;
use crate::rows::Rows;
use crate::text::Lines;
use crate::tree::{self, Node};
use crate::units::{Share, share_text};

/// Bound of times in memory: a longer one is a mistake in the unit.
const QUICK: Amount = TIME.at_most(Span::from_secs(1).ns());
/// Largest memory in bytes: the tables of its pages take some 1.6 GiB.
const MEMORY_MOST: u64 = 64 << 30;

keys! {
    /// The page cache of agents that are `buffered`, above the scheduler.
    PAGE_CACHE page_cache: Node = section(|| table(KEYS));
}

keys! {
    /// Keys of `[page_cache]`. Their defaults are Linux' sysctls and `read_ahead_kb` as they are
    /// without anybody's doing; a call of a microsecond, and memory that copies 10 GB a second.
    KEYS:
    /// Bytes of all its pages, from 64KiB to 64GiB.
    MEMORY memory: u64 = SIZE
        .at_least(Options::LEAST_MEMORY)
        .at_most(MEMORY_MOST)
        .hint("for no page cache, agents are `direct`"), or 1 << 30;
    /// Time of a request in memory.
    BASE base: Span = QUICK
        .above_zero()
        .hints("a request that takes no time lets time stand still", "memory takes microseconds"),
        or Span::from_us(1);
    /// Time to copy a million bytes.
    PER_MB per_mb: Span = QUICK.hint("memory takes microseconds"), or Span::from_us(100);
    /// Share of memory that may be dirty before it is written back.
    BACKGROUND dirty_background_ratio: Share = SHARE, or Share::percent(10);
    /// Share of memory that may be dirty before writers wait.
    DIRTY dirty_ratio: Share = SHARE
        .above_zero()
        .hint("to have every write below when it is done, agents are `sync`"),
        or Share::percent(20);
    /// Age at which a dirty page is written back.
    EXPIRE dirty_expire: Span = TIME, or Span::from_secs(30);
    /// Time between two searches for such pages; zero: none.
    WRITEBACK dirty_writeback: Span = TIME, or Span::from_secs(5);
    /// Longest window of read-ahead; zero: none.
    READ_AHEAD read_ahead: u64 = SIZE.at_most(1 << 30).hint("Linux reads 128KiB ahead"),
        or 128 << 10;
}

/// A checked page cache. Settings that Linux has as sysctls have the same names and defaults.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageCacheSpec {
    /// Bytes of all pages together.
    pub memory: u64,
    /// Time of a request in memory, whatever its length.
    pub base: Span,
    /// Time to copy a million bytes.
    pub per_mb: Span,
    /// Share of the memory that may be dirty before write-back begins.
    pub dirty_background_ratio: Share,
    /// Share of the memory that may be dirty before writers wait.
    pub dirty_ratio: Share,
    /// Age at which a dirty page is written back.
    pub dirty_expire: Span,
    /// Interval of the search for such pages; zero: never.
    pub dirty_writeback: Span,
    /// Bytes of the longest window of read-ahead; zero: no read-ahead.
    pub read_ahead: u64,
}

impl Default for PageCacheSpec {
    fn default() -> Self {
        Self::read(&tree::empty(), None).expect("no key is needed")
    }
}

impl PageCacheSpec {
    /// Reads the section. Missing keys are taken from `usual`, if there is one.
    pub(crate) fn read(node: &Node, usual: Option<&Self>) -> Result<Self, JobError> {
        fn get<T>(reader: &Reader<'_>, key: &Key<T>, usual: Option<T>) -> Result<T, JobError> {
            match usual {
                Some(usual) if reader.node(key).is_none() => Ok(usual),
                _ => reader.get(key),
            }
        }
        let reader = &Reader::new(node, "the page cache", &[KEYS])?;
        let spec = Self {
            memory: get(reader, &MEMORY, usual.map(|usual| usual.memory))?,
            base: get(reader, &BASE, usual.map(|usual| usual.base))?,
            per_mb: get(reader, &PER_MB, usual.map(|usual| usual.per_mb))?,
            dirty_background_ratio: get(
                reader,
                &BACKGROUND,
                usual.map(|usual| usual.dirty_background_ratio),
            )?,
            dirty_ratio: get(reader, &DIRTY, usual.map(|usual| usual.dirty_ratio))?,
            dirty_expire: get(reader, &EXPIRE, usual.map(|usual| usual.dirty_expire))?,
            dirty_writeback: get(reader, &WRITEBACK, usual.map(|usual| usual.dirty_writeback))?,
            read_ahead: get(reader, &READ_AHEAD, usual.map(|usual| usual.read_ahead))?,
        };
        let (background, dirty) = (spec.dirty_background_ratio, spec.dirty_ratio);
        if background < dirty {
            return Ok(spec);
        }
        let changed = reader.node(&BACKGROUND).is_some();
        let key: &dyn Declared = if changed { &BACKGROUND } else { &DIRTY };
        let (background, dirty) = (share_text(background), share_text(dirty));
        let message = format!(
            "write-back begins at {background} of the memory, where writers wait at {dirty}"
        );
        let hint = "`dirty_background_ratio` lies below `dirty_ratio`";
        Err(JobError::new(message).at(reader.origin(key)).hint(hint))
    }

    /// Writes the table with every default in place, as the section called `section`.
    pub(crate) fn write(&self, section: &str, out: &mut Lines) {
        Rows::of(&[KEYS])
            .put(&MEMORY, &self.memory)
            .put(&BASE, &self.base)
            .put(&PER_MB, &self.per_mb)
            .put(&BACKGROUND, &self.dirty_background_ratio)
            .put(&DIRTY, &self.dirty_ratio)
            .put(&EXPIRE, &self.dirty_expire)
            .put(&WRITEBACK, &self.dirty_writeback)
            .put(&READ_AHEAD, &self.read_ahead)
            .section(Some(&format!("[{section}]")), out);
    }

    /// Returns the options of the layer, with shares of the memory as bytes.
    pub fn options(&self) -> Options {
        Options {
            memory: self.memory,
            base: self.base,
            per_mb: self.per_mb,
            dirty_background: self.dirty_background_ratio.of(self.memory),
            dirty: self.dirty_ratio.of(self.memory),
            dirty_expire: self.dirty_expire,
            dirty_writeback: self.dirty_writeback,
            read_ahead: self.read_ahead,
        }
    }
}
