//! Converts the part of the file that a section of a job file of fio uses, and the amount of its
//! I/O.

use penstock_workload::{Pattern, Weighted};

use crate::diagnose::JobError;
use crate::from_fio::lines::{FioOption, Section};
use crate::from_fio::notes::Notes;
use crate::from_fio::order::Times;
use crate::from_fio::values::{bytes, number};
use crate::units::{Share, parse_share};
use crate::workload::region::Edge;

/// Most copies that may lie apart: each is an agent of the job.
const APART_MOST: u32 = 256;
/// Most files of a section.
const FILES_MOST: u64 = 1 << 20;

/// The part of a file that a section uses.
#[derive(Clone, Copy)]
pub(super) struct FilePart {
    /// Its first byte.
    pub(super) from: Edge,
    /// The byte behind the last one; with slices, of the last copy's slice.
    pub(super) to: Edge,
    /// Length of the part of each copy, if given.
    pub(super) length: Option<Edge>,
    /// Whether each copy has a slice of the part.
    pub(super) slices: bool,
    /// Distance between the begins of two copies, if they have no slices.
    pub(super) apart: Option<Edge>,
}

/// The amount of I/O of an agent.
#[derive(Clone, Copy)]
pub(super) enum Volume {
    Total(u64),
    Count(u32),
    Passes(u32),
    Endless,
}

/// File sizes that a section gives.
struct Files {
    size: Option<Edge>,
    /// Bytes of all files together.
    filesize: Option<u64>,
}

/// Returns the part of its file that a section uses, with all of its copies.
pub(super) fn file_part(
    section: &Section,
    copies: u32,
    decimal: bool,
    notes: &mut Notes,
) -> Result<FilePart, JobError> {
    let files = files(section, decimal, notes)?;
    let length = files.filesize.map(Edge::At).or(files.size);
    let from = edge(section, &["offset", "fileoffset"], decimal)?.unwrap_or(Edge::At(0));
    let increment = section.find(&["offset_increment"]).filter(|_| copies > 1);
    let apart = match increment.filter(|option| !option.is_off()) {
        None => None,
        Some(option) => edge(section, &["offset_increment"], decimal)?.map(|apart| (option, apart)),
    };
    // An offset of zero fits shares too.
    let shares = length.or(apart.map(|(_, apart)| apart));
    let from = match shares {
        Some(Edge::Share(_)) if from == Edge::At(0) => Edge::Share(Share::NONE),
        _ => from,
    };
    let own = copies > 1 && section.find(&["filename"]).is_none();
    let whole = Edge::Share(Share::WHOLE);
    let all = if own && length.is_some() { copies } else { 1 };
    let to = match length {
        None => Some(whole),
        Some(length) => behind(from, times(length, all)),
    };
    if let (None, Some(option)) = (to, section.find(&["size", "filesize"])) {
        let why = "left out: its `offset` is of the other kind, a size or a percentage, so the end is not known \
             without the target; the region goes on to the end";
        notes.on(option, why);
    }
    let part = FilePart { from, to: to.unwrap_or(whole), length, slices: own, apart: None };
    let Some((option, apart)) = apart else { return Ok(part) };
    if Some(apart) == length && to.is_some() {
        let to = behind(from, times(apart, copies)).unwrap_or(whole);
        return Ok(FilePart { to, slices: true, ..part });
    }
    if copies > APART_MOST || behind(from, apart).is_none() {
        notes.on(option, "left out: so many copies, or a percentage with a size, cannot lie apart");
        return Ok(part);
    }
    let to = length.and_then(|length| behind(from, length)).unwrap_or(whole);
    Ok(FilePart { to, slices: false, apart: Some(apart), ..part })
}

/// Moves `edge` by `distance`; `None` if one is a size and the other a share.
pub(super) fn behind(edge: Edge, distance: Edge) -> Option<Edge> {
    match (edge, distance) {
        (Edge::At(at), Edge::At(bytes)) => Some(Edge::At(at.saturating_add(bytes))),
        (Edge::Share(share), Edge::Share(more)) => Some(Edge::Share(share.plus(more))),
        _ => None,
    }
}

/// Multiplies a distance.
pub(super) fn times(distance: Edge, number: u32) -> Edge {
    match distance {
        Edge::At(bytes) => Edge::At(bytes.saturating_mul(number.into())),
        Edge::Share(share) => Edge::Share((0..number).fold(Share::NONE, |sum, _| sum.plus(share))),
    }
}

