//! Arguments of `--set`: keys and values from the schema, and arbitrary ones.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use penstock_jobs::schema::schema;
use serde_json::Value;

use super::Draw;

/// The values that the schema allows for a key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Kind {
    Word(String),
    /// A name of the schema's definitions.
    Quantity(String),
    Number,
    Text,
}

/// Draws an argument of `--set` for the job `text`, in which every default is written.
pub(super) fn argument(draw: &mut Draw<'_>, text: &str) -> String {
    if draw.one_in(20) {
        return String::from_utf8_lossy(draw.bytes(40)).into_owned();
    }
    let mut among = |keys: &[String]| match keys.len() as u64 {
        0 => String::new(),
        count => keys[draw.between(0, count - 1) as usize].clone(),
    };
    let (own, any) = (among(&present(text)), among(&keys().keys().cloned().collect::<Vec<_>>()));
    let key = if draw.one_in(5) { any } else { own };
    let kinds = keys().get(&usual(&key)).map_or(&[][..], |kinds| kinds);
    let value = match draw.between(0, 19) {
        0..=15 if !kinds.is_empty() => {
            let kind = draw.between(0, kinds.len() as u64 - 1) as usize;
            value(draw, &kinds[kind])
        }
        16 | 17 => {
            draw.pick(&["", "0", "-1", "1e308", "NaN", "true", "off", "[]", "[1, 2]"]).to_owned()
        }
        18 => quantity(draw, draw_unit),
        _ => String::from_utf8_lossy(draw.bytes(20)).into_owned(),
    };
    format!("{key}={value}")
}

fn value(draw: &mut Draw<'_>, kind: &Kind) -> String {
    match kind {
        Kind::Word(word) => word.clone(),
        Kind::Number => {
            let most = draw.pick(&[8, 100, 1 << 16, 1 << 32, u64::MAX]);
            draw.magnitude(0, most).to_string()
        }
        Kind::Text => draw.pick(&["c0", "c1", "hdd-7200", "disk.toml", "x"]).to_owned(),
        Kind::Quantity(name) => {
            let units: &[&str] = match name.trim_end_matches("-above-zero") {
                "size" => &["B", "KiB", "MiB", "GB", "TiB"],
                "time" => &["us", "ns", "ms", "s", "h", "d"],
                "share" => &["%"],
                "rate" => &["/s", "/us", "/h"],
                _ => &["MB/s", "kB/s", "GiB/s"],
            };
            let unit = draw.pick(units);
            quantity(draw, |_| unit)
        }
    }
}

/// Draws a number of any magnitude with a unit.
fn quantity<'a>(draw: &mut Draw<'_>, unit: impl Fn(&mut Draw<'_>) -> &'a str) -> String {
    let most = draw.pick(&[100, 1_000, 10_000_000, u64::MAX]);
    let number = draw.magnitude(0, most);
    let fraction = draw.pick(&["", "", ".5", ".000001"]);
    format!("{number}{fraction}{}", unit(draw))
}

fn draw_unit(draw: &mut Draw<'_>) -> &'static str {
    draw.pick(&["B", "s", "%", "/s", "MB/s", "d", "", "x"])
}

/// Returns the keys of the job `text` as `--set` names them.
fn present(text: &str) -> Vec<String> {
    let (mut keys, mut section, mut counts) = (Vec::new(), String::new(), BTreeMap::new());
    for line in text.lines() {
        if let Some(list) = line.strip_prefix("[[").and_then(|line| line.strip_suffix("]]")) {
            let count: &mut u32 = counts.entry(list).or_default();
            section = format!("{list}.{count}.");
            *count += 1;
        } else if let Some(table) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            section = format!("{}.", table.strip_prefix("policy.").unwrap_or(table));
        } else if let Some((key, value)) = line.split_once(" = ") {
            keys.push(format!("{section}{key}"));
            let inner = value.strip_prefix("{ ").into_iter().flat_map(|value| value.split(", "));
            let inner = inner.filter_map(|pair| pair.split_once(" = "));
            keys.extend(inner.map(|(name, _)| format!("{section}{key}.{name}")));
        }
    }
    keys
}

/// Returns `key` as the schema of the first agent, program and class names it.
fn usual(key: &str) -> String {
    let mut steps: Vec<&str> = key.split('.').collect();
    match (steps[0], steps.get_mut(1)) {
        ("agent" | "program" | "rule", Some(number)) => *number = "0",
        ("class", Some(name)) => *name = "c0",
        _ => {}
    }
    steps.join(".")
}

/// Returns every key in the schema of a job, with its possible values.
fn keys() -> &'static BTreeMap<String, Vec<Kind>> {
    static KEYS: OnceLock<BTreeMap<String, Vec<Kind>>> = OnceLock::new();
    KEYS.get_or_init(|| {
        let root = schema("job").expect("a job has a schema");
        let mut found = BTreeMap::new();
        walk(&root, &root["$defs"], "", &mut found);
        found.retain(|_, kinds: &mut Vec<Kind>| !kinds.is_empty());
        found
    })
}

fn walk(node: &Value, defs: &Value, path: &str, found: &mut BTreeMap<String, Vec<Kind>>) {
    let mut note = |kind: Kind| {
        let kinds = found.entry(path.to_owned()).or_default();
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    };
    if let Some(name) = node["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/")) {
        if defs[name]["type"] == "string" {
            return note(Kind::Quantity(name.into()));
        }
        return walk(&defs[name], defs, path, found);
    }
    let words = node["enum"].as_array().into_iter().flatten().chain(node.get("const"));
    words.filter_map(Value::as_str).for_each(|word| note(Kind::Word(word.into())));
    match node["type"].as_str() {
        Some("integer" | "number") => note(Kind::Number),
        Some("boolean") => ["true", "false"].iter().for_each(|&word| note(Kind::Word(word.into()))),
        Some("string") => note(Kind::Text),
        _ => {}
    }
    let below = |key: &str| match path {
        "" => key.to_owned(),
        _ => format!("{path}.{key}"),
    };
    for (key, schema) in node["properties"].as_object().into_iter().flatten() {
        // A policy is named at the root.
        let path = if path == "policy" { key.clone() } else { below(key) };
        walk(schema, defs, &path, found);
    }
    for schema in node["patternProperties"].as_object().into_iter().flatten().map(|one| one.1) {
        walk(schema, defs, &below("c0"), found);
    }
    if node["items"].is_object() {
        walk(&node["items"], defs, &below("0"), found);
    }
    for key in ["anyOf", "allOf"] {
        for schema in node[key].as_array().into_iter().flatten() {
            walk(schema, defs, path, found);
        }
    }
}
