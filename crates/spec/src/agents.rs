//! Agents as a job describes them, and what becomes of them on a target of a known size.

use penstock_core::{ClassId, Flags, Op, Prio, Span, Time};
use penstock_workload::{Agent, Arrivals, Pace, Pattern};

use crate::classes::Class;
use crate::diagnose::{JobError, Origin, quote};
use crate::nearest::suggest;
use crate::text::{Lines, quoted, size as size_toml, time};
use crate::tree::{Node, Reader};
use crate::units::{self, Share, duration_text, rate_text, size_text};

/// Keys of an agent.
pub(crate) const KEYS: &[&str] =
    &["class", "op", "sync", "cache", "size", "pattern", "region", "arrivals", "start", "stop"];
/// Keys of arrivals on a schedule, beside `kind`.
pub(crate) const OPEN_KEYS: &[&str] = &["rate", "curve"];
/// Keys of arrivals after completions, beside `kind`.
pub(crate) const CLOSED_KEYS: &[&str] = &["depth", "think"];
/// Keys of arrivals in turn with other agents, beside `kind`.
pub(crate) const TURNS_KEYS: &[&str] = &["count"];
/// All keys of arrivals.
pub(crate) const ARRIVALS_KEYS: &[&str] = &["kind", "rate", "curve", "depth", "think", "count"];

/// What an agent does.
pub(crate) const OPS: &[&str] = &["read", "write"];
/// Through the page cache, or past it.
pub(crate) const CACHES: &[&str] = &["buffered", "direct"];
/// Where its next request begins.
pub(crate) const PATTERNS: &[&str] = &["random", "sequential"];
/// When it asks.
pub(crate) const ARRIVALS: &[&str] = &["poisson", "fixed", "closed", "turns"];

/// Requests outstanding at once, at most: their tables take up to 1.4 GiB, depending on the policy: more is a slip.
pub(crate) const MAX_OUTSTANDING_MOST: u64 = 1 << 22;
/// Longer requests than this are a slip of the unit: no kernel takes a tenth of it as one command.
const SIZE_MAX: u64 = 1 << 30;
/// A rate may be a thousand times its usual self, with room to spare.
pub(crate) const FACTOR_MAX: f64 = 1e6;
/// Arrivals a second, at the height of a curve: more cannot be told apart.
const PEAK_MAX: f64 = 1e9;
/// Borders that are given as shares lie on multiples of this, the page of every common machine, so
/// that requests stay aligned wherever the target ends.
const SHARE_STEP: u64 = 4096;

/// An agent, checked as far as that is possible without the target.
#[derive(Clone, PartialEq, Debug)]
pub struct AgentSpec {
    /// The class of its requests: an index into the job's classes.
    pub class: ClassId,
    /// Read or write.
    pub op: Op,
    /// Whether somebody waits for each of them; a write is durable when it completes.
    pub sync: bool,
    /// Whether they go through the page cache.
    pub buffered: bool,
    /// Bytes of a request.
    pub size: u32,
    /// Where the next request begins.
    pub pattern: Pattern,
    /// Which part of the target it uses.
    pub region: Region,
    /// When it asks.
    pub arrivals: Arrivals,
    /// When it begins.
    pub start: Span,
    /// When it stops asking.
    pub stop: Span,
    size_origin: Origin,
    cache_origin: Origin,
}

/// A part of the target.
#[derive(Clone, PartialEq, Debug)]
pub struct Region {
    /// Its first byte.
    pub from: Edge,
    /// The byte behind its last.
    pub to: Edge,
    from_origin: Origin,
    to_origin: Origin,
}

/// A border of a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Edge {
    /// A share of the target.
    Share(Share),
    /// Bytes from its beginning.
    At(u64),
}

