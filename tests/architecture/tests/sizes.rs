//! A file of production code has at most 450 lines: it is one thing, with a name that says which. The
//! exceptions are listed here, each with its reason.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Lines of a file, without its tests, at most.
const MOST_LINES: usize = 450;

/// Files that have more lines, and why.
const LONGER: [(&str, &str); 5] = [
    (
        "crates/device/src/hdd/buffer.rs",
        "the rules of a drive's cache, which all change one segment and one sweep; a tenth is their text",
    ),
    (
        "crates/device/src/ssd.rs",
        "the events of a drive's requests, in their order, with the sources of the model in its text",
    ),
    (
        "crates/policy/src/size_priority.rs",
        "a policy is one file, with its parameters and its text",
    ),
    ("python/penstock/results/json_types.py", "tools/result_types.py writes it"),
    ("python/penstock/results/typed.py", "tools/result_types.py writes it"),
];

/// Adds the number of lines of each production file in `folder` to `found`, by its path from `root`.
fn count(root: &Path, folder: &Path, found: &mut BTreeMap<String, usize>) {
    for entry in std::fs::read_dir(folder).expect("a folder of source") {
        let path = entry.expect("an entry").path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        if path.file_stem().is_some_and(|name| name == "tests") {
            continue;
        }
        if path.is_dir() {
            count(root, &path, found);
        } else if matches!(extension, Some("rs" | "py")) {
            let text = std::fs::read_to_string(&path).expect("source is text");
            let name = path.strip_prefix(root).expect("below the root").display().to_string();
            found.insert(name, lines(&text));
        }
    }
}

/// Returns the number of lines before the tests at the end of a file.
fn lines(text: &str) -> usize {
    text.split("\n#[cfg(test)]\nmod ").next().map_or(0, |code| code.lines().count())
}

/// The lines of every production file of the crates and of the package.
fn production() -> BTreeMap<String, usize> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().expect("the repository");
    let mut found = BTreeMap::new();
    for krate in std::fs::read_dir(root.join("crates")).expect("the crates") {
        count(&root, &krate.expect("a crate").path().join("src"), &mut found);
    }
    count(&root, &root.join("python/penstock"), &mut found);
    found
}

#[test]
fn no_file_is_long_without_a_reason() {
    let long = production().into_iter().filter(|(_, lines)| *lines > MOST_LINES);
    let unlisted: Vec<_> =
        long.filter(|(name, _)| LONGER.iter().all(|(listed, _)| listed != name)).collect();
    assert!(
        unlisted.is_empty(),
        "more than {MOST_LINES} lines: {unlisted:?}; make two files with a name each, or list it with its reason"
    );
}

#[test]
fn every_reason_is_needed() {
    let found = production();
    let short =
        |(name, _): &&(&str, &str)| found.get(*name).is_none_or(|lines| *lines <= MOST_LINES);
    let short: Vec<_> = LONGER.iter().filter(short).collect();
    assert!(
        short.is_empty(),
        "no longer above {MOST_LINES} lines, take it off the list: {short:?}"
    );
}

#[test]
fn tests_at_the_end_of_a_file_are_not_counted() {
    assert_eq!(lines("//! A file.\n\nfn one() {}\n"), 3);
    assert_eq!(lines("fn one() {}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n}\n"), 1);
}
