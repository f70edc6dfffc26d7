//! Agents as a job describes them, and what becomes of them on a target of a known size.

use std::ops::Range;

use penstock_core::{ClassId, Flags, Op, Prio, Span, Time};
use penstock_workload::{Agent, Arrivals, Growth, Pattern, Spacing};
use serde_json::{Value as Json, json};

use crate::amount::{Amount, Count, SIZE, TIME};
use crate::classes::{self, Class};
use crate::diagnose::{JobError, Origin, quote};
use crate::keys::{Declared, Key, Maybe, is, keys, required, table, table_with, without};
use crate::kinds::{Choice, Own, SWITCH, Text, section};
use crate::reader::Reader;
use crate::rows::Rows;
use crate::schema::build::{self, with};
use crate::text::Lines;
use crate::tree::{Node, Value};
use crate::units::{duration_text, size_text};
use crate::workload::agent_files::{self, AgentFiles};
use crate::workload::arrivals;
use crate::workload::files::{FileSpec, Lying};
use crate::workload::region::{self, Edge, Region};

/// Longer requests are a slip of the unit: no kernel takes a tenth of it as one command.
const REQUEST_MOST: u64 = 1 << 30;
/// Bytes of a request.
pub(crate) const REQUEST: Amount = SIZE
    .above_zero()
    .at_most(REQUEST_MOST)
    .hints("a request carries something", "let the agent ask for more requests instead");
/// Where the next request begins.
pub(crate) const PATTERNS: Choice<Pattern> =
    Choice(&[("random", Pattern::Random), ("sequential", Pattern::Sequential)]);
/// The name of a class.
pub(crate) const CLASSES: Text = Text("the name of a class");

keys! {
    /// Who asks.
    AGENT agent: Node = section(|| build::some(&schema()));
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
    /// Requests begin at multiples of this, counted from the region's first byte; if not given,
    /// random ones at multiples of their size, and sequential ones anywhere.
    ALIGN align: u32 = SIZE.above_zero().at_most(REQUEST_MOST);
    /// Where in its region the first of its sequential requests begins.
    FIRST first: Edge = Own { read: Edge::read, text: Edge::quoted, schema: Edge::schema },
        or Edge::At(0);
    /// Bytes that are left out behind each of its sequential requests.
    GAP gap: u32 = SIZE.at_most(REQUEST_MOST), or 0;
    /// What grows with the number of requests.
    GROWTH growth: Growth = Own { read: growth, text: growth_text, schema: || table(GROWTH_KEYS) };
    /// Its part of the file, or of the device of a job without files: shares, or bytes.
    REGION region: Region = region::KIND, or Region::WHOLE;
    /// When it asks, and how many requests it has.
    ARRIVALS arrivals: (Arrivals, Option<u32>) = arrivals::KIND, needs "{ kind = \"closed\", depth = 4 }";
    /// When it begins.
    START start: Span = TIME, or Span::ZERO;
    /// When it stops asking; if not given, with the job.
    STOP stop: Span = TIME;
}

keys! {
    /// Keys of what grows.
    GROWTH_KEYS:
    /// After how many requests.
    EVERY every: u32 = Count(1, u32::MAX as u64), needs "100";
    /// Bytes by which requests grow.
    LONGER size: u32 = SIZE.at_most(REQUEST_MOST), or 0;
    /// Bytes by which the gap behind them grows.
    FARTHER gap: u32 = SIZE.at_most(REQUEST_MOST), or 0;
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
    /// How far requests lie apart, and how that and their size grow; the first of them lies at the
    /// beginning.
    pub spacing: Spacing,
    /// Where in its region the first of its sequential requests begins.
    pub first: Edge,
    /// How many requests it has, if that is known.
    pub count: Option<u32>,
    /// Which part of the target it uses.
    pub region: Region,
    /// On which files, and how often.
    files: AgentFiles,
    /// When it asks.
    pub arrivals: Arrivals,
    /// When it begins.
    pub start: Span,
    /// When it stops asking.
    pub stop: Span,
    size_origin: Origin,
    first_origin: Origin,
    cache_origin: Origin,
}

