//! Classes of work as a job names them.

use std::num::NonZeroU32;

use penstock_core::{ClassId, ClassInfo, IoPrio, Prio};
use serde_json::{Value as Json, json};

use crate::amount::Count;
use crate::describe;
use crate::diagnose::{JobError, Origin, quote};
use crate::keys::{keys, table};
use crate::kinds::{Own, Text, section};
use crate::nearest::{nearest, suggest};
use crate::reader::Reader;
use crate::rows::Rows;
use crate::text::{Lines, quoted};
use crate::tree::{KeyValue, Node, Value};

/// Most classes of a job: each has a row in every table and takes a megabyte for its distributions.
pub(crate) const CLASSES: usize = 256;

/// Kind of keys that name a class.
pub(crate) const NAMES: Text = Text("the name of a class");

keys! {
    /// Classes of work, a section each: `[class.batch]`.
    CLASS class: Node = section(schema);
}

keys! {
    /// Keys of a class. The greatest weight is that of cgroup v2's `io.weight`, the lowest
    /// priority that of the kernel's ioprio.
    KEYS:
    /// Share of the device, relative to the weights of the other classes. If not given, 100; with
    /// an I/O priority alone, 80 at level 0 down to 10 at level 7.
    WEIGHT weight: u32 = Count(1, 10_000);
    /// Priority; the lower number goes first.
    PRIO prio: u8 = Count(0, 7), or 0;
    /// The I/O priority of its processes: real time (`rt:0` to `rt:7`), best effort (`be:0` to
    /// `be:7`), or `idle`.
    IOPRIO ioprio: IoPrio = Own {
        read: ioprio,
        text: |ioprio| quoted(&ioprio.to_string()),
        schema: || describe::matching("^((rt|be):[0-7]|idle)$"),
    }, or IoPrio::DEFAULT;
}

/// A class of work.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Class {
    /// Name in results.
    pub name: String,
    /// Weight, if the job gives one.
    pub own_weight: Option<u32>,
    /// Priority; the lower goes first.
    pub prio: u8,
    /// I/O priority of the class's processes.
    pub ioprio: IoPrio,
}

pub(crate) fn classes(node: &Node) -> Result<Vec<Class>, JobError> {
    let Value::Table(table) = &node.value else {
        return Err(node.expected("classes").hint("each has a section, as in `[class.batch]`"));
    };
    if let Some(entry) = table.entries.get(CLASSES) {
        let message = format!("{} classes; at most {CLASSES} may be", table.entries.len());
        let hint = "let agents and rules that are alike share a class";
        return Err(JobError::new(message).at(&entry.origin).hint(hint));
    }
    table.entries.iter().map(class).collect()
}

/// Hint for a text that is no name. A name never begins with a digit, so it is no number.
pub(crate) const NAME_HINT: &str = "a name is a letter, then letters, digits, `-` and `_`";
/// This rule as a regular expression.
pub(crate) const NAME_PATTERN: &str = "^[A-Za-z][A-Za-z0-9_-]*$";

/// Whether `name` may be the name of a class, an agent or a file.
pub(crate) fn is_name(name: &str) -> bool {
    let letters = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(letters)
}

/// Reads a class from its section, `entry`.
pub(crate) fn class(entry: &KeyValue) -> Result<Class, JobError> {
    if !is_name(&entry.key) {
        let message = format!("{} is no name of a class", quote(&entry.key));
        return Err(JobError::new(message).at(&entry.origin).hint(NAME_HINT));
    }
    let what = format!("class {}", entry.key);
    let reader = Reader::new(&entry.node, &what, &[KEYS])?;
    let (weight, prio, ioprio) = (reader.find(&WEIGHT)?, reader.get(&PRIO)?, reader.get(&IOPRIO)?);
    Ok(Class { name: entry.key.clone(), own_weight: weight, prio, ioprio })
}

fn ioprio(node: &Node) -> Result<IoPrio, JobError> {
    let expected = || {
        let what = "an I/O priority: `rt:0` to `rt:7`, `be:0` to `be:7`, or `idle`";
        node.expected(what).hint("most processes have \"be:4\"")
    };
    node.word().and_then(|text| text.parse().ok()).ok_or_else(expected)
}

/// Returns the class called `name`, which was written at `origin`.
pub(crate) fn named(name: &str, origin: &Origin, classes: &[Class]) -> Result<ClassId, JobError> {
    let index = classes.iter().position(|class| class.name == name).ok_or_else(|| {
        let known = || classes.iter().map(|class| class.name.as_str());
        let hint = match nearest(name, known()) {
            None => format!("add the section `[class.{name}]`"),
            Some(_) => suggest(name, known()),
        };
        let message = format!("unknown class {}", quote(name));
        JobError::new(message).at(origin).hint(hint)
    })?;
    Ok(ClassId(index as u16))
}

fn schema() -> Json {
    json!({
        "type": "object",
        "patternProperties": {(NAME_PATTERN): table(KEYS)},
        "additionalProperties": false,
        "maxProperties": CLASSES,
    })
}

impl Class {
    /// A class called `name` with every default in place.
    pub(crate) fn named(name: String) -> Self {
        Self { name, own_weight: None, prio: 0, ioprio: IoPrio::DEFAULT }
    }

    /// Whether the class has an I/O priority other than the default.
    pub fn has_ioprio(&self) -> bool {
        self.ioprio != IoPrio::DEFAULT
    }

    /// The class as policies are given it.
    pub fn info(&self) -> ClassInfo {
        let weight = NonZeroU32::new(self.weight()).expect("checked when it was read");
        let (name, prio) = (self.name.clone(), Prio(self.prio));
        ClassInfo { name, weight, prio, ioprio: self.ioprio }
    }

    /// Weight relative to those of the other classes.
    pub fn weight(&self) -> u32 {
        self.own_weight.unwrap_or_else(|| self.usual_weight())
    }

    /// Weight of a class with this I/O priority for which the job gives none.
    pub fn usual_weight(&self) -> u32 {
        match self.ioprio {
            IoPrio::DEFAULT => ClassInfo::WEIGHT.get(),
            other => other.weight(),
        }
    }

    /// Writes the section with every default in place but the weight: shares are judged where a job
    /// gives one.
    pub(crate) fn write(&self, out: &mut Lines) {
        let header = format!("[{}.{}]", CLASS.name, self.name);
        Rows::of(&[KEYS])
            .maybe(&WEIGHT, self.own_weight.as_ref())
            .put(&PRIO, &self.prio)
            .maybe(&IOPRIO, Some(&self.ioprio).filter(|_| self.has_ioprio()))
            .section(Some(&header), out);
    }
}
