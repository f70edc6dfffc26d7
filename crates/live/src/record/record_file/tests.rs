use super::*;
use crate::record::block_record::{self, Leaves};

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let name = format!("penstock-record-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_file(&path);
        Self(path)
    }

    fn open(&self, written: &[Range<u64>], seed: u64) -> Result<RecordFile, RecordError> {
        let subject = Subject {
            target: Path::new("data.img"),
            length: 1 << 20,
            name: "data.img",
            seed,
            written,
        };
        RecordFile::open(&self.0, &subject)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

const SOME: &[Range<u64>] = &[8192..65536, 1 << 17..1 << 18];

#[test]
fn what_is_recorded_is_there_for_the_next_session() {
    let scratch = Scratch::new("next");
    let first = scratch.open(SOME, 7).unwrap();
    let version = block_record::begin(first.block(8192), first.epochs(), Leaves::Data);
    block_record::end(first.block(8192), version, true);
    drop(first);
    let second = scratch.open(&[], 8).unwrap();
    assert_eq!(second.stamp().seed, 7, "the seed of the session that made it");
    assert_eq!(second.name(), "data.img");
    let known = block_record::known(second.block(8192), second.epochs());
    assert_eq!(known.to_string(), "version 1, which was acknowledged");
    assert!(!block_record::known(second.block(4096), second.epochs()).is_written());
    drop(second);
    give_up_record(&scratch.0).unwrap();
    assert!(matches!(scratch.open(&[], 8), Err(RecordError::Stale { .. })));
    let third = scratch.open(SOME, 8).unwrap();
    assert!(!block_record::known(third.block(8192), third.epochs()).is_written());
    let version = block_record::begin(third.block(8192), third.epochs(), Leaves::Data);
    assert_eq!(version.number(), 2, "numbers do not come again");
    drop(third);
    assert!(scratch.open(&[], 8).is_ok(), "written again, it is of use again");
}

#[test]
fn what_is_no_record_is_left_as_it_is() {
    let scratch = Scratch::new("other");
    assert!(matches!(scratch.open(&[], 1), Err(RecordError::Missing { .. })));
    assert!(!scratch.0.exists());
    std::fs::write(&scratch.0, "letters of a person").unwrap();
    let refused = scratch.open(SOME, 1).unwrap_err();
    assert!(matches!(refused, RecordError::NotARecord { .. }), "{refused}");
    assert_eq!(refused.exit_code(), 2);
    give_up_record(&scratch.0).unwrap();
    assert_eq!(std::fs::read(&scratch.0).unwrap(), b"letters of a person");
}

#[test]
fn a_record_of_a_target_of_another_size_is_refused() {
    let scratch = Scratch::new("size");
    drop(scratch.open(SOME, 1).unwrap());
    let subject =
        Subject { target: Path::new("d"), length: 1 << 21, name: "d", seed: 1, written: SOME };
    let refused = RecordFile::open(&scratch.0, &subject).unwrap_err();
    assert!(matches!(refused, RecordError::OfAnother { .. }), "{refused}");
}
