//! The schema of a job: what holds for all of it, classes and agents.

use penstock_core::ClassInfo;
use serde_json::{Value, json};

use super::build::{
    any, count, defined, field, from_digit, is, list, pair, required, switch, table, text, with,
    without, words,
};
use super::{policy, program, trace};
use crate::agents::{
    self, ARRIVALS, ARRIVALS_KEYS, CLOSED_KEYS, FACTOR_MAX, OPEN_KEYS, OPS, TURNS_KEYS,
};
use crate::classes;
use crate::devices;
use crate::job;
use crate::live::{self as section, Live};
use crate::page_cache;
use crate::stop;
use crate::units::{OFF, duration_text};

pub(super) fn job() -> Value {
    let all = table(
        job::KEYS.iter().copied(),
        vec![
            field("seed", "Every random number descends from it.", count(0, u64::MAX))
                .or(job::SEED),
            field(
                "duration",
                "When the agents stop. A job that plays a trace has none.",
                defined("time-above-zero"),
            ),
            field("warmup", "What is due before this is not measured.", defined("time")).or("0s"),
            field("stop", STOP, stop()).or("drained"),
            field(
                "max_outstanding",
                "Requests that may be outstanding at once, and programs under way.",
                count(1, agents::MAX_OUTSTANDING_MOST),
            )
            .or(job::MAX_OUTSTANDING),
            field("device", DEVICE, device()),
            field("live", "How a real target is driven.", live()),
            field("page_cache", PAGE_CACHE, page_cache::schema()),
            field("class", "Classes of work, a section each: `[class.batch]`.", classes()),
            field("agent", "Who asks.", with(list(&agent()), json!({"minItems": 1}))),
            field("cpu", "The processors of programs.", program::cpus()),
            field(
                "program",
                "Programs on processors, instead of agents.",
                with(list(&program::program()), json!({"minItems": 1})),
            ),
            field("trace", "A recorded trace to play instead of agents.", trace::trace()),
            field("rule", RULE, list(&trace::rule())),
            field("policy", "Parameters of policies, by name.", policy::sections()),
        ],
    );
    let agents = with(required(&["duration", "class", "agent"]), without(&["rule", "cpu"]));
    let programs =
        with(required(&["duration", "class"]), without(&["rule", "agent", "page_cache"]));
    let asks = json!({"if": required(&["program"]), "then": programs, "else": agents});
    let trace = without(&["duration", "agent", "program", "cpu", "page_cache"]);
    let choice = json!({"if": required(&["trace"]), "then": trace, "else": asks});
    with(all, choice)
}

const STOP: &str = "When the run ends: when all requests have finished (`drained`), when nobody \
                    can ask any more (`last-arrival`), when the programs of a class have ended \
                    (`done:CLASS`), or at a time.";
const DEVICE: &str = "Where it runs, unless `--on` says: a named device, the path of a device \
                      file, or the device itself.";
const PAGE_CACHE: &str = "The page cache of agents that are `buffered`, above the scheduler.";
const RULE: &str = "Which request of a trace is of which class: the first rule that fits wins.";

const VIEW: &str = "The part of the target that may be used: nothing outside is touched. If not \
                    given, all of it.";

fn stop() -> Value {
    let done = json!({"type": "string", "pattern": format!("^{}.", stop::DONE)});
    any([words(stop::STOPS), done, from_digit("time-above-zero")])
}

fn device() -> Value {
    // A file's name, of which the ending is not all.
    let file = json!({"type": "string", "pattern": r"[^/]\.toml$"});
    any([words(devices::names()), file, defined("device")])
}

