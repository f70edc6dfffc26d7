//! Reads and checks studies: a job, the factors that vary in it, and the repetitions of each
//! combination.
//!
//! A study file has `[study]` and a section `[factor.NAME]` for each factor. Here each level
//! becomes the arguments of `--set` that make it; whether the job accepts them is checked when the
//! job is read.

use std::path::{Path, PathBuf};

use penstock_core::Seed;
use rand::RngExt;
use serde_json::{Value as Json, json};

use crate::amount::Count;
use crate::classes::{NAME_HINT, NAME_PATTERN, is_name};
use crate::describe;
use crate::diagnose::{JobError, Source, quote};
use crate::file;
use crate::keys::{keys, table};
use crate::kinds::{Choice, Each, Text, section};
use crate::nearest::suggest;
use crate::path_text;
use crate::reader::Reader;
use crate::study_levels::{Level, give_names, shown, toml};
use crate::tree::{self, KeyValue, Node, Value};

/// Largest seed that TOML can write and a table can hold.
const SEED_MOST: u64 = i64::MAX as u64;
/// Most replicates.
const REPEAT_MOST: u64 = 10_000;
/// Most cells of a fraction, and most runs between two runs of the reference cell.
const RUNS_MOST: u64 = 1 << 24;

/// The choice of cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Design {
    Full,
    Fraction,
    TwoLevels,
}

const DESIGNS: &[(&str, Design)] =
    &[("full", Design::Full), ("fraction", Design::Fraction), ("2k", Design::TwoLevels)];

keys! {
    /// Keys of a study file.
    FILE:
    /// The job that runs, and how often.
    STUDY study: Node = section(|| table(KEYS)), needs "{ job = \"job.toml\", policy = \"noop\", response = \"bw_bytes\" }";
    /// The factors: a section for each, by its name.
    FACTOR factor: Node = section(factors_schema),
        needs "{ A = { path = \"agent.*.copies\", levels = [1, 2, 4] } }";
}

keys! {
    /// Keys of a study.
    KEYS:
    /// The job. A relative path begins in the folder of the study file.
    JOB job: String = Text("the path of a job file"), needs "\"job.toml\"";
    /// The policy under which all cells run.
    POLICY policy: String = Text("the name of a policy"), needs "\"noop\"";
    /// Where the cells run, as in `--on`, or a list if each file of the job is on a device of its
    /// own. If not given, on the job's own device.
    ON on: Vec<String> = Each(&Text("a device or a target, as of `--on`"));
    /// Changes of the job for all cells, as in `--set`.
    SET set: Vec<String> = Each(&Text("a change, as `duration=3s`"));
    /// Seed from which the seeds of all runs and their order are derived.
    SEED seed: u64 = Count(0, SEED_MOST), or 1;
    /// Runs of each cell, each with another seed and in another order.
    REPEAT repeat: u32 = Count(1, REPEAT_MOST), or 1;
    /// The measured response: a figure of a class, as `bw_bytes` or `lat_ns.p99`, with the name of
    /// the class before it if the job has several, or a figure of the whole run, as `device_busy`.
    RESPONSE response: Vec<String> = Each(&Text("a figure of a result")), needs "\"bw_bytes\"";
    /// The combinations of levels that run: all (`full`), the best ones for estimating effects and
    /// interactions of two factors (`fraction`), or all of the first and the last level of each
    /// factor (`2k`).
    DESIGN design: Design = Choice(DESIGNS), or Design::Full;
    /// Number of cells of a `fraction` that run.
    RUNS runs: u32 = Count(2, RUNS_MOST);
    /// Combinations of levels that are left out: tables of a level, or a list of levels, for each
    /// of some factors.
    EXCEPT except: Node = section(|| describe::list(&json!({"type": "object"})));
    /// In real time: number of runs after which a reference cell, the first, runs again, which
    /// shows drift.
    REFERENCE reference: u32 = Count(1, RUNS_MOST);
}

keys! {
    /// Keys of a factor.
    FACTOR_KEYS:
    /// Path in the job, as in `--set`, or a list of paths that change together. `*` stands for
    /// every agent, file or program.
    PATH path: Vec<String> = Each(&Text("a path in the job")), needs "\"agent.*.copies\"";
    /// The factor's levels, two or more; lists with a value for each path if there are several
    /// paths.
    LEVELS levels: Node = section(|| json!({"type": "array", "minItems": 2})), needs "[1, 2, 4]";
    /// Names of the levels in tables and charts: a number or a text for each. If not given, the
    /// values in `levels`, lists as they are written.
    NAMES names: Node = section(|| describe::list(&json!({"type": ["string", "number", "boolean"]})));
}

fn factors_schema() -> Json {
    let names = json!({"pattern": NAME_PATTERN});
    json!({"type": "object", "additionalProperties": table(FACTOR_KEYS), "propertyNames": names,
        "minProperties": 1})
}

/// Describes a study file.
pub(crate) fn schema() -> Json {
    table(FILE)
}

