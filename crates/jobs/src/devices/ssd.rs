//! The model `ssd`: a drive of flash with its parts.

use penstock_core::{Device, Span, Time};
use penstock_device::ssd::{Facts, Link, Ssd};

use super::entry::ModelEntry;
use super::memory::COMMAND;
use super::watch::Watch;
use crate::amount::{Amount, Count, SHARE, SIZE, TIME, TRANSFER, or_off};
use crate::diagnose::JobError;
use crate::keys::{keys, needed};
use crate::kinds::{Choice, SWITCH};
use crate::reader::Reader;
use crate::rows::Rows;
use crate::units::{Share, size_text};

/// Bound of the time of each part.
const PART: Amount = TIME.at_most(Span::from_secs(1).ns());
const RATE: Amount = TRANSFER.at_least(1_000_000).at_most(1_000_000_000_000);
/// Memory in bytes of a die, of an event planned for a die, and of a page that waits for its
/// program.
const DIE: u64 = 256;
const EVENT: u64 = 64;
const PAGE_ENTRY: u64 = 64;

keys! {
    /// Keys of a drive of flash. How many there may be of something is more than any drive has,
    /// and few enough for every product; defaults are of the size that drives of today have.
    KEYS:
    /// Bytes of the device.
    CAPACITY capacity: u64 = SIZE.above_zero(), needs "\"960GB\"";
    /// Flash dies, which work in parallel.
    DIES dies: u32 = Count(1, 65_536), needs "16";
    /// Dies of a chip; with several, a chip takes commands for them together.
    DIES_PER_CHIP dies_per_chip: u32 = Count(1, 64), or 1;
    /// Channels between controller and dies.
    CHANNELS channels: u32 = Count(1, 1_024), or 8;
    /// Bytes of one read of a die.
    PAGE page: u32 = SIZE.at_least(512).at_most(16 << 20), or 16_384;
    /// Pages of a die that are programmed together.
    PLANES planes: u32 = Count(1, 16), or 2;
    /// Programs of a die between two erasures.
    BLOCK_PAGES block_pages: u32 = Count(1, 1_000_000), or 768;
    /// Time to fetch a page.
    READ_TIME read_time: Span = PART.above_zero(), needs "\"60us\"";
    /// Time to program all planes of a die.
    PROGRAM_TIME program_time: Span = PART.above_zero(), needs "\"700us\"";
    /// Time to erase a block.
    ERASE_TIME erase_time: Span = PART, or Span::from_ms(5);
    /// Time to suspend a program for a read; `off`: reads wait for its end.
    SUSPEND_TIME suspend_time: Option<Span> = or_off(PART), or None;
    /// Rate of one channel.
    CHANNEL_RATE channel_rate: u64 = RATE, or 1_000_000_000;
    /// Rate of the link to the host.
    LINK_RATE link_rate: u64 = RATE, needs "\"550MB/s\"";
    /// Whether the link carries one direction at a time or both.
    LINK_DUPLEX link_duplex: bool = Choice(&[("half", false), ("full", true)]), or true;
    /// Bytes of a command that pass the link before it is the turn of others; `off`: all that are
    /// ready.
    LINK_TURN link_turn: Option<u32> = or_off(SIZE.at_least(512).at_most(16 << 20)), or Some(16_384);
    /// Time of the link for a command, without its data.
    LINK_OVERHEAD link_overhead: Span = PART, or Span::ZERO;
    /// Time to decode a command.
    COMMAND_OVERHEAD command_overhead: Span = PART, or Span::from_us(20);
    /// Least time between two commands: `1us` is a million a second.
    COMMAND_INTERVAL command_interval: Span = PART, or Span::ZERO;
    /// Bytes of the buffer in which writes are acknowledged early.
    WRITE_BUFFER write_buffer: u64 = SIZE.above_zero(), or 8 << 20;
    /// Whether the buffer survives a loss of power, so that a flush has nothing to do.
    POWER_LOSS_PROTECTION power_loss_protection: bool = SWITCH, or false;
    /// Flash for garbage collection in addition to the capacity, as a share of the capacity.
    // The difference between a binary capacity and a decimal one.
    OVER_PROVISIONING over_provisioning: Share = SHARE.at_least(10_000_000), or Share::percent(7);
    /// Commands that the drive holds at once.
    QUEUE_DEPTH queue_depth: u32 = Count(1, 65_536), or 32;
}

pub(super) const ENTRY: ModelEntry<SsdSpec> =
    ModelEntry { name: "ssd", keys: &[KEYS], read, rules: || needed(KEYS) };

/// A drive of flash.
#[derive(Clone, PartialEq, Debug)]
pub struct SsdSpec {
    /// Its parts.
    pub facts: Facts,
    /// Share of spare flash, as it was written.
    pub over_provisioning: Share,
}