impl AgentSpec {
    /// Reads an agent of a job that runs for `duration`.
    pub(crate) fn read(node: &Node, classes: &[Class], duration: Span) -> Result<Self, JobError> {
        let reader = Reader::new(node, "this agent", KEYS)?;
        let class = reader.required("class", "\"…\"", |node| class(node, classes))?;
        let op = reader.required("op", "\"read\"", |node| node.choice(OPS))?;
        let sync = reader.optional("sync", Node::boolean)?.unwrap_or(false);
        let cache = reader.optional("cache", |node| node.choice(CACHES))?;
        let size = reader.required("size", "\"4KiB\"", size)?;
        let pattern = reader.required("pattern", "\"random\"", |node| node.choice(PATTERNS))?;
        let whole = || Region::whole(reader.origin("region"));
        let region = reader.optional("region", Region::read)?.unwrap_or_else(whole);
        let example = "{ kind = \"closed\", depth = 4 }";
        let arrivals = reader.required("arrivals", example, arrivals)?;
        let (start, stop) = active(&reader, "agent", duration)?;
        Ok(Self {
            class,
            op: if op == "read" { Op::Read } else { Op::Write },
            sync,
            buffered: cache == Some("buffered"),
            size,
            pattern: if pattern == "random" { Pattern::Random } else { Pattern::Sequential },
            region,
            arrivals,
            start,
            stop,
            size_origin: reader.origin("size").clone(),
            cache_origin: reader.origin("cache").clone(),
        })
    }

    /// The agent on a target of `capacity` bytes in whole blocks.
    pub(crate) fn on(&self, capacity: u64, step: u64, prio: u8) -> Result<Agent, JobError> {
        let region = self.region.on(capacity, step)?;
        let bytes = region.end - region.start;
        if bytes < u64::from(self.size) {
            let (holds, size) = (size_text(bytes), size_text(self.size.into()));
            let found = format!("the region holds {holds}, less than one request of {size}");
            let hint = "make `region` larger, or `size` smaller";
            return Err(JobError::new(found).at(&self.size_origin).hint(hint));
        }
        let cache = if self.buffered { Flags::BUFFERED } else { Flags::NONE };
        Ok(Agent {
            class: self.class,
            prio: Prio(prio),
            op: self.op,
            flags: cache.with(match (self.sync, self.op) {
                (false, _) => Flags::NONE,
                (true, Op::Write) => Flags::SYNC.with(Flags::FUA),
                (true, _) => Flags::SYNC,
            }),
            size: self.size,
            pattern: self.pattern,
            region,
            arrivals: self.arrivals.clone(),
            active: Time::ZERO + self.start..Time::ZERO + self.stop,
        })
    }

    /// That its requests can go to the real target `on`, which no page cache of a model is above.
    ///
    /// # Errors
    /// The agent is `buffered`.
    pub fn can_run_live(&self, on: &str) -> Result<(), JobError> {
        if !self.buffered {
            return Ok(());
        }
        let found = format!("the agent is `buffered`; on {on} all I/O is direct");
        let hint = "a page cache is modelled: name a model with --on, or set `cache = \"direct\"`";
        Err(JobError::new(found).at(&self.cache_origin).hint(hint))
    }

    /// The section, with every default in place.
    pub(crate) fn write(&self, out: &mut Lines, class: &str) {
        let region = [self.region.from, self.region.to].map(|edge| quoted(&edge.text()));
        out.section("[[agent]]");
        out.line("class", quoted(class));
        out.line("op", quoted(if self.op == Op::Read { "read" } else { "write" }));
        out.line("sync", self.sync);
        out.line("cache", quoted(if self.buffered { "buffered" } else { "direct" }));
        out.line("size", size_toml(self.size.into()));
        let random = self.pattern == Pattern::Random;
        out.line("pattern", quoted(if random { "random" } else { "sequential" }));
        out.line("region", format!("[{}]", region.join(", ")));
        out.line("arrivals", format!("{{ {} }}", arrivals_text(&self.arrivals)));
        out.line("start", time(self.start));
        out.line("stop", time(self.stop));
    }

    /// Requests that it keeps outstanding by itself.
    pub(crate) fn depth(&self) -> u64 {
        match self.arrivals {
            Arrivals::Closed { depth, .. } => u64::from(depth),
            Arrivals::Turns { .. } => 1,
            Arrivals::Open { .. } => 0,
        }
    }
}

/// `start` and `stop` of `who`, an agent or a program, in a job that runs for `duration`.
pub(crate) fn active(
    reader: &Reader<'_>,
    who: &str,
    duration: Span,
) -> Result<(Span, Span), JobError> {
    let start = reader.optional("start", units::duration)?.unwrap_or(Span::ZERO);
    let stop = reader.optional("stop", units::duration)?.unwrap_or(duration);
    if stop > duration {
        let (stop, duration) = (duration_text(stop), duration_text(duration));
        let found = format!("the {who} stops at {stop}, after the job's end at {duration}");
        let hint = "leave `stop` out to go on until the end";
        return Err(JobError::new(found).at(reader.origin("stop")).hint(hint));
    }
    if start >= stop {
        let (start, stop) = (duration_text(start), duration_text(stop));
        let found = format!("the {who} starts at {start}, when it has stopped: at {stop}");
        let hint = "`start` must lie before `stop` and before the job's end";
        return Err(JobError::new(found).at(reader.origin("start")).hint(hint));
    }
    Ok((start, stop))
}

