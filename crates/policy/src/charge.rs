//! The charge of a completed command to its class, and the expected charge of the next one.
//!
//! A device that serves one command at a time, or an array of such disks, reports the cost of a
//! command: its device time. A device that serves many at once divides its time equally among the
//! commands in flight, so a short command pays as much as a long one. For such a device a law (a
//! base and an amount for each byte) gives each class its part of the throughput that it would have
//! alone.

use alloc::vec::Vec;

use penstock_core::{Op, Part, ReqId, Request, Span, Table};

use crate::params::{Kind, Param, Params, Value};
use crate::queue::Taken;

/// Whether commands are charged by device time or by `law`.
pub(crate) const CHARGE: Param = Param {
    name: "charge",
    kind: Kind::Choice(&["time", "law"]),
    default: Value::Word("time"),
    doc: "what a command costs its class: the device time that it took, or what `law` says; without \
          costs in `law`, the device time",
    source: "FAIRIO charges device time; the law is ours, for devices that serve many commands at once",
};

/// The costs under `charge = "law"`.
pub(crate) const LAW: Param = Param {
    name: "law",
    kind: Kind::GroupOrDevice(&[
        Param {
            name: "read",
            kind: Kind::Group(COST),
            default: Value::Word("off"),
            doc: "what a read costs; off: as much as a write",
            source: "ours",
        },
        Param {
            name: "write",
            kind: Kind::Group(COST),
            default: Value::Word("off"),
            doc: "what a write or a discard costs; off: as much as a read",
            source: "ours",
        },
    ]),
    default: Value::Word("off"),
    doc: "the costs of commands under charge = \"law\", or a device on which they are probed, as \
          `penstock calibrate` writes it; off: the costs of the modelled device of the run",
    source: "ours; a class alone has its own rate, so costs are best taken from such rates",
};

const COST: &[Param] = &[
    Param {
        name: "base",
        kind: Kind::Duration,
        default: Value::Duration(Span::ZERO),
        doc: "the cost of a command of no length",
        source: "ours",
    },
    Param {
        name: "per_mb",
        kind: Kind::Duration,
        default: Value::Duration(Span::ZERO),
        doc: "the cost of each megabyte, 1,000,000 bytes",
        source: "ours",
    },
];

/// The rule by which commands are charged.
#[derive(Debug)]
pub(crate) struct Charge {
    /// The costs of a read and of a write; without them, device time is charged.
    law: Option<[LawCost; 2]>,
}

/// The cost of a read or a write by a law.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LawCost {
    /// Cost of a command of no length.
    pub base: Span,
    /// Cost of each megabyte, 1,000,000 bytes.
    pub per_mb: Span,
}

impl LawCost {
    fn params(self) -> Value {
        let cost = Params::defaults(COST).with("base", Value::Duration(self.base));
        Value::Group(cost.with("per_mb", Value::Duration(self.per_mb)))
    }
}

/// Whether a policy with `params` charges by a law whose costs are not stated.
pub fn lacks_costs(params: &Params) -> bool {
    let charges = params.iter().any(|(name, _)| *name == LAW.name);
    charges && params.is(CHARGE.name, "law") && Charge::new(params).law.is_none()
}

/// The device that `params` name as the source of the costs: its name or the path of its file.
pub fn law_device(params: &Params) -> Option<&str> {
    params.device(LAW.name)
}

/// Sets the costs of reads and writes in a copy of `params`.
#[must_use]
pub fn with_costs(params: &Params, read: LawCost, write: LawCost) -> Params {
    let Kind::GroupOrDevice(members) = LAW.kind else { unreachable!("a law is a group") };
    let law = Params::defaults(members).with("read", read.params()).with("write", write.params());
    params.clone().with(LAW.name, Value::Group(law))
}

impl Charge {
    /// Takes `charge` and `law`.
    pub(crate) fn new(params: &Params) -> Self {
        let cost = |law: &Params, name| {
            let cost = law.group(name)?;
            Some(LawCost { base: cost.duration("base"), per_mb: cost.duration("per_mb") })
        };
        let law = params.group("law").filter(|_| params.is("charge", "law"));
        let law = law.and_then(|law| {
            let (read, write) = (cost(law, "read"), cost(law, "write"));
            Some([read.or(write)?, write.or(read)?])
        });
        Self { law }
    }

    /// Whether commands are charged by stated costs, not by device time.
    pub(crate) fn by_law(&self) -> bool {
        self.law.is_some()
    }

    /// The charge of a command, if it is known before the command completes.
    pub(crate) fn known(&self, op: Op, bytes: u64) -> Option<u64> {
        let LawCost { base, per_mb } = self.law?[usize::from(op != Op::Read)];
        let bytes = if op == Op::Discard { 0 } else { bytes };
        // A command that costs nothing would never use up a share.
        Some((base + per_mb.share(bytes, 1_000_000)).ns().max(1))
    }

