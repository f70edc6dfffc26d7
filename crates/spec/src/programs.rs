//! Programs on processors as a job describes them: `[cpu]` and `[[program]]`.

use penstock_core::{ClassId, Flags, Op, Prio, Span, Time};
use penstock_workload::program::{Cpus, Order, Phase, Pick, Starts};
use penstock_workload::{Pattern, Program};

use crate::agents::{self, PATTERNS, Region};
use crate::classes::Class;
use crate::diagnose::{JobError, Origin};
use crate::text::{Lines, quoted, size, time};
use crate::tree::{Node, Reader, Value};
use crate::units::{self, duration_text, rate_text, size_text};

/// Keys of `[cpu]`.
pub(crate) const CPU_KEYS: &[&str] = &["count", "slice", "order", "preempt", "pick"];
/// Keys of a program.
pub(crate) const KEYS: &[&str] =
    &["class", "phases", "repeat", "pattern", "region", "arrivals", "start", "stop"];
/// What a phase is: one of these.
pub(crate) const PHASES: &[&str] = &["cpu", "read", "write"];
/// When its tasks arrive.
pub(crate) const ARRIVALS: &[&str] = &["groups", "poisson", "once"];
/// Keys of arrivals of each kind, beside `kind`.
pub(crate) const GROUPS_KEYS: &[&str] = &["offsets", "period"];
pub(crate) const POISSON_KEYS: &[&str] = &["rate"];
pub(crate) const ONCE_KEYS: &[&str] = &["count", "stagger"];
/// All keys of arrivals.
pub(crate) const ARRIVALS_KEYS: &[&str] =
    &["kind", "offsets", "period", "rate", "count", "stagger"];
/// Who goes first.
pub(crate) const ORDERS: &[&str] = &["fifo", "priority"];
/// Which idle processor a task is given first.
pub(crate) const PICKS: &[&str] = &["round-robin", "lowest"];
/// More processors than any machine has.
pub(crate) const CPUS_MOST: u64 = 4096;
/// More arrivals a second cannot be told apart.
const RATE_MOST: f64 = 1e9;

/// The processors of a job that does not describe them: one, with a time slice as in the literature.
pub(crate) const USUAL: Cpus = Cpus {
    count: 1,
    slice: Span::from_ms(10),
    order: Order::Fifo,
    preempt: false,
    pick: Pick::RoundRobin,
};

/// Programs and what they run on, checked as far as that is possible without the target.
#[derive(Clone, PartialEq, Debug)]
pub struct ProgramsSpec {
    /// The processors.
    pub cpus: Cpus,
    /// In the order of the file: of two that arrive at one instant the first goes first.
    pub programs: Vec<ProgramSpec>,
}

/// A program as it was read.
#[derive(Clone, PartialEq, Debug)]
pub struct ProgramSpec {
    /// Its class: an index into the job's classes.
    pub class: ClassId,
    /// What a task does, one after the other.
    pub phases: Vec<Phase>,
    /// How often it does that.
    pub repeat: u32,
    /// Where its next request begins.
    pub pattern: Pattern,
    /// Which part of the target it uses.
    pub region: Region,
    /// When tasks arrive.
    pub starts: Starts,
    /// When the first may arrive.
    pub start: Span,
    /// When no more do.
    pub stop: Span,
    phases_origin: Origin,
}

impl ProgramsSpec {
    /// Reads the programs of a job that runs for `duration`.
    pub(crate) fn read(
        node: &Node,
        cpu: Option<&Node>,
        classes: &[Class],
        duration: Span,
    ) -> Result<Self, JobError> {
        let hint = "a program is a section: `[[program]]` with class, phases and arrivals";
        let items = match &node.value {
            Value::List(items) if !items.is_empty() => items,
            _ => return Err(node.expected("programs").hint(hint)),
        };
        let programs = items.iter().map(|item| ProgramSpec::read(item, classes, duration));
        Ok(Self {
            cpus: cpu.map(cpus).transpose()?.unwrap_or(USUAL),
            programs: programs.collect::<Result<_, _>>()?,
        })
    }

    /// The programs on a target of `capacity` bytes, with borders at multiples of `step`.
    pub(crate) fn on(
        &self,
        capacity: u64,
        step: u64,
        classes: &[Class],
    ) -> Result<Vec<Program>, JobError> {
        let prio = |spec: &ProgramSpec| Prio(classes[spec.class.index()].prio);
        self.programs.iter().map(|spec| spec.on(capacity, step, prio(spec))).collect()
    }

