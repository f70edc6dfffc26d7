//! Reads the agents of a job, and places them on targets of known size.

use std::num::NonZeroU32;

use penstock_core::{ClassId, Op, Span};
use penstock_live::Engine;
use penstock_workload::{ALL_REQUESTS, Arrivals, Ops, Weighted};
use serde_json::{Value as Json, json};

use crate::amount::{Count, TIME};
use crate::classes::{self, Class};
use crate::describe::{self, with};
use crate::diagnose::{JobError, Origin, quote};
use crate::engines;
use crate::keys::{Declared, Keys, is, keys, required, table_with, without};
use crate::kinds::{Choice, Own, SWITCH, Text, section};
use crate::reader::Reader;
use crate::rows::Rows;
use crate::text::{Lines, quoted};
use crate::tree::{Node, Value};
use crate::workload::active::active;
use crate::workload::agent_files::{self, AgentFiles};
use crate::workload::arrivals::{self, MAX_OUTSTANDING_MOST};
use crate::workload::job_files::JobFiles;
use crate::workload::order::{self, AgentOrder};
use crate::workload::places::{self, Places};
use crate::workload::quota::{self, Quota};
use crate::workload::sizes;
use crate::workload::verify::{self, Verify};

/// Operations of an agent with a single operation.
const OPERATIONS: Choice<Op> =
    Choice(&[(READ, Op::Read), ("write", Op::Write), ("trim", Op::Discard)]);
const READ: &str = "read";
const SYNC_CALL: &str = "sync";

keys! {
    /// The agents, which issue requests.
    AGENT agent: Node = section(|| describe::some(&schema()));
}

keys! {
    /// Keys of an agent.
    KEYS:
    /// Name that `--set` may use in place of the agent's number.
    NAME name: String = Text("the name of an agent");
    /// Class of the requests.
    CLASS class: String = classes::NAMES, needs "\"…\"";
    /// Operation of all requests. A `trim` says that a range is no longer needed.
    OP op: Op = OPERATIONS;
    /// In place of `op`: the share of requests that are reads; the others are writes.
    MIX mix: u32 = Own {
        read: mix,
        text: |reads| (f64::from(*reads) / f64::from(ALL_REQUESTS)).to_string(),
        schema: mix_schema,
    };
    /// Number of writes and trims after which a flush follows, when the last of them has completed.
    /// It takes the place of a request in flight.
    FLUSH flush: NonZeroU32 = Count(1, u32::MAX as u64);
    /// Whether a program waits for each of its writes until it is durable (`O_DSYNC`). The number
    /// of requests in flight is set by `call` and `buffers`.
    SYNC sync: bool = SWITCH, or false;
    /// Kind of calls: one request at a time (`sync`), or several (`async`).
    CALL call: bool = Choice(&[(SYNC_CALL, true), ("async", false)]);
    /// Most requests in flight. Arrivals on a schedule are then due as scheduled, and issued when a
    /// buffer is free. If not given, a schedule has no limit, and a closed loop has one request in
    /// flight.
    BUFFERS buffers: u32 = Count(1, MAX_OUTSTANDING_MOST);
    /// Whether requests go through the page cache or past it.
    CACHE cache: bool = Choice(&[("buffered", true), ("direct", false)]), or false;
    /// Engine of the requests on a real target. A policy of Penstock has one engine for all agents;
    /// without one (`kernel:NAME`) each agent may have its own. If not given, the engine of the
    /// run, and without a policy of Penstock `psync` where `call` is `sync`.
    ENGINE engine: Engine = Own {
        read: |node| {
            let name = node.text("the name of an engine")?;
            engines::engine(name).map_err(|error| error.at(&node.origin))
        },
        text: |engine| quoted(engine.name()),
        schema: || describe::words(engines::names()),
    };
    /// Whether data is verified, on a file or device: `write` stamps each block that it writes and
    /// records it, `read` compares the data that it reads with the record of an earlier job, `both`
    /// does the two, and at the end of the run reads all recorded blocks of its region again. Reads
    /// in the region of an agent that verifies are checked whichever agent issues them. If not
    /// given, data is not checked.
    VERIFY verify: Verify = verify::KIND;
    /// Bytes of a request; or several sizes, each with its weight, as in
    /// `[["4KiB", 60], ["64KiB", 40]]`.
    BYTES size: Weighted<u32> = sizes::KIND, needs "\"4KiB\"";
}

keys! {
    /// Keys of an agent that say when it asks.
    WHEN_KEYS:
    /// Arrivals of requests; if not given, one after each completion.
    ARRIVALS arrivals: (Arrivals, Option<u32>) = arrivals::KIND, or (arrivals::CLOSED_LOOP, None);
    /// Time at which the agent begins.
    START start: Span = TIME, or Span::ZERO;
    /// Time at which the agent stops; if not given, the end of the job.
    STOP stop: Span = TIME;
}

