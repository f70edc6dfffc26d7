//! Makes jobs, traces and device files from bytes; they are valid and small.
//!
//! One generator serves the fuzz targets, the property tests and the long soak. The same bytes make
//! the same job. When they run out, every choice is its first, the simplest, so a shorter input is
//! a simpler job. Runs are sized to take milliseconds. Nearly every job is accepted; a refusal must
//! come with a message.

// The text of a job is easiest to read as it is put together.
#![allow(clippy::format_push_string)]

mod agents;
mod device;
mod draw;
mod files;
mod gate;
mod policies;
mod programs;
mod sets;
mod trace;

use std::fmt;

pub use draw::Draw;
pub use gate::{Asked, GateCase, Order, Owner};

use device::Medium;

/// The file name of a job's trace.
const TRACE: &str = "requests.trace";
/// The file name of the job's device.
const DEVICE: &str = "disk.toml";
/// Nanoseconds of the longest job.
const LONGEST: u64 = 3_600_000_000_000;

/// A job with the files that it names, and the options of its run.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Case {
    /// The job as TOML.
    pub job: String,
    /// Contents of the files that it names, by name.
    pub files: Vec<(String, Vec<u8>)>,
    /// The policies to run it under.
    pub policies: Vec<String>,
    /// Whether results have distributions and time series.
    pub detail: bool,
    /// Rounds.
    pub repeat: Option<u32>,
}

/// The randomness of a job.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    /// Every feature of a job.
    Any,
    /// A service time by length under deterministic arrivals, which a short reference can compute.
    Plain,
}

impl Case {
    /// Returns the case that `bytes` encode.
    pub fn of(bytes: &[u8]) -> Self {
        Self::drawn(&mut Draw::new(bytes))
    }

    /// Returns the case that the remaining bytes encode.
    pub fn drawn(draw: &mut Draw<'_>) -> Self {
        let shape = if draw.one_in(3) { Shape::Plain } else { Shape::Any };
        let mut case = Self::default();
        let medium = match shape {
            Shape::Any => device::any(draw),
            Shape::Plain => device::plain(draw),
        };
        let classes = draw.between(1, 3);
        let (head, sections) = match draw.between(0, 5) {
            0 | 1 => case.played(draw, &medium, shape, classes),
            2 if shape == Shape::Any => programs(draw, &medium, classes),
            _ => agents(draw, &medium, shape, classes),
        };
        case.job = format!("seed = {}\n{head}", draw.magnitude(0, u64::MAX - 1));
        if draw.one_in(8) {
            case.job += &format!("max_outstanding = {}\n", draw.magnitude(1, 500));
        }
        let device = case.device(draw, &medium);
        case.job += &device;
        for number in 0..classes {
            case.job += &class(draw, number);
        }
        case.job += &sections;
        case.job += &policies::sections(draw);
        case.asked(draw, shape, classes);
        case
    }

    /// Draws arguments of `--set` for the job `text`, most of them for keys that it has. Every
    /// default is in the text.
    pub fn sets(draw: &mut Draw<'_>, text: &str) -> Vec<String> {
        (0..draw.pick(&[1, 1, 1, 2, 4])).map(|_| sets::argument(draw, text)).collect()
    }

    /// Draws the policies and options of the run.
    fn asked(&mut self, draw: &mut Draw<'_>, shape: Shape, classes: u64) {
        self.policies = policies::some(draw);
        if shape == Shape::Plain {
            self.policies.extend(["fcfs".into(), "noop".into()]);
            self.policies.sort();
            self.policies.dedup();
        }
        if draw.one_in(3) {
            self.policies.push(format!("alone:c{}", draw.between(0, classes - 1)));
        }
        self.detail = draw.one_in(2);
        self.repeat = draw.one_in(6).then(|| draw.between(1, 3) as u32);
    }

    /// Draws a job that plays a trace.
    fn played(
        &mut self,
        draw: &mut Draw<'_>,
        medium: &Medium,
        shape: Shape,
        classes: u64,
    ) -> (String, String) {
        let (sections, bytes) = trace::sections(draw, medium, shape, classes, TRACE);
        self.files.push((TRACE.into(), bytes));
        let mut head = String::new();
        if draw.one_in(4) {
            head += &format!("warmup = \"{}ns\"\n", draw.magnitude(0, 10 * medium.quick));
        }
        match draw.between(0, 7) {
            6 => head += "stop = \"last-arrival\"\n",
            7 => head += &format!("stop = \"{}ns\"\n", draw.magnitude(1, 1_000 * medium.quick)),
            _ => {}
        }
        (head, sections)
    }

    /// Returns the lines that name the device, or its section.
    fn device(&mut self, draw: &mut Draw<'_>, medium: &Medium) -> String {
        match medium.named {
            Some(name) => format!("device = \"{name}\"\n"),
            None if draw.one_in(4) => {
                let table = format!("[device]\n{}", medium.table);
                self.files.push((DEVICE.into(), table.into()));
                format!("device = \"{DEVICE}\"\n")
            }
            None => format!("[device]\nname = \"drawn\"\n{}", medium.table),
        }
    }
}

/// The text that is needed to run the case again by hand.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { job, files, policies, detail, repeat } = self;
        writeln!(f, "{job}# policies {policies:?}, detail {detail}, repeat {repeat:?}")?;
        for (name, bytes) in files {
            writeln!(f, "# the file {name}:\n{}", String::from_utf8_lossy(bytes))?;
        }
        Ok(())
    }
}

fn agents(draw: &mut Draw<'_>, medium: &Medium, shape: Shape, classes: u64) -> (String, String) {
    let duration = medium.quick.saturating_mul(draw.magnitude(1, 1_000)).clamp(1_000, LONGEST);
    let mut head = timed(draw, duration);
    match draw.between(0, 7) {
        6 => head += "stop = \"last-arrival\"\n",
        7 => head += &format!("stop = \"{}ns\"\n", duration + draw.magnitude(0, duration)),
        _ => {}
    }
    (head, agents::sections(draw, medium, shape, duration, classes))
}

fn programs(draw: &mut Draw<'_>, medium: &Medium, classes: u64) -> (String, String) {
    let duration = draw.magnitude(100_000, 2_000_000_000);
    let mut head = timed(draw, duration);
    let sections = programs::sections(draw, medium, duration, classes);
    let waited = format!("c{}", draw.between(0, classes - 1));
    // A class without a program never ends.
    if draw.one_in(4) && sections.contains(&format!("class = \"{waited}\"")) {
        head += &format!("stop = \"done:{waited}\"\n");
    }
    (head, sections)
}

/// Draws the duration and the warm-up.
fn timed(draw: &mut Draw<'_>, duration: u64) -> String {
    let mut head = format!("duration = \"{duration}ns\"\n");
    if draw.one_in(3) {
        head += &format!("warmup = \"{}ns\"\n", draw.between(0, duration - 1));
    }
    head
}

fn class(draw: &mut Draw<'_>, number: u64) -> String {
    let mut text = format!("[class.c{number}]\n");
    if draw.one_in(3) {
        text += &format!("weight = {}\n", draw.magnitude(1, 10_000));
    }
    if draw.one_in(2) {
        text += &format!("prio = {}\n", draw.between(0, 7));
    }
    text
}
