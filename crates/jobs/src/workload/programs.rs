//! Reads programs on processors: `[cpu]` and `[[program]]`.

use penstock_core::{ClassId, Flags, Op, Prio, Span, Time};
use penstock_workload::program::{Cpus, Order, Phase, Pick, Starts};
use penstock_workload::{Pattern, Program};

use crate::amount::{Amount, Count, TIME};
use crate::classes::{self, Class};
use crate::describe;
use crate::diagnose::{JobError, Origin};
use crate::keys::{keys, table};
use crate::kinds::{Choice, Own, SWITCH, list, section};
use crate::reader::Reader;
use crate::rows::Rows;
use crate::text::Lines;
use crate::tree::{self, Node, Value};
use crate::units::size_text;
use crate::workload::active::active;
use crate::workload::places::PATTERNS;
use crate::workload::region::{self, Region};
use crate::workload::sizes::REQUEST;
use crate::workload::starts;

/// Kind of a time above zero.
pub(crate) const LASTS: Amount = TIME.above_zero().hint("what takes no time is left out");

keys! {
    /// The processors of programs.
    CPU cpu: Node = section(|| table(CPU_KEYS));
}

keys! {
    /// Programs on processors, instead of agents.
    PROGRAM program: Node = section(|| describe::some(&table(KEYS)));
}

keys! {
    /// Keys of `[cpu]`. The time slice is as in the literature.
    CPU_KEYS:
    /// Number of processors.
    COUNT count: u32 = Count(1, 4096), or 1;
    /// Longest time for which a task computes without a break.
    SLICE slice: Span = LASTS, or Span::from_ms(10);
    /// Task that goes first: the one that waits longest, or the one with the lower `prio`.
    ORDER order: Order = Choice(&[("fifo", Order::Fifo), ("priority", Order::Priority)]),
        or Order::Fifo;
    /// Whether a task with a lower `prio` takes a processor at once.
    PREEMPT preempt: bool = SWITCH, or false;
    /// Idle processor that a task gets, and keeps.
    PICK pick: Pick = Choice(&[("round-robin", Pick::RoundRobin), ("lowest", Pick::Lowest)]),
        or Pick::RoundRobin;
}

keys! {
    /// Keys of a program.
    KEYS:
    /// Class of the requests.
    CLASS class: String = classes::NAMES, needs "\"…\"";
    /// The phases, one after the other.
    PHASES phases: Vec<Phase> = Own {
        read: phases,
        text: |phases| list(phases, phase_text),
        schema: || describe::some(&describe::one_of(table(PHASE_KEYS))),
    }, needs "[{ cpu = \"10ms\" }]";
    /// Number of times that the phases are repeated.
    REPEAT repeat: u32 = Count(1, u32::MAX as u64), or 1;
    /// Place of the next request.
    PATTERN pattern: Pattern = PATTERNS, or Pattern::Sequential;
    /// The program's part of the device: shares, or bytes.
    REGION region: Region = region::KIND, or Region::WHOLE;
    /// Arrivals of tasks of the program.
    ARRIVALS arrivals: Starts = starts::KIND, needs "{ kind = \"once\", count = 4 }";
    /// Time of the first arrivals.
    START start: Span = TIME, or Span::ZERO;
    /// Time after which no more tasks arrive; if not given, the end of the job.
    STOP stop: Span = TIME;
}

keys! {
    /// Keys of a phase, which has one of them.
    PHASE_KEYS:
    /// Computes for this time.
    COMPUTE cpu: Span = LASTS;
    /// Reads these bytes and waits for them.
    READ read: u32 = REQUEST;
    /// Writes these bytes and waits for them.
    WRITE write: u32 = REQUEST;
}

/// Programs and their processors, checked as far as possible without the target.
#[derive(Clone, PartialEq, Debug)]
pub struct ProgramsSpec {
    /// The processors.
    pub cpus: Cpus,
    /// Programs in the order of the file: of two that arrive at one instant the first goes first.
    pub programs: Vec<ProgramSpec>,
}

/// A program as the job describes it.
#[derive(Clone, PartialEq, Debug)]
pub struct ProgramSpec {
    /// Its class: an index into the job's classes.
    pub class: ClassId,
    /// Phases of a task, one after the other.
    pub phases: Vec<Phase>,
    /// Number of times that a task does all phases.
    pub repeat: u32,
    /// Pattern of its requests.
    pub pattern: Pattern,
    /// The part of the target that it uses.
    pub region: Region,
    /// Arrivals of tasks.
    pub starts: Starts,
    /// Time from which tasks may arrive.
    pub start: Span,
    /// Time from which none arrive.
    pub stop: Span,
    phases_origin: Origin,
}

