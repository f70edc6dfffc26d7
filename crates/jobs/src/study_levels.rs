//! Levels of the factors of a study: their names, and the arguments of `--set` that make them.

use serde_json::Value as Json;

use crate::classes::is_name;
use crate::diagnose::JobError;
use crate::sets;
use crate::text::quoted;
use crate::tree::{KeyValue, Node, Value};

/// A level of a factor.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    /// Its name; without a name the value, as JSON if it is a number, a text or a boolean, else as
    /// TOML.
    pub(crate) shown: Json,
    /// The value as TOML.
    pub(crate) text: String,
    /// Arguments of `--set` that make the level.
    pub(crate) sets: Vec<String>,
}

impl Level {
    pub(crate) fn read(node: &Node, paths: &[String]) -> Result<Self, JobError> {
        let (text, shown) = (toml(node)?, shown(node)?);
        let mut sets = Vec::new();
        match (paths, &node.value) {
            ([path], _) => arguments(path, node, &mut sets)?,
            (paths, Value::List(items)) if items.len() == paths.len() => {
                for (path, item) in paths.iter().zip(items) {
                    arguments(path, item, &mut sets)?;
                }
            }
            _ => {
                let expected = format!("a list of {} values, one for each path", paths.len());
                return Err(node.expected(&expected).hint(format!(
                    "the paths are {}; a level is a list as [\"direct\", 16]",
                    paths.join(", ")
                )));
            }
        }
        Ok(Self { shown, text, sets })
    }
}

/// Returns a level as the study's table shows it.
pub(crate) fn shown(node: &Node) -> Result<Json, JobError> {
    Ok(match &node.value {
        Value::Text(text) => text.as_str().into(),
        Value::Integer(number) => i64::try_from(*number)
            .map_err(|_| JobError::new("the number is too large").at(&node.origin))?
            .into(),
        Value::Float(number) => (*number).into(),
        Value::Boolean(truth) => (*truth).into(),
        _ => toml(node)?.into(),
    })
}

/// Sets the names of the levels.
pub(crate) fn give_names(names: &Node, levels: &mut [Level]) -> Result<(), JobError> {
    let hint = "as in `names = [\"sequential\", \"random\"]`";
    let Value::List(items) = &names.value else {
        return Err(names.expected("a list of names").hint(hint));
    };
    if items.len() != levels.len() {
        let message = format!("found {} names of {} levels", items.len(), levels.len());
        return Err(JobError::new(message).at(&names.origin).hint("each level has one name"));
    }
    for (at, item) in items.iter().enumerate() {
        if matches!(item.value, Value::List(_) | Value::Table(_)) {
            return Err(item.expected("a number or a text").hint(hint));
        }
        let name = shown(item)?;
        if levels[..at].iter().any(|other| other.shown == name) {
            let message = format!("two levels have the name {}", toml(item)?);
            return Err(JobError::new(message)
                .at(&item.origin)
                .hint("give each level its own name"));
        }
        levels[at].shown = name;
    }
    Ok(())
}

/// Returns the arguments of `--set` that put `node` at `path`; for a table, one for each of its
/// keys.
fn arguments(path: &str, node: &Node, out: &mut Vec<String>) -> Result<(), JobError> {
    let value = match &node.value {
        Value::Table(table) => {
            let entries = &table.entries;
            return entries.iter().try_for_each(|entry| {
                arguments(&format!("{path}.{}", sets::step(&entry.key)), &entry.node, out)
            });
        }
        Value::List(items) => {
            let items = items.iter().map(argument).collect::<Result<Vec<_>, _>>()?;
            let quoted = |item: &String| {
                if item.contains(',') { format!("\"{item}\"") } else { item.clone() }
            };
            items.iter().map(quoted).collect::<Vec<_>>().join(",")
        }
        _ => argument(node)?,
    };
    out.push(format!("{path}={value}"));
    Ok(())
}

/// Returns a single value in the form of `--set`.
fn argument(node: &Node) -> Result<String, JobError> {
    match &node.value {
        Value::Text(text) | Value::Word(text) => Ok(text.clone()),
        Value::List(_) | Value::Table(_) => {
            let hint = "a level is a value, a list of values, or a table of these";
            Err(node.expected("a single value within a list").hint(hint))
        }
        _ => toml(node),
    }
}

/// Returns a value as TOML on one line.
pub(crate) fn toml(node: &Node) -> Result<String, JobError> {
    Ok(match &node.value {
        Value::Text(text) | Value::Word(text) => quoted(text),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) if number.is_finite() => format!("{number:?}"),
        Value::Float(_) | Value::Moment => {
            return Err(node.expected("a number, a text, `true` or `false`, a list or a table"));
        }
        Value::Boolean(truth) => truth.to_string(),
        Value::List(items) => {
            let items = items.iter().map(toml).collect::<Result<Vec<_>, _>>()?;
            format!("[{}]", items.join(", "))
        }
        Value::Table(table) => {
            let pair = |entry: &KeyValue| {
                let key = &entry.key;
                let key = if is_name(key) { key.clone() } else { quoted(key) };
                Ok(format!("{key} = {}", toml(&entry.node)?))
            };
            let pairs = table.entries.iter().map(pair).collect::<Result<Vec<_>, JobError>>()?;
            format!("{{ {} }}", pairs.join(", "))
        }
    })
}
