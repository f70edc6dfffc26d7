//! The model `ssd`: a drive of flash, part by part.

use std::ops::RangeInclusive;

use penstock_core::{Device, Span, Time};
use penstock_device::ssd::{Facts, Link, Ssd};

use super::entry::Entry;
use super::memory::COMMAND;
use crate::diagnose::JobError;
use crate::nearest::suggest;
use crate::schema::build::{
    Field, any, count, defined, field, from_digit, required, switch, words,
};
use crate::text::{Lines, quoted, size, time};
use crate::tree::{Node, Reader};
use crate::units::{self, Share, duration_text, share_text, size_text, transfer_text};

/// Whether the link carries both directions at once.
const DUPLEX: &[&str] = &["half", "full"];
/// No suspending.
const OFF: &str = "off";

/// How many there may be: more than any drive has, and few enough for every product.
const DIES: RangeInclusive<u64> = 1..=65_536;
const CHANNELS: RangeInclusive<u64> = 1..=1_024;
const PLANES: RangeInclusive<u64> = 1..=16;
const BLOCK_PAGES: RangeInclusive<u64> = 1..=1_000_000;
const DEPTH: RangeInclusive<u64> = 1..=65_536;
const PAGE: RangeInclusive<u64> = 512..=16 << 20;
const TRANSFER: RangeInclusive<u64> = 1_000_000..=1_000_000_000_000;
/// Bytes of memory that a die takes, that something planned for one does, and a page that waits to
/// be programmed.
const DIE: u64 = 256;
const EVENT: u64 = 64;
const PAGE_ENTRY: u64 = 64;
/// No part of a drive takes longer.
const LONGEST: Span = Span::from_secs(1);

pub(super) const ENTRY: Entry<SsdSpec> = Entry {
    name: "ssd",
    keys: &[
        "capacity",
        "dies",
        "channels",
        "page",
        "planes",
        "block_pages",
        "read_time",
        "program_time",
        "erase_time",
        "suspend_time",
        "channel_rate",
        "link_rate",
        "link_duplex",
        "link_overhead",
        "command_overhead",
        "command_interval",
        "write_buffer",
        "power_loss_protection",
        "over_provisioning",
        "queue_depth",
    ],
    read,
    fields,
    rules: || required(&["capacity", "dies", "read_time", "program_time", "link_rate"]),
};

/// What is optional, when nobody says: of the size that drives of today have.
fn defaults() -> Facts {
    Facts {
        capacity: 0,
        dies: 0,
        channels: 8,
        page: 16_384,
        planes: 2,
        block_pages: 768,
        read_time: Span::ZERO,
        program_time: Span::ZERO,
        erase_time: Span::from_ms(5),
        suspend_time: None,
        channel_rate: 1_000_000_000,
        link: Link { rate: 0, full_duplex: true, overhead: Span::ZERO },
        command_overhead: Span::from_us(20),
        command_interval: Span::ZERO,
        write_buffer: 8 << 20,
        power_loss_protection: false,
        over_provisioning: 0.0,
        depth: 32,
    }
}

/// What a binary capacity leaves of a decimal one.
const OVER_PROVISIONING: &str = "7%";

/// A drive of flash.
#[derive(Clone, PartialEq, Debug)]
pub struct SsdSpec {
    /// Its parts.
    pub facts: Facts,
    /// Spare flash, as it was written.
    pub over_provisioning: Share,
}

