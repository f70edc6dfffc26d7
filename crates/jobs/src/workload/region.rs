//! A part of a target, and its place on a target of known size.

use std::ops::Range;

use serde_json::Value as Json;

use crate::amount::{SHARE, SIZE};
use crate::describe::{any, pair};
use crate::diagnose::{JobError, Origin};
use crate::kinds::{Kind, Own, list};
use crate::text::quoted;
use crate::tree::Node;
use crate::units::{self, Share, about, size_text};

/// Borders that are given as shares are multiples of this many bytes, the page of every common
/// machine, so that requests stay aligned on targets of any size.
const SHARE_STEP: u64 = 4096;

/// Kind of a region: two borders.
pub(crate) const KIND: Own<Region> = Own {
    read: Region::read,
    text: |region| list(&[region.from, region.to], Edge::quoted),
    schema: || pair(&Edge::schema()),
};

/// A part of the target.
#[derive(Clone, PartialEq, Debug)]
pub struct Region {
    /// First byte.
    pub from: Edge,
    /// The byte behind the last one.
    pub to: Edge,
    /// The places where the two were written.
    origins: Option<[Origin; 2]>,
}

/// A border of a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Edge {
    /// A share of the target.
    Share(Share),
    /// Bytes from its beginning.
    At(u64),
}

impl Region {
    /// The whole target.
    pub(crate) const WHOLE: Self =
        Self { from: Edge::Share(Share::NONE), to: Edge::Share(Share::WHOLE), origins: None };

    /// A region between two borders that were not written by a user.
    pub(crate) fn between(from: Edge, to: Edge) -> Self {
        Self { from, to, origins: None }
    }

    fn read(node: &Node) -> Result<Self, JobError> {
        let expected = "two borders, as in [\"0%\", \"10%\"] or [\"1GiB\", \"2GiB\"]";
        let items = node.list(expected)?;
        let [from, to] = &items[..] else {
            let message = format!("expected {expected}, found {} of them", items.len());
            let hint = "leave `region` out for the whole target";
            return Err(JobError::new(message).at(&node.origin).hint(hint));
        };
        let origins = Some([from.origin.clone(), to.origin.clone()]);
        let region = Self { from: Edge::read(from)?, to: Edge::read(to)?, origins };
        match (region.from, region.to) {
            (Edge::Share(from), Edge::Share(to)) if from >= to => Err(region.empty(&items[1])),
            (Edge::At(from), Edge::At(to)) if from >= to => Err(region.empty(&items[1])),
            _ => Ok(region),
        }
    }

    /// Adds `origin`, unless the region was written somewhere.
    pub(crate) fn or_at(mut self, origin: &Origin) -> Self {
        self.origins.get_or_insert_with(|| [origin.clone(), origin.clone()]);
        self
    }

    fn empty(&self, to: &Node) -> JobError {
        let (begins, ends) = (self.from.text(), self.to.text());
        let message = format!("the region is empty: it begins at {begins} and ends at {ends}");
        JobError::new(message).at(&to.origin).hint("the second border lies behind the first")
    }

    pub(crate) fn on(&self, capacity: u64, step: u64) -> Result<Range<u64>, JobError> {
        let at = |error: JobError, edge: usize| match &self.origins {
            Some(origins) => error.at(&origins[edge]),
            None => error,
        };
        let from = self.from.on(capacity, step).map_err(|error| at(error, 0))?;
        let to = self.to.on(capacity, step).map_err(|error| at(error, 1))?;
        if from < to {
            return Ok(from..to);
        }
        let (begins, ends) = (self.from.text(), self.to.text());
        let size = about(capacity);
        let message = format!("on a target of {size} the region from {begins} to {ends} is empty");
        Err(at(JobError::new(message).hint("take a larger target or region"), 1))
    }
}

impl Edge {
    pub(crate) fn read(node: &Node) -> Result<Self, JobError> {
        match node.word() {
            Some(text) if text.trim_end().ends_with('%') => SHARE.read(node).map(Self::Share),
            Some(_) => SIZE.read(node).map(Self::At),
            None => Err(node
                .expected("a share or a size")
                .hint("write `\"10%\"` of the target, or `\"1GiB\"` from its beginning")),
        }
    }

    /// Returns the border as TOML.
    pub(crate) fn quoted(&self) -> String {
        quoted(&self.text())
    }

    pub(crate) fn schema() -> Json {
        any([SHARE.reference(), SIZE.reference()])
    }

    /// Returns the border as users write it.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Share(share) => units::share_text(share),
            Self::At(bytes) => size_text(bytes),
        }
    }

    /// Returns the border in bytes from the beginning of `capacity` bytes.
    pub(crate) fn on(self, capacity: u64, step: u64) -> Result<u64, JobError> {
        match self {
            Self::Share(Share::WHOLE) => Ok(capacity),
            Self::Share(share) => {
                let at = share.of(capacity);
                Ok(at - at % step)
            }
            Self::At(bytes) if bytes <= capacity => Ok(bytes),
            Self::At(bytes) => {
                let (bytes, capacity) = (size_text(bytes), about(capacity));
                let message = format!("the region reaches {bytes}; the target has {capacity}");
                let hint = "write shares of the target, as in `\"50%\"`, or take a larger target";
                Err(JobError::new(message).hint(hint))
            }
        }
    }
}

/// Returns the usable bytes of `capacity` in blocks of `block`, without the last block if it is cut
/// off, and the step between borders that are given as shares.
pub(crate) fn whole_blocks(capacity: u64, block: u32) -> (u64, u64) {
    let capacity = capacity - capacity.checked_rem(u64::from(block)).unwrap_or(0);
    (capacity, share_step(block))
}

/// Returns the step between borders that are given as shares, on a target with blocks of `block`
/// bytes.
const fn share_step(block: u32) -> u64 {
    let block = block as u64;
    if block == 0 { SHARE_STEP } else { SHARE_STEP.div_ceil(block) * block }
}

/// Returns a hint with the multiples of `unit` next to `bytes`.
pub(crate) fn multiples_near(bytes: u64, unit: u64) -> String {
    let more = size_text(bytes.next_multiple_of(unit));
    match bytes - bytes % unit {
        0 => format!("the smallest that may be is {more}"),
        less => format!("the nearest that may be are {} and {more}", size_text(less)),
    }
}