/// Columns of every study's table.
const COLUMNS: [&str; 11] = [
    "run",
    "order",
    "block",
    "replicate",
    "seed",
    "ended",
    "seconds",
    "world",
    "machine",
    "remarks",
    "reference",
];

/// A checked study.
#[derive(Clone, Debug)]
pub struct Study {
    job: PathBuf,
    policy: String,
    on: Vec<String>,
    set: Vec<String>,
    seed: u64,
    repeat: u32,
    responses: Vec<String>,
    design: Design,
    runs: Option<u32>,
    reference: Option<u32>,
    factors: Vec<Factor>,
    except: Vec<Vec<Excluded>>,
}

/// A factor.
#[derive(Clone, Debug)]
struct Factor {
    name: String,
    paths: Vec<String>,
    levels: Vec<Level>,
}

/// Levels of one factor that exclude those of others.
#[derive(Clone, Debug)]
struct Excluded {
    factor: String,
    levels: Vec<usize>,
}

impl Study {
    /// Reads the study file at `path`.
    ///
    /// # Errors
    /// The file cannot be read, or is wrong.
    pub fn load(path: &Path) -> Result<Self, JobError> {
        let text = file::read(path, "study file")?;
        let root = tree::parse(&Source::file(&path.display().to_string(), &text))?;
        let reader = Reader::new(&root, "the study file", &[FILE])?;
        let (study, factors) = (reader.get(&STUDY)?, reader.get(&FACTOR)?);
        Self::read(&study, &factors, path.parent().unwrap_or(Path::new("")))
    }

    fn read(study: &Node, factors: &Node, folder: &Path) -> Result<Self, JobError> {
        let reader = Reader::new(study, "the study", &[KEYS])?;
        let responses = reader.get(&RESPONSE)?;
        if responses.is_empty() {
            return Err(reader.missing(&RESPONSE, "\"bw_bytes\""));
        }
        let factors = Factor::all(factors, &responses)?;
        let design = reader.get(&DESIGN)?;
        let runs = reader.find(&RUNS)?;
        match (design, runs) {
            (Design::Fraction, None) => return Err(reader.missing(&RUNS, "162")),
            (Design::Full | Design::TwoLevels, Some(_)) => {
                let why = "is the number of cells of a fraction";
                reader.refuse(&[&RUNS], why, "add `design = \"fraction\"`, or leave it out")?;
            }
            _ => {}
        }
        let except = reader.node(&EXCEPT).map(|node| excluded(node, &factors)).transpose()?;
        Ok(Self {
            job: folder.join(path_text::path(&reader.get(&JOB)?)),
            policy: reader.get(&POLICY)?,
            on: reader.find(&ON)?.unwrap_or_default(),
            set: reader.find(&SET)?.unwrap_or_default(),
            seed: reader.get(&SEED)?,
            repeat: reader.get(&REPEAT)?,
            responses,
            design,
            runs,
            reference: reader.find(&REFERENCE)?,
            factors,
            except: except.unwrap_or_default(),
        })
    }

    /// Returns the study as JSON; each level has the arguments of `--set` that make it.
    pub fn facts(&self) -> Json {
        let level = |item: &Level| json!({"shown": item.shown, "sets": item.sets});
        let factor = |item: &Factor| {
            let levels: Vec<Json> = item.levels.iter().map(level).collect();
            json!({"name": item.name, "paths": item.paths, "levels": levels})
        };
        let excluded =
            |item: &Excluded| json!({"factor": item.factor, "levels": item.levels.clone()});
        let except = |item: &Vec<Excluded>| item.iter().map(excluded).collect::<Vec<_>>();
        let design = DESIGNS.iter().find(|(_, design)| *design == self.design);
        json!({
            "job": path_text::text(&self.job),
            "policy": self.policy,
            "on": self.on,
            "set": self.set,
            "seed": self.seed,
            "repeat": self.repeat,
            "responses": self.responses,
            "design": design.map(|(word, _)| *word),
            "runs": self.runs,
            "reference": self.reference,
            "factors": self.factors.iter().map(factor).collect::<Vec<_>>(),
            "except": self.except.iter().map(except).collect::<Vec<_>>(),
        })
    }
}

/// Draws `count` seeds for runs, or numbers that put runs into a random order, as `label` says.
/// Each comes from a stream of its own and is exact in any format of numbers.
pub fn drawn(seed: u64, label: &str, count: u64) -> Vec<u64> {
    let draw = |number| Seed(seed).stream(label, number).random::<u64>() >> 11;
    (0..count).map(draw).collect()
}

