//! Merges of files in rounds: the runs are made once, and every round has the same bytes.

use std::path::PathBuf;

use penstock_run::merge::{MergeOptions, MergeSession, MergesResult};

/// A folder that goes when the test ends.
struct Place(PathBuf);

impl Place {
    /// Next to the sources: the folder for temporary files may be memory.
    fn new(name: &str) -> Self {
        let name = format!("merge-{name}-{}", std::process::id());
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        for disk in ["disk0", "disk1"] {
            std::fs::create_dir_all(folder.join(disk)).expect("a folder");
        }
        Self(folder)
    }

    /// Two merges of four runs each in two folders.
    fn options(&self) -> MergeOptions {
        let sets =
            ["merge.jobs=2", "merge.runs=4", "merge.run=50blocks", "merge.depletion.keys=64"];
        MergeOptions {
            to: ["disk0", "disk1"].map(|disk| self.0.join(disk)).into(),
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

/// The bytes of the outputs, which are removed.
fn take_outputs(result: &MergesResult) -> Vec<Vec<u8>> {
    let take = |path: &PathBuf| {
        let bytes = std::fs::read(path).unwrap();
        std::fs::remove_file(path).unwrap();
        bytes
    };
    result.merges.iter().map(|merge| take(&merge.output)).collect()
}

#[test]
fn every_round_of_a_session_merges_the_same_runs() {
    let place = Place::new("session");
    let go_on = &mut || true;
    let session = MergeSession::open(place.options()).unwrap();
    let first = take_outputs(&session.merge(0, go_on).unwrap());
    for output in &first {
        assert_eq!(output.len(), 4 * 50 * 4096);
        let lines: Vec<_> = output.split_inclusive(|byte| *byte == b'\n').collect();
        assert!(lines.len() == 4 * 50 * 64 && lines.is_sorted());
    }
    assert!(first[0] != first[1], "of other runs");
    let second = session.merge(1, go_on).unwrap();
    let error = session.merge(2, go_on).unwrap_err();
    assert!(error.to_string().contains("found something there"), "{error}");
    assert!(take_outputs(&second) == first, "of the same runs");
}

#[test]
fn runs_whose_making_is_ended_leave_no_file() {
    let place = Place::new("ended");
    let mut calls = 0;
    let go_on = &mut || {
        calls += 1;
        calls < 3
    };
    let session = MergeSession::open(place.options()).unwrap();
    session.merge(0, go_on).unwrap_err();
    for folder in place.options().to {
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
    }
}
