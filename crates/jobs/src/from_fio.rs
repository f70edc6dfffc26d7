//! Makes a job of a job file of fio, and says of each line that could not be taken over why.
//!
//! A section becomes a class with an agent. All files become one target, on which they lie one behind
//! the other; a file that several sections name is one file. Source: the manual of fio, and what fio
//! 3.33 writes with `--write_iolog` where the manual leaves a question; no code of it was read. What
//! becomes of each option is the table in [`fio`](crate::fio).

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

/// A job that was made of fio's.
#[derive(Debug)]
pub struct FromFio {
    /// The job as TOML, with the notes as comments.
    pub job: String,
    /// How many agents it has.
    pub agents: u64,
    /// Requests that they have in flight at most.
    pub in_flight: u64,
    /// What could not be taken over, or is stated elsewhere, by line.
    pub notes: Vec<Note>,
}

/// Makes a job of fio's job file at `path`: of the sections with these names, or of all.
///
/// # Errors
/// A file that cannot be read or is none of fio's, a name that no section has, a value that its option does
/// not have, or no section that an agent can do.
pub fn from_fio(path: &Path, names: &[String]) -> Result<FromFio, JobError> {
    let hint = "it is a text file of sections and options";
    let text = file::read_other(path, "job file of fio", hint)?;
    convert(&path.display().to_string(), &text, names)
}

/// Makes a job of the `text` of fio's job file called `name`: of the sections with these names, or of all.
///
/// # Errors
/// As [`from_fio`].
pub fn convert(name: &str, text: &str, names: &[String]) -> Result<FromFio, JobError> {
    let source = Source::file(name, text);
    let all = chosen(lines::sections(&source)?, names)?;
    let mut notes = Notes::default();
    let (mut sections, mut made) = (Vec::new(), Vec::new());
    let (mut order, mut taken) = (Order::default(), Vec::new());
    for section in &all {
        let Some(times) = order.next(section, &mut notes)? else { continue };
        let Some(one) = agent::agent(section, times, &taken, &mut notes)? else {
            order.left_out();
            continue;
        };
        unused(section, &mut notes);
        taken.push(one.class.clone());
        sections.push(section);
        made.push(one);
    }
    let Some(first) = sections.first() else {
        let (origin, why) = notes.why_left_out().expect("a section is left out with a reason");
        let hint = "an agent reads, writes or trims, with psync, vsync, mmap, libaio, posix-aio or io_uring";
        let found = format!("no section can be taken over: {why}");
        return Err(JobError::new(found).at(origin).hint(hint));
    };
    let mut made = layout::apart(made);
    layout::place(&mut made, first, &mut notes);
    let body = write::job(&sections, &made, &mut notes)?;
    let notes = notes.sorted();
    let job = format!("{}\n{}", head(name, &notes), body.trim_start());
    if let Err(error) = Job::parse(name, &job, &[]) {
        let found = format!("the job that it amounts to is not valid: {}", error.message());
        let hint = "change fio's file, or leave the option out";
        return Err(JobError::new(found).at(&first.origin).hint(hint));
    }
    let copies = |one: &agent::Made| u64::from(one.copies);
    let agents = made.iter().map(copies).sum();
    let in_flight = made.iter().map(|one| copies(one) * u64::from(one.buffers)).sum();
    Ok(FromFio { job, agents, in_flight, notes })
}

/// The comment at the head of a job made of the file called `name`.
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

/// Those of `all` sections that are called so; all if there are no names.
fn chosen(all: Vec<Section>, names: &[String]) -> Result<Vec<Section>, JobError> {
    let known = || all.iter().map(|section| section.name.as_str());
    if let Some(unknown) = names.iter().find(|name| known().all(|known| known != *name)) {
        let found = format!("there is no section {}", quote(unknown));
        let end = all.last().map(|section| &section.origin).expect("a file has sections");
        return Err(JobError::new(found).at(end).hint(suggest(unknown, known())));
    }
    let named = |section: &Section| names.is_empty() || names.contains(&section.name);
    Ok(all.into_iter().filter(named).collect())
}

/// Notes on options that nothing is made of.
fn unused(section: &Section, notes: &mut Notes) {
    for given in &section.options {
        match fio::fate(&given.name) {
            Some(Fate::Left(why)) if !given.is_off() => notes.on(given, *why),
            Some(_) => {}
            None => {
                let near = nearest(&given.name, fio::names());
                let hint = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                notes.on(given, format!("not an option that is known here{hint}"));
            }
        }
    }
}

/// `text` for a comment: a control character would end it.
fn shown(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