/// Reads the agents of a job with these classes and files that runs for `duration`.
pub(crate) fn read(
    reader: &Reader<'_>,
    classes: &[Class],
    duration: Span,
    files: &[FileSpec],
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
        let agent = AgentSpec::read(item, classes, duration, files)?;
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
    /// Reads an agent of a job with these files that runs for `duration`.
    pub(crate) fn read(
        node: &Node,
        classes: &[Class],
        duration: Span,
        files: &[FileSpec],
    ) -> Result<Self, JobError> {
        let reader = Reader::new(node, "this agent", &[KEYS, agent_files::KEYS])?;
        let name = reader.find(&NAME)?;
        if let Some(name) = name.as_ref().filter(|name| !classes::is_name(name)) {
            let found = format!("{} is no name of an agent", quote(name));
            return Err(JobError::new(found).at(reader.origin(&NAME)).hint(classes::NAME_HINT));
        }
        let (arrivals, count) = reader.get(&ARRIVALS)?;
        let pattern = reader.get(&PATTERN)?;
        let spacing = spacing(&reader, pattern, &arrivals, count)?;
        Ok(Self {
            name,
            spacing,
            first: reader.get(&FIRST)?,
            count,
            class: classes::named(&reader.get(&CLASS)?, reader.place(&CLASS), classes)?,
            op: reader.get(&OP)?,
            sync: reader.get(&SYNC)?,
            buffered: reader.get(&CACHE)?,
            size: reader.get(&BYTES)?,
            pattern,
            region: reader.get(&REGION)?.or_at(reader.origin(&REGION)),
            files: AgentFiles::read(&reader, files)?,
            arrivals,
            start: reader.get(&START)?,
            stop: active(&reader, AGENT.name, (&START, &STOP), duration)?,
            first_origin: reader.place(&FIRST).clone(),
            size_origin: reader.origin(&BYTES).clone(),
            cache_origin: reader.origin(&CACHE).clone(),
        })
    }

    /// Its copies on those of the files that it works on; `lying` has all files of the job.
    pub(crate) fn on(&self, lying: &[Lying], prio: u8) -> Result<Vec<Agent>, JobError> {
        let mut agents = Vec::new();
        for number in self.files.numbers() {
            let file = lying[number as usize];
            let region = self.region.on(file.size, file.step)?;
            for part in self.files.parts(region, file.step) {
                let agent = self.one(part, file.step, prio)?;
                agents.push(Agent { region: file.place(agent.region), ..agent });
            }
        }
        Ok(agents)
    }

    /// One of its copies, in `region` of a file.
    fn one(&self, region: Range<u64>, step: u64, prio: u8) -> Result<Agent, JobError> {
        let bytes = region.end - region.start;
        let first = self.first(bytes, step)?;
        let cache = if self.buffered { Flags::BUFFERED } else { Flags::NONE };
        let agent = Agent {
            prio: Prio(prio),
            flags: cache.with(match (self.sync, self.op) {
                (false, _) => Flags::NONE,
                (true, Op::Write) => Flags::SYNC.with(Flags::FUA),
                (true, _) => Flags::SYNC,
            }),
            pattern: self.pattern,
            spacing: Spacing { first, ..self.spacing },
            count: self.count.map_or(u64::MAX, u64::from),
            active: Time::ZERO + self.start..Time::ZERO + self.stop,
            ..Agent::new(self.class, self.op, self.size, region, self.arrivals.clone())
        };
        let longest = u64::from(agent.longest());
        if longest > REQUEST_MOST {
            let [last, most] = [longest, REQUEST_MOST].map(size_text);
            let found = format!("requests grow to {last}; at most {most} may be");
            let hint = "let them grow by less, or less often, or lower `count`";
            return Err(JobError::new(found).at(&self.size_origin).hint(hint));
        }
        if bytes < longest {
            if let Some(slice) = self.files.too_small(bytes, longest) {
                return Err(slice);
            }
            let (holds, size) = (size_text(bytes), size_text(longest));
            let found = format!("the region holds {holds}, less than one request of {size}");
            let hint = "make `region` larger, or `size` smaller";
            return Err(JobError::new(found).at(&self.size_origin).hint(hint));
        }
        Ok(agent)
    }

    /// Where the first of its sequential requests begins in a region of `bytes`.
    fn first(&self, bytes: u64, step: u64) -> Result<u64, JobError> {
        if let Edge::At(first) = self.first
            && first > bytes
        {
            let [first, holds] = [first, bytes].map(size_text);
            let found = format!("the first request begins at {first} of a region of {holds}");
            let hint = "write a share of the region, as in `\"50%\"`, or take a larger one";
            return Err(JobError::new(found).at(&self.first_origin).hint(hint));
        }
        self.first.on(bytes, step)
    }

    /// That its requests can go to `on`, which has no page cache.
    ///
    /// # Errors
    /// The agent is `buffered`.
    pub fn can_be_direct(&self, on: &str) -> Result<(), JobError> {
        if !self.buffered {
            return Ok(());
        }
        let found = format!("the agent is `buffered`; {on} has no page cache");
        let hint = "name a model or a file with --on, or set `cache = \"direct\"`";
        Err(JobError::new(found).at(&self.cache_origin).hint(hint))
    }

    /// That its requests are whole units of `unit` bytes, as direct I/O on `target` moves them.
    ///
    /// # Errors
    /// They are not: more would be moved than is counted.
    pub fn fits_units(&self, unit: u32, target: &str) -> Result<(), JobError> {
        if self.buffered {
            return Ok(());
        }
        let Spacing { align, gap, growth, .. } = self.spacing;
        let [longer, farther] = growth.map_or([0, 0], |growth| [growth.size, growth.gap]);
        let first = if let Edge::At(bytes) = self.first { bytes } else { 0 };
        let all = [
            ("requests", u64::from(self.size)),
            ("an alignment", align.unwrap_or(0).into()),
            ("gaps", gap.into()),
            ("requests that grow by steps", longer.into()),
            ("gaps that grow by steps", farther.into()),
            ("a first request that begins behind", first),
        ];
        let uneven = all.into_iter().find(|(_, bytes)| !bytes.is_multiple_of(unit.into()));
        let Some((what, bytes)) = uneven else { return Ok(()) };
        let [size, step] = [bytes, unit.into()].map(size_text);
        let more = bytes.next_multiple_of(unit.into());
        let found = format!("{what} of {size}; direct I/O on {target} moves whole units of {step}");
        let hint = format!("a multiple of that, as {}", size_text(more));
        Err(JobError::new(found).at(&self.size_origin).hint(hint))
    }

    /// The section, with every default in place.
    pub(crate) fn write(&self, out: &mut Lines, class: &str) {
        let in_line = self.pattern == Pattern::Sequential && self.arrivals != Arrivals::Turns;
        let rows = Rows::of(&[KEYS, agent_files::KEYS])
            .maybe(&NAME, self.name.as_ref())
            .put(&CLASS, &class.to_owned())
            .put(&OP, &self.op)
            .put(&SYNC, &self.sync)
            .put(&CACHE, &self.buffered)
            .put(&BYTES, &self.size)
            .put(&PATTERN, &self.pattern)
            .maybe(&ALIGN, self.spacing.align.as_ref())
            .maybe(&FIRST, Some(&self.first).filter(|_| in_line))
            .maybe(&GAP, Some(&self.spacing.gap).filter(|_| in_line))
            .maybe(&GROWTH, self.spacing.growth.as_ref())
            .put(&REGION, &self.region)
            .put(&ARRIVALS, &(self.arrivals.clone(), self.count))
            .put(&START, &self.start)
            .put(&STOP, &self.stop);
        self.files.write(rows).section(Some(&format!("[[{}]]", AGENT.name)), out);
    }

    /// How many agents it is, on all of its files.
    pub fn agents(&self) -> u64 {
        self.files.agents()
    }

    /// Where it says how many copies there are.
    pub(crate) fn copies_origin(&self) -> &Origin {
        self.files.copies_origin()
    }

    /// The numbers of its files among those of the job; that of the target, if the job has none.
    pub fn file_numbers(&self) -> impl Iterator<Item = u32> {
        self.files.numbers()
    }

    /// Requests that it keeps outstanding by itself.
    pub(crate) fn depth(&self) -> u64 {
        self.agents()
            * match self.arrivals {
                Arrivals::Closed { depth, .. } => u64::from(depth),
                Arrivals::Turns => 1,
                Arrivals::Open { .. } => 0,
            }
    }
}

