//! Where the requests of a section of a job file of fio lie, and how much it asks for.

use penstock_workload::{Pattern, Weighted};

use crate::diagnose::JobError;
use crate::from_fio::lines::{FioOption, Section};
use crate::from_fio::notes::Notes;
use crate::from_fio::order::Times;
use crate::from_fio::values::{bytes, number};
use crate::units::{Share, parse_share};
use crate::workload::region::Edge;

/// Copies that lie apart at most: each is an agent of the job.
const APART_MOST: u32 = 256;
/// Files of a section at most.
const FILES_MOST: u64 = 1 << 20;

/// The part of a file that a section uses.
#[derive(Clone, Copy)]
pub(super) struct FilePart {
    /// Its first byte.
    pub(super) from: Edge,
    /// The byte behind its last; with slices that of the last copy.
    pub(super) to: Edge,
    /// How long that of each copy is, if that is given.
    pub(super) length: Option<Edge>,
    /// Whether each of its copies has a slice of it.
    pub(super) slices: bool,
    /// How far one copy begins behind the one before, if they are no slices.
    pub(super) apart: Option<Edge>,
}

/// How much an agent asks for.
#[derive(Clone, Copy)]
pub(super) enum Volume {
    Total(u64),
    Count(u32),
    Passes(u32),
    Endless,
}

/// What a section says of its files.
struct Files {
    size: Option<Edge>,
    /// Of all of its files.
    filesize: Option<u64>,
}

/// The part of its file that a section uses, with all of its copies.
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
    let apart = match increment.filter(|given| !given.is_off()) {
        None => None,
        Some(given) => edge(section, &["offset_increment"], decimal)?.map(|apart| (given, apart)),
    };
    // Nothing is a share too.
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
    if let (None, Some(given)) = (to, section.find(&["size", "filesize"])) {
        let why = "left out: its `offset` is of the other kind, a size or a percentage, so the end is not known \
             without the target; the region goes on to the end";
        notes.on(given, why);
    }
    let one = FilePart { from, to: to.unwrap_or(whole), length, slices: own, apart: None };
    let Some((given, apart)) = apart else { return Ok(one) };
    if Some(apart) == length && to.is_some() {
        let to = behind(from, times(apart, copies)).unwrap_or(whole);
        return Ok(FilePart { to, slices: true, ..one });
    }
    if copies > APART_MOST || behind(from, apart).is_none() {
        notes.on(given, "left out: so many copies, or a percentage with a size, cannot lie apart");
        return Ok(one);
    }
    let to = length.and_then(|length| behind(from, length)).unwrap_or(whole);
    Ok(FilePart { to, slices: false, apart: Some(apart), ..one })
}

/// The border so far behind `edge`, if both are of one kind.
pub(super) fn behind(edge: Edge, distance: Edge) -> Option<Edge> {
    match (edge, distance) {
        (Edge::At(at), Edge::At(bytes)) => Some(Edge::At(at.saturating_add(bytes))),
        (Edge::Share(share), Edge::Share(more)) => Some(Edge::Share(share.plus(more))),
        _ => None,
    }
}

/// A distance so many times.
pub(super) fn times(distance: Edge, number: u32) -> Edge {
    match distance {
        Edge::At(bytes) => Edge::At(bytes.saturating_mul(number.into())),
        Edge::Share(share) => Edge::Share((0..number).fold(Share::NONE, |sum, _| sum.plus(share))),
    }
}

/// How much a section asks for in such a part of a file, if its requests leave gaps or not.
pub(super) fn volume(
    section: &Section,
    times: Times,
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
        let whole = |given| number(given, u64::from(u32::MAX));
        section.find(names).map(whole).transpose()
    };
    let loops = count(&["loops"])?.unwrap_or(1).max(1) as u32;
    let length =
        |edge: Option<Edge>| if let Some(Edge::At(bytes)) = edge { Some(bytes) } else { None };
    let region = length(part.length);
    let total = match section.find(&["io_size", "io_limit"]) {
        Some(given) => {
            let total = bytes(&given.value, decimal).filter(|total| *total > 0);
            Some(total.ok_or_else(|| given.wrong("a size, as `1g`"))?)
        }
        // With a `filesize`, `size` is only how much it asks for.
        None if section.find(&["filesize"]).is_some() => length(edge(section, &["size"], decimal)?)
            .map(|size| region.map_or(size, |region| size.min(region))),
        None => None,
    };
    let skips = gap > 0 || pattern == Pattern::Backwards;
    let all = total.or(region);
    if let Some(number) = count(&["number_ios"])?.filter(|number| *number > 0) {
        let asked = sizes.single().map(|size| number.saturating_mul(size.into()));
        let less = |all: u64| asked.is_none_or(|asked| asked < all);
        if all.is_none_or(less) {
            return Ok(Volume::Count((number as u32).saturating_mul(loops)));
        }
    }
    let total = total.or(region.filter(|_| skips));
    if let Some(total) = total {
        let whole = sizes.single().map_or(total, |size| total - total % u64::from(size));
        return Ok(Volume::Total(whole.max(1).saturating_mul(loops.into())));
    }
    if skips && let Some(given) = section.find(&["rw", "readwrite"]) {
        notes.on(
            given,
            "it ends after a pass; fio goes on until it has had as many bytes as the file",
        );
    }
    Ok(Volume::Passes(loops))
}

/// The sizes that a section gives its files.
fn files(section: &Section, decimal: bool, notes: &mut Notes) -> Result<Files, JobError> {
    let named = section.find(&["filename"]).map(|given| (given, names(&given.value)));
    let number_of = match (&named, section.find(&["nrfiles", "nr_files"])) {
        (Some((given, names)), _) if *names > 1 => Some((*given, *names)),
        (None, Some(given)) => {
            Some((given, number(given, FILES_MOST)?)).filter(|(_, files)| *files > 1)
        }
        _ => None,
    };
    if let Some((given, files)) = number_of {
        let why = format!(
            "its {files} files are one region here: sequential requests go through it from end to end, \
             where fio takes turns with the files"
        );
        notes.on(given, why);
    }
    let files = number_of.map_or(1, |(_, files)| files);
    let each = match section.find(&["filesize"]) {
        None => None,
        Some(given) => {
            let least = given.value.split(['-', ':']).next().unwrap_or("");
            if least != given.value {
                notes.on(given, "all of its files have the smallest of these sizes");
            }
            let each = bytes(least, decimal).filter(|each| *each > 0);
            Some(each.ok_or_else(|| given.wrong("a size, as `1g`"))?)
        }
    };
    let size = edge(section, &["size"], decimal)?.filter(|size| *size != Edge::At(0));
    Ok(Files { size, filesize: each.map(|each| each.saturating_mul(files)) })
}

/// How many files a `filename` names: colons are between them, unless a backslash is before.
fn names(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let colon = |at: &usize| bytes[*at] == b':' && (*at == 0 || bytes[*at - 1] != b'\\');
    1 + (0..bytes.len()).filter(colon).count() as u64
}

/// A size, or a percentage of the file.
fn edge(section: &Section, names: &[&str], decimal: bool) -> Result<Option<Edge>, JobError> {
    let read = |given: &FioOption| {
        let edge = match given.value.strip_suffix('%') {
            Some(_) => {
                parse_share(&given.value).ok().filter(|share| *share > Share::NONE).map(Edge::Share)
            }
            None => bytes(&given.value, decimal).map(Edge::At),
        };
        edge.ok_or_else(|| given.wrong("a size, as `1g`, or a percentage, as `50%`"))
    };
    section.find(names).map(read).transpose()
}
