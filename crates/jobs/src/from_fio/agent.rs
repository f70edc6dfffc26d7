//! The agent that a section of a job file of fio becomes.

use std::num::NonZeroU32;

use penstock_core::{IoClass, IoPrio, Op};
use penstock_live::Engine;
use penstock_workload::{Arrivals, Ops, Pattern, Weighted};

use crate::classes;
use crate::diagnose::JobError;
use crate::from_fio::lines::Section;
use crate::from_fio::notes::Notes;
use crate::from_fio::order::Times;
use crate::from_fio::part::{self, FilePart, Volume};
use crate::from_fio::values::{Direction, number, of, request};
use crate::from_fio::{pace, requests, spread};
use crate::workload::agent_files::COPIES_MOST;
use crate::workload::region::Edge;
use crate::workload::spread::SpreadSpec;

/// Engines with one request in flight, as fio names them, and the one here that does the same.
const SYNC_ENGINES: [(&str, Engine); 6] = [
    ("sync", Engine::Psync),
    ("psync", Engine::Psync),
    ("vsync", Engine::Vsync),
    ("pvsync", Engine::Vsync),
    ("pvsync2", Engine::Vsync),
    ("mmap", Engine::Mmap),
];
/// Engines with several.
const ASYNC_ENGINES: [(&str, Engine); 3] =
    [("libaio", Engine::Aio), ("io_uring", Engine::Uring), ("posixaio", Engine::PosixAio)];
const NO_ENGINE: &str = "null";
const LEVEL_MOST: u64 = 7;

/// A section as an agent.
#[derive(Clone)]
pub(super) struct Made {
    pub(super) class: String,
    pub(super) ioprio: IoPrio,
    pub(super) ops: Ops,
    pub(super) pattern: Pattern,
    pub(super) gap: u32,
    pub(super) sizes: Weighted<u32>,
    pub(super) align: Option<u32>,
    pub(super) spread: SpreadSpec,
    pub(super) sync: bool,
    pub(super) buffered: bool,
    pub(super) flush: Option<NonZeroU32>,
    pub(super) one_at_a_time: bool,
    /// The engine that it names.
    pub(super) engine: Option<Engine>,
    pub(super) buffers: u32,
    pub(super) arrivals: Arrivals,
    pub(super) volume: Volume,
    pub(super) copies: u32,
    /// The file; without a name it is the section's own.
    pub(super) file: Option<String>,
    pub(super) part: FilePart,
    pub(super) times: Times,
}

/// How an engine of fio does its I/O.
struct FioEngine {
    one_at_a_time: bool,
    /// The same here, if it is named.
    ours: Option<Engine>,
    /// Whether it always goes through the page cache, or never; if not given, as the section says.
    buffered: Option<bool>,
}

/// The agent of a section; none, with a note, if no agent can do that. Classes have other names than those
/// `taken`.
pub(super) fn agent(
    section: &Section,
    times: Times,
    taken: &[String],
    notes: &mut Notes,
) -> Result<Option<Made>, JobError> {
    let decimal = section.find(&["kb_base"]).is_some_and(|base| base.value == "1000");
    let Some(engine) = engine(section, notes) else { return Ok(None) };
    let Some((ops, pattern, gap)) = requests::operations(section, decimal, notes)? else {
        return Ok(None);
    };
    let direction = match ops {
        Ops::Only(Op::Write) => Direction::Write,
        Ops::Only(Op::Discard) => Direction::Trim,
        _ => Direction::Read,
    };
    let sizes = requests::sizes(section, (ops, direction), decimal, notes)?;
    let (pattern, gap) = requests::steps(section, (pattern, gap), &sizes, notes);
    let buffers = pace::buffers(section, engine.one_at_a_time, notes)?;
    let (arrivals, ops) =
        pace::arrivals(section, (ops, direction), &sizes, buffers, decimal, notes)?;
    let copies = copies(section, engine.one_at_a_time, notes)?;
    let part = part::file_part(section, copies, decimal, notes)?;
    let length = if let Some(Edge::At(bytes)) = part.length { Some(bytes) } else { None };
    let random = pattern == Pattern::Random;
    let spread = if random {
        spread::spread(section, direction, length, decimal, notes)?
    } else {
        SpreadSpec::Uniform
    };
    // Of several sizes fio cuts requests; a note says so.
    let cut = spread == SpreadSpec::Once && sizes.single().is_none();
    let spread = if cut { SpreadSpec::Uniform } else { spread };
    let writes = ops.writes();
    Ok(Some(Made {
        class: class(&section.name, taken),
        ioprio: ioprio(section)?,
        ops,
        pattern,
        gap,
        align: align(section, direction, decimal)?.filter(|_| random),
        spread,
        sync: writes && section.on(&["sync"]),
        buffered: engine.buffered.unwrap_or_else(|| buffered(section)),
        flush: flush(section)?.filter(|_| writes),
        one_at_a_time: engine.one_at_a_time,
        engine: engine.ours,
        buffers,
        arrivals,
        volume: part::volume(section, times, &part, (pattern, gap), &sizes, decimal, notes)?,
        copies,
        file: target(section, notes),
        sizes,
        part,
        times,
    }))
}