/// The schema of an agent.
fn schema() -> Json {
    let own: &[&dyn Declared] = &[&ALIGN, &FIRST, &GAP, &GROWTH];
    let arrivals = |rule: Json| json!({"properties": {ARRIVALS.name: rule}});
    let turns = with(required(&[&ARRIVALS]), arrivals(arrivals::turns()));
    let random = is(&PATTERN, &[PATTERNS.0[0].0]);
    let rules = json!({"allOf": [
        {"if": turns, "then": without(own)},
        {"if": random, "then": without(&[&FIRST, &GAP])},
        {"if": required(&[&GROWTH]), "then": arrivals(arrivals::counted())},
    ]});
    with(table_with(KEYS, &[agent_files::KEYS]), rules)
}

/// How the requests of an agent with this pattern lie apart; the first of them lies at the beginning.
fn spacing(
    reader: &Reader<'_>,
    pattern: Pattern,
    arrivals: &Arrivals,
    count: Option<u32>,
) -> Result<Spacing, JobError> {
    if *arrivals == Arrivals::Turns {
        let hint = "agents that take turns share one position and keep their size";
        let own: &[&dyn Declared] = &[&ALIGN, &FIRST, &GAP, &GROWTH];
        reader.refuse(own, "does not go with arrivals in `turns`", hint)?;
    }
    if pattern == Pattern::Random {
        let hint = "random requests begin anywhere in the region";
        reader.refuse(&[&FIRST, &GAP], "belongs to a sequential pattern", hint)?;
    }
    let growth = reader.find(&GROWTH)?;
    if growth.is_some() && count.is_none() {
        let found = "what grows needs an end, and the agent has no `count`";
        let hint = "say in `arrivals` how many requests there are, as in `count = 10000`";
        return Err(JobError::new(found).at(reader.place(&GROWTH)).hint(hint));
    }
    let (align, gap) = (reader.find(&ALIGN)?, reader.get(&GAP)?);
    Ok(Spacing { align, gap, growth, ..Spacing::default() })
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
