//! Places of an agent's requests in its region.

use penstock_workload::{Arrivals, Growth, Pattern, Spacing, Spread, Weighted};
use serde_json::{Value as Json, json};

use crate::amount::{Count, SIZE};
use crate::describe::{self, with};
use crate::diagnose::{JobError, Origin};
use crate::keys::{Declared, is, keys, needed, required, table, without};
use crate::kinds::{Choice, Own};
use crate::reader::Reader;
use crate::rows::Rows;
use crate::tree::Node;
use crate::units::size_text;
use crate::workload::quota::{PASSES, Quota};
use crate::workload::region::{self, Edge, Region};
use crate::workload::sizes::REQUEST_MOST;
use crate::workload::spread::{self, SpreadSpec};

/// Words for patterns.
pub(crate) const PATTERNS: Choice<Pattern> = Choice(&[
    (RANDOM, Pattern::Random),
    ("sequential", Pattern::Sequential),
    (BACKWARDS, Pattern::Backwards),
]);
const RANDOM: &str = "random";
const BACKWARDS: &str = "backwards";

keys! {
    /// Keys of an agent that say where its requests lie.
    KEYS:
    /// Place of the next request: anywhere, behind the one before, or before it. At the end of its
    /// region a sequential pattern begins again, and so does one that goes backwards at the
    /// beginning. Reads and writes of a mix have separate positions.
    PATTERN pattern: Pattern = PATTERNS, needs "\"random\"";
    /// Distribution of random requests over the region: all places equally likely (`uniform`), each
    /// `once` before any comes again, or another distribution.
    SPREAD spread: SpreadSpec = spread::KIND, or SpreadSpec::Uniform;
    /// Requests begin at multiples of this, counted from the region's first byte. If not given,
    /// random ones begin at multiples of their size (the smallest of several), and sequential ones
    /// anywhere.
    ALIGN align: u32 = SIZE.above_zero().at_most(REQUEST_MOST);
    /// Place in the region at which the first sequential request begins.
    FIRST first: Edge = Own { read: Edge::read, text: Edge::quoted, schema: Edge::schema },
        or Edge::At(0);
    /// Bytes from the begin of each sequential request to that of the next.
    STRIDE stride: u64 = SIZE.above_zero();
    /// Bytes by which each pass through the region begins behind the one before: with a shift of
    /// one request a `stride` reaches each place once before it reaches any again.
    SHIFT shift: u64 = SIZE.above_zero();
    /// Bytes that are left out behind each sequential request; in place of `stride`.
    GAP gap: u32 = SIZE.at_most(REQUEST_MOST), or 0;
    /// Growth of requests or gaps with the number of requests.
    GROWTH growth: Growth = Own { read: growth, text: growth_text, schema: || table(GROWTH_KEYS) };
    /// The agent's part of the file, or of the device of a job without files: shares, or bytes.
    REGION region: Region = region::KIND, or Region::WHOLE;
}

/// Keys that concern the position of one agent: agents that take turns share a position.
pub(crate) const OWN: &[&dyn Declared] = &[&ALIGN, &FIRST, &STRIDE, &SHIFT, &GAP, &GROWTH];

keys! {
    /// Keys of growth.
    GROWTH_KEYS:
    /// Number of requests after which they grow.
    EVERY every: u32 = Count(1, u32::MAX as u64), needs "100";
    /// Bytes by which requests grow.
    LONGER size: u32 = SIZE.at_most(REQUEST_MOST), or 0;
    /// Bytes by which the gap behind them grows.
    FARTHER gap: u32 = SIZE.at_most(REQUEST_MOST), or 0;
}

/// Places of an agent's requests in its region.
#[derive(Clone, PartialEq, Debug)]
pub struct Places {
    /// Pattern of places.
    pub pattern: Pattern,
    /// Distribution of random requests over the region.
    pub spread: SpreadSpec,
    /// Spacing of requests, and the growth of spacing and size. Its first request is at the
    /// beginning.
    pub spacing: Spacing,
    /// Place in the region of the first sequential request.
    pub first: Edge,
    /// The part of the target that it uses.
    pub region: Region,
    spread_origin: Origin,
    first_origin: Origin,
}

impl Places {
    /// Reads the places of an agent with these arrivals, sizes (and where they were written) and
    /// quota.
    pub(crate) fn read(
        reader: &Reader<'_>,
        arrivals: &Arrivals,
        sizes: (&Weighted<u32>, &Origin),
        quota: Option<Quota>,
    ) -> Result<Self, JobError> {
        let pattern = reader.get(&PATTERN)?;
        Ok(Self {
            pattern,
            spread: read_spread(reader, pattern)?,
            spacing: spacing(reader, pattern, arrivals, sizes, quota)?,
            first: reader.get(&FIRST)?,
            region: reader.get(&REGION)?.or_at(reader.origin(&REGION)),
            spread_origin: reader.origin(&SPREAD).clone(),
            first_origin: reader.place(&FIRST).clone(),
        })
    }

