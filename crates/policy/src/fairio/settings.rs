//! The parameters of `fairio`: their declarations, and their values for given classes and disks.

use alloc::format;

use penstock_core::{Served, Span};

use crate::charge::{CHARGE, Charge, LAW};
use crate::entry::Conflict;
use crate::params::{Kind, Param, Params, Value};
use crate::queue::MAX_SECTORS;

/// Shortest cycle: a shorter one is no longer than single requests.
const LEAST_CYCLE: Span = Span::from_ms(1);

/// Commands in flight below which the report's disks are under-loaded: two for each of eight disks.
const PAPER_LOAD: u32 = 16;

const OURS: &str = "ours";
const REPORT: &str = "the FAIRIO report";

pub(super) const PARAMS: &[Param] = &[
    Param {
        name: "mode",
        kind: Kind::Choice(&["plus", "paper"]),
        default: Value::Word("plus"),
        doc: "plus: cycles end when all shares are used, and only harmless use is exempt; paper: a \
              reconstruction of FAIRIO. It selects what `auto` stands for below",
        source: OURS,
    },
    Param {
        name: "cycle",
        kind: Kind::PositiveDurationOr(&["auto"]),
        default: Value::Duration(Span::from_secs(1)),
        doc: "how long a full cycle is: shares hold over some of them, and latencies grow with them; \
              auto: regulated while it runs",
        source: "ours; the report takes 0.1 s to 3 s",
    },
    Param {
        name: "first_cycle",
        kind: Kind::PositiveDurationOr(&[]),
        default: Value::Duration(Span::from_secs(1)),
        doc: "where `cycle` is auto, how long the first cycle is",
        source: OURS,
    },
    Param {
        name: "window",
        kind: Kind::CountIn(0, 1_000),
        default: Value::Count(20),
        doc: "full cycles over which a class gets back what it lacked; 0: none",
        source: REPORT,
    },
    Param {
        name: "load",
        kind: Kind::CountOr(0, &["auto"]),
        default: Value::Word("auto"),
        doc: "with fewer commands in flight the disk is under-loaded, and requests go although no \
              class has a share left; auto: 2 for each disk, in paper mode 16",
        source: "the FAIRIO report: 16 for 8 disks",
    },
    Param {
        name: "cap",
        kind: Kind::CountOr(1, &["auto", "unlimited"]),
        default: Value::Word("auto"),
        doc: "commands in flight at most; auto: unlimited, in paper mode `load`",
        source: OURS,
    },
    Param {
        name: "class_threshold",
        kind: Kind::Count(0),
        default: Value::Count(1),
        doc: "a class is held back if its share does not suffice for this many commands",
        source: REPORT,
    },
    Param {
        name: "exempt",
        kind: Kind::Choice(&["auto", "none", "fill", "strict"]),
        default: Value::Word("auto"),
        doc: "what does not count against a class later: nothing; what it was sent to fill an \
              under-loaded disk; of this, only what was sent while no other class had something \
              waiting; auto: strict, in paper mode fill",
        source: OURS,
    },
    Param {
        name: "early_end",
        kind: Kind::Choice(&["auto", "on", "off"]),
        default: Value::Word("auto"),
        doc: "on: a cycle ends when every class that has requests has used its share; auto: on, in \
              paper mode off",
        source: OURS,
    },
    Param {
        name: "fill",
        kind: Kind::Choice(&["oldest", "weighted", "none"]),
        default: Value::Word("oldest"),
        doc: "what an under-loaded disk gets: the oldest request; one of the class that has used \
              least for its weight; nothing",
        source: "ours; the report does not say",
    },
    Param {
        name: "start_estimate",
        kind: Kind::PositiveDurationOr(&["auto", "none"]),
        default: Value::Word("auto"),
        doc: "what a command is taken to cost before the first of its class has completed; auto: \
              none, in paper mode 63ms",
        source: "ours, from the report's service times",
    },
    Param {
        name: "reserve",
        kind: Kind::Switch,
        default: Value::Switch(true),
        doc: "commands in flight are charged what they will probably cost; false: each is charged \
              when it has completed",
        source: OURS,
    },
    Param {
        name: "disks",
        kind: Kind::CountOr(1, &["auto"]),
        default: Value::Word("auto"),
        doc: "disks that work in parallel: a cycle has its length of device time on each; auto: \
              those of an array if device time is charged, otherwise 1",
        source: REPORT,
    },
    CHARGE,
    LAW,
    MAX_SECTORS,
];