fn read(reader: &Reader<'_>) -> Result<SsdSpec, JobError> {
    let over_provisioning = reader.get(&OVER_PROVISIONING)?;
    let facts = Facts {
        capacity: reader.get(&CAPACITY)?,
        dies: reader.get(&DIES)?,
        dies_per_chip: reader.get(&DIES_PER_CHIP)?,
        channels: reader.get(&CHANNELS)?,
        page: reader.get(&PAGE)?,
        planes: reader.get(&PLANES)?,
        block_pages: reader.get(&BLOCK_PAGES)?,
        read_time: reader.get(&READ_TIME)?,
        program_time: reader.get(&PROGRAM_TIME)?,
        erase_time: reader.get(&ERASE_TIME)?,
        suspend_time: reader.get(&SUSPEND_TIME)?,
        channel_rate: reader.get(&CHANNEL_RATE)?,
        link: Link {
            rate: reader.get(&LINK_RATE)?,
            full_duplex: reader.get(&LINK_DUPLEX)?,
            turn: reader.get(&LINK_TURN)?,
            overhead: reader.get(&LINK_OVERHEAD)?,
        },
        command_overhead: reader.get(&COMMAND_OVERHEAD)?,
        command_interval: reader.get(&COMMAND_INTERVAL)?,
        write_buffer: reader.get(&WRITE_BUFFER)?,
        power_loss_protection: reader.get(&POWER_LOSS_PROTECTION)?,
        over_provisioning: over_provisioning.fraction(),
        depth: reader.get(&QUEUE_DEPTH)?,
    };
    check(reader, &facts)?;
    Ok(SsdSpec { facts, over_provisioning })
}

/// Checks figures that depend on each other.
fn check(reader: &Reader<'_>, facts: &Facts) -> Result<(), JobError> {
    if facts.write_buffer < facts.program_bytes().into() {
        let least = size_text(facts.program_bytes().into());
        let message = format!("the write buffer holds less than one program, which is {least}");
        let name = WRITE_BUFFER.name;
        let hint = format!("a page for each plane: at least `{name} = \"{least}\"`");
        return Err(JobError::new(message).at(reader.origin(&WRITE_BUFFER)).hint(hint));
    }
    if facts.dies_per_chip > 1 && facts.suspend_time.is_some() {
        let message = "a chip of several dies does not suspend its programs";
        let hint = format!("`{} = \"off\"`, or one die for each chip", SUSPEND_TIME.name);
        return Err(JobError::new(message).at(reader.origin(&SUSPEND_TIME)).hint(hint));
    }
    let pages = u64::from(u32::MAX.div_ceil(facts.page));
    let reads = facts.read_time.share(pages * u64::from(facts.depth), 1);
    if reads > Time::LAST.since(Time::ZERO) {
        let message = "the drive takes more than a hundred years for the longest reads (4GiB)";
        let hint = "lower `read_time` or `queue_depth`, or raise `page`";
        return Err(JobError::new(message).at(reader.origin(&READ_TIME)).hint(hint));
    }
    Ok(())
}

impl SsdSpec {
    pub(super) fn rows(&self, rows: Rows) -> Rows {
        let facts = &self.facts;
        rows.put(&CAPACITY, &facts.capacity)
            .put(&DIES, &facts.dies)
            .put(&DIES_PER_CHIP, &facts.dies_per_chip)
            .put(&CHANNELS, &facts.channels)
            .put(&PAGE, &facts.page)
            .put(&PLANES, &facts.planes)
            .put(&BLOCK_PAGES, &facts.block_pages)
            .put(&READ_TIME, &facts.read_time)
            .put(&PROGRAM_TIME, &facts.program_time)
            .put(&ERASE_TIME, &facts.erase_time)
            .put(&SUSPEND_TIME, &facts.suspend_time)
            .put(&CHANNEL_RATE, &facts.channel_rate)
            .put(&LINK_RATE, &facts.link.rate)
            .put(&LINK_DUPLEX, &facts.link.full_duplex)
            .put(&LINK_TURN, &facts.link.turn)
            .put(&LINK_OVERHEAD, &facts.link.overhead)
            .put(&COMMAND_OVERHEAD, &facts.command_overhead)
            .put(&COMMAND_INTERVAL, &facts.command_interval)
            .put(&WRITE_BUFFER, &facts.write_buffer)
            .put(&POWER_LOSS_PROTECTION, &facts.power_loss_protection)
            .put(&OVER_PROVISIONING, &self.over_provisioning)
            .put(&QUEUE_DEPTH, &facts.depth)
    }

    /// Returns the most memory in bytes that the drive takes. A command may have two pages of every
    /// die under way, and the buffer a page for each program.
    pub(super) fn memory(&self) -> u64 {
        let Facts { dies, depth, write_buffer, .. } = self.facts;
        let commands = u64::from(depth) * (COMMAND + u64::from(dies) * 2 * EVENT);
        let programs = write_buffer / u64::from(self.facts.program_bytes());
        (u64::from(dies) * DIE)
            .saturating_add(commands)
            .saturating_add(programs.saturating_mul(PAGE_ENTRY))
    }

    pub(super) fn build(&self, watch: Option<&dyn Watch>) -> Box<dyn Device> {
        let drive = Ssd::new(&self.facts);
        Box::new(match watch {
            Some(watch) => drive.gauged(watch.gauge()),
            None => drive,
        })
    }
}
