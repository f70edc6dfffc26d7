//! A recorded trace as a job's workload, and which class each of its requests belongs to.
//!
//! Rules are tried in the order of the file and the first that fits wins; what none fits is of the
//! class `other`.

use std::path::{Path, PathBuf};

use penstock_core::{ClassId, Op};
use penstock_workload::trace::{self, Fit, Record, Timing, Trace};

use crate::agents;
use crate::classes::Class;
use crate::diagnose::{JobError, quote};
use crate::nearest::suggest;
use crate::text::{Lines, quoted};
use crate::tree::{Node, Reader, Value};
use crate::units;

/// Keys of a trace.
pub(crate) const KEYS: &[&str] = &["file", "format", "timing", "fit"];
/// Keys of a rule.
pub(crate) const RULE_KEYS: &[&str] =
    &["class", "process", "pid", "op", "sync", "min_size", "max_size", "range"];
/// Keys of a timing.
pub(crate) const TIMING_KEYS: &[&str] = &["speed", "depth"];
/// Timings that are a word.
pub(crate) const TIMINGS: &[&str] = &["original", "afap"];

/// The class of what no rule fits.
pub const OTHER: &str = "other";

/// Requests outstanding at most when a trace is played as fast as possible.
const DEPTH: u32 = 32;
pub(crate) const DEPTH_MOST: u64 = 1 << 20;
/// A trace may be played a million times slower or faster.
pub(crate) const SPEED_MOST: f64 = 1e6;

/// A trace to play.
#[derive(Clone, PartialEq, Debug)]
pub struct TraceSpec {
    /// Where it lies.
    pub file: PathBuf,
    /// Name of its format; none: told from its contents.
    pub format: Option<&'static str>,
    /// When its requests are asked.
    pub timing: Timing,
    /// What becomes of requests past the device's end; none: they are an error.
    pub fit: Option<Fit>,
    /// Which class is whose.
    pub rules: Vec<Rule>,
}

/// What a request must be to belong to a class. What is not given is not asked for.
#[derive(Clone, PartialEq, Debug)]
pub struct Rule {
    /// The class.
    pub class: ClassId,
    /// Names of processes.
    pub process: Vec<String>,
    /// Numbers of processes.
    pub pid: Vec<u32>,
    /// Operations.
    pub op: Vec<Op>,
    /// Whether somebody waits for it.
    pub sync: Option<bool>,
    /// Bytes at least.
    pub min_size: Option<u64>,
    /// Bytes at most.
    pub max_size: Option<u64>,
    /// First byte at or behind the one, and before the other.
    pub range: Option<(u64, u64)>,
}

/// Operations as rules name them.
pub(crate) const OPS: [(&str, Op); 4] =
    [("read", Op::Read), ("write", Op::Write), ("flush", Op::Flush), ("discard", Op::Discard)];

/// Fits as jobs name them.
pub(crate) const FITS: [(&str, Fit); 2] = [("wrap", Fit::Wrap), ("scale", Fit::Scale)];

impl TraceSpec {
    /// Reads `[trace]`; a relative file lies in `folder`, or, if `--set` names it, where the
    /// command runs.
    pub(crate) fn read(node: &Node, folder: &Path) -> Result<Self, JobError> {
        let reader = Reader::new(node, "the trace", KEYS)?;
        let file = reader.required("file", "\"day.blkparse.gz\"", |node| {
            let name = node.text("the path of a trace")?;
            let path = if node.origin.is_set() { PathBuf::from(name) } else { folder.join(name) };
            // The job is written into results and records, which may be read elsewhere.
            Ok(std::path::absolute(&path).unwrap_or(path))
        })?;
        let format = reader.optional("format", |node| {
            let name = node.text("the name of a format")?;
            let format = trace::format(name).map(|format| format.name);
            format.ok_or_else(|| unknown(name).at(&node.origin))
        })?;
        let timing = reader.optional("timing", timing)?.unwrap_or(Timing::Original);
        let fit = reader.optional("fit", |node| {
            let word = node.choice(&FITS.map(|(name, _)| name))?;
            Ok(FITS.iter().find(|(name, _)| *name == word).expect("one of them").1)
        })?;
        Ok(Self { file, format, timing, fit, rules: Vec::new() })
    }

    /// `[trace]` and `[[rule]]` as TOML, and the file as it was found.
    pub(crate) fn write(&self, out: &mut Lines, classes: &[Class]) {
        let named =
            |fit| FITS.iter().find(|(_, known)| *known == fit).expect("every fit is named").0;
        out.section("[trace]");
        out.line("file", quoted(&self.file.display().to_string()));
        if let Some(format) = self.format {
            out.line("format", quoted(format));
        }
        match self.timing {
            Timing::Original => out.line("timing", quoted("original")),
            Timing::Scaled(speed) => out.line("timing", format!("{{ speed = {speed} }}")),
            Timing::Afap { depth } => out.line("timing", format!("{{ depth = {depth} }}")),
        }
        if let Some(fit) = self.fit {
            out.line("fit", quoted(named(fit)));
        }
        for rule in &self.rules {
            let each = |items: Vec<String>| format!("[{}]", items.join(", "));
            out.section("[[rule]]");
            out.line("class", quoted(&classes[rule.class.index()].name));
            if !rule.process.is_empty() {
                out.line("process", each(rule.process.iter().map(|name| quoted(name)).collect()));
            }
            if !rule.pid.is_empty() {
                out.line("pid", each(rule.pid.iter().map(u32::to_string).collect()));
            }
            if !rule.op.is_empty() {
                let name = |op: &Op| OPS.iter().find(|(_, known)| known == op).expect("named").0;
                out.line("op", each(rule.op.iter().map(|op| quoted(name(op))).collect()));
            }
            if let Some(sync) = rule.sync {
                out.line("sync", sync);
            }
            for (key, bytes) in [("min_size", rule.min_size), ("max_size", rule.max_size)] {
                if let Some(bytes) = bytes {
                    out.line(key, quoted(&units::size_text(bytes)));
                }
            }
            if let Some((from, to)) = rule.range {
                out.line("range", each([from, to].map(|at| quoted(&units::size_text(at))).into()));
            }
        }
    }

