//! Checks that each key of a job and of a device file is declared once: no text of the source
//! repeats its name.
//!
//! A declaration in `keys!` has the name as an identifier, and code that reads, writes or describes
//! a key takes the key itself. Only a text could repeat a name: by being the name, or by containing
//! it before a placeholder, `size = {}`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use penstock_jobs::schema::{self, KINDS};
use serde_json::Value;

/// Texts with another meaning than the key: words of JSON Schema and of lists as JSON, kinds of
/// files and of quantities, streams of random numbers.
const OTHERS: [(&str, &[&str]); 22] = [
    ("describe.rs", &["array", "pattern"]),
    ("schema.rs", &["device", "job", "machine", "study"]),
    ("machine_names.rs", &["machine"]),
    ("named_device.rs", &["pattern"]),
    ("stop.rs", &["pattern"]),
    ("list.rs", &["kind", "machine", "name", "size", "summary"]),
    ("amount.rs", &["pattern", "share", "size"]),
    ("devices/array.rs", &["phase"]),
    ("devices/faults.rs", &["faults"]),
    ("workload/merge_kinds.rs", &["blocks"]),
    ("workload/sizes.rs", &["array", "size"]),
    ("units.rs", &["h", "min"]),
    ("drives.rs", &["normal"]),
    ("fio.rs", &["fsync", "nowait", "verify", "zipf", "size", "timeout", "rate", "name", "prio"]),
    (
        "study.rs",
        &[
            "array",
            "design",
            "except",
            "factor",
            "job",
            "levels",
            "machine",
            "name",
            "order",
            "policy",
            "reference",
            "repeat",
            "run",
            "runs",
            "seed",
            "set",
            "study",
        ],
    ),
    ("from_fio/agent.rs", &["fsync", "prio"]),
    ("from_fio/part.rs", &["size"]),
    ("from_fio/order.rs", &["timeout"]),
    ("from_fio/pace.rs", &["rate"]),
    ("from_fio/write.rs", &["fsync", "nowait"]),
    ("from_fio/spread.rs", &["normal", "pareto", "zipf", "zoned"]),
    ("from_fio/values.rs", &["h", "min"]),
];

/// Adds the names of properties below `schema` to `names`, and the words that values may be to
/// `words`. Parameters of policies are declared by the registry.
fn collect(schema: &Value, names: &mut BTreeSet<String>, words: &mut BTreeSet<String>) {
    match schema {
        Value::Object(parts) => {
            if let Some(Value::Object(properties)) = parts.get("properties") {
                names.extend(properties.keys().cloned());
            }
            let listed = parts.get("enum").and_then(Value::as_array).into_iter().flatten();
            let known = listed.chain(parts.get("const")).filter_map(Value::as_str);
            words.extend(known.map(str::to_owned));
            let inner = parts.iter().filter(|(key, _)| *key != "policy");
            inner.for_each(|(_, part)| collect(part, names, words));
        }
        Value::Array(parts) => parts.iter().for_each(|part| collect(part, names, words)),
        _ => {}
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder of source");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Returns the texts of a source file without its tests and comments.
fn texts(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]").next().expect("a first part");
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code: String =
        lines.collect::<Vec<_>>().join("\n").replace("'\"'", "").replace("\\\"", "'");
    code.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Returns the first of `names` that `text` repeats.
fn repeated<'a>(text: &str, names: &'a BTreeSet<String>) -> Option<&'a String> {
    names.iter().find(|name| {
        let before_value = text.match_indices(&format!("{name} = ")).any(|(at, found)| {
            let value = text[at + found.len()..].trim_start_matches('\'');
            let whole = !text[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            // Neither an escaped brace nor a table as an example.
            let inserted = value.starts_with('{')
                && !["{{", "{ "].iter().any(|other| value.starts_with(other));
            whole && inserted
        });
        before_value || text == name.as_str()
    })
}

fn declared() -> BTreeSet<String> {
    let (mut names, mut words) = (BTreeSet::new(), BTreeSet::new());
    for kind in KINDS {
        collect(&schema::schema(kind).expect("a schema"), &mut names, &mut words);
    }
    // A text may be a word of a choice.
    names.difference(&words).cloned().collect()
}

#[test]
fn no_text_repeats_a_key() {
    let names = declared();
    assert!(names.len() > 90, "{names:?}");
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"));
    let mut found = Vec::new();
    for path in files(root) {
        let file = path.strip_prefix(root).expect("a file below the folder");
        let others = OTHERS.iter().find(|(name, _)| Path::new(name) == file);
        let others = others.map_or(&[][..], |(_, others)| others);
        for text in texts(&std::fs::read_to_string(&path).expect("source is text")) {
            match repeated(&text, &names) {
                Some(name) if !others.contains(&text.as_str()) => {
                    found.push(format!("{}: `{name}` in \"{text}\"", file.display()));
                }
                _ => {}
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_repeated_key_is_found() {
    let names = declared();
    let source = r#"
        let batch = reader.get("batch")?;
        // "depth"
        format!("{{ length = {length} }}, start = \"{start}\", or depth = 4")
    "#;
    let found: Vec<_> = texts(source).iter().filter_map(|text| repeated(text, &names)).collect();
    assert_eq!(found, ["batch", "length"]);
}
