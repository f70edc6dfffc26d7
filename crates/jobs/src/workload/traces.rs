//! Reads a recorded trace as a job's workload, with the rules that assign its requests to classes.
//!
//! Rules are tried in the order of the file, and the first that fits wins. A request that fits no
//! rule is in the class `other`.

use std::path::{Path, PathBuf};

use penstock_core::{ClassId, Op, Span};
use penstock_workload::trace::{self, FORMATS, Fit, Layout, Record, Timing, Trace};
use serde_json::{Value as Json, json};

use crate::amount::{Count, SIZE, TIME};
use crate::classes::{self, Class};
use crate::describe::{self, any, one_of, pair, with, words};
use crate::diagnose::{JobError, quote};
use crate::keys::{keys, table};
use crate::kinds::{Choice, Each, Kind, Own, SWITCH, Text, list, section};
use crate::nearest::suggest;
use crate::path_text;
use crate::reader::Reader;
use crate::rows::Rows;
use crate::text::{Lines, quoted};
use crate::tree::{Node, Value};
use crate::workload::lanes::LaneDevice;
use crate::workload::priority::{PRIORITY, Priority};
use crate::workload::timings::TIMINGS;
use crate::workload::trace_devices;

keys! {
    /// A recorded trace to play instead of agents.
    TRACE trace: Node = section(|| {
        let both = json!({
            "required": [LAYOUT.name, ON.name],
            "properties": {LAYOUT.name: {"const": LAYOUTS[1].0}, ON.name: {"minProperties": 1}},
        });
        with(table(KEYS), json!({"not": both}))
    });
}

keys! {
    /// Rules for the classes of requests of a trace: the first rule that fits wins.
    RULE rule: Node = section(|| describe::list(&table(RULE_KEYS)));
}

keys! {
    /// Keys of a trace.
    KEYS:
    /// Path of the trace, relative to the job's folder.
    FILE file: PathBuf = Own {
        read: |node| node.text("the path of a trace").map(|text| path_text::path(text).into_owned()),
        text: |path| quoted(&path_text::text(path)),
        schema: describe::text,
    }, needs "\"day.blkparse.gz\"";
    /// Format of the trace; if not given, it is found from the contents.
    FORMAT format: &'static str = Own {
        read: |node| {
            let name = node.text("the name of a format")?;
            format(name).map(|format| format.name).map_err(|error| error.at(&node.origin))
        },
        text: |name| quoted(name),
        schema: || words(FORMATS.iter().map(|format| format.name)),
    };
    /// Times of the requests: as recorded (`original`), when each process would issue them
    /// (`closed`), as fast as possible (`afap`), faster or slower.
    TIMING timing: Timing = Own {
        read: timing,
        text: timing_text,
        schema: || any([words(TIMINGS), one_of(table(TIMING_KEYS))]),
    }, or Timing::Original;
    /// Devices of the trace whose requests are played; if not given, all.
    ONLY device: Vec<String> = Each(&Text("the name of a device of the trace"));
    /// Place of the trace's devices if it has several: each on a device of its own (`each`), or one
    /// behind the other on one device (`side-by-side`). If not given, several devices are an error.
    LAYOUT layout: Layout = Choice(&LAYOUTS);
    /// Devices for single devices of the trace, by their name there: a named device, the path of a
    /// device file, or the device itself. It replaces the job's device.
    ON on: Node = section(trace_devices::schema);
    /// Treatment of requests past the device's end; if not given, they are an error.
    FIT fit: Fit = Choice(&[("wrap", Fit::Wrap), ("scale", Fit::Scale)]);
}

keys! {
    /// Keys of a timing.
    TIMING_KEYS:
    /// Factor of the recorded speed: 2 is twice as fast.
    SPEED speed: f64 = Own {
        read: |node| match node.factor(SPEED_MOST)? {
            0.0 => Err(node.expected("a factor above zero").hint("2 is twice as fast")),
            factor => Ok(factor),
        },
        text: f64::to_string,
        schema: || json!({"type": "number", "exclusiveMinimum": 0, "maximum": SPEED_MOST}),
    };
    /// Requests outstanding, issued as fast as possible.
    DEPTH depth: u32 = Count(1, 1 << 20);
    /// Closed timing: the latency in the trace of requests whose completion it does not have.
    LATENCY latency: Span = TIME;
}

