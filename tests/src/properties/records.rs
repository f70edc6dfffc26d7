//! Records of runs: a replay decides alike; a damaged record ends in a message or in a difference.

use std::fs;
use std::path::{Path, PathBuf};

use penstock_policy::POLICIES;
use penstock_run::record::decisions_of;
use penstock_run::record::replay::{Replay, replay};
use penstock_run::{Candidate, Options};

use super::run::Bench;
use crate::generate::{Case, Draw};

/// A change of a file's bytes.
#[derive(Clone, Copy, Debug)]
struct Damage {
    /// Whether the decisions are damaged, and not the record.
    decisions: bool,
    how: How,
    /// Place of the damage, counted over all bytes of the file.
    at: u64,
    byte: u8,
}

#[derive(Clone, Copy, Debug)]
enum How {
    Change,
    Cut,
    Insert,
    Remove,
    /// Some bytes repeated.
    Repeat,
}

/// The case that `bytes` encode: a job, a policy, and the changes to the files.
struct Drawn {
    case: Case,
    policy: &'static str,
    damages: Vec<Damage>,
}

impl Drawn {
    fn of(bytes: &[u8]) -> Self {
        let draw = &mut Draw::new(bytes);
        let policy = POLICIES[draw.between(0, POLICIES.len() as u64 - 1) as usize].name;
        let damage = |draw: &mut Draw<'_>| Damage {
            decisions: draw.one_in(3),
            how: draw.pick(&[How::Change, How::Cut, How::Insert, How::Remove, How::Repeat]),
            at: draw.between(0, u64::from(u32::MAX)),
            byte: draw.between(0, 255) as u8,
        };
        let damages = (0..draw.between(1, 6)).map(|_| damage(draw)).collect();
        Self { case: Case::drawn(draw), policy, damages }
    }
}

/// Returns the case that `bytes` encode, as text.
pub fn record_text(bytes: &[u8]) -> String {
    let Drawn { case, policy, damages } = Drawn::of(bytes);
    format!("{case}# recorded under {policy}, then {damages:?}")
}

/// Records the run that `bytes` encode: its replay decides alike, and a replay of its damaged files
/// ends in a message or in decisions that differ.
pub fn record(bytes: &[u8]) {
    let Drawn { case, policy, damages } = Drawn::of(bytes);
    let bench = Bench::new(case);
    let path = bench.folder().path("run.record");
    let options = Options {
        policies: vec![Candidate::from(policy)],
        record: Some(path.clone()),
        ..Options::default()
    };
    let Some(comparison) = bench.run(&[], &options) else { return };
    super::run::count(1);
    let alike = replay(&path, &[]).unwrap_or_else(|failure| panic!("{failure}"));
    assert!(alike.first_difference.is_none(), "{alike:?}");
    assert_eq!(alike.alike, alike.decisions);
    let classes = &comparison.runs[0].classes;
    let requests: u64 =
        classes.iter().map(|class| class.requests + class.errors + class.unfinished).sum();
    // Requests that were due before the end of the warm-up are only in the record.
    assert!(alike.requests >= requests, "{alike:?} of {requests} requests");
    let files = [path.clone(), decisions_of(&path)].map(|path| (fs::read(&path).unwrap(), path));
    for damage in damages {
        damaged(&path, &files[usize::from(damage.decisions)], damage);
    }
}

/// Replays the record at `record` while one of its files is damaged.
fn damaged(record: &Path, (intact, path): &(Vec<u8>, PathBuf), damage: Damage) {
    let bytes = apply(intact, damage);
    fs::write(path, &bytes).unwrap();
    let found = replay(record, &[]);
    fs::write(path, intact).unwrap();
    match found {
        Ok(replay) => {
            let same = same_decisions(intact, &bytes);
            let decided = damage.decisions && !same;
            assert!(!decided || differs(&replay), "{damage:?}: {replay:?}");
        }
        Err(failure) => {
            let text = failure.to_string();
            assert!(text.starts_with("error: ") && failure.exit_code() == 2, "{text}");
        }
    }
}

fn differs(replay: &Replay) -> bool {
    replay.first_difference.is_some()
}

fn apply(intact: &[u8], damage: Damage) -> Vec<u8> {
    let at = (damage.at % intact.len() as u64) as usize;
    let mut bytes = intact.to_vec();
    match damage.how {
        How::Change => bytes[at] = damage.byte,
        How::Cut => bytes.truncate(at),
        How::Insert => bytes.insert(at, damage.byte),
        How::Remove => drop(bytes.remove(at)),
        How::Repeat => {
            let again = intact[at..intact.len().min(at + usize::from(damage.byte) + 1)].to_vec();
            bytes.splice(at..at, again);
        }
    }
    bytes
}

/// Whether two files hold the same decisions: bytes behind their end are not read, and their head
/// depends on the record.
fn same_decisions(first: &[u8], second: &[u8]) -> bool {
    let parts = |bytes: &[u8]| -> Option<[Vec<u8>; 2]> {
        let mut lines = bytes.splitn(3, |&byte| byte == b'\n');
        let (format, _, body) = (lines.next()?, lines.next()?, lines.next()?);
        Some([format.to_vec(), body.to_vec()])
    };
    match (parts(first), parts(second)) {
        (Some([format, body]), Some([other, more])) => format == other && more.starts_with(&body),
        _ => false,
    }
}
