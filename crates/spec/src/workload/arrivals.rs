//! When an agent asks: its `arrivals`.

use penstock_core::Span;
use penstock_workload::{Arrivals, Pace};
use serde_json::{Value as Json, json};

use crate::amount::{Count, Rate, TIME};
use crate::diagnose::JobError;
use crate::keys::{Cases, is, keys, required};
use crate::kinds::{Choice, Own, list};
use crate::reader::Reader;
use crate::rows::Rows;
use crate::schema::build::{self, with};
use crate::tree::Node;

/// Requests outstanding at once, at most: their tables take up to 1.4 GiB, depending on the
/// policy: more is a slip.
pub(crate) const MAX_OUTSTANDING_MOST: u64 = 1 << 22;
/// A rate may be a thousand times its usual self, with room to spare.
const FACTOR_MAX: f64 = 1e6;
/// Arrivals a second, at the height of a curve: time cannot distinguish more.
const PEAK_MAX: f64 = 1e9;

const POISSON: &str = "poisson";
const FIXED: &str = "fixed";
const CLOSED: &str = "closed";
const TURNS: &str = "turns";

keys! {
    /// The key whose word says which others there are, and one that goes with all of them.
    HEAD:
    /// On a schedule (`poisson`, `fixed`), after completions (`closed`), or one request at
    /// a time in turn with all other agents of this kind, in a random order (`turns`).
    HOW kind: &'static str = Choice(&[
        (POISSON, POISSON), (FIXED, FIXED), (CLOSED, CLOSED), (TURNS, TURNS),
    ]), needs "\"poisson\"";
    /// How many requests there are; if not given, as many as come until it stops.
    COUNT count: u32 = Count(1, u32::MAX as u64);
}

keys! {
    /// Keys of arrivals on a schedule.
    OPEN_KEYS:
    /// Arrivals on a schedule: how many.
    RATE rate: f64 = Rate("leave the agent out if it is idle"), needs "\"20/s\"";
    /// Factors of the rate, over equal parts of the time.
    CURVE curve: Vec<f64> = FACTORS;
}

keys! {
    /// Keys of arrivals after completions.
    CLOSED_KEYS:
    /// Requests kept outstanding.
    DEPTH depth: u32 = Count(1, MAX_OUTSTANDING_MOST), or 1;
    /// Time between a completion and the next request.
    THINK think: Span = TIME, or Span::ZERO;
}

/// Which keys go together.
pub(crate) const CASES: Cases = Cases {
    head: HEAD,
    cases: &[(&[POISSON, FIXED], OPEN_KEYS), (&[CLOSED], CLOSED_KEYS), (&[TURNS], &[])],
};

/// What the schema says of arrivals in turn.
pub(crate) fn turns() -> Json {
    is(&HOW, &[TURNS])
}

/// What it says of arrivals of which it is known how many there are.
pub(crate) fn counted() -> Json {
    required(&[&COUNT])
}

/// A table of arrivals: when, and how many at most.
pub(crate) const KIND: Own<(Arrivals, Option<u32>)> = Own { read, text, schema: || CASES.schema() };

const FACTORS: Own<Vec<f64>> = Own {
    read: |node| {
        let items = node.list("a list of factors, as in [1, 0.5, 2]")?;
        items.iter().map(|item| item.factor(FACTOR_MAX)).collect()
    },
    text: |factors| list(factors, f64::to_string),
    schema: || {
        let factor = json!({"type": "number", "minimum": 0, "maximum": FACTOR_MAX});
        // Somewhere the curve is above zero.
        with(build::list(&factor), json!({"contains": {"exclusiveMinimum": 0}}))
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
        CLOSED => Arrivals::closed(reader.get(&DEPTH)?, reader.get(&THINK)?),
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
    let wrong = |found: &str| JobError::new(found).at(reader.place(&CURVE));
    let peak = factors.iter().copied().fold(0.0, f64::max);
    if peak == 0.0 {
        let found = "the curve is zero everywhere: the agent would never ask";
        return Err(wrong(found).hint("give a factor above zero"));
    }
    if peak * rate > PEAK_MAX {
        let found = "at its height the rate is more than one arrival a nanosecond";
        return Err(wrong(found).hint("lower `rate` or the factors"));
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
        Arrivals::Closed { depth, think } => {
            rows.put(&HOW, &CLOSED).put(&DEPTH, depth).put(&THINK, &think.mean())
        }
        Arrivals::Turns => rows.put(&HOW, &TURNS),
    };
    rows.inline()
}