keys! {
    /// Keys of a rule.
    RULE_KEYS:
    /// Class of the requests that fit.
    CLASS class: String = Text("the name of a class"), needs "\"…\"";
    /// Names of processes.
    PROCESS process: Vec<String> = Each(&Text("the name of a process"));
    /// Numbers of processes.
    PID pid: Vec<u32> = Each(&Count(0, u32::MAX as u64));
    /// Names of devices of the trace.
    OF device: Vec<String> = Each(&Text("the name of a device of the trace"));
    /// Operations.
    OP op: Vec<Op> = Each(&Choice(&[
        ("read", Op::Read), ("write", Op::Write), ("flush", Op::Flush), ("discard", Op::Discard),
    ]));
    /// Whether a program waits for the request. If the trace does not say it, a program waits for all
    /// but discards.
    SYNC sync: bool = SWITCH;
    /// I/O priorities, or classes of them: `rt`, `be`, `idle`. Only captures of penstock have them.
    IOPRIO ioprio: Vec<Priority> = Each(&PRIORITY);
    /// Least bytes of a request.
    MIN_SIZE min_size: u64 = SIZE;
    /// Most bytes of a request.
    MAX_SIZE max_size: u64 = SIZE;
    /// Begin of the request: at or behind the first border, before the second.
    RANGE range: [u64; 2] = Own {
        read: |node| {
            let expected = "two borders, as in [\"1GiB\", \"2GiB\"]";
            match &node.list(expected)?[..] {
                [from, to] => Ok([SIZE.read(from)?, SIZE.read(to)?]),
                _ => Err(node.expected(expected)),
            }
        },
        text: |range| list(range, |at| SIZE.text(at)),
        schema: || pair(&SIZE.reference()),
    };
}

/// Layouts of the devices of a trace.
const LAYOUTS: [(&str, Layout); 2] = [("each", Layout::Each), ("side-by-side", Layout::SideBySide)];

/// Class of requests that fit no rule.
pub const OTHER: &str = "other";

/// Default of the requests outstanding when a trace is played as fast as possible.
const USUAL_DEPTH: u32 = 32;
/// Largest factor by which a trace is played slower or faster.
const SPEED_MOST: f64 = 1e6;

/// A trace to play.
#[derive(Clone, PartialEq, Debug)]
pub struct TraceSpec {
    /// Path of the trace.
    pub file: PathBuf,
    /// Whether the command names the file, and not the job.
    pub of_command: bool,
    /// Name of the format; `None`: the contents decide.
    pub format: Option<&'static str>,
    /// Timing of its requests.
    pub timing: Timing,
    /// Devices of the trace whose requests are played; empty: all.
    pub device: Vec<String>,
    /// Layout of its devices; `None`: several devices are an error.
    pub layout: Option<Layout>,
    /// Devices on which its devices are played; empty: all on devices like that of the job.
    pub on: Vec<LaneDevice>,
    /// Treatment of requests past the device's end; `None`: they are an error.
    pub fit: Option<Fit>,
    /// Rules that assign requests to classes.
    pub rules: Vec<Rule>,
}

/// The conditions under which a request belongs to a class. An empty field is no condition.
#[derive(Clone, PartialEq, Debug)]
pub struct Rule {
    /// The class.
    pub class: ClassId,
    /// Names of processes.
    pub process: Vec<String>,
    /// Numbers of processes.
    pub pid: Vec<u32>,
    /// Names of devices.
    pub device: Vec<String>,
    /// Operations.
    pub op: Vec<Op>,
    /// Whether a program waits for the request.
    pub sync: Option<bool>,
    /// I/O priorities.
    pub ioprio: Vec<Priority>,
    /// Fewest bytes.
    pub min_size: Option<u64>,
    /// Most bytes.
    pub max_size: Option<u64>,
    /// First byte: at least the one border, and below the other.
    pub range: Option<[u64; 2]>,
}

impl TraceSpec {
    /// Reads `[trace]`. A relative path begins in `folder`, or in the working directory if `--set`
    /// names the file.
    pub(crate) fn read(
        job: &Reader<'_>,
        classes: &[Class],
        folder: &Path,
    ) -> Result<Self, JobError> {
        let node = job.node(&TRACE).expect("a job with a trace");
        let reader = Reader::new(node, "the trace", &[KEYS])?;
        let file = reader.get(&FILE)?;
        let path = if reader.place(&FILE).is_set() { file } else { folder.join(file) };
        let (layout, on) = layout_and_devices(&reader, folder)?;
        Ok(Self {
            // The path is written into results and records, which may be read elsewhere.
            file: std::path::absolute(&path).unwrap_or(path),
            of_command: reader.place(&FILE).is_set(),
            format: reader.find(&FORMAT)?,
            timing: reader.get(&TIMING)?,
            device: reader.find(&ONLY)?.unwrap_or_default(),
            layout,
            on,
            fit: reader.find(&FIT)?,
            rules: job
                .node(&RULE)
                .map(|node| rules(node, classes))
                .transpose()?
                .unwrap_or_default(),
        })
    }

