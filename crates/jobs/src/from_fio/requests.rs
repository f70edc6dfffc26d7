//! Converts the operation, order and sizes of the requests of a section of a job file of fio.

use penstock_core::Op;
use penstock_workload::{ALL_REQUESTS, Ops, Pattern, Weighted};

use crate::diagnose::JobError;
use crate::from_fio::lines::{FioOption, Section};
use crate::from_fio::notes::Notes;
use crate::from_fio::values::{Direction, bytes, number, request, value_for, weighted};
use crate::workload::sizes::REQUEST_MOST;

/// Default size of fio's requests in bytes.
const USUAL: u32 = 4096;
/// Most sizes of a range: an agent may have as many.
const SIZES_MOST: u32 = 256;
/// Weight of a regular size; the remainder of a range has thousandths of it.
const FULL: u32 = 1000;

/// Returns the operations, the order, and the bytes that fio skips between requests.
pub(super) fn operations(
    section: &Section,
    decimal: bool,
    notes: &mut Notes,
) -> Result<Option<(Ops, Pattern, i64)>, JobError> {
    let Some(option) = section.find(&["rw", "readwrite"]) else {
        notes.on_section(
            section,
            "has no `rw`, so it reads, each block behind the one before, as in fio",
        );
        return Ok(Some((Ops::Only(Op::Read), Pattern::Sequential, 0)));
    };
    let (word, more) = option.value.split_once(':').unwrap_or((&option.value, ""));
    let random = word.starts_with("rand");
    let ops = match word.strip_prefix("rand").unwrap_or(word) {
        "read" => Ops::Only(Op::Read),
        "write" => Ops::Only(Op::Write),
        "trim" => Ops::Only(Op::Discard),
        "rw" | "readwrite" => mix(section)?,
        "trimwrite" => {
            let why = "its blocks are trimmed and then written; an agent does one of both";
            notes.left_out(section, &option.origin, why);
            return Ok(None);
        }
        _ => {
            let expected = "read, write, trim, rw, randread, randwrite, randtrim or randrw";
            return Err(option.wrong(expected));
        }
    };
    if random {
        if !matches!(more, "" | "1") {
            notes.on(
                option,
                format!("`:{more}` is left out: each random request has a place of its own"),
            );
        }
        if let Some(option) =
            section.find(&["percentage_random"]).filter(|option| option.value != "100")
        {
            notes.on(option, "left out: an agent is random or sequential; write one of each");
        }
        return Ok(Some((ops, Pattern::Random, 0)));
    }
    if matches!(ops, Ops::Mix { .. }) {
        notes.on(
            option,
            "reads and writes go through the region together; fio has a position for each",
        );
    }
    let size = |text| bytes(text, decimal).and_then(|size| i64::try_from(size).ok());
    let gap = match more.strip_prefix('-') {
        _ if more.is_empty() => Some(0),
        Some(less) => size(less).map(|less| -less),
        None => size(more),
    };
    let gap = gap.ok_or_else(|| option.wrong("a size behind the colon"))?;
    Ok(Some((ops, Pattern::Sequential, gap)))
}

/// Returns the mix of reads and writes. The last of `rwmixread` and `rwmixwrite` counts.
fn mix(section: &Section) -> Result<Ops, JobError> {
    let option = section.find(&["rwmixread", "rwmixwrite"]);
    let percent = option.map(|option| number(option, 100)).transpose()?.unwrap_or(50) as u32;
    let reads = match option {
        Some(option) if option.name == "rwmixwrite" => 100 - percent,
        _ => percent,
    };
    Ok(Ops::Mix { reads: ALL_REQUESTS / 100 * reads })
}

/// Returns pattern and gap of sequential requests that fio begins at `gap` bytes behind the end of
/// the one before.
pub(super) fn steps(
    section: &Section,
    (pattern, gap): (Pattern, i64),
    sizes: &Weighted<u32>,
    notes: &mut Notes,
) -> (Pattern, u32) {
    let back = sizes.single().map(|size| -gap - 2 * i64::from(size));
    let most = i64::try_from(REQUEST_MOST).unwrap_or(i64::MAX);
    match (gap, back) {
        (0, _) => (pattern, 0),
        (gap, _) if gap > 0 && gap <= most => (pattern, gap as u32),
        (..0, Some(back @ 0..)) if back <= most => (Pattern::Backwards, back as u32),
        _ => {
            if let Some(option) = section.find(&["rw", "readwrite"]) {
                notes.on(option, "the number behind the colon is left out: requests would overlap, or lie too far apart");
            }
            (pattern, 0)
        }
    }
}

/// Returns the sizes of its requests.
pub(super) fn sizes(
    section: &Section,
    (ops, direction): (Ops, Direction),
    decimal: bool,
    notes: &mut Notes,
) -> Result<Weighted<u32>, JobError> {
    // Sizes of a `bssplit` override a range, and a range overrides a single size.
    let names: [&[&str]; 3] = [&["bssplit"], &["bsrange", "blocksize_range"], &["bs", "blocksize"]];
    let option = names.iter().find_map(|names| section.find(names));
    let Some(option) = option else { return Ok(Weighted::always(USUAL)) };
    let mixed = matches!(ops, Ops::Mix { .. });
    if mixed && value_for(option, Direction::Read) != value_for(option, Direction::Write) {
        notes.on(option, "its reads and writes have one size here: that of the reads");
    }
    let Some(text) = value_for(option, direction) else { return Ok(Weighted::always(USUAL)) };
    let sizes = match option.name.as_str() {
        "bssplit" => weighted(text, |size| request(size, decimal)).and_then(Weighted::new),
        "bs" | "blocksize" => request(text, decimal).map(Weighted::always),
        _ => range(text, decimal, option, notes),
    };
    let expected = match option.name.as_str() {
        "bssplit" => "sizes with percentages that add up to 100, as `4k/60:64k/40`",
        "bs" | "blocksize" => "a size, as `4k`",
        _ => "two sizes, as `4k-64k`",
    };
    let sizes = sizes.ok_or_else(|| option.wrong(expected))?;
    let random = section.find(&["rw", "readwrite"]).is_some_and(|rw| rw.value.starts_with("rand"));
    let again = ["norandommap", "random_distribution", "blockalign", "ba"];
    if random && sizes.single().is_none() && !section.on(&again) {
        notes.on(option, "without `norandommap` fio cuts requests that would reach a block that it has asked for; here all have their size");
    }
    Ok(sizes)
}

/// Returns the multiples of the smaller size up to the larger, equally likely. The larger size is
/// less likely if it is no multiple.
fn range(
    text: &str,
    decimal: bool,
    option: &FioOption,
    notes: &mut Notes,
) -> Option<Weighted<u32>> {
    let (first, second) = text.split_once(['-', ':'])?;
    let (first, second) = (request(first, decimal)?, request(second, decimal)?);
    let (least, most) = (first.min(second), first.max(second));
    let (steps, rest) = (most / least, most % least);
    let leap = steps.div_ceil(SIZES_MOST - 1);
    if leap > 1 {
        notes.on(option, format!("of its {steps} sizes every {leap}th is taken over"));
    }
    let multiples = (1..=steps / leap).map(|step| (least * leap * step, FULL));
    let last = (u64::from(rest) * u64::from(FULL) / u64::from(least)) as u32;
    let sizes: Vec<(u32, u32)> = multiples.chain((last > 0).then_some((most, last))).collect();
    if let [(size, _)] = sizes[..] { Some(Weighted::always(size)) } else { Weighted::new(sizes) }
}