fn fields() -> Vec<Field> {
    let number = |range: RangeInclusive<u64>| count(*range.start(), *range.end());
    let timed = || defined("time");
    let Facts { channels, page, planes, block_pages, depth, write_buffer, .. } = defaults();
    let by_default = defaults();
    let long = |span| duration_text(span);
    vec![
        field("capacity", "Bytes of the device.", defined("size-above-zero")),
        field("dies", "Flash dies, which work side by side.", number(DIES)),
        field("channels", "Channels between controller and dies.", number(CHANNELS)).or(channels),
        field("page", "What one read of a die fetches.", defined("size-above-zero"))
            .or(size_text(page.into())),
        field("planes", "Pages of a die that are programmed together.", number(PLANES)).or(planes),
        field("block_pages", "Programs of a die between two erasures.", number(BLOCK_PAGES))
            .or(block_pages),
        field("read_time", "Time to fetch a page.", defined("time-above-zero")),
        field("program_time", "Time to program all planes of a die.", defined("time-above-zero")),
        field("erase_time", "Time to erase a block.", timed()).or(long(by_default.erase_time)),
        field(
            "suspend_time",
            "Time to suspend a program for a read; `off`: reads wait for its end.",
            any([words([OFF]), from_digit("time")]),
        )
        .or(OFF),
        field("channel_rate", "Rate of one channel.", defined("transfer-rate"))
            .or(transfer_text(by_default.channel_rate)),
        field("link_rate", "Rate of the link to the host.", defined("transfer-rate")),
        field(
            "link_duplex",
            "Whether the link carries one direction at a time or both.",
            words(DUPLEX.iter().copied()),
        )
        .or("full"),
        field("link_overhead", "Time of the link for a command, beside its data.", timed())
            .or(long(by_default.link.overhead)),
        field("command_overhead", "Time until a command is decoded.", timed())
            .or(long(by_default.command_overhead)),
        field(
            "command_interval",
            "Least time between two commands: `1us` is a million a second.",
            timed(),
        )
        .or(long(by_default.command_interval)),
        field("write_buffer", "Bytes that are acknowledged early.", defined("size-above-zero"))
            .or(size_text(write_buffer)),
        field("power_loss_protection", "Whether a flush has nothing to do.", switch()).or(false),
        field(
            "over_provisioning",
            "Flash for collection beside the capacity, as a part of it.",
            defined("share-above-zero"),
        )
        .or(OVER_PROVISIONING),
        field("queue_depth", "Commands that it holds at once.", number(DEPTH)).or(depth),
    ]
}

fn read(reader: &Reader<'_>) -> Result<SsdSpec, JobError> {
    let mut facts = defaults();
    facts.capacity = reader.required("capacity", "\"960GB\"", |node| match units::size(node)? {
        0 => Err(node.expected("a capacity of at least `1B`")),
        bytes => Ok(bytes),
    })?;
    facts.dies = reader.required("dies", "16", |node| number(node, DIES))?;
    facts.read_time = reader.required("read_time", "\"60us\"", above_zero)?;
    facts.program_time = reader.required("program_time", "\"700us\"", above_zero)?;
    facts.link.rate = reader.required("link_rate", "\"550MB/s\"", transfer)?;
    let counts = [
        ("channels", CHANNELS, &mut facts.channels),
        ("planes", PLANES, &mut facts.planes),
        ("block_pages", BLOCK_PAGES, &mut facts.block_pages),
        ("queue_depth", DEPTH, &mut facts.depth),
    ];
    for (key, range, place) in counts {
        set(reader, key, place, |node| number(node, range))?;
    }
    let spans = [
        ("erase_time", &mut facts.erase_time),
        ("link_overhead", &mut facts.link.overhead),
        ("command_overhead", &mut facts.command_overhead),
        ("command_interval", &mut facts.command_interval),
    ];
    for (key, place) in spans {
        set(reader, key, place, span)?;
    }
    set(reader, "page", &mut facts.page, page)?;
    set(reader, "suspend_time", &mut facts.suspend_time, suspend)?;
    set(reader, "channel_rate", &mut facts.channel_rate, transfer)?;
    set(reader, "link_duplex", &mut facts.link.full_duplex, |node| {
        Ok(node.choice(DUPLEX)? == "full")
    })?;
    set(reader, "power_loss_protection", &mut facts.power_loss_protection, Node::boolean)?;
    set(reader, "write_buffer", &mut facts.write_buffer, units::size)?;
    if facts.write_buffer < facts.program_bytes().into() {
        let least = size_text(facts.program_bytes().into());
        let found = format!("the write buffer holds less than one program, which is {least}");
        let hint = format!("a page for each plane: at least `write_buffer = \"{least}\"`");
        return Err(JobError::new(found).at(reader.origin("write_buffer")).hint(hint));
    }
    let pages = u64::from(u32::MAX.div_ceil(facts.page));
    let reads = facts.read_time.share(pages * u64::from(facts.depth), 1);
    if reads > Time::LAST.since(Time::ZERO) {
        let found = "the drive takes more than a hundred years for the longest reads (4GiB)";
        let hint = "lower `read_time` or `queue_depth`, or raise `page`";
        return Err(JobError::new(found).at(reader.origin("read_time")).hint(hint));
    }
    let mut spare = units::parse_share(OVER_PROVISIONING)?;
    set(reader, "over_provisioning", &mut spare, over_provisioning)?;
    facts.over_provisioning = spare.fraction();
    Ok(SsdSpec { facts, over_provisioning: spare })
}