    /// The sections, with every default in place.
    pub(crate) fn write(&self, out: &mut Lines, classes: &[Class]) {
        out.section("[cpu]");
        out.line("count", self.cpus.count);
        out.line("slice", time(self.cpus.slice));
        out.line(
            "order",
            quoted(match self.cpus.order {
                Order::Fifo => "fifo",
                Order::Priority => "priority",
            }),
        );
        out.line("preempt", self.cpus.preempt);
        out.line(
            "pick",
            quoted(match self.cpus.pick {
                Pick::RoundRobin => "round-robin",
                Pick::Lowest => "lowest",
            }),
        );
        for spec in &self.programs {
            spec.write(out, &classes[spec.class.index()].name);
        }
    }
}

fn cpus(node: &Node) -> Result<Cpus, JobError> {
    let reader = Reader::new(node, "cpu", CPU_KEYS)?;
    let count = reader.optional("count", |node| node.count(1, CPUS_MOST))?;
    let slice = reader.optional("slice", above_zero)?;
    let order = reader.optional("order", |node| node.choice(ORDERS))?;
    let preempt = reader.optional("preempt", Node::boolean)?;
    let pick = reader.optional("pick", |node| node.choice(PICKS))?;
    Ok(Cpus {
        count: count.map_or(USUAL.count, |count| count as u32),
        slice: slice.unwrap_or(USUAL.slice),
        order: if order == Some("priority") { Order::Priority } else { USUAL.order },
        preempt: preempt.unwrap_or(USUAL.preempt),
        pick: if pick == Some("lowest") { Pick::Lowest } else { USUAL.pick },
    })
}

impl ProgramSpec {
    fn read(node: &Node, classes: &[Class], duration: Span) -> Result<Self, JobError> {
        let reader = Reader::new(node, "this program", KEYS)?;
        let class = reader.required("class", "\"…\"", |node| agents::class(node, classes))?;
        let phases = reader.required("phases", "[{ cpu = \"10ms\" }]", phases)?;
        let repeat = reader.optional("repeat", |node| node.count(1, u64::from(u32::MAX)))?;
        let pattern = reader.optional("pattern", |node| node.choice(PATTERNS))?;
        let whole = || Region::whole(reader.origin("region"));
        let region = reader.optional("region", Region::read)?.unwrap_or_else(whole);
        let starts = reader.required("arrivals", "{ kind = \"once\", count = 4 }", starts)?;
        let (start, stop) = agents::active(&reader, "program", duration)?;
        Ok(Self {
            class,
            phases,
            repeat: repeat.unwrap_or(1) as u32,
            pattern: if pattern == Some("random") { Pattern::Random } else { Pattern::Sequential },
            region,
            starts,
            start,
            stop,
            phases_origin: reader.origin("phases").clone(),
        })
    }

    fn on(&self, capacity: u64, step: u64, prio: Prio) -> Result<Program, JobError> {
        let program = Program {
            class: self.class,
            prio,
            phases: self.phases.clone(),
            repeat: self.repeat,
            pattern: self.pattern,
            region: self.region.on(capacity, step)?,
            starts: self.starts.clone(),
            active: Time::ZERO + self.start..Time::ZERO + self.stop,
        };
        let bytes = program.region.end - program.region.start;
        let longest = program.longest();
        if bytes < u64::from(longest) {
            let (holds, size) = (size_text(bytes), size_text(longest.into()));
            let found = format!("the region holds {holds}, less than one request of {size}");
            let hint = "make `region` larger, or the request smaller";
            return Err(JobError::new(found).at(&self.phases_origin).hint(hint));
        }
        Ok(program)
    }

    fn write(&self, out: &mut Lines, class: &str) {
        let phases: Vec<String> = self.phases.iter().map(phase_text).collect();
        let region = [self.region.from, self.region.to].map(|edge| quoted(&edge.text()));
        out.section("[[program]]");
        out.line("class", quoted(class));
        out.line("phases", format!("[{}]", phases.join(", ")));
        out.line("repeat", self.repeat);
        out.line(
            "pattern",
            quoted(match self.pattern {
                Pattern::Random => "random",
                Pattern::Sequential => "sequential",
            }),
        );
        out.line("region", format!("[{}]", region.join(", ")));
        out.line("arrivals", format!("{{ {} }}", starts_text(&self.starts)));
        out.line("start", time(self.start));
        out.line("stop", time(self.stop));
    }
}

fn above_zero(node: &Node) -> Result<Span, JobError> {
    match units::duration(node)? {
        Span::ZERO => {
            let hint = "what takes no time is left out";
            Err(node.expected("a length of time above zero").hint(hint))
        }
        span => Ok(span),
    }
}

fn phases(node: &Node) -> Result<Vec<Phase>, JobError> {
    let expected = "what the program does, as in [{ cpu = \"10ms\" }, { write = \"4KiB\" }]";
    let items = node.list(expected)?;
    if items.is_empty() {
        return Err(node.expected(expected).hint("a program does something"));
    }
    items.iter().map(phase).collect()
}