    /// Writes `[trace]` and `[[rule]]` as TOML, with the absolute path of the file.
    pub(crate) fn write(&self, out: &mut Lines, classes: &[Class]) {
        Rows::of(&[KEYS])
            .put(&FILE, &self.file)
            .maybe(&FORMAT, self.format.as_ref())
            .put(&TIMING, &self.timing)
            .maybe(&ONLY, some(&self.device))
            .maybe(&LAYOUT, self.layout.as_ref())
            .maybe(&FIT, self.fit.as_ref())
            .section(Some(&format!("[{}]", TRACE.name)), out);
        for device in &self.on {
            device.write(&format!("{}.{}", TRACE.name, ON.name), out);
        }
        for rule in &self.rules {
            rule.write(out, &classes[rule.class.index()].name);
        }
    }

    /// Returns a hint on how to fit a trace that reaches past the device's end.
    pub fn fit_hint(&self) -> String {
        let key = FIT.name;
        let (wrap, scale) = if self.of_command {
            (format!("`--{key} wrap` of `penstock replay`"), format!("`--{key} scale`"))
        } else {
            (format!("`{key} = \"wrap\"` in `[trace]`"), format!("`{key} = \"scale\"`"))
        };
        format!("{wrap} begins again at the device's beginning, {scale} shrinks all addresses")
    }

    /// Returns the class of all requests if the rules make no difference; `other` is the number of
    /// the class behind the job's own.
    pub fn only_class(&self, other: ClassId) -> Option<ClassId> {
        match self.rules.first() {
            None => Some(other),
            Some(rule) => rule.fits_all().then_some(rule.class),
        }
    }

    /// Returns the class of `record`; `other` is the number of the class behind the job's own.
    pub fn class(&self, trace: &Trace, record: &Record, other: ClassId) -> ClassId {
        let fits = |rule: &&Rule| rule.fits(trace, record);
        self.rules.iter().find(fits).map_or(other, |rule| rule.class)
    }
}

/// Returns the node that names the devices on which the trace's devices are played.
pub(crate) fn on<'a>(job: &Reader<'a>) -> Option<&'a Node> {
    let Value::Table(trace) = &job.node(&TRACE)?.value else { return None };
    trace.get(ON.name).map(|entry| &entry.node)
}

/// Path of these devices in a job.
pub(crate) const PATH_OF_DEVICES: [&str; 2] = [TRACE.name, ON.name];

/// Matches a job with such devices.
pub(crate) fn with_devices() -> Json {
    let on = json!({"required": [ON.name], "properties": {ON.name: {"minProperties": 1}}});
    json!({"properties": {TRACE.name: with(json!({"type": "object"}), on)}})
}

/// Reads the layout of the trace's devices, and the devices on which they are played.
fn layout_and_devices(
    trace: &Reader<'_>,
    folder: &Path,
) -> Result<(Option<Layout>, Vec<LaneDevice>), JobError> {
    let layout = trace.find(&LAYOUT)?;
    let Some(node) = trace.node(&ON) else { return Ok((layout, Vec::new())) };
    let on = trace_devices::read(node, folder)?;
    let from_arguments = (trace.place(&LAYOUT).is_set(), trace_devices::is_set(node));
    match (layout, from_arguments) {
        _ if on.is_empty() => Ok((layout, on)),
        (Some(Layout::SideBySide), (true, false)) => Ok((layout, Vec::new())),
        (Some(Layout::SideBySide), (false, false) | (true, true)) => {
            let why =
                "gives each device of the trace one of its own; this layout is `side-by-side`";
            trace.refuse(&[&ON], why, "leave one of the two out")?;
            Ok((layout, on))
        }
        _ => Ok((Some(Layout::Each), on)),
    }
}

/// Reads the sections `[[rule]]`.
fn rules(node: &Node, classes: &[Class]) -> Result<Vec<Rule>, JobError> {
    let Value::List(items) = &node.value else {
        return Err(node.expected("rules").hint("each begins with `[[rule]]`"));
    };
    items.iter().map(|item| Rule::read(item, classes)).collect()
}

/// Returns the format of traces called `name`.
///
/// # Errors
/// No format has this name.
pub fn format(name: &str) -> Result<&'static trace::Format, JobError> {
    trace::format(name).ok_or_else(|| {
        let names = FORMATS.iter().map(|format| format.name);
        let message = format!("unknown format of a trace: {}", quote(name));
        JobError::new(message).hint(suggest(name, names))
    })
}

