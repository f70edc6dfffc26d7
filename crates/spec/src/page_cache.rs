//! The page cache of a job: the memory between its buffered agents and the scheduler.

use penstock_core::Span;
use penstock_device::page_cache::Options;
use serde_json::Value as Json;

use crate::diagnose::JobError;
use crate::schema::build::{defined, field, table};
use crate::text::{Lines, quoted, size, time};
use crate::tree::{Node, Reader};
use crate::units::{self, Share, duration_text, share_text, size_text};

/// Keys of `[page_cache]`.
const KEYS: &[&str] = &[
    "memory",
    "base",
    "per_mb",
    "dirty_background_ratio",
    "dirty_ratio",
    "dirty_expire",
    "dirty_writeback",
    "read_ahead",
];

/// The tables of so many pages take up to 1.6 GiB.
const MEMORY_MOST: u64 = 64 << 30;
/// A longer window is a slip of the unit.
const READ_AHEAD_MOST: u64 = 1 << 30;
/// Memory that is slower is a slip of the unit.
const SLOWEST: Span = Span::from_secs(1);

/// A page cache, checked. What Linux has a sysctl for has its name and its default.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PageCacheSpec {
    /// Bytes of all pages.
    pub memory: u64,
    /// Time that a request takes in memory, whatever its length.
    pub base: Span,
    /// Time to copy a million bytes.
    pub per_mb: Span,
    /// How much of it may be dirty before it is written back.
    pub dirty_background_ratio: Share,
    /// How much of it may be dirty before writers wait.
    pub dirty_ratio: Share,
    /// How old a dirty page becomes before it is written back.
    pub dirty_expire: Span,
    /// How often is looked for such pages; zero: never.
    pub dirty_writeback: Span,
    /// Bytes of the longest window that is read ahead; zero: none is.
    pub read_ahead: u64,
}

impl Default for PageCacheSpec {
    /// Linux' sysctls and `read_ahead_kb` as they are without anybody's doing; a call of a
    /// microsecond, and memory that copies 10 GB a second.
    fn default() -> Self {
        Self {
            memory: 1 << 30,
            base: Span::from_us(1),
            per_mb: Span::from_us(100),
            dirty_background_ratio: Share::percent(10),
            dirty_ratio: Share::percent(20),
            dirty_expire: Span::from_secs(30),
            dirty_writeback: Span::from_secs(5),
            read_ahead: 128 << 10,
        }
    }
}

pub(crate) fn read(node: &Node) -> Result<PageCacheSpec, JobError> {
    let reader = Reader::new(node, "the page cache", KEYS)?;
    let usual = PageCacheSpec::default();
    let dirty = reader.optional("dirty_ratio", above_zero)?;
    let background = reader.optional("dirty_background_ratio", units::share)?;
    let spec = PageCacheSpec {
        memory: reader.optional("memory", memory)?.unwrap_or(usual.memory),
        base: reader.optional("base", base)?.unwrap_or(usual.base),
        per_mb: reader.optional("per_mb", quick)?.unwrap_or(usual.per_mb),
        dirty_background_ratio: background.unwrap_or(usual.dirty_background_ratio),
        dirty_ratio: dirty.unwrap_or(usual.dirty_ratio),
        dirty_expire: reader
            .optional("dirty_expire", units::duration)?
            .unwrap_or(usual.dirty_expire),
        dirty_writeback: reader
            .optional("dirty_writeback", units::duration)?
            .unwrap_or(usual.dirty_writeback),
        read_ahead: reader.optional("read_ahead", window)?.unwrap_or(usual.read_ahead),
    };
    let (background, dirty) = (spec.dirty_background_ratio, spec.dirty_ratio);
    if background < dirty {
        return Ok(spec);
    }
    let key = if background == usual.dirty_background_ratio { KEYS[4] } else { KEYS[3] };
    let (background, dirty) = (share_text(background), share_text(dirty));
    let found =
        format!("write-back begins at {background} of the memory, where writers wait at {dirty}");
    let hint = "`dirty_background_ratio` lies below `dirty_ratio`";
    Err(JobError::new(found).at(reader.origin(key)).hint(hint))
}

