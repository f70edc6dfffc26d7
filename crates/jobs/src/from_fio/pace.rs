//! Converts the depth, think time and rate of a section of a job file of fio.

use std::num::NonZeroU32;

use penstock_core::Span;
use penstock_workload::{ALL_REQUESTS, Arrivals, Ops, Pace, Think, Weighted};

use crate::diagnose::JobError;
use crate::from_fio::lines::{FioOption, Section};
use crate::from_fio::notes::Notes;
use crate::from_fio::values::{Direction, bytes, number, time, value_for};
use crate::live::Live;
use crate::workload::arrivals::MAX_OUTSTANDING_MOST;

/// Nanoseconds of the unit that fio takes for a think time without a unit.
const MICROSECOND: u64 = 1_000;

/// Returns the requests in flight; one if the engine waits for each.
pub(super) fn buffers(
    section: &Section,
    one_at_a_time: bool,
    notes: &mut Notes,
) -> Result<u32, JobError> {
    let Some(option) = section.find(&["iodepth"]) else { return Ok(1) };
    let depth = number(option, MAX_OUTSTANDING_MOST)?.max(1) as u32;
    if depth == 1 {
        return Ok(1);
    }
    if one_at_a_time {
        notes.on(option, "its engine has one request in flight");
        return Ok(1);
    }
    let thinks_each = think_time(section)?.is_some() && burst(section)?.is_none();
    if thinks_each {
        notes.on(option, "it thinks after each request, so it has one in flight");
        return Ok(1);
    }
    let usual = Live::USUAL_DEPTH;
    if depth > usual {
        let why = format!(
            "a real target has {usual} of them at once; for all name it when it runs: `--set live.depth={depth}`"
        );
        notes.on(option, why);
    }
    Ok(depth)
}

/// Returns the arrivals of requests of these sizes. A mix whose directions have rates follows the
/// rates.
pub(super) fn arrivals(
    section: &Section,
    (ops, direction): (Ops, Direction),
    sizes: &Weighted<u32>,
    buffers: u32,
    decimal: bool,
    notes: &mut Notes,
) -> Result<(Arrivals, Ops), JobError> {
    let think = think_time(section)?;
    let closed = match think {
        Some((_, think)) => {
            Arrivals::Closed { depth: buffers, think: Think::Fixed(think), burst: burst(section)? }
        }
        None => Arrivals::closed(buffers, Span::ZERO),
    };
    without_effect(section, think.is_some(), notes);
    if let (Some(_), Some(other)) = (section.find(&["rate_iops"]), section.find(&["rate"])) {
        return Err(other.wrong("no `rate_iops` with it, as in fio"));
    }
    let Some(option) = rate(section) else { return Ok((closed, ops)) };
    let poisson = is_poisson(section);
    let a_second = |direction| match value_for(option, direction) {
        None => Ok(None),
        Some(text) => match bytes(text, decimal) {
            Some(0) => Ok(None),
            Some(amount) => Ok(Some(requests(option, amount as f64, sizes, poisson))),
            None => Err(option.wrong("a rate, as `1m` bytes or `100` requests a second")),
        },
    };
    let (rate, ops) = match ops {
        Ops::Only(_) => match a_second(direction)? {
            None => return Ok((closed, ops)),
            Some(rate) => (rate, ops),
        },
        Ops::Mix { .. } => {
            match (a_second(Direction::Read)?, a_second(Direction::Write)?) {
                (None, None) => return Ok((closed, ops)),
                (Some(read), Some(write)) => {
                    let reads = (read / (read + write) * f64::from(ALL_REQUESTS)).round() as u32;
                    if let Some(mix) = section.find(&["rwmixread", "rwmixwrite"]) {
                        notes
                            .on(mix, "reads and writes have a rate each, so the rates are the mix");
                    }
                    (read + write, Ops::Mix { reads })
                }
                _ => {
                    notes.on(option, "left out: it limits one direction of a mix, and a rate here is that of both");
                    return Ok((closed, ops));
                }
            }
        }
    };
    if let Some((thinktime, think)) = think {
        let each = burst(section)?.map_or(1, NonZeroU32::get);
        if f64::from(each) / (think.ns() as f64 / 1e9) < rate {
            let why = "left out: with its think time it never reaches this rate";
            notes.on(option, why);
            return Ok((closed, ops));
        }
        notes.on(thinktime, "left out: requests on a schedule do not wait for a think time");
    }
    let pace = if poisson { Pace::Poisson } else { Pace::Fixed };
    Ok((Arrivals::Open { rate, pace, curve: Vec::new(), buffers: NonZeroU32::new(buffers) }, ops))
}

/// Returns the option that sets a rate in requests or bytes, if there is one.
fn rate(section: &Section) -> Option<&FioOption> {
    section.find(&["rate_iops", "rate"]).filter(|option| !option.is_off())
}

fn is_poisson(section: &Section) -> bool {
    section.find(&["rate_process"]).is_some_and(|option| option.value == "poisson")
}

/// Converts an `amount` in the unit of `option` to requests of these sizes. fio counts a request as
/// the bytes of the smallest size. It spaces requests evenly by their bytes, but draws the gaps of
/// a Poisson process from the rate and that smallest size alone.
fn requests(option: &FioOption, amount: f64, sizes: &Weighted<u32>, poisson: bool) -> f64 {
    let weight: f64 = sizes.iter().map(|(_, weight)| weight as f64).sum();
    let mean =
        sizes.iter().map(|(size, weight)| f64::from(size) * weight as f64).sum::<f64>() / weight;
    let least = sizes.possible().min().unwrap_or(1);
    let unit = if option.name == "rate_iops" { f64::from(least) } else { 1.0 };
    amount * unit / if poisson { f64::from(least) } else { mean }
}

/// Returns the think time after a number of requests, with its option.
fn think_time(section: &Section) -> Result<Option<(&FioOption, Span)>, JobError> {
    let Some(option) = section.find(&["thinktime"]) else { return Ok(None) };
    let think = time(option, MICROSECOND)?;
    let after_time =
        section.on(&["thinktime_iotime"]) && section.find(&["thinktime_blocks"]).is_none();
    Ok(Some((option, think)).filter(|(_, think)| *think > Span::ZERO && !after_time))
}

/// Returns the requests between two think times, if they are more than one.
fn burst(section: &Section) -> Result<Option<NonZeroU32>, JobError> {
    let Some(option) = section.find(&["thinktime_blocks"]) else { return Ok(None) };
    let blocks = number(option, u32::MAX.into())? as u32;
    Ok(NonZeroU32::new(blocks).filter(|blocks| blocks.get() > 1))
}

/// Notes the options that change nothing without another one.
fn without_effect(section: &Section, thinks: bool, notes: &mut Notes) {
    let blocks = section.find(&["thinktime_blocks"]).filter(|_| !thinks);
    let process = section.find(&["rate_process"]).filter(|_| rate(section).is_none());
    let lacking = [(blocks, "thinktime"), (process, "rate")];
    for (option, other) in lacking {
        if let Some(option) = option {
            notes.on(option, format!("it has no effect without `{other}`"));
        }
    }
    if !thinks && let Some(option) = section.find(&["thinktime"]).filter(|option| !option.is_off())
    {
        notes.on(option, "left out: it comes after a time, and an agent pauses after its requests");
    }
}
