//! Reads the `arrivals` of an agent.

use std::num::NonZeroU32;

use penstock_core::Span;
use penstock_workload::{Arrivals, Pace, Think};
use serde_json::{Value as Json, json};

use crate::amount::{Count, Rate, TIME};
use crate::describe::{self, one_of, with};
use crate::diagnose::{JobError, Origin};
use crate::keys::{Cases, Declared, is, keys, required, table};
use crate::kinds::{Choice, Kind, Own, list};
use crate::reader::Reader;
use crate::rows::Rows;
use crate::tree::{Node, Value};

/// Most requests outstanding. Their tables take up to 1.4 GiB, depending on the policy; a larger
/// number is a mistake.
pub(crate) const MAX_OUTSTANDING_MOST: u64 = 1 << 22;
/// Largest factor of a curve: real curves need at most a thousand.
const FACTOR_MAX: f64 = 1e6;
/// Most arrivals a second at the peak of a curve: time cannot distinguish more.
const PEAK_MAX: f64 = 1e9;

const POISSON: &str = "poisson";
const FIXED: &str = "fixed";
const CLOSED: &str = "closed";
const TURNS: &str = "turns";

keys! {
    /// The key whose word says which others there are, and one that goes with all of them.
    HEAD:
    /// On a schedule (`poisson`, `fixed`), after completions (`closed`), or one request at a time
    /// in turn with all other agents of this kind, in a random order (`turns`).
    HOW kind: &'static str = Choice(&[
        (POISSON, POISSON), (FIXED, FIXED), (CLOSED, CLOSED), (TURNS, TURNS),
    ]), needs "\"poisson\"";
    /// Number of requests: the same as `count` of the agent.
    COUNT count: u32 = Count(1, u32::MAX as u64);
}

keys! {
    /// Keys of arrivals on a schedule.
    OPEN_KEYS:
    /// Rate of arrivals on a schedule.
    RATE rate: f64 = Rate("leave the agent out if it is idle"), needs "\"20/s\"";
    /// Factors of the rate, over equal parts of the time.
    CURVE curve: Vec<f64> = FACTORS;
}

keys! {
    /// Keys of arrivals after completions.
    CLOSED_KEYS:
    /// Requests kept outstanding: the same as `buffers` of the agent.
    DEPTH depth: u32 = Count(1, MAX_OUTSTANDING_MOST), or 1;
    /// Time between a completion and the next request: constant or random.
    THINK think: Think = PAUSE, or Think::NONE;
    /// Requests between two think times: they follow each other at once, and the think time begins
    /// when all of them have finished. If not given, the agent thinks after each request.
    BURST burst: NonZeroU32 = Count(1, u32::MAX as u64);
}

keys! {
    /// Laws of think times.
    THINK_KEYS:
    /// Mean of an exponential distribution.
    EXPONENTIAL exponential: Span = TIME.above_zero();
}

const PAUSE: Own<Think> = Own {
    read: |node| {
        let Value::Table(_) = node.value else { return TIME.read(node).map(Think::Fixed) };
        let reader = Reader::new(node, "the think time", &[THINK_KEYS])?;
        let mean = reader.find(&EXPONENTIAL)?.ok_or_else(|| {
            let hint = "for example `{ exponential = \"5ms\" }`";
            JobError::new("the think time has no law").at(&node.origin).hint(hint)
        })?;
        Ok(Think::Exponential(mean))
    },
    text: |think| match think {
        Think::Fixed(span) => TIME.text(span),
        Think::Exponential(mean) => Rows::of(&[THINK_KEYS]).put(&EXPONENTIAL, mean).inline(),
    },
    schema: || describe::any([TIME.reference(), one_of(table(THINK_KEYS))]),
};

/// Keys of each kind of arrivals.
pub(crate) const CASES: Cases = Cases {
    head: HEAD,
    cases: &[(&[POISSON, FIXED], OPEN_KEYS), (&[CLOSED], CLOSED_KEYS), (&[TURNS], &[])],
};

/// Describes arrivals in turns.
pub(crate) fn turns() -> Json {
    is(&HOW, &[TURNS])
}

/// Describes arrivals with at most one request in flight.
pub(crate) fn single() -> Json {
    json!({"properties": {DEPTH.name: {"maximum": 1}}})
}

/// Describes arrivals that state their number.
pub(crate) fn counted() -> Json {
    required(&[&COUNT])
}

/// Kind of a table of arrivals, with their number if they state it.
pub(crate) const KIND: Own<(Arrivals, Option<u32>)> = Own { read, text, schema: || CASES.schema() };