fn memory(node: &Node) -> Result<u64, JobError> {
    match units::size(node)? {
        bytes if (Options::LEAST_MEMORY..=MEMORY_MOST).contains(&bytes) => Ok(bytes),
        _ => {
            let (least, most) = (size_text(Options::LEAST_MEMORY), size_text(MEMORY_MOST));
            let expected = format!("a memory from `{least}` to `{most}`");
            Err(node.expected(&expected).hint("for no page cache, agents are `direct`"))
        }
    }
}

fn base(node: &Node) -> Result<Span, JobError> {
    match quick(node)? {
        Span::ZERO => {
            let hint = "a request that takes no time lets time stand still";
            Err(node.expected("a length of time above zero").hint(hint))
        }
        base => Ok(base),
    }
}

fn quick(node: &Node) -> Result<Span, JobError> {
    match units::duration(node)? {
        span if span <= SLOWEST => Ok(span),
        _ => {
            let expected = format!("a time of memory, of at most `{}`", duration_text(SLOWEST));
            Err(node.expected(&expected).hint("memory takes microseconds"))
        }
    }
}

fn above_zero(node: &Node) -> Result<Share, JobError> {
    match units::share(node)? {
        Share::NONE => {
            let hint = "to have every write below when it is done, agents are `sync`";
            Err(node.expected("a percentage above zero").hint(hint))
        }
        share => Ok(share),
    }
}

fn window(node: &Node) -> Result<u64, JobError> {
    match units::size(node)? {
        bytes if bytes <= READ_AHEAD_MOST => Ok(bytes),
        _ => {
            let expected = format!("a size of at most `{}`", size_text(READ_AHEAD_MOST));
            Err(node.expected(&expected).hint("Linux reads 128KiB ahead"))
        }
    }
}

const MEMORY: &str = "Bytes of all its pages, from 64KiB to 64GiB.";

/// The schema of `[page_cache]`.
pub(crate) fn schema() -> Json {
    let usual = PageCacheSpec::default();
    let (times, sizes, shares) = (|| defined("time"), || defined("size"), || defined("share"));
    table(
        KEYS.iter().copied(),
        vec![
            field("memory", MEMORY, defined("size-above-zero")).or(size_text(usual.memory)),
            field("base", "Time of a request in memory.", defined("time-above-zero"))
                .or(duration_text(usual.base)),
            field("per_mb", "Time to copy a million bytes.", times())
                .or(duration_text(usual.per_mb)),
            field(KEYS[3], "How much may be dirty before it is written back.", shares())
                .or(share_text(usual.dirty_background_ratio)),
            field(
                KEYS[4],
                "How much may be dirty before writers wait.",
                defined("share-above-zero"),
            )
            .or(share_text(usual.dirty_ratio)),
            field("dirty_expire", "Age at which a dirty page is written back.", times())
                .or(duration_text(usual.dirty_expire)),
            field("dirty_writeback", "How often is looked for such pages; zero: never.", times())
                .or(duration_text(usual.dirty_writeback)),
            field("read_ahead", "The longest window that is read ahead; zero: none.", sizes())
                .or(size_text(usual.read_ahead)),
        ],
    )
}

impl PageCacheSpec {
    /// The section, with every default in place.
    pub(crate) fn write(&self, out: &mut Lines) {
        out.section("[page_cache]");
        out.line("memory", size(self.memory));
        out.line("base", time(self.base));
        out.line("per_mb", time(self.per_mb));
        out.line("dirty_background_ratio", quoted(&share_text(self.dirty_background_ratio)));
        out.line("dirty_ratio", quoted(&share_text(self.dirty_ratio)));
        out.line("dirty_expire", time(self.dirty_expire));
        out.line("dirty_writeback", time(self.dirty_writeback));
        out.line("read_ahead", size(self.read_ahead));
    }

    /// As the layer takes it: shares are of the memory.
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