/// All keys of an agent.
pub(crate) const ALL_KEYS: &[Keys] =
    &[KEYS, places::KEYS, WHEN_KEYS, order::KEYS, quota::KEYS, agent_files::KEYS];

/// An agent, checked as far as possible without the target.
#[derive(Clone, PartialEq, Debug)]
pub struct AgentSpec {
    /// Name for `--set`.
    name: Option<String>,
    /// Class of its requests: an index into the job's classes.
    pub class: ClassId,
    /// Operations of its requests.
    pub ops: Ops,
    /// Number of writes and trims between flushes, if it flushes.
    pub flush: Option<NonZeroU32>,
    /// Whether a program waits for each request; a write is then durable when it completes.
    pub sync: bool,
    /// Whether its requests go through the page cache.
    pub buffered: bool,
    /// Engine on a real target, if one is named.
    pub engine: Option<Engine>,
    /// Whether it waits in the call for each request.
    waits: bool,
    /// The verification of its data, if any.
    pub verify: Option<Verify>,
    /// Bytes of a request.
    pub sizes: Weighted<u32>,
    /// Places of its requests in its region.
    pub places: Places,
    /// Amount of I/O, if it has a bound.
    pub quota: Option<Quota>,
    /// Its files, and its copies on each.
    pub(super) files: AgentFiles,
    /// Arrivals of its requests.
    pub arrivals: Arrivals,
    /// Time at which it begins.
    pub start: Span,
    /// Time at which it stops; [`Span::MAX`] if only its quota ends it.
    pub stop: Span,
    /// Its order among the others.
    pub(super) order: AgentOrder,
    pub(super) size_origin: Origin,
    pub(super) cache_origin: Origin,
    pub(super) total_origin: Origin,
    pub(super) verify_origin: Origin,
}

/// Reads the agents of a job with these classes and files that runs for `duration`.
pub(crate) fn read(
    reader: &Reader<'_>,
    classes: &[Class],
    duration: Span,
    files: &JobFiles,
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
            let message = format!("two agents are called {}", quote(name));
            let hint = "--set could not tell them apart: give one another name";
            return Err(JobError::new(message).at(&item.origin).hint(hint));
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
        files: &JobFiles,
    ) -> Result<Self, JobError> {
        let reader = Reader::new(node, "this agent", ALL_KEYS)?;
        let name = reader.find(&NAME)?;
        if let Some(name) = name.as_ref().filter(|name| !classes::is_name(name)) {
            let message = format!("{} is no name of an agent", quote(name));
            return Err(JobError::new(message).at(reader.origin(&NAME)).hint(classes::NAME_HINT));
        }
        let class = classes::named(&reader.get(&CLASS)?, reader.place(&CLASS), classes)?;
        let ops = ops(&reader)?;
        let sizes = reader.get(&BYTES)?;
        let (arrivals, quota) = arrivals_and_quota(&reader)?;
        let stop = active(&reader, AGENT.name, (&START, &STOP), duration)?;
        if matches!(&arrivals, Arrivals::Open { curve, .. } if !curve.is_empty())
            && stop == Span::MAX
        {
            let message = "a curve spreads over the time of its agent, which has no end";
            let hint = "give the job a `duration`, or the agent a `stop`";
            return Err(JobError::new(message).at(reader.place(&ARRIVALS)).hint(hint));
        }
        let buffered = reader.get(&CACHE)?;
        let waits = reader.find(&CALL)? == Some(true) && most_in_flight(&arrivals) == Some(1);
        let engine = engine_of(&reader, &arrivals, waits, buffered)?;
        let verify = reader.find(&VERIFY)?;
        if let Some(verify) = verify {
            verify.goes_with(ops, reader.place(&VERIFY))?;
        }
        let agent = Self {
            name,
            class,
            ops,
            flush: flush(&reader, ops)?,
            sync: reader.get(&SYNC)?,
            buffered,
            engine,
            waits,
            verify,
            places: Places::read(&reader, &arrivals, (&sizes, reader.origin(&BYTES)), quota)?,
            sizes,
            quota,
            files: AgentFiles::read(&reader, files)?,
            arrivals,
            start: reader.get(&START)?,
            stop,
            order: AgentOrder::read(&reader, class, classes, &START)?,
            size_origin: reader.origin(&BYTES).clone(),
            cache_origin: reader.origin(&CACHE).clone(),
            total_origin: reader.origin(&quota::TOTAL).clone(),
            verify_origin: reader.place(&VERIFY).clone(),
        };
        agent.fits_blocks().map(|()| agent)
    }

    /// Returns its engine where the kernel schedules alone, if it has one of its own.
    pub fn own_engine(&self) -> Option<Engine> {
        self.engine.or_else(|| self.waits.then_some(Engine::Psync))
    }

    /// Whether it waits for others or ends others.
    pub fn is_ordered(&self) -> bool {
        !self.order.after.is_empty() || self.order.ends_class
    }

    /// Writes the section with every default in place; keys without a default only if they are
    /// given.
    pub(crate) fn write(&self, out: &mut Lines, classes: &[Class]) {
        let op = if let Ops::Only(op) = self.ops { Some(op) } else { None };
        let mix = if let Ops::Mix { reads } = self.ops { Some(reads) } else { None };
        let buffers = match self.arrivals {
            Arrivals::Open { buffers, .. } => buffers.map(NonZeroU32::get),
            _ => None,
        };
        let (total, count, passes) = match self.quota {
            Some(Quota::Bytes(total)) => (Some(total), None, None),
            Some(Quota::Requests(count)) => (None, Some(count), None),
            Some(Quota::Passes(passes)) => (None, None, Some(passes)),
            None => (None, None, None),
        };
        let rows = Rows::of(ALL_KEYS)
            .maybe(&MIX, mix.as_ref())
            .maybe(&FLUSH, self.flush.as_ref())
            .maybe(&BUFFERS, buffers.as_ref())
            .maybe(&VERIFY, self.verify.as_ref())
            .maybe(&quota::TOTAL, total.as_ref())
            .maybe(&quota::PASSES, passes.as_ref())
            .maybe(&NAME, self.name.as_ref())
            .put(&CLASS, &classes[self.class.index()].name)
            .maybe(&OP, op.as_ref())
            .put(&SYNC, &self.sync)
            .maybe(&CALL, Some(&true).filter(|_| self.waits))
            .put(&CACHE, &self.buffered)
            .maybe(&ENGINE, self.engine.as_ref())
            .put(&BYTES, &self.sizes)
            .put(&ARRIVALS, &(self.arrivals.clone(), count))
            .maybe(&START, Some(&self.start).filter(|_| self.order.after.is_empty()))
            .maybe(&STOP, Some(&self.stop).filter(|stop| **stop < Span::MAX));
        let rows = self.order.write(self.places.write(rows, &self.arrivals), classes);
        self.files.write(rows).section(Some(&format!("[[{}]]", AGENT.name)), out);
    }
}

