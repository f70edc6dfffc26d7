//! Agents as a job describes them, and what becomes of them on a target of a known size.

use penstock_core::{ClassId, Flags, Op, Prio, Span, Time};
use penstock_workload::{Agent, Arrivals, Pattern};

use crate::amount::{Amount, SIZE, TIME};
use crate::classes::{self, Class};
use crate::diagnose::{JobError, Origin, quote};
use crate::keys::{Key, Maybe, keys, table};
use crate::kinds::{Choice, SWITCH, Text, section};
use crate::reader::Reader;
use crate::rows::Rows;
use crate::schema::build;
use crate::text::Lines;
use crate::tree::{Node, Value};
use crate::units::{duration_text, size_text};
use crate::workload::arrivals;
use crate::workload::region::{self, Region};

/// Bytes of a request. Longer ones are a slip of the unit: no kernel takes a tenth of it as one
/// command.
pub(crate) const REQUEST: Amount = SIZE
    .above_zero()
    .at_most(1 << 30)
    .hints("a request carries something", "let the agent ask for more requests instead");
/// Where the next request begins.
pub(crate) const PATTERNS: Choice<Pattern> =
    Choice(&[("random", Pattern::Random), ("sequential", Pattern::Sequential)]);
/// The name of a class.
pub(crate) const CLASSES: Text = Text("the name of a class");

keys! {
    /// Who asks.
    AGENT agent: Node = section(|| build::some(&table(KEYS)));
}

keys! {
    /// Keys of an agent.
    KEYS:
    /// What `--set` may call it, in the place of its number.
    NAME name: String = Text("the name of an agent");
    /// The class of its requests.
    CLASS class: String = CLASSES, needs "\"…\"";
    /// What it asks for.
    OP op: Op = Choice(&[("read", Op::Read), ("write", Op::Write)]), needs "\"read\"";
    /// Whether somebody waits: a write is durable when it is done.
    SYNC sync: bool = SWITCH, or false;
    /// Through the page cache, or past it.
    CACHE cache: bool = Choice(&[("buffered", true), ("direct", false)]), or false;
    /// Bytes of a request.
    BYTES size: u32 = REQUEST, needs "\"4KiB\"";
    /// Where the next request begins.
    PATTERN pattern: Pattern = PATTERNS, needs "\"random\"";
    /// Its part of the device: shares, or bytes.
    REGION region: Region = region::KIND, or Region::WHOLE;
    /// When it asks.
    ARRIVALS arrivals: Arrivals = arrivals::KIND, needs "{ kind = \"closed\", depth = 4 }";
    /// When it begins.
    START start: Span = TIME, or Span::ZERO;
    /// When it stops asking; if not given, with the job.
    STOP stop: Span = TIME;
}

