//! The linear cost model: six rates of a device, and what a command costs by them.
//!
//! A command costs a base, which depends on its direction and on whether it is sequential, and an
//! amount for each byte. A device that does nothing but read in order moves `rbps` bytes a second, so
//! a byte costs the inverse; the base is what is left of the time between two reads of 4 KiB.

use penstock_core::Op;

use crate::params::{Kind, Param, Params, Value};

const EXAMPLE: &str = "rounded from the example in Alibaba Cloud's documentation of io.cost.model";

/// A rate in bytes a second.
const fn bps(name: &'static str, default: u64, doc: &'static str) -> Param {
    Param { name, kind: Kind::Size, default: Value::Size(default), doc, source: EXAMPLE }
}

/// A rate in requests a second.
const fn iops(name: &'static str, default: u64, doc: &'static str) -> Param {
    Param { name, kind: Kind::Count(1), default: Value::Count(default), doc, source: EXAMPLE }
}

/// The rates of the device.
pub(super) const MODEL: Param = Param {
    name: "model",
    kind: Kind::GroupOrDevice(&[
        bps("rbps", 2_700_000_000, "bytes a second of long reads in order"),
        iops("rseqiops", 90_000, "reads of 4 KiB in order a second"),
        iops("rrandiops", 110_000, "reads of 4 KiB at random places a second"),
        bps("wbps", 1_060_000_000, "bytes a second of long writes in order"),
        iops("wseqiops", 136_000, "writes of 4 KiB in order a second"),
        iops("wrandiops", 131_000, "writes of 4 KiB at random places a second"),
    ]),
    default: Value::Word("off"),
    doc: "the rates of the device, or a device on which they are probed, as `penstock calibrate` \
          writes it; off: those of the modelled device of the run, on another device these defaults",
    source: "the kernel's io.cost.model; the paper too measures them on each device",
};

/// The length of the requests that the rates in requests a second are about.
const SHORT: u64 = 4 << 10;

/// Costs are in nanoseconds, with this many bits for fractions.
pub(super) const FRACTION: u32 = 16;

/// Further bits for fractions of the cost of a byte.
const BYTE_FRACTION: u32 = 16;

const SECOND: u128 = 1_000_000_000 << FRACTION;

/// Rates at which a device reads or writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rates {
    /// Bytes a second of long requests in order.
    pub bps: u64,
    /// Requests of 4 KiB in order a second.
    pub seqiops: u64,
    /// Requests of 4 KiB at random places a second.
    pub randiops: u64,
}

/// Whether a policy with `params` has a model whose rates are not stated.
pub fn lacks_rates(params: &Params) -> bool {
    let has_model = params.iter().any(|(name, _)| *name == MODEL.name);
    has_model && params.group(MODEL.name).is_none()
}

/// The device that `params` name as the source of the rates: its name or the path of its file.
pub fn device(params: &Params) -> Option<&str> {
    params.device(MODEL.name)
}

/// Sets the rates of reads and writes in a copy of `params`.
#[must_use]
pub fn with_rates(params: &Params, read: Rates, write: Rates) -> Params {
    let Kind::GroupOrDevice(members) = MODEL.kind else { unreachable!("a model is a group") };
    let mut model = Params::defaults(members);
    for (direction, rates) in [('r', read), ('w', write)] {
        for Param { name, .. } in members.iter().filter(|param| param.name.starts_with(direction)) {
            model.set(
                name,
                match &name[1..] {
                    "bps" => Value::Size(rates.bps.max(1)),
                    "seqiops" => Value::Count(rates.seqiops.clamp(1, u32::MAX.into())),
                    _ => Value::Count(rates.randiops.clamp(1, u32::MAX.into())),
                },
            );
        }
    }
    params.clone().with(MODEL.name, Value::Group(model))
}

/// The costs of commands.
#[derive(Debug)]
pub(super) struct LinearModel {
    read: DirectionCost,
    write: DirectionCost,
}