/// Puts what a key says, if it is there, in the place of a default.
fn set<T>(
    reader: &Reader<'_>,
    key: &str,
    place: &mut T,
    read: impl FnOnce(&Node) -> Result<T, JobError>,
) -> Result<(), JobError> {
    if let Some(value) = reader.optional(key, read)? {
        *place = value;
    }
    Ok(())
}

fn number(node: &Node, range: RangeInclusive<u64>) -> Result<u32, JobError> {
    node.count(*range.start(), *range.end()).map(|number| number as u32)
}

fn page(node: &Node) -> Result<u32, JobError> {
    let bytes = units::size(node)?;
    let found = PAGE.contains(&bytes).then_some(bytes as u32);
    found.ok_or_else(|| node.expected("a page from `512B` to `16MiB`"))
}

fn span(node: &Node) -> Result<Span, JobError> {
    let span = units::duration(node)?;
    let found = Some(span).filter(|&span| span <= LONGEST);
    found.ok_or_else(|| node.expected("a length of time of at most `1s`"))
}

fn above_zero(node: &Node) -> Result<Span, JobError> {
    let found = Some(span(node)?).filter(|&span| span > Span::ZERO);
    found.ok_or_else(|| node.expected("a length of time above zero"))
}

fn transfer(node: &Node) -> Result<u64, JobError> {
    let found = Some(units::transfer(node)?).filter(|rate| TRANSFER.contains(rate));
    found.ok_or_else(|| node.expected("a transfer rate from `1MB/s` to `1000GB/s`"))
}

fn suspend(node: &Node) -> Result<Option<Span>, JobError> {
    match node.word() {
        Some(OFF) => Ok(None),
        Some(text) if !text.starts_with(|c: char| c.is_ascii_digit()) => {
            Err(node.expected("a length of time or `off`").hint(suggest(text, [OFF])))
        }
        _ => span(node).map(Some),
    }
}

fn over_provisioning(node: &Node) -> Result<Share, JobError> {
    let share = units::share(node)?;
    let found = Some(share).filter(|share| share.of(1_000) >= 10);
    found.ok_or_else(|| node.expected("a percentage of at least `1%`"))
}

impl SsdSpec {
    pub(super) fn write(&self, out: &mut Lines) {
        let Facts { link, .. } = &self.facts;
        let facts = &self.facts;
        out.line("capacity", size(facts.capacity));
        out.line("dies", facts.dies);
        out.line("channels", facts.channels);
        out.line("page", size(facts.page.into()));
        out.line("planes", facts.planes);
        out.line("block_pages", facts.block_pages);
        out.line("read_time", time(facts.read_time));
        out.line("program_time", time(facts.program_time));
        out.line("erase_time", time(facts.erase_time));
        out.line("suspend_time", facts.suspend_time.map_or_else(|| quoted(OFF), time));
        out.line("channel_rate", quoted(&transfer_text(facts.channel_rate)));
        out.line("link_rate", quoted(&transfer_text(link.rate)));
        out.line("link_duplex", quoted(if link.full_duplex { "full" } else { "half" }));
        out.line("link_overhead", time(link.overhead));
        out.line("command_overhead", time(facts.command_overhead));
        out.line("command_interval", time(facts.command_interval));
        out.line("write_buffer", size(facts.write_buffer));
        out.line("power_loss_protection", facts.power_loss_protection);
        out.line("over_provisioning", quoted(&share_text(self.over_provisioning)));
        out.line("queue_depth", facts.depth);
    }

    /// Bytes that it takes, at most. A command may have something at every die, and the buffer a page
    /// for each program.
    pub(super) fn memory(&self) -> u64 {
        let Facts { dies, depth, write_buffer, .. } = self.facts;
        let commands = u64::from(depth) * (COMMAND + u64::from(dies) * EVENT);
        let programs = write_buffer / u64::from(self.facts.program_bytes());
        (u64::from(dies) * DIE)
            .saturating_add(commands)
            .saturating_add(programs.saturating_mul(PAGE_ENTRY))
    }

    pub(super) fn build(&self) -> Box<dyn Device> {
        Box::new(Ssd::new(&self.facts))
    }
}
