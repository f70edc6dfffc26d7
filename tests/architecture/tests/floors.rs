//! The floors of the workspace: which crate may depend on which, and what the lower ones forbid.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use penstock_policy::POLICIES;
use serde_json::Value;

/// Every crate and the crates that it may use. Crates of one floor never import one another.
const MAY_USE: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("policy", &["core"]),
    ("device", &["core"]),
    ("workload", &["core"]),
    ("live", &["core"]),
    ("jobs", &["core", "policy", "device", "workload", "live"]),
    ("run", &["core", "policy", "device", "workload", "live", "jobs"]),
    ("capi", &["run"]),
    ("python", &["core", "jobs", "run"]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Each crate of the workspace with the crates of the workspace that it is built from.
fn edges() -> BTreeMap<String, Vec<String>> {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&metadata.stdout).expect("cargo prints JSON");
    let short = |name: &Value| Some(name.as_str()?.strip_prefix("penstock-")?.to_owned());
    let packages = metadata["packages"].as_array().expect("packages");
    let dependencies = |package: &Value| {
        let all = package["dependencies"].as_array().expect("dependencies");
        let built_from = all.iter().filter(|d| d["kind"].is_null() || d["kind"] == "build");
        built_from.filter_map(|d| short(&d["name"])).collect()
    };
    packages.iter().filter_map(|p| Some((short(&p["name"])?, dependencies(p)))).collect()
}

#[test]
fn no_crate_reaches_up_or_sideways() {
    let edges = edges();
    for (name, uses) in edges.iter().filter(|(name, _)| {
        !matches!(name.as_str(), "tests" | "architecture" | "benches" | "validation")
    }) {
        let known = MAY_USE.iter().find(|(known, _)| known == name);
        let (_, may_use) = known.unwrap_or_else(|| panic!("crates/{name} stands on no floor"));
        for used in uses {
            assert!(may_use.contains(&used.as_str()), "crates/{name} must not use crates/{used}");
        }
    }
    for (name, _) in MAY_USE {
        assert!(edges.contains_key(*name), "crates/{name} is gone: take it off the floors");
    }
}

#[test]
fn the_lower_floors_forbid_what_they_must() {
    for (name, _) in MAY_USE {
        let path = root().join("crates").join(name).join("src/lib.rs");
        let text = std::fs::read_to_string(&path).expect("every crate has a lib.rs");
        // The bindings' macros expand to unsafe code; `live` calls the kernel; `capi` is called by C.
        if !matches!(*name, "live" | "capi" | "python") {
            assert!(text.contains("#![forbid(unsafe_code)]"), "{} allows unsafe", path.display());
        }
        if matches!(*name, "core" | "policy") {
            assert!(text.contains("#![no_std]"), "{} uses std", path.display());
        }
    }
}

/// Jobs are read, and JSON written, above the lower floors: no manifest there may depend on the
/// libraries that do either.
#[test]
fn nothing_below_jobs_knows_toml_or_json() {
    for name in ["core", "policy", "device", "workload", "live"] {
        let manifest = root().join("crates").join(name).join("Cargo.toml");
        let text = std::fs::read_to_string(&manifest).expect("every crate has a manifest");
        for library in ["toml", "serde", "serde_json"] {
            let named =
                text.lines().any(|line| line.split(['=', '.', ' ']).next() == Some(library));
            assert!(!named, "{} names {library}", manifest.display());
        }
    }
}

/// Every source of the crates above the policies.
fn sources() -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), Vec::new());
    for (name, _) in MAY_USE.iter().filter(|(name, _)| !matches!(*name, "core" | "policy")) {
        folders.push(root().join("crates").join(name).join("src"));
    }
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of source") {
            let path = entry.expect("an entry").path();
            let list = if path.is_dir() { &mut folders } else { &mut found };
            if !path.ends_with("tests.rs") {
                list.push(path);
            }
        }
    }
    found
}

/// Facts about a policy stand in its entry. Code that compares names would hold such a fact
/// elsewhere.
#[test]
fn nothing_is_decided_by_the_name_of_a_policy() {
    for path in sources() {
        let text = std::fs::read_to_string(&path).expect("a source");
        for name in POLICIES.iter().map(|policy| policy.name) {
            let constant = format!("{}::ENTRY.name", name.replace('-', "_"));
            for asked in [constant, format!("\"{name}\"")] {
                let (equal, arm) = (format!("== {asked}"), format!("{asked} =>"));
                let found = [equal, arm].into_iter().find(|what| text.contains(what));
                let found = found.map(|what| format!("{}: {what}", path.display()));
                assert_eq!(found, None, "declare it in the policy's `Facts`");
            }
        }
    }
}
