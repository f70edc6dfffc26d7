//! The bus of a disk: as the drive's facts state it, with given rates, or left out.

use penstock_device::hdd::Bus;
use serde_json::{Value as Json, json};

use crate::amount::{Amount, TRANSFER};
use crate::describe::{any, words};
use crate::diagnose::{JobError, quote};
use crate::drives;
use crate::keys::{keys, table};
use crate::kinds::Own;
use crate::nearest::suggest;
use crate::reader::Reader;
use crate::rows::Rows;
use crate::text::quoted;
use crate::tree::{Node, Value};

const NONE: &str = "none";
const DRIVE: &str = "drive";
const RATES_EXAMPLE: &str = "{ read = \"3MB/s\", write = \"2.7MB/s\" }";

/// Bounds of rates in bytes a second: no disk's bus is slower, and transfers over a faster one take
/// no time.
const RATE: Amount = TRANSFER.at_least(100_000).at_most(100_000_000_000);

keys! {
    /// The key of a device that says something of its bus.
    KEYS:
    /// Rates of the bus: as in the drive's facts, or these.
    BUS bus: Bus = Own {
        read: bus,
        text,
        schema: || any([words([NONE, DRIVE]), table(RATES)]),
    }, or Bus::Drive;
}

keys! {
    /// Keys of a bus with rates of its own.
    RATES:
    /// Transfer rate from the disk to the host.
    READ read: u64 = RATE, needs "\"3MB/s\"";
    /// Transfer rate from the host to the disk.
    WRITE write: u64 = RATE, needs "\"2.7MB/s\"";
}

/// Reads the bus of a disk; `drive` is the drive's name, if it has one.
pub(super) fn read(reader: &Reader<'_>, drive: Option<&str>) -> Result<Bus, JobError> {
    let bus = reader.get(&BUS)?;
    if let Some(name) = drive
        && bus == Bus::Drive
        && drives::without_bus().any(|unknown| unknown == name)
    {
        let message = format!("no bus of {} is published", quote(name));
        let key = BUS.name;
        let hint = format!(
            "`{key} = \"none\"` leaves it out; or give its rates, as `{key} = {RATES_EXAMPLE}`"
        );
        return Err(JobError::new(message).at(reader.place(&BUS)).hint(hint));
    }
    Ok(bus)
}

fn bus(node: &Node) -> Result<Bus, JobError> {
    if let Value::Table(_) = node.value {
        let reader = Reader::new(node, "the bus", &[RATES])?;
        return Ok(Bus::Rates { read: reader.get(&READ)?, write: reader.get(&WRITE)? });
    }
    let expected = || node.expected(&format!("`none`, `drive` or `{RATES_EXAMPLE}`"));
    match node.word().ok_or_else(expected)? {
        NONE => Ok(Bus::None),
        DRIVE => Ok(Bus::Drive),
        other => Err(expected().hint(suggest(other, [NONE, DRIVE]))),
    }
}

fn text(bus: &Bus) -> String {
    match bus {
        Bus::None => quoted(NONE),
        Bus::Drive => quoted(DRIVE),
        Bus::Rates { read, write } => {
            Rows::of(&[RATES]).put(&READ, read).put(&WRITE, write).inline()
        }
    }
}

/// Requires a bus for drives whose bus is not published. `drive` is the name of the key with the
/// drive.
pub(super) fn rules(drive: &str) -> Json {
    let unknown = json!({"required": [drive], "properties": {drive: words(drives::without_bus())}});
    let says = json!({"properties": {BUS.name: {"not": {"const": DRIVE}}}});
    json!({"if": unknown, "then": {"required": [BUS.name], "allOf": [says]}})
}
