//! A crate has one program of tests, and every file of its folder `tests` is a module of that program
//! or has a target in `Cargo.toml`: a file that is neither would never run.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// Returns the folders that have a `Cargo.toml` and a folder `tests` with Rust files.
fn crates(root: &Path) -> Vec<PathBuf> {
    let below = root.join("crates").read_dir().expect("the crates");
    let mut folders: Vec<_> = below.map(|entry| entry.expect("a crate").path()).collect();
    folders.extend(["validation", "tests", "tests/architecture"].map(|name| root.join(name)));
    folders.retain(|folder| !files(&folder.join("tests")).is_empty());
    folders
}

/// Returns the names of the Rust files in a folder, without their extension; none if it is missing.
fn files(folder: &Path) -> Vec<String> {
    let entries = folder.read_dir().into_iter().flatten();
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let rust = paths.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    rust.map(|path| path.file_stem().expect("a name").display().to_string()).collect()
}

#[test]
fn every_file_of_tests_runs() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut lost = Vec::new();
    for folder in crates(&root) {
        let manifest = read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        let main = read_to_string(folder.join("tests/main.rs")).expect("the program of the tests");
        assert!(manifest.contains("\nautotests = false\n"), "{folder:?} links a program a file");
        lost.extend(files(&folder.join("tests")).into_iter().filter(|name| {
            let module = main.lines().any(|line| line == format!("mod {name};"));
            let target = manifest.contains(&format!("[[test]]\nname = \"{name}\"\n"));
            name != "main" && !module && !target
        }));
    }
    assert!(lost.is_empty(), "neither in `tests/main.rs` nor a target of their own: {lost:?}");
}
