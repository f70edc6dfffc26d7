//! Converts a section of a job file of fio to an agent.

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
use crate::from_fio::values::{Direction, number, request, value_for};
use crate::from_fio::{pace, requests, spread};
use crate::workload::agent_files::COPIES_MOST;
use crate::workload::region::Edge;
use crate::workload::spread::SpreadSpec;

/// Names of fio's engines with one request in flight, with the corresponding engines here.
const SYNC_ENGINES: [(&str, Engine); 6] = [
    ("sync", Engine::Psync),
    ("psync", Engine::Psync),
    ("vsync", Engine::Vsync),
    ("pvsync", Engine::Vsync),
    ("pvsync2", Engine::Vsync),
    ("mmap", Engine::Mmap),
];
/// Like the above, for engines with several requests in flight.
const ASYNC_ENGINES: [(&str, Engine); 3] =
    [("libaio", Engine::Aio), ("io_uring", Engine::Uring), ("posixaio", Engine::PosixAio)];
const NO_ENGINE: &str = "null";
const LEVEL_MOST: u64 = 7;

/// A section, converted to an agent.
#[derive(Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(super) struct FioAgent {
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
    /// The engine that the section names.
    pub(super) engine: Option<Engine>,
    pub(super) buffers: u32,
    pub(super) arrivals: Arrivals,
    pub(super) volume: Volume,
    pub(super) copies: u32,
    /// Whether the first copy to end ends the others.
    pub(super) ends_copies: bool,
    /// The file that it uses; `None`: a file of its own.
    pub(super) file: Option<String>,
    pub(super) part: FilePart,
    pub(super) times: Times,
}

/// How an engine of fio does its I/O.
struct FioEngine {
    one_at_a_time: bool,
    /// The corresponding engine here, if the section names one.
    ours: Option<Engine>,
    /// Whether the engine always or never uses the page cache; `None`: as the section says.
    buffered: Option<bool>,
}

/// Returns the agent of a section; `None`, with a note, if no agent can do it. The name of its
/// class is none of `taken`.
pub(super) fn convert(
    section: &Section,
    times: Times,
    taken: &[String],
    notes: &mut Notes,
) -> Result<Option<FioAgent>, JobError> {
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
    // fio cuts requests of several sizes at blocks that it has asked for; a note says so.
    let cut = spread == SpreadSpec::Once && sizes.single().is_none();
    let spread = if cut { SpreadSpec::Uniform } else { spread };
    let writes = ops.writes();
    Ok(Some(FioAgent {
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
        volume: part::volume(section, &times, &part, (pattern, gap), &sizes, decimal, notes)?,
        copies,
        ends_copies: ends_copies(section, copies, notes),
        file: target(section, notes),
        sizes,
        part,
        times,
    }))
}

/// Returns the number of copies.
fn copies(section: &Section, one_at_a_time: bool, notes: &mut Notes) -> Result<u32, JobError> {
    let Some(option) = section.find(&["numjobs"]) else { return Ok(1) };
    let copies = number(option, COPIES_MOST)?.max(1) as u32;
    if copies > 1 && !one_at_a_time {
        let why = format!(
            "fio has a process for each; for a thread each name it when it runs: `--policy kernel:as-is \
             --set live.threads={copies}`"
        );
        notes.on(option, why);
    }
    Ok(copies)
}

/// Returns whether the first of several copies to end ends the others.
fn ends_copies(section: &Section, copies: u32, notes: &mut Notes) -> bool {
    let Some(option) = section.find(&["exitall"]).filter(|option| !option.is_off()) else {
        return false;
    };
    let why = if copies > 1 {
        "it ends the other copies of its section; other sections go on"
    } else {
        "it ends no other section: an agent ends only others of its class (`ends_class`)"
    };
    notes.on(option, why);
    copies > 1
}

/// Returns a name that is not in `taken` for the class of the section called `name`.
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

/// Returns how the section's engine does I/O; `None`, with a note, if no engine here does the same.
fn engine(section: &Section, notes: &mut Notes) -> Option<FioEngine> {
    let Some(option) = section.find(&["ioengine"]) else {
        return Some(FioEngine { one_at_a_time: true, ours: None, buffered: None });
    };
    let word = option.value.as_str();
    let here = |engines: &[(&str, Engine)]| {
        engines.iter().find(|(fio_name, _)| *fio_name == word).map(|(_, ours)| *ours)
    };
    if word == NO_ENGINE {
        notes.on(option, "name it when it runs: `--on null`");
        return Some(FioEngine { one_at_a_time: false, ours: None, buffered: Some(false) });
    }
    let (one_at_a_time, ours) = match (here(&SYNC_ENGINES), here(&ASYNC_ENGINES)) {
        (Some(ours), _) => (true, ours),
        (None, Some(ours)) => (false, ours),
        (None, None) => {
            let why = format!("no engine here does what `{word}` does");
            notes.left_out(section, &option.origin, &why);
            return None;
        }
    };
    let buffered = (!ours.can_be_direct()).then_some(true);
    Some(FioEngine { one_at_a_time, ours: Some(ours), buffered })
}

/// Whether the section goes through the page cache, as fio does by default.
fn buffered(section: &Section) -> bool {
    let option = section.find(&["direct", "buffered"]);
    option.is_none_or(|option| (option.name == "buffered") != option.is_off())
}

/// Returns the number of writes between flushes.
fn flush(section: &Section) -> Result<Option<NonZeroU32>, JobError> {
    let option = section.find(&["fsync", "fdatasync"]);
    let every = option.map(|option| number(option, u32::MAX.into())).transpose()?;
    Ok(every.and_then(|every| NonZeroU32::new(every as u32)))
}

fn align(section: &Section, direction: Direction, decimal: bool) -> Result<Option<u32>, JobError> {
    let Some(option) = section.find(&["blockalign", "ba"]) else { return Ok(None) };
    let Some(text) = value_for(option, direction) else { return Ok(None) };
    request(text, decimal).map(Some).ok_or_else(|| option.wrong("a size, as `4k`"))
}

/// Returns the I/O priority; best effort unless the section names a class.
fn ioprio(section: &Section) -> Result<IoPrio, JobError> {
    let find =
        |name: &str, most| section.find(&[name]).map(|option| number(option, most)).transpose();
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

/// Returns the file that the section names, and notes that the target is named when the job runs.
fn target(section: &Section, notes: &mut Notes) -> Option<String> {
    if let Some(option) = section.find(&["directory"]) {
        notes.on(option, "name the target when it runs: `--on FILE`");
    }
    let option = section.find(&["filename"])?;
    notes.on(option, format!("name the target when it runs: `--on {}`", option.value));
    Some(option.value.clone())
}