fn live() -> Value {
    let Live { depth, timeout, .. } = Live::default();
    let timeout = timeout.map_or_else(|| OFF.into(), duration_text);
    let view = table(
        section::VIEW_KEYS.iter().copied(),
        vec![
            field("start", "Its first byte.", defined("size")).or("0B"),
            field("length", "Its bytes.", defined("size-above-zero")),
        ],
    );
    let commands = || count(1, section::DEPTH_MOST);
    table(
        section::KEYS.iter().copied(),
        vec![
            field("depth", "Commands at the target at once.", commands()).or(depth),
            field(
                "batch",
                "Commands that are given to the kernel together, if there are so many; a tenth of the \
                 depth if not given, at least 2 and at most 8.",
                commands(),
            ),
            field(
                "timeout",
                "How long a command may be in flight before the run ends; `off`: for ever.",
                any([words([OFF]), from_digit("time-above-zero")]),
            )
            .or(timeout),
            field("view", VIEW, with(view, required(&["length"]))),
        ],
    )
}

fn classes() -> Value {
    let weight = count(1, classes::WEIGHT_MOST);
    let class = table(
        classes::CLASS_KEYS.iter().copied(),
        vec![
            field("weight", "Its part of the device, relative to the others' weights.", weight)
                .or(ClassInfo::WEIGHT.get()),
            field("prio", "The lower goes first.", count(0, classes::PRIO_MOST)).or(0),
        ],
    );
    json!({
        "type": "object",
        "patternProperties": {"^[A-Za-z][A-Za-z0-9_-]*$": class},
        "additionalProperties": false,
        "maxProperties": classes::CLASSES,
    })
}

fn agent() -> Value {
    let edge = any([defined("share"), defined("size")]);
    let agent = table(
        agents::KEYS.iter().copied(),
        vec![
            field("class", "The class of its requests.", text()),
            field("op", "What it asks for.", words(OPS.iter().copied())),
            field("sync", "Whether somebody waits: a write is durable when it is done.", switch())
                .or(false),
            field("cache", "Through the page cache, or past it.", words(agents::CACHES.to_vec()))
                .or("direct"),
            field("size", "Bytes of a request.", defined("size-above-zero")),
            field(
                "pattern",
                "Where the next request begins.",
                words(agents::PATTERNS.iter().copied()),
            ),
            field("region", "Its part of the device: shares, or bytes.", pair(&edge))
                .or(json!(["0%", "100%"])),
            field("arrivals", "When it asks.", arrivals()),
            field("start", "When it begins.", defined("time")).or("0s"),
            field("stop", "When it stops asking; if not given, with the job.", defined("time")),
        ],
    );
    with(agent, required(&["class", "op", "size", "pattern", "arrivals"]))
}

fn arrivals() -> Value {
    // Somewhere the curve is above zero.
    let curve = with(
        list(&json!({"type": "number", "minimum": 0, "maximum": FACTOR_MAX})),
        json!({"contains": {"exclusiveMinimum": 0}}),
    );
    let all = table(
        ARRIVALS_KEYS.iter().copied(),
        vec![
            field(
                "kind",
                "On a schedule (`poisson`, `fixed`), after completions (`closed`), or one request at \
                 a time in turn with all other agents of this kind, in a random order (`turns`).",
                words(ARRIVALS.iter().copied()),
            ),
            field("rate", "Arrivals on a schedule: how many.", defined("rate-above-zero")),
            field("curve", "Factors of the rate, over equal parts of the time.", curve),
            field("depth", "Requests kept outstanding.", count(1, agents::MAX_OUTSTANDING_MOST))
                .or(1),
            field("think", "Time between a completion and the next request.", defined("time"))
                .or("0s"),
            field(
                "count",
                "How often it has its turn; if not given, until it stops.",
                count(1, u32::MAX.into()),
            ),
        ],
    );
    let choice = json!({
        "required": ["kind"],
        "if": is("kind", "closed"),
        "then": without(&[OPEN_KEYS, TURNS_KEYS].concat()),
        "else": {
            "if": is("kind", "turns"),
            "then": without(&[OPEN_KEYS, CLOSED_KEYS].concat()),
            "else": with(required(&["rate"]), without(&[CLOSED_KEYS, TURNS_KEYS].concat())),
        },
    });
    with(all, choice)
}
