//! The cache of a disk: the drive's own, or parts of it changed.

use penstock_device::hdd::{Cache, ReadAhead};
use serde_json::{Value as Json, json};

use crate::diagnose::JobError;
use crate::nearest::suggest;
use crate::schema::build::{
    Field, any, count, field, from_digit, required, switch, table, with, without, words,
};
use crate::text::{Lines, quoted, size};
use crate::tree::{Node, Reader, Value};
use crate::units;

/// The keys of a device that say something of its cache.
pub(super) const KEYS: [&str; 3] = ["cache", "readahead", "write_back"];
/// What only a disk with a cache has.
const OF_A_CACHE: [&str; 2] = ["readahead", "write_back"];
/// Keys of a cache of another size.
const SIZES: [&str; 2] = ["segments", "blocks"];
/// More segments than any drive has; a request looks at each.
const SEGMENTS_MOST: u64 = 4_096;
/// 2 GiB.
const BLOCKS_MOST: u64 = 1 << 22;
const CACHES: [&str; 2] = ["none", "drive"];
const DRIVE: &str = "drive";
/// Ways to read ahead, by name; the drive's own goes before them.
const AHEAD: [(&str, ReadAhead); 5] = [
    ("none", ReadAhead::None),
    ("track", ReadAhead::Track),
    ("cylinder", ReadAhead::Cylinder),
    ("segment", ReadAhead::Segment),
    ("stream", ReadAhead::Stream),
];

/// A cache as it was asked for.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct CacheSpec {
    /// Segments and sectors of each, if not the drive's.
    pub size: Option<(u32, u32)>,
    /// How it reads ahead, if not as the drive.
    pub ahead: Option<Ahead>,
    /// Whether writes are answered from it, if not as the drive does.
    pub write_back: Option<bool>,
}

/// How a cache reads ahead.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Ahead {
    /// By a rule.
    By(ReadAhead),
    /// So many bytes at most.
    Most(u64),
}

pub(super) fn read(reader: &Reader<'_>) -> Result<Option<CacheSpec>, JobError> {
    let Some(cache) = reader.optional("cache", sizes)?.flatten() else {
        let hint = "`cache = \"drive\"` is the drive's own";
        reader.refuse(&OF_A_CACHE, "is of a disk with a cache; this one has none", hint)?;
        return Ok(None);
    };
    let ahead = reader.optional("readahead", ahead)?.flatten();
    let write_back = reader.optional("write_back", write_back)?.flatten();
    Ok(Some(CacheSpec { ahead, write_back, ..cache }))
}

/// No cache, or one of the drive's size or of another one.
fn sizes(node: &Node) -> Result<Option<CacheSpec>, JobError> {
    if let Value::Table(_) = node.value {
        let reader = Reader::new(node, "the cache", &SIZES)?;
        let segments = |node: &Node| node.count(1, SEGMENTS_MOST);
        let segments = reader.required("segments", "2", segments)?;
        let blocks = reader.required("blocks", "16", |node| node.count(2, BLOCKS_MOST))?;
        let size = Some((segments as u32, blocks as u32));
        return Ok(Some(CacheSpec { size, ..CacheSpec::default() }));
    }
    let expected = || node.expected("`none`, `drive` or `{ segments = 2, blocks = 16 }`");
    match node.word().ok_or_else(expected)? {
        "none" => Ok(None),
        DRIVE => Ok(Some(CacheSpec::default())),
        other => Err(expected().hint(suggest(other, CACHES))),
    }
}

fn ahead(node: &Node) -> Result<Option<Ahead>, JobError> {
    match node.word() {
        Some(DRIVE) => Ok(None),
        Some(text) if !text.starts_with(|c: char| c.is_ascii_digit()) => {
            let known = AHEAD.iter().find(|(name, _)| *name == text);
            known.map(|(_, rule)| Some(Ahead::By(*rule))).ok_or_else(|| {
                let names = AHEAD.iter().map(|(name, _)| *name).chain([DRIVE]);
                node.expected("a way to read ahead or a size").hint(suggest(text, names))
            })
        }
        _ => units::size(node).map(|bytes| Some(Ahead::Most(bytes))),
    }
}

fn write_back(node: &Node) -> Result<Option<bool>, JobError> {
    if node.word() == Some(DRIVE) {
        return Ok(None);
    }
    let wrong = |error: JobError| error.hint("or `\"drive\"`, in quotes: as the drive does");
    node.boolean().map(Some).map_err(wrong)
}

pub(super) fn fields() -> [Field; 3] {
    let sizes = vec![
        field("segments", "Parts of the buffer.", count(1, SEGMENTS_MOST)),
        field("blocks", "Sectors of 512 bytes in each.", count(2, BLOCKS_MOST)),
    ];
    let sizes = with(table(SIZES, sizes), required(&SIZES));
    let rules = words(AHEAD.iter().map(|(name, _)| *name).chain([DRIVE]));
    [
        field("cache", "What it has of a cache.", any([words(CACHES), sizes])).or("none"),
        field("readahead", "How far it reads on.", any([rules, from_digit("size")])).or(DRIVE),
        field("write_back", "Whether its cache answers writes.", any([switch(), words([DRIVE])]))
            .or(DRIVE),
    ]
}

/// Without a cache nothing of one is said.
pub(super) fn rules() -> Json {
    let none = json!({"properties": {"cache": {"const": "none"}}});
    json!({"if": none, "then": without(&OF_A_CACHE)})
}

impl CacheSpec {
    pub(super) fn write(cache: Option<&Self>, out: &mut Lines) {
        let Some(Self { size: own, ahead, write_back }) = cache else {
            return out.line("cache", quoted("none"));
        };
        match own {
            None => out.line("cache", quoted(DRIVE)),
            Some((segments, blocks)) => {
                out.line("cache", format!("{{ segments = {segments}, blocks = {blocks} }}"));
            }
        }
        let named = |rule| AHEAD.iter().find(|(_, known)| *known == rule).map(|(name, _)| *name);
        out.line(
            "readahead",
            match *ahead {
                None => quoted(DRIVE),
                Some(Ahead::By(rule)) => quoted(named(rule).expect("every rule has a name")),
                Some(Ahead::Most(bytes)) => size(bytes),
            },
        );
        out.line("write_back", write_back.map_or_else(|| quoted(DRIVE), |truth| truth.to_string()));
    }

    /// The cache of a drive whose own is `drive`.
    pub(super) fn of(&self, drive: &Cache) -> Cache {
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