impl ProgramsSpec {
    /// Reads the programs of a job that runs for `duration`.
    pub(crate) fn read(
        reader: &Reader<'_>,
        classes: &[Class],
        duration: Span,
    ) -> Result<Self, JobError> {
        let node = reader.node(&PROGRAM).expect("a job with programs");
        let hint = "a program is a section: `[[program]]` with class, phases and arrivals";
        let items = match &node.value {
            Value::List(items) if !items.is_empty() => items,
            _ => return Err(node.expected("programs").hint(hint)),
        };
        let programs = items.iter().map(|item| ProgramSpec::read(item, classes, duration));
        Ok(Self {
            cpus: cpus(reader.node(&CPU).unwrap_or(&tree::empty()))?,
            programs: programs.collect::<Result<_, _>>()?,
        })
    }

    /// Places the programs on a target of `capacity` bytes, with borders at multiples of `step`.
    pub(crate) fn on(
        &self,
        capacity: u64,
        step: u64,
        classes: &[Class],
    ) -> Result<Vec<Program>, JobError> {
        let prio = |spec: &ProgramSpec| Prio(classes[spec.class.index()].prio);
        self.programs.iter().map(|spec| spec.on(capacity, step, prio(spec))).collect()
    }

    /// Writes the sections with every default in place.
    pub(crate) fn write(&self, out: &mut Lines, classes: &[Class]) {
        Rows::of(&[CPU_KEYS])
            .put(&COUNT, &self.cpus.count)
            .put(&SLICE, &self.cpus.slice)
            .put(&ORDER, &self.cpus.order)
            .put(&PREEMPT, &self.cpus.preempt)
            .put(&PICK, &self.cpus.pick)
            .section(Some(&format!("[{}]", CPU.name)), out);
        for spec in &self.programs {
            spec.write(out, &classes[spec.class.index()].name);
        }
    }
}

fn cpus(node: &Node) -> Result<Cpus, JobError> {
    let reader = Reader::new(node, CPU.name, &[CPU_KEYS])?;
    Ok(Cpus {
        count: reader.get(&COUNT)?,
        slice: reader.get(&SLICE)?,
        order: reader.get(&ORDER)?,
        preempt: reader.get(&PREEMPT)?,
        pick: reader.get(&PICK)?,
    })
}

impl ProgramSpec {
    fn read(node: &Node, classes: &[Class], duration: Span) -> Result<Self, JobError> {
        let reader = Reader::new(node, "this program", &[KEYS])?;
        Ok(Self {
            class: classes::named(&reader.get(&CLASS)?, reader.place(&CLASS), classes)?,
            phases: reader.get(&PHASES)?,
            repeat: reader.get(&REPEAT)?,
            pattern: reader.get(&PATTERN)?,
            region: reader.get(&REGION)?.or_at(reader.origin(&REGION)),
            starts: reader.get(&ARRIVALS)?,
            start: reader.get(&START)?,
            stop: active(&reader, PROGRAM.name, (&START, &STOP), duration)?,
            phases_origin: reader.origin(&PHASES).clone(),
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
            let message = format!("the region holds {holds}, less than one request of {size}");
            let hint = "make `region` larger, or the request smaller";
            return Err(JobError::new(message).at(&self.phases_origin).hint(hint));
        }
        Ok(program)
    }

    fn write(&self, out: &mut Lines, class: &str) {
        Rows::of(&[KEYS])
            .put(&CLASS, &class.to_owned())
            .put(&PHASES, &self.phases)
            .put(&REPEAT, &self.repeat)
            .put(&PATTERN, &self.pattern)
            .put(&REGION, &self.region)
            .put(&ARRIVALS, &self.starts)
            .put(&START, &self.start)
            .put(&STOP, &self.stop)
            .section(Some(&format!("[[{}]]", PROGRAM.name)), out);
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
    let reader = Reader::new(node, "a phase", &[PHASE_KEYS])?;
    // The task waits for each request.
    let io = |op| {
        let flags = match op {
            Op::Write => Flags::SYNC.with(Flags::FUA),
            _ => Flags::SYNC,
        };
        move |len| Phase::Io { op, flags, len }
    };
    let phases = [
        reader.find(&COMPUTE)?.map(Phase::Cpu),
        reader.find(&READ)?.map(io(Op::Read)),
        reader.find(&WRITE)?.map(io(Op::Write)),
    ];
    let mut phases = phases.into_iter().flatten();
    if let (Some(phase), None) = (phases.next(), phases.next()) {
        return Ok(phase);
    }
    let message = "a phase is one thing: `cpu` for a time, or `read` or `write` of a size";
    let hint = "what comes next is a phase of its own: `{ cpu = \"10ms\" }, { write = … }`";
    Err(JobError::new(message).at(&node.origin).hint(hint))
}

fn phase_text(phase: &Phase) -> String {
    let rows = Rows::of(&[PHASE_KEYS]);
    let rows = match phase {
        Phase::Cpu(span) => rows.put(&COMPUTE, span),
        Phase::Io { op: Op::Read, len, .. } => rows.put(&READ, len),
        Phase::Io { len, .. } => rows.put(&WRITE, len),
    };
    rows.inline()
}
