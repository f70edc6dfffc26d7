//! The seeds of the fuzz targets go through the same checks here, so that neither becomes outdated.
//! An input that once failed is stored here by its name.

use std::fs;
use std::path::{Path, PathBuf};

use penstock_tests::properties;
use penstock_workload::trace::FORMATS;

type Check = fn(&[u8]);

/// Every fuzz target that is not for a format, and its check.
const OTHERS: &[(&str, Check)] = &[
    ("file", properties::file),
    ("gate", properties::gate),
    ("job", properties::job),
    ("records", properties::record),
    ("run", properties::whole_run),
    ("sets", properties::set),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the files in the folder `name`, in order.
fn files(name: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.is_file());
    paths.sort();
    paths
}

#[test]
fn every_seed_of_every_target_holds() {
    let others = [files("tests/data/traces"), files("examples")].concat();
    let hold = |target: &str, check: &dyn Fn(&[u8])| {
        let seeds = files(&format!("fuzz/seeds/{target}"));
        assert!(!seeds.is_empty(), "{target} has no seed");
        for path in seeds.iter().chain(&others) {
            check(&fs::read(path).unwrap());
        }
    };
    for format in FORMATS {
        hold(format.name, &|bytes| properties::trace(format.name, bytes));
    }
    for (target, check) in OTHERS {
        hold(target, check);
    }
}

#[test]
fn every_format_has_a_target_and_the_others_are_known_here() {
    let mut targets = files("fuzz/src/bin");
    for format in FORMATS {
        let path = root().join(format!("fuzz/src/bin/{}.rs", format.name));
        let text = fs::read_to_string(&path).unwrap_or_default();
        let call = format!("properties::trace(\"{}\", bytes)", format.name);
        assert!(text.contains(&call), "{} does not call {call}", path.display());
        targets.retain(|target| *target != path);
    }
    let others: Vec<_> = targets.iter().map(|path| path.file_stem().unwrap()).collect();
    assert_eq!(others, OTHERS.iter().map(|(name, _)| *name).collect::<Vec<_>>());
}
