//! Reads the amount of I/O after which an agent stops.

use serde_json::Value as Json;

use crate::amount::{Count, SIZE};
use crate::describe;
use crate::diagnose::{JobError, Origin};
use crate::keys::{Declared, Key, Maybe, keys, required};
use crate::reader::Reader;
use crate::units::size_text;

keys! {
    /// How much an agent asks for: one of these at most.
    KEYS:
    /// Bytes of all requests of the agent, after which it stops. If less than its size is left for
    /// the last request, that is shorter.
    TOTAL total: u64 = SIZE.above_zero().hint("leave the agent out if it is idle");
    /// Number of requests, after which the agent stops. Flushes are not counted.
    COUNT count: u32 = Count(1, u32::MAX as u64);
    /// Number of passes through the region, after which the agent stops. Each pass of a random
    /// pattern has as many bytes as the region.
    PASSES passes: u32 = Count(1, u32::MAX as u64);
}

/// The amount of I/O after which an agent stops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quota {
    /// Bytes of all requests.
    Bytes(u64),
    /// Number of requests.
    Requests(u32),
    /// Number of passes through the region.
    Passes(u32),
}

/// Reads the quota of an agent; `in_arrivals` is the `count` that its arrivals state. Keys that an
/// argument sets override those of the file.
pub(crate) fn read(
    reader: &Reader<'_>,
    in_arrivals: Option<(u32, Origin)>,
) -> Result<Option<Quota>, JobError> {
    let count = stated(reader, &COUNT, in_arrivals)?;
    let at = |key: &dyn Declared| reader.place(key).clone();
    let total = reader.find(&TOTAL)?.map(|bytes| (Quota::Bytes(bytes), at(&TOTAL)));
    let count = count.map(|(count, origin)| (Quota::Requests(count), origin));
    let passes = reader.find(&PASSES)?.map(|passes| (Quota::Passes(passes), at(&PASSES)));
    let mut quotas: Vec<_> = [total, count, passes].into_iter().flatten().collect();
    if quotas.iter().any(|(_, origin)| origin.is_set()) {
        quotas.retain(|(_, origin)| origin.is_set());
    }
    match &quotas[..] {
        [] => Ok(None),
        [(quota, _)] => Ok(Some(*quota)),
        [(first, _), (second, origin), ..] => {
            let [first, second] = [*first, *second].map(Quota::text);
            let message = format!("the agent ends with {first} and with {second}");
            let hint = "keep the one of them that ends it";
            Err(JobError::new(message).at(origin).hint(hint))
        }
    }
}

/// Returns a fact that an agent states as `key` or in its arrivals, and where it was written. Of
/// two that differ, the one that an argument sets wins.
pub(crate) fn stated(
    reader: &Reader<'_>,
    key: &Key<u32, Maybe>,
    in_arrivals: Option<(u32, Origin)>,
) -> Result<Option<(u32, Origin)>, JobError> {
    let own = reader.find(key)?.map(|own| (own, reader.place(key).clone()));
    let (Some(own), Some(inner)) = (&own, &in_arrivals) else { return Ok(own.or(in_arrivals)) };
    match (own.1.is_set(), inner.1.is_set()) {
        (true, false) => Ok(Some(own.clone())),
        (false, true) => Ok(Some(inner.clone())),
        _ if own.0 == inner.0 => Ok(Some(own.clone())),
        _ => {
            let (name, here, there) = (key.name, own.0, inner.0);
            let message = format!("`{name}` is {here}, and the arrivals of the agent say {there}");
            let hint = "both say the same of the agent: leave one of the two out";
            Err(JobError::new(message).at(&own.1).hint(hint))
        }
    }
}

/// Describes an agent with a quota, which its arrivals may state.
pub(crate) fn has_one(in_arrivals: Json) -> Json {
    describe::any([required(&[&TOTAL]), required(&[&COUNT]), required(&[&PASSES]), in_arrivals])
}

impl Quota {
    /// Names the quota in a message.
    fn text(self) -> String {
        match self {
            Self::Bytes(bytes) => format!("a total of {}", size_text(bytes)),
            Self::Requests(count) => format!("a count of {count}"),
            Self::Passes(1) => "one pass".into(),
            Self::Passes(passes) => format!("{passes} passes"),
        }
    }
}
