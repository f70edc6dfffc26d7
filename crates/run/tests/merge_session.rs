//! Merges on owned files: locked as long as a session lives, the same bytes in every round.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use penstock_run::merge::{MergeOptions, MergeSession, MergesResult};

/// A folder that goes when the test ends.
struct Place(PathBuf);

impl Place {
    /// Next to the sources: the folder for temporary files may be memory.
    fn new(name: &str) -> Self {
        let name = format!("merge-{name}-{}", std::process::id());
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    /// Two merges of four runs each on two files, of which each is to have this size.
    fn options(&self, create: &str) -> MergeOptions {
        let sets =
            ["merge.jobs=2", "merge.runs=4", "merge.run=50blocks", "merge.depletion.keys=64"];
        MergeOptions {
            to: vec![self.0.join("disk0.img"), self.0.join("disk1.img")],
            create: Some(create.into()),
            policy: "fcfs".into(),
            sets: sets.map(Into::into).into(),
            placement: Some("all".into()),
            make: true,
            ..MergeOptions::default()
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The outputs, which results call `PATH@BYTE`.
fn outputs(result: &MergesResult) -> Vec<Vec<u8>> {
    let read = |name: &Path, bytes: u64| {
        let (path, start) = name.to_str().unwrap().rsplit_once('@').expect("a place on a target");
        let mut file = File::open(path).unwrap();
        file.seek(SeekFrom::Start(start.parse().unwrap())).unwrap();
        let mut found = Vec::new();
        file.take(bytes).read_to_end(&mut found).unwrap();
        found
    };
    result.merges.iter().map(|merge| read(&merge.output, merge.bytes)).collect()
}

#[test]
fn a_session_keeps_its_targets_locked_and_merges_in_rounds() {
    let place = Place::new("session");
    let go_on = &mut || true;
    let session = MergeSession::open(place.options("4MiB"), go_on).unwrap();
    assert_eq!(session.nodes(), place.options("4MiB").to);
    let error = MergeSession::open(place.options("4MiB"), go_on).map(drop).unwrap_err();
    assert_eq!(error.exit_code(), 5, "{error}");
    assert!(error.to_string().contains("found it in use by another run"), "{error}");
    let first = outputs(&session.merge(0, go_on).unwrap());
    for output in &first {
        assert_eq!(output.len(), 4 * 50 * 4096);
        let lines: Vec<_> = output.split_inclusive(|byte| *byte == b'\n').collect();
        assert!(lines.len() == 4 * 50 * 64 && lines.is_sorted());
    }
    assert!(first[0] != first[1], "of other runs");
    assert!(outputs(&session.merge(1, go_on).unwrap()) == first, "of the same runs");
    drop(session);
    assert!(MergeSession::open(place.options("4MiB"), go_on).is_ok());
}

#[test]
fn no_target_is_made_that_would_be_too_small() {
    let place = Place::new("small");
    let error = MergeSession::open(place.options("1MiB"), &mut || true).map(drop).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("1600KiB are to lie on "), "{error}");
    assert!(error.to_string().contains("a new file with --create 2MiB is large enough"), "{error}");
    assert_eq!(std::fs::read_dir(&place.0).unwrap().count(), 0);
}

#[test]
fn a_creation_that_is_ended_leaves_no_file() {
    let place = Place::new("ended");
    let mut asked = 0;
    let error = MergeSession::open(place.options("64MiB"), &mut || {
        asked += 1;
        asked < 8
    });
    let error = error.map(drop).unwrap_err();
    assert!(error.to_string().contains("its creation was interrupted"), "{error}");
    assert_eq!(std::fs::read_dir(&place.0).unwrap().count(), 0);
}