/// Describes an agent.
fn schema() -> Json {
    let lists: &[&dyn Declared] = &[&CALL, &BUFFERS];
    let arrivals =
        |rule: Json| with(required(&[&ARRIVALS]), json!({"properties": {ARRIVALS.name: rule}}));
    let single_size = json!({"properties": {BYTES.name: {"type": "string"}}});
    let turns = describe::all([places::in_turns(), without(lists), single_size.clone()]);
    let counted = describe::any([required(&[&quota::COUNT]), arrivals(arrivals::counted())]);
    let one_quota = |key: &dyn Declared, others: &[&dyn Declared]| json!({"if": required(&[key]), "then": with(without(others), json!({"not": arrivals(arrivals::counted())}))});
    let own = [
        json!({"if": arrivals(arrivals::turns()), "then": turns}),
        json!({"if": required(&[&MIX]), "then": without(&[&OP]), "else": required(&[&OP])}),
        json!({"if": is(&OP, &[READ]), "then": without(&[&FLUSH])}),
        json!({"if": is(&OP, &[READ]), "then": {"properties": {VERIFY.name: verify::words(false)}},
            "else": {"properties": {VERIFY.name: verify::words(true)}}}),
        json!({"if": is(&CALL, &[SYNC_CALL]), "then": {"properties": {
            BUFFERS.name: {"maximum": 1}, ARRIVALS.name: arrivals::single(),
        }}}),
        one_quota(&quota::TOTAL, &[&quota::COUNT, &quota::PASSES]),
        one_quota(&quota::PASSES, &[&quota::TOTAL, &quota::COUNT]),
    ];
    let rules = places::rules(single_size, counted);
    let all: Vec<Json> = own.into_iter().chain([order::rule(&START)]).chain(rules).collect();
    with(table_with(KEYS, &ALL_KEYS[1..]), json!({"allOf": all}))
}

/// Describes an agent that stops by itself.
pub(crate) fn ends_by_itself() -> Json {
    let arrivals = json!({"properties": {ARRIVALS.name: arrivals::counted()}});
    let quota = quota::has_one(with(required(&[&ARRIVALS]), arrivals));
    describe::any([quota, required(&[&STOP])])
}

