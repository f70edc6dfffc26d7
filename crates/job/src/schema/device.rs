//! The schema of a device: of the table, and of a file that holds it.

use penstock_policy::{Entry, POLICIES};
use serde_json::{Value, json};

use super::build::{
    Field, any, count, defined, field, from_digit, is, required, table as closed, text, with,
    without, words,
};
use super::policy;
use crate::devices::{
    BUSES, CAPACITY, COMMON_KEYS, FAULTS_KEYS, FIXED_KEYS, HDD_KEYS, MODELS, OVERHEADS, QUEUE_KEYS,
    QUEUE_MOST, QUEUE_POLICY,
};
use crate::drives;
use crate::units::size_text;

/// A device file: one table.
pub(super) fn file() -> Value {
    let device = field("device", "The device.", defined("device"));
    with(closed(["device"], vec![device]), required(&["device"]))
}

/// `[device]`.
pub(super) fn table() -> Value {
    let keys = [COMMON_KEYS, FIXED_KEYS, HDD_KEYS].concat();
    let fields = common().into_iter().chain(fixed()).chain(hdd()).collect();
    // By a law of its length in bytes, or in units; not both.
    let in_units = any([required(&["unit"]), required(&["unit_bytes"])]);
    let law = json!({
        "if": in_units,
        "then": with(required(&["unit", "unit_bytes"]), without(&["base", "per_mb"])),
        "else": required(&["base"]),
    });
    let choice = json!({
        "required": ["model"],
        "if": is("model", "fixed"),
        "then": with(without(HDD_KEYS), law),
        "else": with(required(&["drive"]), without(FIXED_KEYS)),
    });
    with(closed(keys, fields), choice)
}

fn common() -> Vec<Field> {
    vec![
        field("name", "What results call it; if not given, the file's name.", text()),
        field("summary", "What it is, in one sentence.", text()),
        field("model", "What serves the requests.", words(MODELS.iter().copied())),
        field("faults", "How it misbehaves.", faults()),
    ]
}

fn fixed() -> Vec<Field> {
    vec![
        field("base", "Time of every request.", defined("time")),
        field("per_mb", "Time of each million bytes.", defined("time")).or("0s"),
        field("unit", "Time of each begun unit of a request.", defined("time")),
        field("unit_bytes", "Bytes of a unit.", defined("size-above-zero")),
        field("capacity", "Bytes of the device.", defined("size-above-zero"))
            .or(size_text(CAPACITY)),
    ]
}

fn hdd() -> Vec<Field> {
    let overheads = any([words(OVERHEADS), from_digit("time")]);
    vec![
        field("drive", "The drive whose facts it has.", words(drives::names())),
        field("overheads", "Time that a command costs beside seek, turn and transfer.", overheads)
            .or("drive"),
        field("bus", "Whether its bus takes part.", words(BUSES.iter().copied())).or("drive"),
        field("cache", "No cache is modelled.", words(["none"])).or("none"),
        field("turnaround", "Time of the host between two commands.", defined("time")).or("0s"),
        field("queue", "The disk's own queue.", queue()),
    ]
}

/// The parameters that a queue may have are those of its policy.
fn queue() -> Value {
    let of = |entry: &'static Entry| {
        let keys = QUEUE_KEYS.into_iter().chain(entry.params.iter().map(|param| param.name));
        let policy = json!({"const": entry.name});
        let own = [
            field("policy", "How it picks.", policy).or(QUEUE_POLICY),
            field("depth", "Commands that the disk holds at once.", count(1, QUEUE_MOST)).or(1),
        ];
        let fields = own.into_iter().chain(policy::fields(entry.params)).collect();
        let named: &[&str] = if entry.name == QUEUE_POLICY { &[] } else { &["policy"] };
        with(closed(keys, fields), required(named))
    };
    any(POLICIES.iter().map(of).collect::<Vec<_>>())
}

fn faults() -> Value {
    let all = closed(
        FAULTS_KEYS.iter().copied(),
        vec![
            field("errors", "Requests that fail.", defined("share")).or("0%"),
            field("stalls", "Requests that stall.", defined("share")).or("0%"),
            field("stall", "For how long they stall.", defined("time")),
        ],
    );
    let stalls =
        json!({"required": ["stalls"], "properties": {"stalls": defined("share-above-zero")}});
    with(all, json!({"if": stalls, "then": required(&["stall"]), "else": without(&["stall"])}))
}
