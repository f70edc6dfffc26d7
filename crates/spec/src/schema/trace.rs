//! The schema of a trace in a job, and of the rules that sort its requests.

use penstock_workload::trace::FORMATS;
use serde_json::{Value, json};

use super::build::{
    any, count, defined, each, field, pair, required, switch, table, text, with, words,
};
use crate::traces::{DEPTH_MOST, FITS, KEYS, OPS, RULE_KEYS, SPEED_MOST, TIMING_KEYS, TIMINGS};

pub(super) fn trace() -> Value {
    let formats = words(FORMATS.iter().map(|format| format.name));
    let all = table(
        KEYS.iter().copied(),
        vec![
            field("file", "Where it lies, seen from the job's folder.", text()),
            field("format", "Its format; if not given, told from its contents.", formats),
            field("timing", TIMING, any([words(TIMINGS.iter().copied()), timing()])).or("original"),
            field("fit", FIT, words(FITS.map(|(name, _)| name))),
        ],
    );
    with(all, required(&["file"]))
}

const TIMING: &str = "When its requests are asked: as recorded (`original`), as fast as possible \
                      (`afap`), faster or slower, or as fast as possible at a depth.";
const FIT: &str =
    "What becomes of requests past the device's end; if not given, they are an error.";

fn timing() -> Value {
    let speed = json!({"type": "number", "exclusiveMinimum": 0, "maximum": SPEED_MOST});
    let all = table(
        TIMING_KEYS.iter().copied(),
        vec![
            field("speed", "2 is twice as fast as recorded.", speed),
            field("depth", "As fast as possible, with so many outstanding.", count(1, DEPTH_MOST)),
        ],
    );
    with(all, json!({"minProperties": 1, "maxProperties": 1}))
}

pub(super) fn rule() -> Value {
    let pid = count(0, u32::MAX.into());
    let all = table(
        RULE_KEYS.iter().copied(),
        vec![
            field("class", "The class of what fits.", text()),
            field("process", "Names of processes.", each(text())),
            field("pid", "Numbers of processes.", each(pid)),
            field("op", "Operations.", each(words(OPS.map(|(name, _)| name)))),
            field("sync", "Whether somebody waits for it.", switch()),
            field("min_size", "Bytes at least.", defined("size")),
            field("max_size", "Bytes at most.", defined("size")),
            field(
                "range",
                "Where it begins: at or behind the one, before the other.",
                pair(&defined("size")),
            ),
        ],
    );
    with(all, required(&["class"]))
}