/// Returns the amount of I/O of a section in a part of a file; `gap` tells whether its requests
/// leave gaps.
pub(super) fn volume(
    section: &Section,
    times: &Times,
    part: &FilePart,
    (pattern, gap): (Pattern, u32),
    sizes: &Weighted<u32>,
    decimal: bool,
    notes: &mut Notes,
) -> Result<Volume, JobError> {
    if times.time_based {
        return Ok(Volume::Endless);
    }
    let count = |names: &[&str]| {
        let whole = |option| number(option, u64::from(u32::MAX));
        section.find(names).map(whole).transpose()
    };
    let loops = count(&["loops"])?.unwrap_or(1).max(1) as u32;
    let length =
        |edge: Option<Edge>| if let Some(Edge::At(bytes)) = edge { Some(bytes) } else { None };
    let region = length(part.length);
    let total = match section.find(&["io_size", "io_limit"]) {
        Some(option) => {
            let total = bytes(&option.value, decimal).filter(|total| *total > 0);
            Some(total.ok_or_else(|| option.wrong("a size, as `1g`"))?)
        }
        // With a `filesize`, `size` is only the amount of I/O.
        None if section.find(&["filesize"]).is_some() => {
            match (edge(section, &["size"], decimal)?, region) {
                (Some(Edge::At(size)), region) => Some(region.map_or(size, |all| size.min(all))),
                (Some(Edge::Share(share)), Some(region)) => Some(share.of(region)),
                _ => None,
            }
        }
        // It is all that is left of the length.
        None if part.to == Edge::Share(Share::WHOLE) => region,
        None => None,
    };
    let skips = gap > 0 || pattern == Pattern::Backwards;
    let all = total.or(region);
    if let Some(number) = count(&["number_ios"])?.filter(|number| *number > 0) {
        let requested = sizes.single().map(|size| number.saturating_mul(size.into()));
        let less = |all: u64| requested.is_none_or(|requested| requested < all);
        if all.is_none_or(less) {
            return Ok(Volume::Count((number as u32).saturating_mul(loops)));
        }
    }
    let total = total.or(region.filter(|_| skips));
    if let Some(total) = total {
        let rounded = sizes.single().map_or(total, |size| total - total % u64::from(size));
        return Ok(Volume::Total(rounded.max(1).saturating_mul(loops.into())));
    }
    if skips && let Some(option) = section.find(&["rw", "readwrite"]) {
        notes.on(
            option,
            "it ends after a pass; fio goes on until it has had as many bytes as the file",
        );
    }
    Ok(Volume::Passes(loops))
}

/// Returns the sizes that a section gives its files.
fn files(section: &Section, decimal: bool, notes: &mut Notes) -> Result<Files, JobError> {
    let named = section.find(&["filename"]).map(|option| (option, names(&option.value)));
    let number_of = match (&named, section.find(&["nrfiles", "nr_files"])) {
        (Some((option, names)), _) if *names > 1 => Some((*option, *names)),
        (None, Some(option)) => {
            Some((option, number(option, FILES_MOST)?)).filter(|(_, files)| *files > 1)
        }
        _ => None,
    };
    if let Some((option, files)) = number_of {
        let why = format!(
            "its {files} files are one region here: sequential requests go through it from end to end, \
             where fio takes turns with the files"
        );
        notes.on(option, why);
    }
    let files = number_of.map_or(1, |(_, files)| files);
    let each = match section.find(&["filesize"]) {
        None => None,
        Some(option) => {
            let least = option.value.split(['-', ':']).next().unwrap_or("");
            if least != option.value {
                notes.on(option, "all of its files have the smallest of these sizes");
            }
            let each = bytes(least, decimal).filter(|each| *each > 0);
            Some(each.ok_or_else(|| option.wrong("a size, as `1g`"))?)
        }
    };
    let size = edge(section, &["size"], decimal)?.filter(|size| *size != Edge::At(0));
    Ok(Files { size, filesize: each.map(|each| each.saturating_mul(files)) })
}

/// Counts the files of a `filename`: colons separate them, unless a backslash is before one.
fn names(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let colon = |at: &usize| bytes[*at] == b':' && (*at == 0 || bytes[*at - 1] != b'\\');
    1 + (0..bytes.len()).filter(colon).count() as u64
}

/// Reads a size, or a percentage of the file.
fn edge(section: &Section, names: &[&str], decimal: bool) -> Result<Option<Edge>, JobError> {
    let read = |option: &FioOption| {
        let edge = match option.value.strip_suffix('%') {
            Some(_) => parse_share(&option.value)
                .ok()
                .filter(|share| *share > Share::NONE)
                .map(Edge::Share),
            None => bytes(&option.value, decimal).map(Edge::At),
        };
        edge.ok_or_else(|| option.wrong("a size, as `1g`, or a percentage, as `50%`"))
    };
    section.find(names).map(read).transpose()
}
