//! The cache of a disk: the drive's own, or with some parts changed.

use penstock_device::hdd::{Cache, ReadAhead};
use serde_json::{Value as Json, json};

use crate::amount::{Count, OrWord, SIZE};
use crate::describe::{any, switch, words};
use crate::diagnose::JobError;
use crate::keys::{Keys, keys, table, without};
use crate::kinds::Own;
use crate::nearest::suggest;
use crate::reader::Reader;
use crate::rows::Rows;
use crate::text::quoted;
use crate::tree::{Node, Value};

const NONE: &str = "none";
const DRIVE: &str = "drive";

keys! {
    /// The keys of a device that say something of its cache.
    KEYS:
    /// The drive's cache.
    CACHE cache: Option<CacheSpec> = Own {
        read: sizes,
        text: |cache| cache.as_ref().map_or_else(|| quoted(NONE), CacheSpec::size_text),
        schema: || any([words([NONE, DRIVE]), table(SIZES)]),
    }, or None;
    /// Distance of read-ahead.
    READAHEAD readahead: Option<Ahead> = OrWord {
        words: &[
            (NONE, Some(Ahead::By(ReadAhead::None))),
            ("track", Some(Ahead::By(ReadAhead::Track))),
            ("cylinder", Some(Ahead::By(ReadAhead::Cylinder))),
            ("segment", Some(Ahead::By(ReadAhead::Segment))),
            ("stream", Some(Ahead::By(ReadAhead::Stream))),
            (DRIVE, None),
        ],
        amount: SIZE,
        value: |bytes: u64| Some(Ahead::Most(bytes)),
        quantity: |ahead| match ahead {
            Some(Ahead::Most(bytes)) => Some(*bytes),
            _ => None,
        },
    }, or None;
    /// Whether the cache answers writes.
    WRITE_BACK write_back: Option<bool> = Own {
        read: write_back,
        text: |value| value.map_or_else(|| quoted(DRIVE), |truth| truth.to_string()),
        schema: || any([switch(), words([DRIVE])]),
    }, or None;
}
/// Keys of disks with a cache.
const OF_A_CACHE: Keys = &[&READAHEAD, &WRITE_BACK];

keys! {
    /// Keys of a cache of another size: more segments than any drive has, as a request looks at
    /// each, and 2 GiB.
    SIZES:
    /// Parts of the buffer.
    SEGMENTS segments: u32 = Count(1, 4_096), needs "2";
    /// Sectors of 512 bytes in each segment.
    BLOCKS blocks: u32 = Count(2, 1 << 22), needs "16";
}

/// A cache as the device describes it.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct CacheSpec {
    /// Segments, and sectors of each segment; `None`: as the drive has.
    pub size: Option<(u32, u32)>,
    /// Read-ahead; `None`: as the drive has.
    pub ahead: Option<Ahead>,
    /// Whether the cache answers writes; `None`: as the drive does.
    pub write_back: Option<bool>,
}

/// Read-ahead of a cache.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Ahead {
    /// A rule.
    By(ReadAhead),
    /// At most this many bytes.
    Most(u64),
}

pub(super) fn read(reader: &Reader<'_>) -> Result<Option<CacheSpec>, JobError> {
    let Some(cache) = reader.get(&CACHE)? else {
        let hint = "`cache = \"drive\"` is the drive's own";
        reader.exclude(&CACHE, OF_A_CACHE, "is of a disk with a cache; this one has none", hint)?;
        return Ok(None);
    };
    let (ahead, write_back) = (reader.get(&READAHEAD)?, reader.get(&WRITE_BACK)?);
    Ok(Some(CacheSpec { ahead, write_back, ..cache }))
}

/// Reads the size: no cache, the drive's size, or another size.
fn sizes(node: &Node) -> Result<Option<CacheSpec>, JobError> {
    if let Value::Table(_) = node.value {
        let reader = Reader::new(node, "the cache", &[SIZES])?;
        let size = Some((reader.get(&SEGMENTS)?, reader.get(&BLOCKS)?));
        return Ok(Some(CacheSpec { size, ..CacheSpec::default() }));
    }
    let expected = || node.expected("`none`, `drive` or `{ segments = 2, blocks = 16 }`");
    match node.word().ok_or_else(expected)? {
        NONE => Ok(None),
        DRIVE => Ok(Some(CacheSpec::default())),
        other => Err(expected().hint(suggest(other, [NONE, DRIVE]))),
    }
}

fn write_back(node: &Node) -> Result<Option<bool>, JobError> {
    if node.word() == Some(DRIVE) {
        return Ok(None);
    }
    let wrong = |error: JobError| error.hint("or `\"drive\"`, in quotes: as the drive does");
    node.boolean().map(Some).map_err(wrong)
}

/// Forbids the keys of a cache for a disk without one.
pub(super) fn rules() -> Json {
    let none = json!({"properties": {CACHE.name: {"const": NONE}}});
    json!({"if": none, "then": without(OF_A_CACHE)})
}

impl CacheSpec {
    fn size_text(&self) -> String {
        match &self.size {
            None => quoted(DRIVE),
            Some((segments, blocks)) => {
                Rows::of(&[SIZES]).put(&SEGMENTS, segments).put(&BLOCKS, blocks).inline()
            }
        }
    }

    pub(super) fn rows(cache: Option<&Self>, rows: Rows) -> Rows {
        rows.put(&CACHE, &cache.copied())
            .maybe(&READAHEAD, cache.map(|cache| &cache.ahead))
            .maybe(&WRITE_BACK, cache.map(|cache| &cache.write_back))
    }

    /// Applies the changes to the cache `drive`.
    pub(super) fn apply(&self, drive: &Cache) -> Cache {
        let mut cache = *drive;
        if let Some((segments, blocks)) = self.size {
            (cache.segments, cache.segment_sectors) = (segments, blocks);
            cache.ahead_most = cache.ahead_most.min(blocks);
            cache.write_segment &= segments > 1;
        }
        let segment = cache.segment_sectors;
        match self.ahead {
            None => {}
            Some(Ahead::By(rule)) => (cache.ahead, cache.ahead_most) = (rule, segment),
            Some(Ahead::Most(bytes)) => {
                let sectors = bytes.div_ceil(512).min(segment.into()) as u32;
                (cache.ahead, cache.ahead_most) = (ReadAhead::Segment, sectors);
            }
        }
        cache.ahead_least = cache.ahead_least.min(cache.ahead_most);
        cache.write_back = self.write_back.unwrap_or(cache.write_back);
        cache
    }
}