impl Factor {
    fn all(node: &Node, responses: &[String]) -> Result<Vec<Self>, JobError> {
        let Value::Table(table) = &node.value else {
            let hint = "a factor is a section `[factor.NAME]` with `path` and `levels`";
            return Err(node.expected("the factors").hint(hint));
        };
        let mut factors: Vec<Self> = Vec::with_capacity(table.entries.len());
        for entry in &table.entries {
            let factor = Self::read(entry, &factors)?;
            let column = |name: &&str| *name == factor.name;
            let taken = COLUMNS.iter().copied().find(column);
            let taken = taken.or_else(|| responses.iter().map(String::as_str).find(column));
            if let Some(taken) = taken {
                let message = format!("`{taken}` is another column of the study's table");
                let error = JobError::new(message).at(&entry.origin);
                return Err(error.hint("give the factor another name"));
            }
            factors.push(factor);
        }
        if factors.is_empty() {
            let hint = "add a section `[factor.NAME]` with `path` and `levels`";
            return Err(JobError::new("the study has no factor").at(&node.origin).hint(hint));
        }
        Ok(factors)
    }

    /// Reads the factor that follows the factors `before`.
    fn read(entry: &KeyValue, before: &[Self]) -> Result<Self, JobError> {
        let name = entry.key.clone();
        if !is_name(&name) {
            let message = format!("{} is no name of a factor", quote(&name));
            return Err(JobError::new(message).at(&entry.origin).hint(NAME_HINT));
        }
        let title = format!("factor {name}");
        let reader = Reader::new(&entry.node, &title, &[FACTOR_KEYS])?;
        let paths = reader.get(&PATH)?;
        if paths.is_empty() {
            return Err(reader.missing(&PATH, "\"agent.*.copies\""));
        }
        for (at, path) in paths.iter().enumerate() {
            let mut owners = before.iter().filter(|factor| factor.paths.contains(path));
            let owner = owners.next().map(|factor| factor.name.as_str());
            let owner = owner.or_else(|| paths[..at].contains(path).then_some(name.as_str()));
            if let Some(owner) = owner {
                let message = format!("`{path}` is already a path of factor {owner}");
                let hint = "what one factor sets, no other may: its levels would have no effect";
                return Err(JobError::new(message).at(reader.place(&PATH)).hint(hint));
            }
        }
        let list = reader.get(&LEVELS)?;
        let Value::List(items) = &list.value else {
            return Err(list.expected("a list of levels").hint("as in `levels = [1, 2, 4]`"));
        };
        let mut levels: Vec<Level> = Vec::with_capacity(items.len());
        for item in items {
            let level = Level::read(item, &paths)?;
            if levels.iter().any(|other| other.text == level.text) {
                let message = format!("factor {name} has the level `{}` twice", level.text);
                return Err(JobError::new(message).at(&item.origin).hint("give each level once"));
            }
            levels.push(level);
        }
        if levels.len() < 2 {
            let many = if levels.is_empty() { "no level" } else { "one level only" };
            let message = format!("factor {name} has {many}; expected two or more");
            let hint = "what is the same in all cells is a change of the job: \
                        `set = [\"KEY=VALUE\"]` in `[study]`";
            return Err(JobError::new(message).at(&list.origin).hint(hint));
        }
        if let Some(names) = reader.node(&NAMES) {
            give_names(names, &mut levels)?;
        }
        Ok(Self { name, paths, levels })
    }

    /// Returns the numbers of the levels that `node` names; it is one level or a list.
    fn named(&self, node: &Node) -> Result<Vec<usize>, JobError> {
        let position = |node: &Node| {
            let (text, name) = (toml(node)?, shown(node)?);
            let position = self.levels.iter().position(|level| level.shown == name);
            let position =
                position.or_else(|| self.levels.iter().position(|level| level.text == text));
            position.ok_or_else(|| {
                let message = format!("factor {} has no level `{text}`", self.name);
                let known: Vec<&str> = self.levels.iter().map(|one| one.text.as_str()).collect();
                let hint = format!("its levels are {}", known.join(", "));
                JobError::new(message).at(&node.origin).hint(hint)
            })
        };
        match (position(node), &node.value) {
            (Err(_), Value::List(items)) => items.iter().map(position).collect(),
            (message, _) => Ok(vec![message?]),
        }
    }
}

/// Reads the excluded combinations of levels.
fn excluded(node: &Node, factors: &[Factor]) -> Result<Vec<Vec<Excluded>>, JobError> {
    let hint = "as in `except = [{ O = \"direct\", B = [16, 32] }]`";
    let Value::List(items) = &node.value else {
        return Err(node.expected("a list of tables of levels").hint(hint));
    };
    let combination = |item: &Node| {
        let Value::Table(table) = &item.value else {
            return Err(item.expected("a table of levels").hint(hint));
        };
        if table.entries.is_empty() {
            return Err(item.expected("a table of levels").hint(hint));
        }
        let pair = |entry: &KeyValue| {
            let factor = factors.iter().find(|factor| factor.name == entry.key);
            let factor = factor.ok_or_else(|| {
                let names = factors.iter().map(|factor| factor.name.as_str());
                let message = format!("unknown factor {}", quote(&entry.key));
                JobError::new(message).at(&entry.origin).hint(suggest(&entry.key, names))
            })?;
            Ok(Excluded { factor: factor.name.clone(), levels: factor.named(&entry.node)? })
        };
        table.entries.iter().map(pair).collect()
    };
    items.iter().map(combination).collect()
}
