//! A part of a target, and where it lies on one of a known size.

use std::ops::Range;

use serde_json::Value as Json;

use crate::amount::{SHARE, SIZE};
use crate::diagnose::{JobError, Origin};
use crate::kinds::{Kind, Own, list};
use crate::schema::build::{any, pair};
use crate::text::quoted;
use crate::tree::Node;
use crate::units::{self, Share, about, size_text};

/// Borders that are given as shares lie on multiples of this, the page of every common machine, so
/// that requests stay aligned wherever the target ends.
const SHARE_STEP: u64 = 4096;

/// Two borders.
pub(crate) const KIND: Own<Region> = Own {
    read: Region::read,
    text: |region| list(&[region.from, region.to], Edge::quoted),
    schema: || pair(&Edge::schema()),
};

/// A part of the target.
#[derive(Clone, PartialEq, Debug)]
pub struct Region {
    /// Its first byte.
    pub from: Edge,
    /// The byte behind its last.
    pub to: Edge,
    /// Where the two were written.
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

    /// Between two borders, written nowhere.
    pub(crate) fn between(from: Edge, to: Edge) -> Self {
        Self { from, to, origins: None }
    }

    fn read(node: &Node) -> Result<Self, JobError> {
        let expected = "two borders, as in [\"0%\", \"10%\"] or [\"1GiB\", \"2GiB\"]";
        let items = node.list(expected)?;
        let [from, to] = &items[..] else {
            let found = format!("expected {expected}, found {} of them", items.len());
            let hint = "leave `region` out for the whole target";
            return Err(JobError::new(found).at(&node.origin).hint(hint));
        };
        let origins = Some([from.origin.clone(), to.origin.clone()]);
        let region = Self { from: Edge::read(from)?, to: Edge::read(to)?, origins };
        match (region.from, region.to) {
            (Edge::Share(from), Edge::Share(to)) if from >= to => Err(region.empty(&items[1])),
            (Edge::At(from), Edge::At(to)) if from >= to => Err(region.empty(&items[1])),
            _ => Ok(region),
        }
    }

    /// The same, at `origin` if it was not written.
    pub(crate) fn or_at(mut self, origin: &Origin) -> Self {
        self.origins.get_or_insert_with(|| [origin.clone(), origin.clone()]);
        self
    }

    fn empty(&self, to: &Node) -> JobError {
        let (begins, ends) = (self.from.text(), self.to.text());
        let found = format!("the region is empty: it begins at {begins} and ends at {ends}");
        JobError::new(found).at(&to.origin).hint("the second border lies behind the first")
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
        let found = format!("on a target of {size} the region from {begins} to {ends} is empty");
        Err(at(JobError::new(found).hint("take a larger target or region"), 1))
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

    /// As it is written in a file.
    pub(crate) fn quoted(&self) -> String {
        quoted(&self.text())
    }

    pub(crate) fn schema() -> Json {
        any([SHARE.reference(), SIZE.reference()])
    }

    /// As it is written.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Share(share) => units::share_text(share),
            Self::At(bytes) => size_text(bytes),
        }
    }

    /// Bytes from the beginning of `capacity` bytes.
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
                let found = format!("the region reaches {bytes}; the target has {capacity}");
                let hint = "write shares of the target, as in `\"50%\"`, or take a larger target";
                Err(JobError::new(found).hint(hint))
            }
        }
    }
}

/// What can be asked for of `capacity` bytes in blocks of `block`, and the step between borders that
/// are given as shares. The last block may be cut off; what lies in it cannot be asked for.
pub(crate) fn whole_blocks(capacity: u64, block: u32) -> (u64, u64) {
    let capacity = capacity - capacity.checked_rem(u64::from(block)).unwrap_or(0);
    (capacity, share_step(block))
}

/// The step between borders that are given as shares, on a target with blocks of `block` bytes.
const fn share_step(block: u32) -> u64 {
    let block = block as u64;
    if block == 0 { SHARE_STEP } else { SHARE_STEP.div_ceil(block) * block }
}

/// The multiples of `unit` around `bytes`, which is none, as a hint.
pub(crate) fn multiples_near(bytes: u64, unit: u64) -> String {
    let more = size_text(bytes.next_multiple_of(unit));
    match bytes - bytes % unit {
        0 => format!("the smallest that may be is {more}"),
        less => format!("the nearest that may be are {} and {more}", size_text(less)),
    }
}