pub(crate) fn class(node: &Node, classes: &[Class]) -> Result<ClassId, JobError> {
    let name = node.text("the name of a class")?;
    let index = classes.iter().position(|class| class.name == name).ok_or_else(|| {
        let known = classes.iter().map(|class| class.name.as_str());
        let hint = match known.len() {
            0 => "declare it: `[class.NAME]` is a section".into(),
            _ => suggest(name, known),
        };
        let found = format!("unknown class {}", quote(name));
        JobError::new(found).at(&node.origin).hint(hint)
    })?;
    Ok(ClassId(index as u16))
}

pub(crate) fn size(node: &Node) -> Result<u32, JobError> {
    match units::size(node)? {
        0 => Err(node.expected("a size of at least `1B`").hint("a request carries something")),
        bytes if bytes > SIZE_MAX => {
            let hint = "let the agent ask for more requests instead";
            Err(node.expected("a size of at most `1GiB`").hint(hint))
        }
        bytes => Ok(bytes as u32),
    }
}

fn arrivals(node: &Node) -> Result<Arrivals, JobError> {
    let reader = Reader::new(node, "the arrivals", ARRIVALS_KEYS)?;
    let kind = reader.required("kind", "\"poisson\"", |node| node.choice(ARRIVALS))?;
    let refuse = |keys: &[&str], whose: &str, hint: &str| {
        reader.refuse(keys, &format!("belongs to {whose}; these are `{kind}`"), hint)
    };
    let hint = match kind {
        "closed" => "a closed loop asks when an earlier request has finished: give it a `depth`",
        "turns" => "agents that take turns ask when it is their turn, `count` times",
        _ => "arrivals on a schedule have a `rate`",
    };
    if kind != "closed" {
        refuse(CLOSED_KEYS, "`closed` arrivals", hint)?;
    }
    if kind != "turns" {
        refuse(TURNS_KEYS, "arrivals in `turns`", hint)?;
    }
    if matches!(kind, "closed" | "turns") {
        refuse(OPEN_KEYS, "arrivals on a schedule", hint)?;
    }
    if kind == "turns" {
        let count = reader.optional("count", |node| node.count(1, u64::from(u32::MAX)))?;
        return Ok(Arrivals::Turns { count: count.unwrap_or(u64::MAX) });
    }
    if kind == "closed" {
        let depth = reader.optional("depth", |node| node.count(1, MAX_OUTSTANDING_MOST))?;
        let think = reader.optional("think", units::duration)?;
        return Ok(Arrivals::Closed {
            depth: depth.unwrap_or(1) as u32,
            think: think.unwrap_or(Span::ZERO),
        });
    }
    let rate = reader.required("rate", "\"20/s\"", |node| match units::rate(node)? {
        rate if rate > 0.0 => Ok(rate),
        _ => Err(node.expected("a rate above zero").hint("leave the agent out if it is idle")),
    })?;
    let curve = reader.optional("curve", |node| curve(node, rate))?.unwrap_or_default();
    let pace = if kind == "poisson" { Pace::Poisson } else { Pace::Fixed };
    Ok(Arrivals::Open { rate, pace, curve })
}

fn arrivals_text(arrivals: &Arrivals) -> String {
    match arrivals {
        Arrivals::Open { rate, pace, curve } => {
            let kind = if *pace == Pace::Poisson { "poisson" } else { "fixed" };
            let mut text = format!("kind = \"{kind}\", rate = \"{}\"", rate_text(*rate));
            if !curve.is_empty() {
                let factors: Vec<String> = curve.iter().map(f64::to_string).collect();
                text = format!("{text}, curve = [{}]", factors.join(", "));
            }
            text
        }
        Arrivals::Closed { depth, think } => {
            format!("kind = \"closed\", depth = {depth}, think = {}", time(*think))
        }
        Arrivals::Turns { count: u64::MAX } => "kind = \"turns\"".into(),
        Arrivals::Turns { count } => format!("kind = \"turns\", count = {count}"),
    }
}