/// How many of it there are.
fn copies(section: &Section, one_at_a_time: bool, notes: &mut Notes) -> Result<u32, JobError> {
    let Some(given) = section.find(&["numjobs"]) else { return Ok(1) };
    let copies = number(given, COPIES_MOST)?.max(1) as u32;
    if copies > 1 && !one_at_a_time {
        let why = format!(
            "fio has a process for each; for a thread each name it when it runs: `--policy kernel:as-is \
             --set live.threads={copies}`"
        );
        notes.on(given, why);
    }
    Ok(copies)
}

/// A name for the class of the section called `name`.
fn class(name: &str, taken: &[String]) -> String {
    let letters = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    let mut name: String = name.chars().map(letters).collect();
    if !classes::is_name(&name) {
        name.insert_str(0, "job-");
    }
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.clone()).chain(numbered);
    names.find(|name| !taken.contains(name)).expect("a free name")
}

/// How its engine does I/O; none, with a note, if no engine here does the same.
fn engine(section: &Section, notes: &mut Notes) -> Option<FioEngine> {
    let Some(given) = section.find(&["ioengine"]) else {
        return Some(FioEngine { one_at_a_time: true, ours: None, buffered: None });
    };
    let word = given.value.as_str();
    let here = |engines: &[(&str, Engine)]| {
        engines.iter().find(|(of_fio, _)| *of_fio == word).map(|(_, ours)| *ours)
    };
    if word == NO_ENGINE {
        notes.on(given, "name it when it runs: `--on null`");
        return Some(FioEngine { one_at_a_time: false, ours: None, buffered: Some(false) });
    }
    let (one_at_a_time, ours) = match (here(&SYNC_ENGINES), here(&ASYNC_ENGINES)) {
        (Some(ours), _) => (true, ours),
        (None, Some(ours)) => (false, ours),
        (None, None) => {
            let why = format!("no engine here does what `{word}` does");
            notes.left_out(section, &given.origin, &why);
            return None;
        }
    };
    let buffered = (!ours.can_be_direct()).then_some(true);
    Some(FioEngine { one_at_a_time, ours: Some(ours), buffered })
}

/// Whether it goes through the page cache, as fio does if nothing is given.
fn buffered(section: &Section) -> bool {
    let given = section.find(&["direct", "buffered"]);
    given.is_none_or(|given| (given.name == "buffered") != given.is_off())
}

/// After how many writes it flushes.
fn flush(section: &Section) -> Result<Option<NonZeroU32>, JobError> {
    let given = section.find(&["fsync", "fdatasync"]);
    let every = given.map(|given| number(given, u32::MAX.into())).transpose()?;
    Ok(every.and_then(|every| NonZeroU32::new(every as u32)))
}

fn align(section: &Section, direction: Direction, decimal: bool) -> Result<Option<u32>, JobError> {
    let Some(given) = section.find(&["blockalign", "ba"]) else { return Ok(None) };
    let Some(text) = of(given, direction) else { return Ok(None) };
    request(text, decimal).map(Some).ok_or_else(|| given.wrong("a size, as `4k`"))
}

/// The I/O priority of its process: best effort unless a class is given.
fn ioprio(section: &Section) -> Result<IoPrio, JobError> {
    let find =
        |name: &str, most| section.find(&[name]).map(|given| number(given, most)).transpose();
    let (class, level) = (find("prioclass", 3)?, find("prio", LEVEL_MOST)?);
    let level = match (class, level) {
        (None | Some(0), None) => return Ok(IoPrio::DEFAULT),
        (_, level) => level.unwrap_or(0) as u8,
    };
    let class = match class {
        Some(1) => IoClass::RealTime,
        Some(3) => IoClass::Idle,
        _ => IoClass::BestEffort,
    };
    Ok(IoPrio::new(class, level).expect("a level of a class"))
}

/// The file that it names, with a note where that is stated here.
fn target(section: &Section, notes: &mut Notes) -> Option<String> {
    if let Some(given) = section.find(&["directory"]) {
        notes.on(given, "name the target when it runs: `--on FILE`");
    }
    let given = section.find(&["filename"])?;
    notes.on(given, format!("name the target when it runs: `--on {}`", given.value));
    Some(given.value.clone())
}
