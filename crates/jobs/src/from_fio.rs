//! Converts a job file of fio to a job, and reports each line that has no counterpart.
//!
//! A section becomes a class with an agent. All files become ranges of one target, one behind the
//! other; a file that several sections name is one range. Sources: the manual of fio, and for what
//! the manual leaves open the output of fio 3.33 with `--write_iolog`; no code of fio was read. The
//! table in [`fio`](crate::fio) has the counterpart of each option.

mod agent;
mod layout;
mod lines;
mod notes;
mod order;
mod pace;
mod part;
mod requests;
mod spread;
mod values;
mod without_effect;
mod write;

use std::fmt::Write;
use std::path::Path;

use self::lines::Section;
pub use self::notes::Note;
use self::notes::Notes;
use self::order::Order;
use crate::diagnose::{JobError, Source, quote};
use crate::file;
use crate::fio::{self, Fate};
use crate::job::Job;
use crate::nearest::{nearest, suggest};

/// A job that was converted from a job file of fio.
#[derive(Debug)]
pub struct FromFio {
    /// The job as TOML, with the notes as comments.
    pub job: String,
    /// Number of agents, copies included.
    pub agents: u64,
    /// Most requests that the agents have in flight.
    pub in_flight: u64,
    /// Lines that were not converted, or are stated elsewhere, in order.
    pub notes: Vec<Note>,
}

/// Converts the job file of fio at `path`: the sections with these names, or all if there are no
/// names.
///
/// # Errors
/// The file cannot be read or is not fio's, no section has one of the names, an option has a wrong
/// value, or no section can be done by an agent.
pub fn from_fio(path: &Path, names: &[String]) -> Result<FromFio, JobError> {
    let hint = "it is a text file of sections and options";
    let text = file::read_other(path, "job file of fio", hint)?;
    convert(&path.display().to_string(), &text, names)
}

/// Converts the `text` of fio's job file called `name`: the sections with these names, or all if
/// there are no names.
///
/// # Errors
/// See [`from_fio`].
pub fn convert(name: &str, text: &str, names: &[String]) -> Result<FromFio, JobError> {
    let source = Source::file(name, text);
    let all = chosen(lines::sections(&source)?, names)?;
    let Made { body, agents, in_flight, mut notes, taken } = make(&all)?;
    let taken: Vec<Section> = taken.into_iter().cloned().collect();
    let found = notes.sorted();
    let alike = |changed: &[Section]| {
        let made = make(changed).ok()?;
        Some(made.body == body && made.notes.sorted() == found)
    };
    for option in without_effect::find(&taken, &found, alike) {
        notes.on(&option, "it has no effect: the job is the same with any other value");
    }
    let notes = notes.sorted();
    let job = format!("{}\n{}", head(name, &notes), body.trim_start());
    if let Err(error) = Job::parse(name, &job, &[]) {
        let message = format!("the job that it amounts to is not valid: {}", error.message());
        let hint = "change fio's file, or leave the option out";
        return Err(JobError::new(message).at(&taken[0].origin).hint(hint));
    }
    Ok(FromFio { job, agents, in_flight, notes })
}

/// The job of some sections, and its notes.
struct Made<'a> {
    /// The job as TOML, without the notes.
    body: String,
    agents: u64,
    in_flight: u64,
    notes: Notes,
    /// The sections that became agents.
    taken: Vec<&'a Section>,
}

/// Converts sections.
fn make(all: &[Section]) -> Result<Made<'_>, JobError> {
    let mut notes = Notes::default();
    let (mut sections, mut agents) = (Vec::new(), Vec::new());
    let (mut order, mut classes) = (Order::default(), Vec::new());
    for section in all {
        let Some(times) = order.next(section, &mut notes)? else { continue };
        let Some(agent) = agent::convert(section, times, &classes, &mut notes)? else { continue };
        order.taken(section, &agent.class, &agent.times);
        unused(section, &mut notes);
        classes.push(agent.class.clone());
        sections.push(section);
        agents.push(agent);
    }
    let Some(first) = sections.first() else {
        let (origin, why) = notes.why_left_out().expect("a section is left out with a reason");
        let hint = "an agent reads, writes or trims, with psync, vsync, mmap, libaio, posix-aio or io_uring";
        let message = format!("no section can be taken over: {why}");
        return Err(JobError::new(message).at(origin).hint(hint));
    };
    let mut agents = layout::apart(agents);
    layout::place(&mut agents, first, &mut notes);
    let body = write::job(&sections, &agents, &mut notes)?;
    let copies = |agent: &agent::FioAgent| u64::from(agent.copies);
    let in_flight = agents.iter().map(|agent| copies(agent) * u64::from(agent.buffers)).sum();
    let agents = agents.iter().map(copies).sum();
    Ok(Made { body, agents, in_flight, notes, taken: sections })
}

/// Returns the comment at the head of a job that was converted from the file called `name`.
fn head(name: &str, notes: &[Note]) -> String {
    let mut head = format!("# From {}, a job of fio.\n", shown(name));
    if !notes.is_empty() {
        head += "#\n# Not taken over, or stated elsewhere:\n";
    }
    for Note { line, text, why } in notes {
        writeln!(head, "#   line {line}, `{}`: {}", shown(text), shown(why))
            .expect("a string takes everything");
    }
    head
}

/// Keeps the sections with these names; all sections if there are no names.
fn chosen(all: Vec<Section>, names: &[String]) -> Result<Vec<Section>, JobError> {
    let known = || all.iter().map(|section| section.name.as_str());
    if let Some(unknown) = names.iter().find(|name| known().all(|known| known != *name)) {
        let message = format!("there is no section {}", quote(unknown));
        let end = all.last().map(|section| &section.origin).expect("a file has sections");
        return Err(JobError::new(message).at(end).hint(suggest(unknown, known())));
    }
    let named = |section: &Section| names.is_empty() || names.contains(&section.name);
    Ok(all.into_iter().filter(named).collect())
}

/// Adds notes on options without a counterpart.
fn unused(section: &Section, notes: &mut Notes) {
    for option in &section.options {
        match fio::fate(&option.name) {
            Some(Fate::Left(why)) if !option.is_off() => notes.on(option, *why),
            Some(_) => {}
            None => {
                let near = nearest(&option.name, fio::names());
                let hint = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                notes.on(option, format!("not an option that is known here{hint}"));
            }
        }
    }
}

/// Replaces control characters: one could end the comment.
fn shown(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