/// Keys of arrivals of this kind, beside `kind`.
pub(crate) fn keys_of(kind: &str) -> &'static [&'static str] {
    match kind {
        "closed" => CLOSED_KEYS,
        "turns" => TURNS_KEYS,
        _ => OPEN_KEYS,
    }
}

fn curve(node: &Node, rate: f64) -> Result<Vec<f64>, JobError> {
    let items = node.list("a list of factors, as in [1, 0.5, 2]")?;
    let factors: Vec<f64> =
        items.iter().map(|item| item.factor(FACTOR_MAX)).collect::<Result<_, _>>()?;
    let peak = factors.iter().copied().fold(0.0, f64::max);
    if peak == 0.0 {
        let found = "the curve is zero everywhere: the agent would never ask";
        return Err(JobError::new(found).at(&node.origin).hint("give a factor above zero"));
    }
    if peak * rate > PEAK_MAX {
        let found = "at its height the rate is more than one arrival a nanosecond";
        return Err(JobError::new(found).at(&node.origin).hint("lower `rate` or the factors"));
    }
    Ok(factors)
}

impl Region {
    pub(crate) fn whole(origin: &Origin) -> Self {
        let (from, to) = (Edge::Share(Share::NONE), Edge::Share(Share::WHOLE));
        Self { from, to, from_origin: origin.clone(), to_origin: origin.clone() }
    }

    pub(crate) fn read(node: &Node) -> Result<Self, JobError> {
        let expected = "two borders, as in [\"0%\", \"10%\"] or [\"1GiB\", \"2GiB\"]";
        let items = node.list(expected)?;
        let [from, to] = &items[..] else {
            let found = format!("expected {expected}, found {} of them", items.len());
            let hint = "leave `region` out for the whole target";
            return Err(JobError::new(found).at(&node.origin).hint(hint));
        };
        let region = Self {
            from: Edge::read(from)?,
            to: Edge::read(to)?,
            from_origin: from.origin.clone(),
            to_origin: to.origin.clone(),
        };
        match (region.from, region.to) {
            (Edge::Share(from), Edge::Share(to)) if from >= to => Err(region.empty()),
            (Edge::At(from), Edge::At(to)) if from >= to => Err(region.empty()),
            _ => Ok(region),
        }
    }

    fn empty(&self) -> JobError {
        let (from, to) = (self.from.text(), self.to.text());
        let found = format!("the region is empty: it begins at {from} and ends at {to}");
        JobError::new(found).at(&self.to_origin).hint("the second border lies behind the first")
    }

    pub(crate) fn on(&self, capacity: u64, step: u64) -> Result<std::ops::Range<u64>, JobError> {
        let from = self.from.on(capacity, step).map_err(|e| e.at(&self.from_origin))?;
        let to = self.to.on(capacity, step).map_err(|e| e.at(&self.to_origin))?;
        if from < to {
            return Ok(from..to);
        }
        let (begins, ends) = (self.from.text(), self.to.text());
        let size = size_text(capacity);
        let found = format!("on a target of {size} the region from {begins} to {ends} is empty");
        Err(JobError::new(found).at(&self.to_origin).hint("take a larger target or region"))
    }
}

impl Edge {
    fn read(node: &Node) -> Result<Self, JobError> {
        match node.word() {
            Some(text) if text.trim_end().ends_with('%') => units::share(node).map(Self::Share),
            Some(_) => units::size(node).map(Self::At),
            None => Err(node
                .expected("a share or a size")
                .hint("write `\"10%\"` of the target, or `\"1GiB\"` from its beginning")),
        }
    }

    /// As it is written.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Share(share) => units::share_text(share),
            Self::At(bytes) => size_text(bytes),
        }
    }

    fn on(self, capacity: u64, step: u64) -> Result<u64, JobError> {
        match self {
            Self::Share(Share::WHOLE) => Ok(capacity),
            Self::Share(share) => {
                let at = share.of(capacity);
                Ok(at - at % step)
            }
            Self::At(bytes) if bytes <= capacity => Ok(bytes),
            Self::At(bytes) => {
                let (bytes, capacity) = (size_text(bytes), size_text(capacity));
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
