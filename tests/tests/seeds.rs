//! The seeds of the fuzz targets go through the same checks here, so that neither becomes outdated.
//! An input that once failed is stored here by its name.

use std::fs;
use std::path::{Path, PathBuf};

use penstock_tests::properties;
use penstock_workload::trace::FORMATS;

type Check = fn(&[u8]);

/// Every fuzz target and its check.
const TARGETS: &[(&str, Check)] = &[
    ("alibaba", |bytes| properties::trace("alibaba", bytes)),
    ("blkparse", |bytes| properties::trace("blkparse", bytes)),
    ("blktrace", |bytes| properties::trace("blktrace", bytes)),
    ("csv", |bytes| properties::trace("csv", bytes)),
    ("disksim", |bytes| properties::trace("disksim", bytes)),
    ("file", properties::file),
    ("fio_iolog", |bytes| {
        properties::trace("fio-iolog2", bytes);
        properties::trace("fio-iolog3", bytes);
    }),
    ("fiu", |bytes| properties::trace("fiu", bytes)),
    ("gate", properties::gate),
    ("job", properties::job),
    ("measured", |bytes| properties::trace("measured", bytes)),
    ("mqsim", |bytes| properties::trace("mqsim", bytes)),
    ("msr", |bytes| properties::trace("msr", bytes)),
    ("records", properties::record),
    ("run", properties::whole_run),
    ("sets", properties::set),
    ("spc", |bytes| properties::trace("spc", bytes)),
    ("systor17", |bytes| properties::trace("systor17", bytes)),
    ("tencent", |bytes| properties::trace("tencent", bytes)),
    ("vscsi", |bytes| {
        properties::trace("vscsi1", bytes);
        properties::trace("vscsi2", bytes);
    }),
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

fn stems(name: &str) -> Vec<String> {
    files(name).iter().map(|path| path.file_stem().unwrap().to_str().unwrap().into()).collect()
}

#[test]
fn every_seed_of_every_target_holds() {
    let others = [files("tests/data/traces"), files("examples")].concat();
    for (target, check) in TARGETS {
        let seeds = files(&format!("fuzz/seeds/{target}"));
        assert!(!seeds.is_empty(), "{target} has no seed");
        for path in seeds.iter().chain(&others) {
            check(&fs::read(path).unwrap());
        }
    }
}

#[test]
fn every_target_is_known_here_and_every_format_has_one() {
    let known: Vec<_> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(stems("fuzz/fuzz_targets"), known);
    for format in FORMATS {
        let target = match format.name {
            "fio-iolog2" | "fio-iolog3" => "fio_iolog",
            "vscsi1" | "vscsi2" => "vscsi",
            name => name,
        };
        assert!(TARGETS.iter().any(|(name, _)| *name == target), "{} is not fuzzed", format.name);
    }
}
