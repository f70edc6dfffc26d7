//! Faults of a device.

use penstock_core::{Device, Rng, Seed, Span};
use penstock_device::{Faults, Rates};
use serde_json::{Value as Json, json};

use crate::amount::{SHARE, TIME};
use crate::describe::with;
use crate::diagnose::JobError;
use crate::keys::{keys, needed, table_with, without};
use crate::kinds::Own;
use crate::reader::Reader;
use crate::rows::Rows;
use crate::tree::Node;
use crate::units::Share;

keys! {
    /// Keys of faults.
    KEYS:
    /// Requests that fail.
    ERRORS errors: Share = SHARE, or Share::NONE;
    /// Requests that stall.
    STALLS stalls: Share = SHARE, or Share::NONE;
    /// Reads and writes in which a bit of the data is changed, for agents that `verify`.
    CORRUPT corrupt: Share = SHARE, or Share::NONE;
}

keys! {
    /// Keys of faults if requests stall.
    STALL_KEYS:
    /// Length of a stall.
    STALL stall: Span = TIME, needs "\"50ms\"";
}

/// A table of faults.
pub(super) const KIND: Own<FaultSpec> = Own { read, text, schema };

/// Faults of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FaultSpec {
    /// Share of requests that fail.
    pub errors: Share,
    /// Share of requests that stall.
    pub stalls: Share,
    /// Duration of a stall.
    pub stall: Span,
    /// Share of reads and writes in which a bit of the data is changed.
    pub corrupt: Share,
}

fn read(node: &Node) -> Result<FaultSpec, JobError> {
    let reader = Reader::new(node, "the faults", &[KEYS, STALL_KEYS])?;
    let (errors, stalls) = (reader.get(&ERRORS)?, reader.get(&STALLS)?);
    let stall = if stalls > Share::NONE {
        reader.get(&STALL)?
    } else {
        let hint = "say how many requests stall, as in `stalls = \"0.5%\"`";
        reader.refuse(STALL_KEYS, "says how long requests stall, but none does", hint)?;
        Span::ZERO
    };
    Ok(FaultSpec { errors, stalls, stall, corrupt: reader.get(&CORRUPT)? })
}

fn schema() -> Json {
    let key = STALLS.name;
    let some = SHARE.above_zero().reference();
    let stalls = json!({"required": [key], "properties": {key: some}});
    let stall = json!({"if": stalls, "then": needed(STALL_KEYS), "else": without(STALL_KEYS)});
    with(table_with(KEYS, &[STALL_KEYS]), stall)
}

fn text(faults: &FaultSpec) -> String {
    Rows::of(&[KEYS, STALL_KEYS])
        .put(&ERRORS, &faults.errors)
        .put(&STALLS, &faults.stalls)
        .maybe(&CORRUPT, Some(&faults.corrupt).filter(|share| **share > Share::NONE))
        .maybe(&STALL, Some(&faults.stall).filter(|_| faults.stalls > Share::NONE))
        .inline()
}

impl FaultSpec {
    /// Returns the share of requests, from 0 to 1, whose data the device `number` changes, and the
    /// source of random numbers; `None` if it changes none.
    pub fn corruption(&self, seed: Seed, number: u64) -> Option<(f64, Rng)> {
        let some = self.corrupt > Share::NONE;
        some.then(|| (self.corrupt.fraction(), seed.stream("corruption", number)))
    }

    /// Adds the faults to `device`, the disk `number`.
    pub(super) fn over(&self, device: Box<dyn Device>, seed: Seed, number: u32) -> Box<dyn Device> {
        let Self { errors, stalls, stall, .. } = *self;
        let rates = Rates { errors: errors.fraction(), stalls: stalls.fraction(), stall };
        Box::new(Faults::new(device, rates, seed.stream("faults", number.into())))
    }
}
