//! Reads the `arrivals` of a program's tasks.

use penstock_core::Span;
use penstock_workload::program::Starts;

use crate::amount::{Count, Rate, TIME};
use crate::describe;
use crate::diagnose::JobError;
use crate::keys::{Cases, foreign, keys};
use crate::kinds::{Choice, Kind, Own, list};
use crate::reader::Reader;
use crate::rows::Rows;
use crate::tree::Node;
use crate::units::duration_text;

const GROUPS: &str = "groups";
const POISSON: &str = "poisson";
const ONCE: &str = "once";

keys! {
    /// The key whose word says which others there are.
    HEAD:
    /// In `groups`, at random (`poisson`), or a number of tasks `once`.
    HOW kind: &'static str = Choice(&[(GROUPS, GROUPS), (POISSON, POISSON), (ONCE, ONCE)]),
        needs "\"once\"";
}

keys! {
    /// Keys of arrivals in groups.
    GROUPS_KEYS:
    /// Times of the arrivals in a group, ascending.
    OFFSETS offsets: Vec<Span> = Own {
        read: offsets,
        text: |offsets| list(offsets, |offset| TIME.text(offset)),
        schema: || describe::some(&TIME.reference()),
    }, or vec![Span::ZERO];
    /// Time from one group to the next.
    PERIOD period: Span = TIME.above_zero().hint("what takes no time is left out"),
        needs "\"200ms\"";
}

keys! {
    /// Keys of arrivals at random.
    POISSON_KEYS:
    /// Rate of random arrivals.
    RATE rate: f64 = Rate("leave it out if it is idle"), needs "\"20/s\"";
}

keys! {
    /// Keys of arrivals at the start.
    ONCE_KEYS:
    /// Number of tasks that arrive once.
    COUNT count: u32 = Count(1, u32::MAX as u64), or 1;
    /// Time from one task to the next.
    STAGGER stagger: Span = TIME, or Span::ZERO;
}

/// Keys of each kind of arrivals.
pub(crate) const CASES: Cases = Cases {
    head: HEAD,
    cases: &[(&[GROUPS], GROUPS_KEYS), (&[POISSON], POISSON_KEYS), (&[ONCE], ONCE_KEYS)],
};

/// Kind of a table of arrivals.
pub(crate) const KIND: Own<Starts> = Own { read, text, schema: || CASES.schema() };

fn read(node: &Node) -> Result<Starts, JobError> {
    let reader = Reader::new(node, "the arrivals", &CASES.keys())?;
    let kind = reader.get(&HOW)?;
    let why = format!("belongs to arrivals of another kind; these are `{kind}`");
    let hint = "`groups` have offsets and a period, `poisson` a rate, `once` a count";
    reader.refuse(&foreign(&[HEAD, CASES.of(kind)], &CASES.keys()), &why, hint)?;
    match kind {
        GROUPS => {
            let period = reader.get(&PERIOD)?;
            let offsets = reader.get(&OFFSETS)?;
            if offsets.is_sorted() && offsets.iter().all(|&offset| offset < period) {
                return Ok(Starts::Groups { offsets, period });
            }
            let period = duration_text(period);
            let message = format!("the offsets ascend and lie within the period of {period}");
            Err(JobError::new(message).at(reader.place(&OFFSETS)).hint(ONE_EACH))
        }
        POISSON => Ok(Starts::Poisson { rate: reader.get(&RATE)? }),
        _ => Ok(Starts::Once { count: reader.get(&COUNT)?, stagger: reader.get(&STAGGER)? }),
    }
}

const ONE_EACH: &str = "one arrival at the beginning of each is [\"0ms\"]";

fn offsets(node: &Node) -> Result<Vec<Span>, JobError> {
    let expected = "when in its group each arrives, as in [\"0ms\", \"1ms\"]";
    let items = node.list(expected)?;
    if items.is_empty() {
        return Err(node.expected(expected).hint(ONE_EACH));
    }
    items.iter().map(|item| TIME.read(item)).collect()
}

fn text(starts: &Starts) -> String {
    let rows = Rows::of(&CASES.keys());
    let rows = match starts {
        Starts::Groups { offsets, period } => {
            rows.put(&HOW, &GROUPS).put(&OFFSETS, offsets).put(&PERIOD, period)
        }
        Starts::Poisson { rate } => rows.put(&HOW, &POISSON).put(&RATE, rate),
        Starts::Once { count, stagger } => {
            rows.put(&HOW, &ONCE).put(&COUNT, count).put(&STAGGER, stagger)
        }
    };
    rows.inline()
}
