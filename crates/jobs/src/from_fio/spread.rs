//! Converts the distribution of the random requests of a section of a job file of fio.

use penstock_workload::WHOLE_REGION;

use crate::diagnose::JobError;
use crate::from_fio::lines::{FioOption, Section};
use crate::from_fio::notes::Notes;
use crate::from_fio::values::{Direction, bytes, percentage, value_for};
use crate::units::{Share, parse_share};
use crate::workload::spread::SpreadSpec;

/// Returns the spread of a section; `length` is the size of its part of the file in bytes, if
/// known.
pub(super) fn spread(
    section: &Section,
    direction: Direction,
    length: Option<u64>,
    decimal: bool,
    notes: &mut Notes,
) -> Result<SpreadSpec, JobError> {
    // By default fio asks for no block twice before it has asked for all.
    let usual = if section.on(&["norandommap"]) { SpreadSpec::Uniform } else { SpreadSpec::Once };
    let Some(option) = section.find(&["random_distribution"]) else { return Ok(usual) };
    let text = value_for(option, direction).unwrap_or("random");
    let (law, more) = text.split_once([':', '=']).unwrap_or((text, ""));
    let (first, centre) = more.split_once(':').unwrap_or((more, ""));
    let with_parameter = |make: fn(f64) -> SpreadSpec, allowed: fn(f64) -> bool, expected: &str| {
        let parameter = first.parse().ok().filter(|parameter| allowed(*parameter));
        parameter.map(make).ok_or_else(|| option.wrong(expected))
    };
    let spread = match law {
        "random" => return Ok(usual),
        "zipf" => with_parameter(
            SpreadSpec::Zipf,
            |theta| theta > 0.0 && theta <= 10.0 && (theta - 1.0).abs() > 1e-6,
            "`zipf:` and a theta above 0, at most 10, and not 1",
        )?,
        "pareto" => with_parameter(
            SpreadSpec::Pareto,
            |h| h > 0.0 && h < 1.0,
            "`pareto:` and a number between 0 and 1",
        )?,
        "normal" => {
            let why = "left out: fio scatters the places of this law over the file; \
                 `spread = { normal = { mean = \"50%\", dev = \"10%\" } }` has them around its middle";
            notes.on(option, why);
            return Ok(SpreadSpec::Uniform);
        }
        "zoned" => {
            return zones(option, more, |text| {
                Some(parse_share(&format!("{text}%")).ok()?.of(WHOLE_REGION.into()))
            });
        }
        "zoned_abs" => {
            let Some(length) = length.filter(|length| *length > 0) else {
                notes.on(
                    option,
                    "left out: zones are shares here, and the size of the file is not known",
                );
                return Ok(SpreadSpec::Uniform);
            };
            let part = |text: &str| {
                let part = u128::from(bytes(text, decimal)?) * u128::from(WHOLE_REGION);
                u64::try_from(part / u128::from(length)).ok()
            };
            return zones(option, more, part);
        }
        _ => return Err(option.wrong("random, zipf, pareto, normal, zoned or zoned_abs")),
    };
    if !centre.is_empty() {
        notes.on(
            option,
            "its centre is left out: the places of a law are scattered over the region",
        );
    }
    Ok(spread)
}

/// Reads zones such as `60/10:40/90`; `part` parses the size of one in billionths of the region.
/// Zones without a size share the rest of the region, and where there is no zone there are no
/// requests.
fn zones(
    option: &FioOption,
    text: &str,
    part: impl Fn(&str) -> Option<u64>,
) -> Result<SpreadSpec, JobError> {
    let wrong = || option.wrong("zones whose percentages add up to 100, as `zoned:60/10:40/90`");
    let zones = text.split(':').map(|zone| {
        let (requests, size) = zone.split_once('/')?;
        let size = Some(size.trim()).filter(|size| !size.is_empty());
        let size = if let Some(size) = size { Some(part(size)?) } else { None };
        Some((size, percentage(requests)?))
    });
    let zones: Vec<(Option<u64>, u32)> = zones.collect::<Option<_>>().ok_or_else(wrong)?;
    let region = u64::from(WHOLE_REGION);
    let sized: u64 = zones.iter().filter_map(|(size, _)| *size).fold(0, u64::saturating_add);
    if zones.iter().map(|(_, requests)| requests).sum::<u32>() != 100 || sized > region {
        return Err(wrong());
    }
    let open = zones.iter().filter(|(size, _)| size.is_none()).count() as u64;
    let mut left = region - sized;
    let each = left.checked_div(open).unwrap_or(0);
    let mut parts: Vec<(Share, u32)> = Vec::with_capacity(zones.len() + 1);
    for (size, requests) in zones {
        let size = size.unwrap_or_else(|| {
            left -= each;
            each
        });
        parts.push((Share::billionths(size as u32), requests));
    }
    if left >= region / 1_000_000 {
        parts.push((Share::billionths(left as u32), 0));
    } else if let Some((last, _)) = parts.last_mut() {
        // The remainder of the divisions.
        *last = Share::billionths(last.of(region) as u32 + left as u32);
    }
    Ok(SpreadSpec::Zoned(parts))
}