/// A closed loop of one request without think time.
pub(crate) const CLOSED_LOOP: Arrivals = Arrivals::closed(1, Span::ZERO);

/// Returns where the value of `key` was written in the arrivals `node`, if it was.
pub(crate) fn place(node: Option<&Node>, key: &dyn Declared) -> Option<Origin> {
    let Value::Table(table) = &node?.value else { return None };
    table.get(key.name()).map(|entry| entry.node.origin.clone())
}

/// Bounds the requests in flight, if there is a bound.
pub(crate) fn bounded(arrivals: Arrivals, buffers: Option<u32>) -> Arrivals {
    match arrivals {
        Arrivals::Closed { depth, think, burst } => {
            Arrivals::Closed { depth: buffers.unwrap_or(depth), think, burst }
        }
        Arrivals::Open { rate, pace, curve, .. } => {
            Arrivals::Open { rate, pace, curve, buffers: buffers.and_then(NonZeroU32::new) }
        }
        Arrivals::Turns => Arrivals::Turns,
    }
}

const FACTORS: Own<Vec<f64>> = Own {
    read: |node| {
        let items = node.list("a list of factors, as in [1, 0.5, 2]")?;
        items.iter().map(|item| item.factor(FACTOR_MAX)).collect()
    },
    text: |factors| list(factors, f64::to_string),
    schema: || {
        let factor = json!({"type": "number", "minimum": 0, "maximum": FACTOR_MAX});
        // The curve must be above zero somewhere.
        with(describe::list(&factor), json!({"contains": {"exclusiveMinimum": 0}}))
    },
};

fn read(node: &Node) -> Result<(Arrivals, Option<u32>), JobError> {
    let reader = Reader::new(node, "the arrivals", &CASES.keys())?;
    let kind = reader.get(&HOW)?;
    let hint = match kind {
        CLOSED => "a closed loop asks when an earlier request has finished: give it a `depth`",
        TURNS => "agents that take turns ask when it is their turn, `count` times",
        _ => "arrivals on a schedule have a `rate`",
    };
    for (words, keys) in CASES.cases.iter().filter(|(words, _)| !words.contains(&kind)) {
        let whose = match *words {
            [CLOSED] => "`closed` arrivals",
            [TURNS] => "arrivals in `turns`",
            _ => "arrivals on a schedule",
        };
        reader.refuse(keys, &format!("belongs to {whose}; these are `{kind}`"), hint)?;
    }
    let arrivals = match kind {
        TURNS => Arrivals::Turns,
        CLOSED => Arrivals::Closed {
            depth: reader.get(&DEPTH)?,
            think: reader.get(&THINK)?,
            burst: reader.find(&BURST)?,
        },
        _ => {
            let pace = if kind == POISSON { Pace::Poisson } else { Pace::Fixed };
            let rate = reader.get(&RATE)?;
            Arrivals::Open { rate, pace, curve: curve(&reader, rate)?, buffers: None }
        }
    };
    Ok((arrivals, reader.find(&COUNT)?))
}

fn curve(reader: &Reader<'_>, rate: f64) -> Result<Vec<f64>, JobError> {
    let Some(factors) = reader.find(&CURVE)? else { return Ok(Vec::new()) };
    let wrong = |message: &str| JobError::new(message).at(reader.place(&CURVE));
    let peak = factors.iter().copied().fold(0.0, f64::max);
    if peak == 0.0 {
        let message = "the curve is zero everywhere: the agent would never ask";
        return Err(wrong(message).hint("give a factor above zero"));
    }
    if peak * rate > PEAK_MAX {
        let message = "at its height the rate is more than one arrival a nanosecond";
        return Err(wrong(message).hint("lower `rate` or the factors"));
    }
    Ok(factors)
}

fn text((arrivals, count): &(Arrivals, Option<u32>)) -> String {
    let rows = Rows::of(&CASES.keys()).maybe(&COUNT, count.as_ref());
    let rows = match arrivals {
        Arrivals::Open { rate, pace, curve, .. } => {
            let kind = if *pace == Pace::Poisson { POISSON } else { FIXED };
            let curve = Some(curve).filter(|curve| !curve.is_empty());
            rows.put(&HOW, &kind).put(&RATE, rate).maybe(&CURVE, curve)
        }
        Arrivals::Closed { depth, think, burst } => rows
            .put(&HOW, &CLOSED)
            .put(&DEPTH, depth)
            .put(&THINK, think)
            .maybe(&BURST, burst.as_ref()),
        Arrivals::Turns => rows.put(&HOW, &TURNS),
    };
    rows.inline()
}