/// Reads the operations of an agent. Keys that an argument sets override those of the file.
fn ops(reader: &Reader<'_>) -> Result<Ops, JobError> {
    let (op, mix) = (reader.find(&OP)?.map(Ops::Only), reader.find(&MIX)?);
    let mix = mix.map(|reads| Ops::Mix { reads });
    match (op, mix) {
        (Some(op), Some(mix)) => match (reader.place(&OP).is_set(), reader.place(&MIX).is_set()) {
            (true, false) => Ok(op),
            (false, true) => Ok(mix),
            _ => {
                let message = "`mix` says what is asked for, and so does `op`";
                let hint = "keep `mix` for reads and writes, or `op` for one of them";
                Err(JobError::new(message).at(reader.origin(&MIX)).hint(hint))
            }
        },
        (Some(ops), None) | (None, Some(ops)) => Ok(ops),
        (None, None) => Err(reader.missing(&OP, "\"read\"")),
    }
}

fn mix(node: &Node) -> Result<u32, JobError> {
    let reads =
        node.number("the share of reads, from 0 to 1", |share| (0.0..=1.0).contains(&share));
    let reads = reads.map_err(|error| error.hint("`mix = 0.7` reads in 70 of 100 requests"))?;
    Ok((reads * f64::from(ALL_REQUESTS)).round() as u32)
}

fn mix_schema() -> Json {
    json!({"type": "number", "minimum": 0, "maximum": 1})
}

fn flush(reader: &Reader<'_>, ops: Ops) -> Result<Option<NonZeroU32>, JobError> {
    if !ops.writes() {
        let hint = "a flush makes writes durable: leave it out";
        reader.refuse(&[&FLUSH], "belongs to an agent that writes", hint)?;
    }
    reader.find(&FLUSH)
}

/// Returns the most requests in flight of an agent with these arrivals, if there is a bound.
fn most_in_flight(arrivals: &Arrivals) -> Option<u32> {
    match *arrivals {
        Arrivals::Closed { depth, .. } => Some(depth),
        Arrivals::Open { buffers, .. } => buffers.map(NonZeroU32::get),
        Arrivals::Turns => Some(1),
    }
}

/// Returns the engine that an agent names, and checks that it suits the agent's arrivals, waiting
/// calls and page cache.
fn engine_of(
    reader: &Reader<'_>,
    arrivals: &Arrivals,
    waits: bool,
    buffered: bool,
) -> Result<Option<Engine>, JobError> {
    let Some(engine) = reader.find(&ENGINE)? else { return Ok(None) };
    let name = engine.name();
    let refuse =
        |message, hint: &str| Err(JobError::new(message).at(reader.place(&ENGINE)).hint(hint));
    let several = most_in_flight(arrivals).filter(|several| *several > 1);
    if waits && engine.is_asynchronous() {
        let message = format!("a `sync` agent waits in its call; {name} returns before it is done");
        return refuse(message, "psync, vsync or mmap; or `call = \"async\"` with `buffers = 1`");
    }
    if let Some(several) = several
        && engine.most_in_flight() == 1
    {
        let message = format!("{name} has one request at a time, and the agent {several}");
        return refuse(message, "io_uring, libaio, posix-aio, threads and vsync have several");
    }
    if !buffered && !engine.can_be_direct() {
        let message =
            format!("{name} works on pages of the page cache, and the agent goes past it");
        return refuse(message, "set `cache = \"buffered\"`, or take another engine");
    }
    Ok(Some(engine))
}

/// Reads the arrivals of an agent with their bound on requests in flight, and its quota.
fn arrivals_and_quota(reader: &Reader<'_>) -> Result<(Arrivals, Option<Quota>), JobError> {
    let (arrivals, count) = reader.get(&ARRIVALS)?;
    let place = |key: &dyn Declared| arrivals::place(reader.node(&ARRIVALS), key);
    let quota = quota::read(reader, count.zip(place(&arrivals::COUNT)))?;
    if arrivals == Arrivals::Turns {
        let hint = "agents that take turns have one request at a time, all together";
        reader.refuse(&[&CALL, &BUFFERS], "does not go with arrivals in `turns`", hint)?;
        return Ok((arrivals, quota));
    }
    let depth = if let Arrivals::Closed { depth, .. } = arrivals { Some(depth) } else { None };
    let buffers = quota::stated(reader, &BUFFERS, depth.zip(place(&arrivals::DEPTH)))?;
    let buffers = match (reader.find(&CALL)?, buffers) {
        (Some(true), Some((buffers, origin))) if buffers > 1 => {
            match (reader.place(&CALL).is_set(), origin.is_set()) {
                (true, false) => Some(1),
                (false, true) => Some(buffers),
                _ => {
                    let message = format!(
                        "a `sync` agent waits for each request, so it cannot have {buffers} in flight"
                    );
                    let hint = "set `call = \"async\"`, or write an agent for each";
                    return Err(JobError::new(message).at(&origin).hint(hint));
                }
            }
        }
        (Some(true), _) => Some(1),
        (_, buffers) => buffers.map(|(buffers, _)| buffers),
    };
    Ok((arrivals::bounded(arrivals, buffers), quota))
}