/// Reads a timing: `"original"`, `"closed"`, `"afap"`, `{ speed = 2 }`, `{ depth = 64 }` for as
/// fast as possible, or `{ latency = "5ms" }` for closed.
fn timing(node: &Node) -> Result<Timing, JobError> {
    if let Value::Table(_) = node.value {
        let reader = Reader::new(node, "the timing", &[TIMING_KEYS])?;
        return match (reader.find(&SPEED)?, reader.find(&DEPTH)?, reader.find(&LATENCY)?) {
            (Some(speed), None, None) => Ok(Timing::Scaled(speed)),
            (None, Some(depth), None) => Ok(Timing::Afap { depth }),
            (None, None, Some(latency)) => Ok(Timing::Closed { latency: Some(latency) }),
            _ => {
                let expected = "one of `speed`, `depth` and `latency`";
                Err(node.expected(expected).hint("as in `{ speed = 2 }`"))
            }
        };
    }
    match node.choice(&TIMINGS)? {
        word if word == TIMINGS[0] => Ok(Timing::Original),
        word if word == TIMINGS[1] => Ok(Timing::Closed { latency: None }),
        _ => Ok(Timing::Afap { depth: USUAL_DEPTH }),
    }
}

fn timing_text(timing: &Timing) -> String {
    let rows = Rows::of(&[TIMING_KEYS]);
    match timing {
        Timing::Original => quoted(TIMINGS[0]),
        Timing::Closed { latency: None } => quoted(TIMINGS[1]),
        Timing::Closed { latency: Some(latency) } => rows.put(&LATENCY, latency).inline(),
        Timing::Scaled(speed) => rows.put(&SPEED, speed).inline(),
        Timing::Afap { depth } => rows.put(&DEPTH, depth).inline(),
    }
}

impl Rule {
    fn read(node: &Node, classes: &[Class]) -> Result<Self, JobError> {
        let reader = Reader::new(node, "this rule", &[RULE_KEYS])?;
        Ok(Self {
            class: classes::named(&reader.get(&CLASS)?, reader.place(&CLASS), classes)?,
            process: reader.find(&PROCESS)?.unwrap_or_default(),
            pid: reader.find(&PID)?.unwrap_or_default(),
            device: reader.find(&OF)?.unwrap_or_default(),
            op: reader.find(&OP)?.unwrap_or_default(),
            sync: reader.find(&SYNC)?,
            ioprio: reader.find(&IOPRIO)?.unwrap_or_default(),
            min_size: reader.find(&MIN_SIZE)?,
            max_size: reader.find(&MAX_SIZE)?,
            range: reader.find(&RANGE)?,
        })
    }

    fn write(&self, out: &mut Lines, class: &str) {
        Rows::of(&[RULE_KEYS])
            .put(&CLASS, &class.to_owned())
            .maybe(&PROCESS, some(&self.process))
            .maybe(&PID, some(&self.pid))
            .maybe(&OF, some(&self.device))
            .maybe(&OP, some(&self.op))
            .maybe(&SYNC, self.sync.as_ref())
            .maybe(&IOPRIO, some(&self.ioprio))
            .maybe(&MIN_SIZE, self.min_size.as_ref())
            .maybe(&MAX_SIZE, self.max_size.as_ref())
            .maybe(&RANGE, self.range.as_ref())
            .section(Some(&format!("[[{}]]", RULE.name)), out);
    }

    /// Whether it has no condition.
    fn fits_all(&self) -> bool {
        let Self { class: _, process, pid, device, op, sync, ioprio, min_size, max_size, range } =
            self;
        let named = [process, device].into_iter().any(|names| !names.is_empty());
        let limited = min_size.is_some() || max_size.is_some() || range.is_some();
        let listed = !pid.is_empty() || !op.is_empty() || !ioprio.is_empty();
        !(named || limited || listed || sync.is_some())
    }

    fn fits(&self, trace: &Trace, record: &Record) -> bool {
        let len = u64::from(record.len);
        (self.process.is_empty() || self.process.iter().any(|name| name == trace.process(record)))
            && (self.pid.is_empty() || self.pid.contains(&record.pid))
            && (self.device.is_empty()
                || self.device.iter().any(|name| name == trace.device(record)))
            && (self.op.is_empty() || self.op.contains(&record.op))
            && self.sync.is_none_or(|wanted| wanted == trace.is_sync(record))
            && (self.ioprio.is_empty() || self.ioprio.iter().any(|ioprio| ioprio.is_of(record)))
            && self.min_size.is_none_or(|least| len >= least)
            && self.max_size.is_none_or(|most| len <= most)
            && self.range.is_none_or(|[from, to]| (from..to).contains(&record.start))
    }
}

/// Returns the items, if there are any.
fn some<T>(items: &Vec<T>) -> Option<&Vec<T>> {
    Some(items).filter(|items| !items.is_empty())
}