    /// The charge of a completed command.
    pub(crate) fn amount<T>(&self, sent: &Sent<T>) -> u64 {
        self.known(sent.op, sent.bytes).unwrap_or(sent.service)
    }
}

/// The expected charge of a class's next command: a running mean in which the last counts a tenth.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RunningMean(Option<u64>);

impl RunningMean {
    /// Starts from `guess`; without one, the first measured charge is the mean.
    pub(crate) fn starting(guess: Option<Span>) -> Self {
        Self(guess.map(Span::ns))
    }

    /// The mean in nanoseconds, rounded down; `None` before the first command has completed.
    pub(crate) fn ns(self) -> Option<u64> {
        self.0
    }

    /// Adds the charge of a command. Nine times the mean overflows after 64 years: it saturates.
    pub(crate) fn measured(&mut self, charge: u64) {
        let mean = |old: u64| old.saturating_mul(9).saturating_add(charge) / 10;
        self.0 = Some(self.0.map_or(charge, mean));
    }
}

/// A command in flight, with a note of the policy.
#[derive(Debug)]
pub(crate) struct Sent<T> {
    pub(crate) note: T,
    op: Op,
    pub(crate) bytes: u64,
    /// Device time of its completed requests.
    service: u64,
    /// Number of its requests that have not completed.
    left: u32,
}

/// Commands in flight. A merged command completes request by request.
#[derive(Debug)]
pub(crate) struct Commands<T> {
    table: Table<Sent<T>>,
    /// The command that carries a request, by slot of the request.
    carriers: Vec<ReqId>,
}

impl<T> Default for Commands<T> {
    fn default() -> Self {
        Self { table: Table::new(), carriers: Vec::new() }
    }
}

impl<T> Commands<T> {
    /// Number of commands in flight.
    pub(crate) fn len(&self) -> u32 {
        self.table.len()
    }

    /// The command `taken`, with the requests of `chain` behind it, goes to the device.
    pub(crate) fn sent(&mut self, taken: &Taken, chain: &[ReqId], note: T) {
        let Taken { go, op, bytes, .. } = *taken;
        let left = 1 + chain.len() as u32;
        let command = self.table.insert_with(|_| Sent { note, op, bytes, service: 0, left });
        for id in chain.iter().chain([&go.id]) {
            if id.index() >= self.carriers.len() {
                self.carriers.resize(id.index() + 1, command);
            }
            self.carriers[id.index()] = command;
        }
    }

    /// A part of a request has completed. Returns its command if that completes it.
    pub(crate) fn completed(&mut self, req: &Request, part: &Part) -> Option<Sent<T>> {
        let command = self.carriers[req.id.index()];
        let sent = self.table.get_mut(command).expect("a command in flight");
        sent.service = sent.service.saturating_add(part.service.ns());
        sent.left -= u32::from(part.last);
        (sent.left == 0).then(|| self.table.remove(command))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(base: u64, per_mb: u64) -> Value {
        let cost = Params::defaults(COST);
        let cost = cost.with("base", Value::Duration(Span::from_us(base)));
        Value::Group(cost.with("per_mb", Value::Duration(Span::from_us(per_mb))))
    }

    fn charge(law: &[(&str, Value)]) -> Charge {
        static PARAMS: &[Param] = &[CHARGE, LAW];
        let Kind::GroupOrDevice(members) = LAW.kind else { unreachable!("it is a group") };
        let mut group = Params::defaults(members);
        for (name, value) in law {
            group.set(name, value.clone());
        }
        let params = Params::defaults(PARAMS).with("charge", Value::Word("law"));
        Charge::new(&params.with("law", Value::Group(group)))
    }

    #[test]
    fn a_law_charges_a_base_and_a_part_for_each_byte() {
        let both = charge(&[("read", cost(15, 532)), ("write", cost(20, 1_000))]);
        assert_eq!(both.known(Op::Read, 4096), Some(15_000 + 2_179));
        assert_eq!(both.known(Op::Write, 1_000_000), Some(1_020_000));
        assert_eq!(both.known(Op::Discard, 1 << 30), Some(20_000), "a discard moves nothing");
    }

    #[test]
    fn an_operation_without_a_stated_cost_costs_as_much_as_the_other() {
        let reads = charge(&[("read", cost(15, 0))]);
        assert_eq!(reads.known(Op::Write, 1), Some(15_000));
        assert_eq!(charge(&[("write", cost(0, 0))]).known(Op::Read, 1), Some(1), "never nothing");
        assert_eq!(charge(&[]).known(Op::Read, 1), None, "device time is charged");
    }

    #[test]
    fn the_first_measured_command_is_the_mean_and_later_ones_count_a_tenth() {
        let mut estimate = RunningMean::default();
        estimate.measured(100);
        assert_eq!(estimate.ns(), Some(100));
        estimate.measured(200);
        assert_eq!(estimate.ns(), Some(110));
    }
}