/// Checks that cycles are long enough and that `load` is at most `cap`.
pub(super) fn conflict(params: &Params) -> Option<Conflict> {
    for param in ["cycle", "first_cycle"] {
        if let Some(cycle) = params.duration_or(param)
            && cycle < LEAST_CYCLE
        {
            let message = format!("a {param} of {cycle:?} is shorter than a request may take");
            return Some(Conflict { param, message, hint: "write 1ms or more, as in `500ms`" });
        }
    }
    let (load, cap) = (params.count_or("load")?, params.count_or("cap")?);
    let message =
        || format!("load {load} is above cap {cap}: the disk would never count as loaded");
    let hint = "make cap as large as load, or leave it at auto";
    (load > cap).then(|| Conflict { param: "load", message: message(), hint })
}

/// The use that does not count against a class in later cycles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Exempt {
    None,
    Fill,
    Strict,
}

/// The request that fills an under-loaded disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fill {
    Oldest,
    Weighted,
}

/// The values of the parameters, with every `auto` resolved.
#[derive(Debug)]
pub(super) struct Settings {
    /// Length of a full cycle in nanoseconds; of the first one if it is regulated.
    pub(super) cycle: u64,
    pub(super) regulated: bool,
    pub(super) window: u32,
    pub(super) load: u32,
    pub(super) cap: u32,
    pub(super) class_threshold: u64,
    pub(super) exempt: Exempt,
    pub(super) early_end: bool,
    pub(super) fill: Option<Fill>,
    pub(super) start_estimate: Option<Span>,
    pub(super) reserve: bool,
    pub(super) disks: u32,
}

impl Settings {
    pub(super) fn new(params: &Params, served: &Served<'_>) -> Self {
        let paper = params.is("mode", "paper");
        let parallel = params.count_or("disks").unwrap_or(served.disks.get());
        let auto_load = if paper { PAPER_LOAD } else { parallel.saturating_mul(2) };
        // A law charges time of the whole target, not of a disk in it.
        let one_target = Charge::new(params).by_law() && params.is("disks", "auto");
        let disks = if one_target { 1 } else { parallel };
        let load = params.count_or("load").unwrap_or(auto_load);
        let regulated = params.is("cycle", "auto");
        let cycle = params.duration(if regulated { "first_cycle" } else { "cycle" });
        let auto_exempt = if paper { Exempt::Fill } else { Exempt::Strict };
        Self {
            cycle: cycle.max(LEAST_CYCLE).ns(),
            regulated,
            window: params.count("window"),
            load,
            cap: match params.count_or("cap") {
                Some(cap) => cap,
                None if paper && params.is("cap", "auto") => load.max(1),
                None => u32::MAX,
            },
            class_threshold: params.count("class_threshold").into(),
            exempt: match () {
                () if params.is("exempt", "none") => Exempt::None,
                () if params.is("exempt", "fill") => Exempt::Fill,
                () if params.is("exempt", "strict") => Exempt::Strict,
                () => auto_exempt,
            },
            early_end: params.is("early_end", "on") || params.is("early_end", "auto") && !paper,
            fill: match () {
                () if params.is("fill", "none") => None,
                () if params.is("fill", "weighted") => Some(Fill::Weighted),
                () => Some(Fill::Oldest),
            },
            start_estimate: params.duration_or("start_estimate").or_else(|| {
                let guessed = paper && params.is("start_estimate", "auto");
                guessed.then_some(Span::from_ms(63))
            }),
            reserve: params.switch("reserve"),
            disks,
        }
    }
}