    /// Returns the place of the first sequential request in a region of `bytes`.
    pub(crate) fn first(&self, bytes: u64, step: u64) -> Result<u64, JobError> {
        if let Edge::At(first) = self.first
            && first > bytes
        {
            let [first, holds] = [first, bytes].map(size_text);
            let message = format!("the first request begins at {first} of a region of {holds}");
            let hint = "write a share of the region, as in `\"50%\"`, or take a larger one";
            return Err(JobError::new(message).at(&self.first_origin).hint(hint));
        }
        self.first.on(bytes, step)
    }

    /// Returns the distribution of random requests over a region of `bytes` with `places` places.
    pub(crate) fn spread(&self, bytes: u64, places: u64) -> Result<Spread, JobError> {
        self.spread.on(bytes, places, &self.spread_origin)
    }

    /// Returns its lengths in bytes with their names in messages.
    pub(crate) fn lengths(&self) -> [(&'static str, u64); 7] {
        let Spacing { align, gap, stride, shift, growth, .. } = self.spacing;
        let [longer, farther] = growth.map_or([0, 0], |growth| [growth.size, growth.gap]);
        let first = if let Edge::At(bytes) = self.first { bytes } else { 0 };
        [
            ("an alignment", align.unwrap_or(0).into()),
            ("gaps", gap.into()),
            ("a stride", stride.unwrap_or(0)),
            ("a shift", shift),
            ("requests that grow by steps", longer.into()),
            ("gaps that grow by steps", farther.into()),
            ("a first request that begins behind", first),
        ]
    }

    /// Adds its keys to `rows`, for an agent with these arrivals; keys without a default only if
    /// they are given.
    pub(crate) fn write(&self, rows: Rows, arrivals: &Arrivals) -> Rows {
        let turns = *arrivals == Arrivals::Turns;
        let first = self.pattern == Pattern::Sequential && !turns;
        let gap = self.pattern != Pattern::Random && !turns && self.spacing.stride.is_none();
        let spread = Some(&self.spread).filter(|spread| **spread != SpreadSpec::Uniform);
        rows.put(&PATTERN, &self.pattern)
            .maybe(&SPREAD, spread)
            .maybe(&ALIGN, self.spacing.align.as_ref())
            .maybe(&FIRST, Some(&self.first).filter(|_| first))
            .maybe(&STRIDE, self.spacing.stride.as_ref())
            .maybe(&SHIFT, Some(&self.spacing.shift).filter(|shift| **shift > 0))
            .maybe(&GAP, Some(&self.spacing.gap).filter(|_| gap))
            .maybe(&GROWTH, self.spacing.growth.as_ref())
            .put(&REGION, &self.region)
    }
}

/// Returns the schema rules of these keys. `single_size` and `counted` describe an agent whose
/// requests may grow.
pub(crate) fn rules(single_size: Json, counted: Json) -> [Json; 7] {
    let in_line = json!({"properties": {PATTERN.name: {"enum": [PATTERNS.0[1].0, BACKWARDS]}}});
    let growing = describe::all([counted, without(&[&STRIDE]), single_size]);
    [
        needed(KEYS),
        json!({"if": is(&PATTERN, &[RANDOM]), "then": without(&[&FIRST, &STRIDE, &SHIFT, &GAP])}),
        json!({"if": is(&PATTERN, &[BACKWARDS]), "then": without(&[&FIRST, &SHIFT])}),
        json!({"if": required(&[&SHIFT]), "then": with(required(&[&STRIDE]), without(&[&PASSES]))}),
        json!({"if": in_line, "then": {"properties": {SPREAD.name: {"const": "uniform"}}}}),
        json!({"if": required(&[&GROWTH]), "then": growing}),
        json!({"if": required(&[&STRIDE]), "then": without(&[&GAP])}),
    ]
}

/// Describes the places of an agent that takes turns.
pub(crate) fn in_turns() -> Json {
    let forwards = json!({"properties": {PATTERN.name: {"not": {"const": BACKWARDS}}}});
    describe::all([without(OWN), forwards])
}

fn read_spread(reader: &Reader<'_>, pattern: Pattern) -> Result<SpreadSpec, JobError> {
    let spread = reader.get(&SPREAD)?;
    if pattern != Pattern::Random && spread != SpreadSpec::Uniform {
        let message = "a `spread` belongs to a random pattern";
        let hint = "set `pattern = \"random\"`, or leave `spread` out";
        return Err(JobError::new(message).at(reader.origin(&SPREAD)).hint(hint));
    }
    Ok(spread)
}

/// Reads the spacing of an agent's requests; its first request is at the beginning.
fn spacing(
    reader: &Reader<'_>,
    pattern: Pattern,
    arrivals: &Arrivals,
    (sizes, sizes_origin): (&Weighted<u32>, &Origin),
    quota: Option<Quota>,
) -> Result<Spacing, JobError> {
    if *arrivals == Arrivals::Turns {
        let hint = "agents that take turns share one position and keep their size";
        reader.refuse(OWN, "does not go with arrivals in `turns`", hint)?;
        if pattern == Pattern::Backwards || sizes.single().is_none() {
            let backwards = pattern == Pattern::Backwards;
            let origin = if backwards { reader.origin(&PATTERN) } else { sizes_origin };
            let message = "agents that take turns go forwards, each with one size";
            return Err(JobError::new(message).at(origin).hint(hint));
        }
    }
    if pattern == Pattern::Random {
        let hint = "random requests begin anywhere in the region";
        reader.refuse(&[&FIRST, &STRIDE, &SHIFT, &GAP], "belongs to a sequential pattern", hint)?;
    }
    if pattern == Pattern::Backwards {
        let hint = "a pattern that goes backwards begins at the end of its region";
        reader.refuse(&[&FIRST, &SHIFT], "belongs to a pattern that goes forwards", hint)?;
    }
    let growth = reader.find(&GROWTH)?;
    if growth.is_some() && !matches!(quota, Some(Quota::Requests(_))) {
        let message = "what grows needs an end, and the agent has no `count`";
        let hint = "say how many requests there are, as in `count = 10000`";
        return Err(JobError::new(message).at(reader.place(&GROWTH)).hint(hint));
    }
    if growth.is_some() && sizes.single().is_none() {
        let message = "requests that grow have one size to begin with";
        let hint = "leave `growth` out, or give one size";
        return Err(JobError::new(message).at(reader.origin(&GROWTH)).hint(hint));
    }
    let (align, gap) = (reader.find(&ALIGN)?, reader.get(&GAP)?);
    let stride = stride(reader, sizes)?;
    let shift = shift(reader, stride)?.unwrap_or(0);
    Ok(Spacing { align, gap, stride, shift, growth, ..Spacing::default() })
}

/// Reads the shift of an agent with this stride, if it is given.
fn shift(reader: &Reader<'_>, stride: Option<u64>) -> Result<Option<u64>, JobError> {
    let Some(shift) = reader.find(&SHIFT)? else { return Ok(None) };
    let Some(stride) = stride else {
        let message = "a `shift` belongs to a `stride`";
        let hint = "add the stride, or leave `shift` out";
        return Err(JobError::new(message).at(reader.origin(&SHIFT)).hint(hint));
    };
    let why = "does not go with `shift`: passes differ in length then";
    reader.exclude(&SHIFT, &[&PASSES], why, "say how many requests there are: `count`")?;
    if shift >= stride {
        let [shift, stride] = [shift, stride].map(size_text);
        let message = format!("a shift of {shift} is no less than the stride of {stride}");
        let hint = "take the length of a request to reach each place once";
        return Err(JobError::new(message).at(reader.place(&SHIFT)).hint(hint));
    }
    Ok(Some(shift))
}

/// Reads the stride, if it is given.
fn stride(reader: &Reader<'_>, sizes: &Weighted<u32>) -> Result<Option<u64>, JobError> {
    let Some(stride) = reader.find(&STRIDE)? else { return Ok(None) };
    let hint = "a stride counts from one beginning to the next, whatever lies between";
    reader.exclude(&STRIDE, &[&GAP, &GROWTH], "does not go with `stride`", hint)?;
    let longest = u64::from(sizes.possible().max().unwrap_or(0));
    if stride < longest {
        let [stride, longest] = [stride, longest].map(size_text);
        let message = format!("a stride of {stride} is shorter than a request of {longest}");
        let hint = format!("requests would overlap: take at least {longest}");
        return Err(JobError::new(message).at(reader.place(&STRIDE)).hint(hint));
    }
    Ok(Some(stride))
}

fn growth(node: &Node) -> Result<Growth, JobError> {
    let reader = Reader::new(node, "the growth", &[GROWTH_KEYS])?;
    let (size, gap) = (reader.get(&LONGER)?, reader.get(&FARTHER)?);
    Ok(Growth { every: reader.get(&EVERY)?, size, gap })
}

fn growth_text(growth: &Growth) -> String {
    let rows = Rows::of(&[GROWTH_KEYS]).put(&EVERY, &growth.every);
    rows.put(&LONGER, &growth.size).put(&FARTHER, &growth.gap).inline()
}