    /// The class of `record`; `other` is numbered behind the job's own.
    pub fn class(&self, trace: &Trace, record: &Record, other: ClassId) -> ClassId {
        let fits = |rule: &&Rule| rule.fits(trace, record);
        self.rules.iter().find(fits).map_or(other, |rule| rule.class)
    }
}

/// Reads `[[rule]]`.
pub(crate) fn rules(node: &Node, classes: &[Class]) -> Result<Vec<Rule>, JobError> {
    let Value::List(items) = &node.value else {
        return Err(node.expected("rules").hint("each begins with `[[rule]]`"));
    };
    items.iter().map(|item| Rule::read(item, classes)).collect()
}

/// The format of traces called `name`.
///
/// # Errors
/// No format has this name.
pub fn format(name: &str) -> Result<&'static trace::Format, JobError> {
    trace::format(name).ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> JobError {
    let names = trace::FORMATS.iter().map(|format| format.name);
    let message = format!("unknown format of a trace: {}", quote(name));
    JobError::new(message).hint(suggest(name, names))
}

/// `"original"`, `"afap"`, `{ speed = 2 }`, or `{ depth = 64 }` for as fast as possible.
fn timing(node: &Node) -> Result<Timing, JobError> {
    if let Value::Table(_) = node.value {
        let reader = Reader::new(node, "the timing", TIMING_KEYS)?;
        let speed = reader.optional("speed", |node| match node.factor(SPEED_MOST)? {
            0.0 => Err(node.expected("a factor above zero").hint("2 is twice as fast")),
            factor => Ok(factor),
        })?;
        let depth = reader.optional("depth", |node| node.count(1, DEPTH_MOST))?;
        return match (speed, depth) {
            (Some(speed), None) => Ok(Timing::Scaled(speed)),
            (None, Some(depth)) => Ok(Timing::Afap { depth: depth as u32 }),
            _ => Err(node.expected("either `speed` or `depth`").hint("as in `{ speed = 2 }`")),
        };
    }
    match node.choice(TIMINGS)? {
        "original" => Ok(Timing::Original),
        _ => Ok(Timing::Afap { depth: DEPTH }),
    }
}

impl Rule {
    fn read(node: &Node, classes: &[Class]) -> Result<Self, JobError> {
        let reader = Reader::new(node, "this rule", RULE_KEYS)?;
        let class = reader.required("class", "\"…\"", |node| agents::class(node, classes))?;
        let process = reader.optional("process", |node| {
            each(node, |node| node.text("the name of a process").map(str::to_owned))
        })?;
        let pid = reader.optional("pid", |node| {
            each(node, |node| Ok(node.count(0, u64::from(u32::MAX))? as u32))
        })?;
        let op = reader.optional("op", |node| each(node, op))?;
        let range = reader.optional("range", |node| {
            let items = node.list("two borders, as in [\"1GiB\", \"2GiB\"]")?;
            match &items[..] {
                [from, to] => Ok((units::size(from)?, units::size(to)?)),
                _ => Err(node.expected("two borders, as in [\"1GiB\", \"2GiB\"]")),
            }
        })?;
        Ok(Self {
            class,
            process: process.unwrap_or_default(),
            pid: pid.unwrap_or_default(),
            op: op.unwrap_or_default(),
            sync: reader.optional("sync", Node::boolean)?,
            min_size: reader.optional("min_size", units::size)?,
            max_size: reader.optional("max_size", units::size)?,
            range,
        })
    }

    fn fits(&self, trace: &Trace, record: &Record) -> bool {
        let len = u64::from(record.len);
        (self.process.is_empty() || self.process.iter().any(|name| name == trace.process(record)))
            && (self.pid.is_empty() || self.pid.contains(&record.pid))
            && (self.op.is_empty() || self.op.contains(&record.op))
            && self.sync.is_none_or(|wanted| wanted == record.is_sync())
            && self.min_size.is_none_or(|least| len >= least)
            && self.max_size.is_none_or(|most| len <= most)
            && self.range.is_none_or(|(from, to)| (from..to).contains(&record.start))
    }
}

fn op(node: &Node) -> Result<Op, JobError> {
    let word = node.choice(&OPS.map(|(name, _)| name))?;
    Ok(OPS.iter().find(|(name, _)| *name == word).expect("one of them").1)
}

/// One value, or a list of them.
fn each<T>(node: &Node, read: impl Fn(&Node) -> Result<T, JobError>) -> Result<Vec<T>, JobError> {
    match &node.value {
        Value::List(_) | Value::Word(_) => node.list("values")?.iter().map(read).collect(),
        _ => Ok(vec![read(node)?]),
    }
}
