//! Reads the sizes of an agent's requests: one size, or several with weights.

use penstock_workload::Weighted;
use serde_json::{Value as Json, json};

use crate::amount::{Amount, Count, SIZE};
use crate::describe::{self, with};
use crate::diagnose::JobError;
use crate::kinds::{Kind, Own, list};
use crate::tree::{Node, Value};

/// Longest request in bytes. A longer one is a mistake in the unit: no kernel takes a tenth of it
/// as one command.
pub(crate) const REQUEST_MOST: u64 = 1 << 30;
/// Kind of the bytes of a request.
pub(crate) const REQUEST: Amount = SIZE
    .above_zero()
    .at_most(REQUEST_MOST)
    .hints("a request carries something", "let the agent ask for more requests instead");
/// Kind of a weight, relative to the others of its list.
pub(crate) const WEIGHT: Count = Count(0, WEIGHT_MOST);
/// Largest weight: a millionth is as fine as any measured mix of sizes.
const WEIGHT_MOST: u64 = 1_000_000;
/// Most values with weights: histograms of traces have fewer.
const VALUES_MOST: usize = 256;

/// Kind of the sizes of requests.
pub(crate) const KIND: Own<Weighted<u32>> = Own { read, text, schema };

fn read(node: &Node) -> Result<Weighted<u32>, JobError> {
    let Value::List(_) = node.value else { return REQUEST.read(node).map(Weighted::always) };
    let sizes = weighted(node, "a size and its weight, as in [\"4KiB\", 60]", &REQUEST)?;
    Weighted::new(sizes.iter().copied()).ok_or_else(|| weightless(node, "size"))
}

fn text(sizes: &Weighted<u32>) -> String {
    match sizes.single() {
        Some(size) => REQUEST.text(&size),
        None => weighted_text(sizes.iter(), &REQUEST),
    }
}

fn schema() -> Json {
    let single = Kind::<u32>::schema(&REQUEST);
    describe::any([single.clone(), weighted_schema(&single)])
}

/// Reads a list of pairs: a value, which `expected` describes, and its weight.
pub(crate) fn weighted<T>(
    node: &Node,
    expected: &str,
    kind: &dyn Kind<T>,
) -> Result<Vec<(T, u32)>, JobError> {
    let items = node.list("a list of values with their weights")?;
    if items.len() > VALUES_MOST {
        let message = format!("{} values with weights; at most {VALUES_MOST} may be", items.len());
        return Err(JobError::new(message)
            .at(&node.origin)
            .hint("take together those that are alike"));
    }
    let pair = |item: &Node| {
        let Value::List(parts) = &item.value else { return Err(item.expected(expected)) };
        let [value, weight] = &parts[..] else {
            let message = format!("expected {expected}, found {} values", parts.len());
            return Err(JobError::new(message).at(&item.origin).hint("a weight is a whole number"));
        };
        Ok((kind.read(value)?, WEIGHT.read(weight)?))
    };
    items.iter().map(pair).collect()
}

/// Returns values with weights as TOML.
pub(crate) fn weighted_text<T>(
    values: impl Iterator<Item = (T, u64)>,
    kind: &dyn Kind<T>,
) -> String {
    let values: Vec<_> = values.collect();
    list(&values, |(value, weight)| format!("[{}, {weight}]", kind.text(value)))
}

/// Describes values with weights; `value` describes the values.
pub(crate) fn weighted_schema(value: &Json) -> Json {
    let pair = |weight: &Json| json!({"type": "array", "prefixItems": [value, weight], "minItems": 2, "maxItems": 2});
    let items = describe::list(&pair(&Kind::<u32>::schema(&WEIGHT)));
    let weighs = pair(&describe::count(1, WEIGHT_MOST));
    with(items, json!({"maxItems": VALUES_MOST, "contains": weighs}))
}

/// Returns the error for a list in `node` in which no `noun` has a weight.
pub(crate) fn weightless(node: &Node, noun: &str) -> JobError {
    let message = format!("every weight is 0, so no {noun} would ever be drawn");
    JobError::new(message).at(&node.origin).hint(format!("give one {noun} a weight above 0"))
}