/// The costs of a read or a write.
#[derive(Clone, Copy, Debug)]
struct DirectionCost {
    sequential: u64,
    random: u64,
    /// With [`BYTE_FRACTION`] further bits.
    byte: u64,
}

impl LinearModel {
    /// Takes `model`.
    pub(super) fn new(params: &Params) -> Self {
        let Kind::GroupOrDevice(members) = MODEL.kind else { unreachable!("a model is a group") };
        let defaults = Params::defaults(members);
        let stated = params.group(MODEL.name).unwrap_or(&defaults);
        let cost = |bps, seqiops, randiops| {
            let byte = (SECOND << BYTE_FRACTION) / u128::from(stated.size(bps).unwrap_or(1));
            let transfer = (u128::from(SHORT) * byte) >> BYTE_FRACTION;
            let base = |iops| {
                let between = SECOND / u128::from(stated.count(iops));
                between.saturating_sub(transfer) as u64
            };
            DirectionCost { sequential: base(seqiops), random: base(randiops), byte: byte as u64 }
        };
        Self {
            read: cost("rbps", "rseqiops", "rrandiops"),
            write: cost("wbps", "wseqiops", "wrandiops"),
        }
    }

    /// The cost of a command, never zero. A discard costs as much as a write without bytes.
    pub(super) fn cost(&self, op: Op, sequential: bool, bytes: u64) -> u64 {
        let DirectionCost { sequential: in_order, random, .. } = self.direction(op);
        let base = if sequential { in_order } else { random };
        base.saturating_add(self.transfer(op, bytes)).max(1)
    }

    /// The part of the cost that depends on the length.
    pub(super) fn transfer(&self, op: Op, bytes: u64) -> u64 {
        let bytes = if op == Op::Discard { 0 } else { bytes };
        let cost = (u128::from(bytes) * u128::from(self.direction(op).byte)) >> BYTE_FRACTION;
        u64::try_from(cost).unwrap_or(u64::MAX)
    }

    fn direction(&self, op: Op) -> DirectionCost {
        if op == Op::Read { self.read } else { self.write }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ns(cost: u64) -> u64 {
        cost >> FRACTION
    }

    /// The example of the paper: 488,636,629 bytes, 8,932 and 8,518 requests a second.
    #[test]
    fn rates_become_a_base_and_an_amount_for_each_byte() {
        static PARAMS: &[Param] = &[MODEL];
        let read = Rates { bps: 488_636_629, seqiops: 8_932, randiops: 8_518 };
        let write = Rates { bps: 1_000_000_000, seqiops: 1_000_000, randiops: 1_000 };
        let model = LinearModel::new(&with_rates(&Params::defaults(PARAMS), read, write));
        assert_eq!(ns(model.cost(Op::Read, true, 4096)), 1_000_000_000 / 8_932);
        assert_eq!(ns(model.cost(Op::Read, false, 4096)), 1_000_000_000 / 8_518);
        assert_eq!(ns(model.transfer(Op::Read, 32 << 10)), 67_060);
        // 4 KiB take longer than the time between two writes: there is no base, and no negative one.
        assert_eq!(ns(model.cost(Op::Write, true, 4096)), 4096);
        assert_eq!(ns(model.cost(Op::Discard, false, 1 << 30)), 1_000_000 - 4096);
    }

    #[test]
    fn the_slowest_device_does_not_overflow() {
        static PARAMS: &[Param] = &[MODEL];
        let slow = Rates { bps: 1, seqiops: 1, randiops: 1 };
        let model = LinearModel::new(&with_rates(&Params::defaults(PARAMS), slow, slow));
        assert_eq!(model.cost(Op::Write, false, u64::from(u32::MAX)), u64::MAX);
        assert!(lacks_rates(&Params::defaults(PARAMS)) && !lacks_rates(&Params::NONE));
    }
}
