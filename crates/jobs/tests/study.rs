//! Study files: their content, and the messages for wrong ones.

use std::fs;
use std::path::PathBuf;

use insta::assert_snapshot;
use penstock_jobs::{Study, study};
use serde_json::{Value, json};

const GOOD: &str = r#"[study]
job = "job.toml"
policy = "cfq"
repeat = 4
response = "bw_bytes"

[factor.O]
path = "agent.*.cache"
levels = ["buffered", "direct"]

[factor.A]
path = ["agent.0.copies", "agent.0.arrivals"]
levels = [[1, { kind = "closed", depth = 2 }], [2, { kind = "closed", depth = 4 }]]
"#;

/// Returns the content of a study file, or its message without the folder of the file.
fn read(name: &str, text: &str) -> Result<Value, String> {
    let folder = std::env::temp_dir().join(format!("penstock-study-{}-{name}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path: PathBuf = folder.join("study.toml");
    fs::write(&path, text).unwrap();
    let found = Study::load(&path).map(|study| study.facts());
    fs::remove_dir_all(&folder).unwrap();
    found.map_err(|error| error.to_string().replace(&format!("{}/", folder.display()), ""))
}

#[test]
fn levels_become_arguments() {
    let facts = read("good", GOOD).unwrap();
    assert!(facts["job"].as_str().unwrap().ends_with("/job.toml"));
    assert_eq!(
        facts["factors"][0]["levels"][1],
        json!({
            "shown": "direct", "sets": ["agent.*.cache=direct"],
        })
    );
    let level = &facts["factors"][1]["levels"][0];
    assert_eq!(level["shown"], "[1, { kind = \"closed\", depth = 2 }]");
    let sets = ["copies=1", "arrivals.kind=closed", "arrivals.depth=2"];
    assert_eq!(level["sets"], json!(sets.map(|set| format!("agent.0.{set}"))));
    assert_eq!((&facts["design"], &facts["seed"]), (&json!("full"), &json!(1)));
}

#[test]
fn lists_are_levels_of_one_path() {
    let text = GOOD.replace("[\"buffered\", \"direct\"]", "[[\"0%\", \"10%\"], [1.5, true]]");
    let facts = read("lists", &text).unwrap();
    let sets = |at: usize| facts["factors"][0]["levels"][at]["sets"][0].clone();
    assert_eq!(
        (sets(0), sets(1)),
        (json!("agent.*.cache=0%,10%"), json!("agent.*.cache=1.5,true"))
    );
}

#[test]
fn levels_are_shown_by_their_names() {
    let named = GOOD.replace("[factor.A]", "[factor.A]\nnames = [1, 2]").replace(
        "repeat = 4",
        "except = [{ A = 2, O = \"direct\" }, { A = [1, { kind = \"closed\", depth = 2 }] }]",
    );
    let facts = read("named", &named).unwrap();
    let level = &facts["factors"][1]["levels"][1];
    assert_eq!(level["shown"], 2);
    assert_eq!(level["sets"][0], "agent.0.copies=2");
    assert_eq!(facts["except"][0][0], json!({"factor": "A", "levels": [1]}));
    assert_eq!(facts["except"][1][0], json!({"factor": "A", "levels": [0]}));
}

#[test]
fn what_is_wrong_is_shown_where_it_stands() {
    let cases = [
        ("[factor.A]", "[factor.A]\nnames = [1, 2, 3]"),
        ("[factor.A]", "[factor.A]\nnames = [1, [2]]"),
        ("[factor.A]", "[factor.A]\nnames = [\"few\", \"few\"]"),
        ("[factor.O]", "[factor.\"a b\"]"),
        ("[\"buffered\", \"direct\"]", "[\"buffered\"]"),
        ("[\"buffered\", \"direct\"]", "[[[1, 2]], 3]"),
        ("[\"buffered\", \"direct\"]", "[1979-05-27, 3]"),
        ("\"agent.*.cache\"", "\"agent.0.copies\""),
        ("[[1, ", "[[1, 1, "),
        ("repeat = 4", "runs = 4"),
        ("repeat = 4", "design = \"half\""),
        ("repeat = 4", "except = [{ O = \"mmap\" }]"),
        ("[factor.O]", "[factor.block]"),
        ("policy = \"cfq\"", ""),
    ];
    let message = |(at, (old, new)): (usize, &(&str, &str))| {
        assert!(GOOD.contains(old), "{old}");
        read(&format!("wrong-{at}"), &GOOD.replacen(old, new, 1)).unwrap_err()
    };
    assert_snapshot!(cases.iter().enumerate().map(message).collect::<Vec<_>>().join("\n\n"));
}

#[test]
fn numbers_of_runs_are_of_their_seed_and_label() {
    let first = study::drawn(7, "run", 1000);
    assert_eq!(first, study::drawn(7, "run", 1000));
    assert_eq!(first[..10], study::drawn(7, "run", 10));
    assert!(first.iter().all(|number| *number < 1 << 53));
    assert_ne!(first, study::drawn(7, "order", 1000));
    assert_ne!(first, study::drawn(8, "run", 1000));
}
