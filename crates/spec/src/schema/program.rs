//! The schema of programs and of the processors that they run on.

use serde_json::{Value, json};

use super::build::{
    any, count, defined, field, is, list, pair, required, switch, table, text, with, without, words,
};
use crate::agents::PATTERNS;
use crate::programs::{
    ARRIVALS, ARRIVALS_KEYS, CPU_KEYS, CPUS_MOST, GROUPS_KEYS, KEYS, ONCE_KEYS, ORDERS, PHASES,
    PICKS, POISSON_KEYS, USUAL,
};
use crate::units::duration_text;

pub(super) fn cpus() -> Value {
    table(
        CPU_KEYS.iter().copied(),
        vec![
            field("count", "How many there are.", count(1, CPUS_MOST)).or(USUAL.count),
            field("slice", "How long a task computes at most in one go.", above_zero())
                .or(duration_text(USUAL.slice)),
            field("order", "Who goes first: who waits longest, or the lower `prio`.", one(ORDERS))
                .or(ORDERS[0]),
            field("preempt", "Whether the lower `prio` takes a processor at once.", switch())
                .or(USUAL.preempt),
            field("pick", "Which idle processor a task is given, to stay.", one(PICKS))
                .or(PICKS[0]),
        ],
    )
}

pub(super) fn program() -> Value {
    let edge = any([defined("share"), defined("size")]);
    let phases = with(list(&phase()), json!({"minItems": 1}));
    let program = table(
        KEYS.iter().copied(),
        vec![
            field("class", "The class of its requests.", text()),
            field("phases", "What it does, one after the other.", phases),
            field("repeat", "How often it does that.", count(1, u32::MAX.into())).or(1),
            field("pattern", "Where the next request begins.", one(PATTERNS)).or("sequential"),
            field("region", "Its part of the device: shares, or bytes.", pair(&edge))
                .or(json!(["0%", "100%"])),
            field("arrivals", "When tasks that do it arrive.", arrivals()),
            field("start", "When the first may arrive.", defined("time")).or("0s"),
            field("stop", "When no more arrive; if not given, with the job.", defined("time")),
        ],
    );
    with(program, required(&["class", "phases", "arrivals"]))
}

fn phase() -> Value {
    let phase = table(
        PHASES.iter().copied(),
        vec![
            field("cpu", "It computes for so long.", above_zero()),
            field("read", "It reads so much and waits for it.", defined("size-above-zero")),
            field("write", "It writes so much and waits for it.", defined("size-above-zero")),
        ],
    );
    with(phase, json!({"minProperties": 1, "maxProperties": 1}))
}

fn arrivals() -> Value {
    let offsets = with(list(&defined("time")), json!({"minItems": 1}));
    let all = table(
        ARRIVALS_KEYS.iter().copied(),
        vec![
            field("kind", "In `groups`, at random (`poisson`), or so many `once`.", one(ARRIVALS)),
            field("offsets", "When in its group each arrives, ascending.", offsets)
                .or(json!(["0s"])),
            field("period", "From a group to the next.", above_zero()),
            field("rate", "How many arrive at random.", defined("rate-above-zero")),
            field("count", "How many arrive once.", count(1, u32::MAX.into())).or(1),
            field("stagger", "From one of them to the next.", defined("time")).or("0s"),
        ],
    );
    let of = |kind, rest: Value| json!({"if": is("kind", kind), "then": rest});
    let others = |own: &[&str]| {
        let of = [GROUPS_KEYS, POISSON_KEYS, ONCE_KEYS].concat();
        without(&of.into_iter().filter(|key| !own.contains(key)).collect::<Vec<_>>())
    };
    let groups = of("groups", with(required(&["period"]), others(GROUPS_KEYS)));
    let poisson = of("poisson", with(required(&["rate"]), others(POISSON_KEYS)));
    let once = of("once", others(ONCE_KEYS));
    with(all, json!({"required": ["kind"], "allOf": [groups, poisson, once]}))
}

fn above_zero() -> Value {
    defined("time-above-zero")
}

fn one(of: &[&str]) -> Value {
    words(of.iter().copied())
}