/// An agent, checked as far as that is possible without the target.
#[derive(Clone, PartialEq, Debug)]
pub struct AgentSpec {
    /// What `--set` may call it.
    name: Option<String>,
    /// The class of its requests: an index into the job's classes.
    pub class: ClassId,
    /// Read or write.
    pub op: Op,
    /// Whether a program waits for each of them; a write is durable when it completes.
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

/// Reads the agents of a job with these classes that runs for `duration`.
pub(crate) fn read(
    reader: &Reader<'_>,
    classes: &[Class],
    duration: Span,
) -> Result<Vec<AgentSpec>, JobError> {
    let hint = "an agent is a section: `[[agent]]` with class, op, size, pattern and arrivals";
    let none = || JobError::new("the job has no agent, so it asks for nothing").hint(hint);
    let items = match reader.node(&AGENT) {
        None => return Err(none().at(reader.origin(&AGENT))),
        Some(Node { value: Value::List(items), .. }) if !items.is_empty() => items,
        Some(Node { value: Value::List(_), origin }) => return Err(none().at(origin)),
        Some(node) => return Err(node.expected("agents").hint(hint)),
    };
    let mut agents: Vec<AgentSpec> = Vec::with_capacity(items.len());
    for item in items {
        let agent = AgentSpec::read(item, classes, duration)?;
        if let Some(name) = &agent.name
            && agents.iter().any(|other| other.name == agent.name)
        {
            let found = format!("two agents are called {}", quote(name));
            let hint = "--set could not tell them apart: give one another name";
            return Err(JobError::new(found).at(&item.origin).hint(hint));
        }
        agents.push(agent);
    }
    Ok(agents)
}

impl AgentSpec {
    /// Reads an agent of a job that runs for `duration`.
    pub(crate) fn read(node: &Node, classes: &[Class], duration: Span) -> Result<Self, JobError> {
        let reader = Reader::new(node, "this agent", &[KEYS])?;
        let name = reader.find(&NAME)?;
        if let Some(name) = name.as_ref().filter(|name| !classes::is_name(name)) {
            let found = format!("{} is no name of an agent", quote(name));
            return Err(JobError::new(found).at(reader.origin(&NAME)).hint(classes::NAME_HINT));
        }
        Ok(Self {
            name,
            class: classes::named(&reader.get(&CLASS)?, reader.place(&CLASS), classes)?,
            op: reader.get(&OP)?,
            sync: reader.get(&SYNC)?,
            buffered: reader.get(&CACHE)?,
            size: reader.get(&BYTES)?,
            pattern: reader.get(&PATTERN)?,
            region: reader.get(&REGION)?.or_at(reader.origin(&REGION)),
            arrivals: reader.get(&ARRIVALS)?,
            start: reader.get(&START)?,
            stop: active(&reader, AGENT.name, (&START, &STOP), duration)?,
            size_origin: reader.origin(&BYTES).clone(),
            cache_origin: reader.origin(&CACHE).clone(),
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

    /// That its requests are whole units of `unit` bytes, as direct I/O on `target` moves them.
    ///
    /// # Errors
    /// They are not: more would be moved than is counted.
    pub fn fits_units(&self, unit: u32, target: &str) -> Result<(), JobError> {
        if self.size.is_multiple_of(unit) {
            return Ok(());
        }
        let [size, step] = [self.size, unit].map(|bytes| size_text(bytes.into()));
        let more = u64::from(self.size).next_multiple_of(unit.into());
        let found =
            format!("requests of {size}; direct I/O on {target} moves whole units of {step}");
        let hint = format!("a multiple of that, as {}", size_text(more));
        Err(JobError::new(found).at(&self.size_origin).hint(hint))
    }

    /// The section, with every default in place.
    pub(crate) fn write(&self, out: &mut Lines, class: &str) {
        Rows::of(&[KEYS])
            .maybe(&NAME, self.name.as_ref())
            .put(&CLASS, &class.to_owned())
            .put(&OP, &self.op)
            .put(&SYNC, &self.sync)
            .put(&CACHE, &self.buffered)
            .put(&BYTES, &self.size)
            .put(&PATTERN, &self.pattern)
            .put(&REGION, &self.region)
            .put(&ARRIVALS, &self.arrivals)
            .put(&START, &self.start)
            .put(&STOP, &self.stop)
            .section(Some(&format!("[[{}]]", AGENT.name)), out);
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

/// When `who`, an agent or a program, stops in a job that runs for `duration`: after its start.
pub(crate) fn active(
    reader: &Reader<'_>,
    who: &str,
    (starts, stops): (&Key<Span>, &Key<Span, Maybe>),
    duration: Span,
) -> Result<Span, JobError> {
    let start = reader.get(starts)?;
    let stop = reader.find(stops)?.unwrap_or(duration);
    if stop > duration {
        let (stop, duration) = (duration_text(stop), duration_text(duration));
        let found = format!("the {who} stops at {stop}, after the job's end at {duration}");
        let hint = "leave `stop` out to go on until the end";
        return Err(JobError::new(found).at(reader.origin(stops)).hint(hint));
    }
    if start >= stop {
        let (start, stop) = (duration_text(start), duration_text(stop));
        let found = format!("the {who} starts at {start}, when it has stopped: at {stop}");
        let hint = "`start` must lie before `stop` and before the job's end";
        return Err(JobError::new(found).at(reader.origin(starts)).hint(hint));
    }
    Ok(stop)
}