fn phase(node: &Node) -> Result<Phase, JobError> {
    let reader = Reader::new(node, "a phase", PHASES)?;
    // Somebody waits for each: the task.
    let io = |op, node: &Node| {
        let flags = match op {
            Op::Write => Flags::SYNC.with(Flags::FUA),
            _ => Flags::SYNC,
        };
        agents::size(node).map(|len| Phase::Io { op, flags, len })
    };
    let given = [
        reader.optional("cpu", above_zero)?.map(Phase::Cpu),
        reader.optional("read", |node| io(Op::Read, node))?,
        reader.optional("write", |node| io(Op::Write, node))?,
    ];
    let mut given = given.into_iter().flatten();
    if let (Some(phase), None) = (given.next(), given.next()) {
        return Ok(phase);
    }
    let found = "a phase is one thing: `cpu` for a time, or `read` or `write` of a size";
    let hint = "what comes next is a phase of its own: `{ cpu = \"10ms\" }, { write = … }`";
    Err(JobError::new(found).at(&node.origin).hint(hint))
}

fn starts(node: &Node) -> Result<Starts, JobError> {
    let reader = Reader::new(node, "the arrivals", ARRIVALS_KEYS)?;
    let kind = reader.required("kind", "\"once\"", |node| node.choice(ARRIVALS))?;
    let why = format!("belongs to arrivals of another kind; these are `{kind}`");
    let hint = "`groups` have offsets and a period, `poisson` a rate, `once` a count";
    let others = ARRIVALS.iter().filter(|other| **other != kind).map(|other| keys_of(other));
    others.into_iter().try_for_each(|keys| reader.refuse(keys, &why, hint))?;
    match kind {
        "groups" => {
            let period = reader.required("period", "\"200ms\"", above_zero)?;
            let offsets = reader.optional("offsets", |node| offsets(node, period))?;
            Ok(Starts::Groups { offsets: offsets.unwrap_or_else(|| vec![Span::ZERO]), period })
        }
        "poisson" => {
            let rate = reader.required("rate", "\"20/s\"", |node| match units::rate(node)? {
                rate if rate > 0.0 && rate <= RATE_MOST => Ok(rate),
                _ => Err(node.expected("a rate above zero").hint("leave it out if it is idle")),
            })?;
            Ok(Starts::Poisson { rate })
        }
        _ => {
            let count = reader.optional("count", |node| node.count(1, u64::from(u32::MAX)))?;
            let stagger = reader.optional("stagger", units::duration)?;
            let (count, stagger) = (count.unwrap_or(1) as u32, stagger.unwrap_or(Span::ZERO));
            Ok(Starts::Once { count, stagger })
        }
    }
}

/// Keys of arrivals of this kind, beside `kind`.
pub(crate) fn keys_of(kind: &str) -> &'static [&'static str] {
    match kind {
        "groups" => GROUPS_KEYS,
        "poisson" => POISSON_KEYS,
        _ => ONCE_KEYS,
    }
}

fn offsets(node: &Node, period: Span) -> Result<Vec<Span>, JobError> {
    let expected = "when in its group each arrives, as in [\"0ms\", \"1ms\"]";
    let items = node.list(expected)?;
    let offsets: Vec<Span> = items.iter().map(units::duration).collect::<Result<_, _>>()?;
    let hint = "one arrival at the beginning of each is [\"0ms\"]";
    if offsets.is_empty() {
        return Err(node.expected(expected).hint(hint));
    }
    if !offsets.is_sorted() || offsets.iter().any(|&offset| offset >= period) {
        let period = duration_text(period);
        let found = format!("the offsets ascend and lie within the period of {period}");
        return Err(JobError::new(found).at(&node.origin).hint(hint));
    }
    Ok(offsets)
}

fn phase_text(phase: &Phase) -> String {
    match phase {
        Phase::Cpu(span) => format!("{{ cpu = {} }}", time(*span)),
        Phase::Io { op, len, .. } => {
            let key = if *op == Op::Read { "read" } else { "write" };
            format!("{{ {key} = {} }}", size((*len).into()))
        }
    }
}

fn starts_text(starts: &Starts) -> String {
    match starts {
        Starts::Groups { offsets, period } => {
            let offsets: Vec<String> = offsets.iter().map(|&offset| time(offset)).collect();
            let offsets = offsets.join(", ");
            format!("kind = \"groups\", offsets = [{offsets}], period = {}", time(*period))
        }
        Starts::Poisson { rate } => format!("kind = \"poisson\", rate = \"{}\"", rate_text(*rate)),
        Starts::Once { count, stagger } => {
            format!("kind = \"once\", count = {count}, stagger = {}", time(*stagger))
        }
    }
}
