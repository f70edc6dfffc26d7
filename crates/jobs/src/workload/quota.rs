//! How much an agent asks for before it stops.

use serde_json::Value as Json;

use crate::amount::{Count, SIZE};
use crate::diagnose::{JobError, Origin};
use crate::keys::{Declared, Key, Maybe, keys, required};
use crate::reader::Reader;
use crate::schema::build;
use crate::units::size_text;

keys! {
    /// How much an agent asks for: one of these at most.
    KEYS:
    /// Bytes of all its requests: it stops when it has asked for them. What is left for the last
    /// request, if that is less than its size, makes a shorter one.
    TOTAL total: u64 = SIZE.above_zero().hint("leave the agent out if it is idle");
    /// Requests: it stops when it has issued them. Flushes are not counted.
    COUNT count: u32 = Count(1, u32::MAX as u64);
    /// Times through its region: it stops at the end of the last. A random pattern asks each time
    /// for as many bytes as the region has.
    PASSES passes: u32 = Count(1, u32::MAX as u64);
}

/// How much an agent asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quota {
    /// Bytes.
    Bytes(u64),
    /// Requests.
    Requests(u32),
    /// Times through its region.
    Passes(u32),
}

/// The quota of an agent. What its arrivals say of the `count` is given apart. What an argument says
/// takes the place of what the file says.
pub(crate) fn read(
    reader: &Reader<'_>,
    in_arrivals: Option<(u32, Origin)>,
) -> Result<Option<Quota>, JobError> {
    let count = stated(reader, &COUNT, in_arrivals)?;
    let at = |key: &dyn Declared| reader.place(key).clone();
    let total = reader.find(&TOTAL)?.map(|bytes| (Quota::Bytes(bytes), at(&TOTAL)));
    let count = count.map(|(count, origin)| (Quota::Requests(count), origin));
    let passes = reader.find(&PASSES)?.map(|passes| (Quota::Passes(passes), at(&PASSES)));
    let mut given: Vec<_> = [total, count, passes].into_iter().flatten().collect();
    if given.iter().any(|(_, origin)| origin.is_set()) {
        given.retain(|(_, origin)| origin.is_set());
    }
    match &given[..] {
        [] => Ok(None),
        [(quota, _)] => Ok(Some(*quota)),
        [(one, _), (other, origin), ..] => {
            let [one, other] = [*one, *other].map(Quota::text);
            let found = format!("the agent ends with {one} and with {other}");
            let hint = "keep the one of them that ends it";
            Err(JobError::new(found).at(origin).hint(hint))
        }
    }
}

/// A fact that an agent may state itself, as `key`, or in its arrivals, and where it stands. Of two that
/// differ, what an argument says takes the place of what the file says.
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
            let found = format!("`{name}` is {here}, and the arrivals of the agent say {there}");
            let hint = "both say the same of the agent: leave one of the two out";
            Err(JobError::new(found).at(&own.1).hint(hint))
        }
    }
}

/// What a schema says of an agent with a quota, whose arrivals may have it.
pub(crate) fn has_one(in_arrivals: Json) -> Json {
    build::any([required(&[&TOTAL]), required(&[&COUNT]), required(&[&PASSES]), in_arrivals])
}

impl Quota {
    /// As a message names it.
    fn text(self) -> String {
        match self {
            Self::Bytes(bytes) => format!("a total of {}", size_text(bytes)),
            Self::Requests(count) => format!("a count of {count}"),
            Self::Passes(1) => "one pass".into(),
            Self::Passes(passes) => format!("{passes} passes"),
        }
    }
}
