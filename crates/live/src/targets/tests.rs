//! Cases that need a stand-in: file systems that refuse direct I/O, and creations that fail.

use super::*;

const SIZE: u64 = 64 << 10;

/// A folder that is removed when it is dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("penstock-{name}-{}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("data.img")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn invalid() -> io::Error {
    io::Error::from_raw_os_error(libc::EINVAL)
}

fn open(direct: &Direct, path: &Path, create: Option<u64>) -> Result<Target, TargetError> {
    let mut go_on = |_, _| ControlFlow::Continue(());
    Target::open_through(direct, path, create, User::Run, &mut go_on)
}

/// Checks that `direct` refuses both an owned file and a new one, with `text` in its message.
fn check_refused(name: &str, direct: Direct, text: &str) {
    let scratch = Scratch::new(name);
    let path = scratch.file();
    let error = open(&direct, &path, Some(SIZE)).unwrap_err();
    assert!(!path.exists(), "a creation that failed leaves nothing");
    assert_eq!(error.exit_code(), 77, "{error}");
    drop(Target::open(&path, Some(SIZE)).unwrap());
    let error = open(&direct, &path, None).unwrap_err();
    assert_eq!(error.exit_code(), 77, "{error}");
    let message = error.to_string();
    assert!(message.starts_with(&path.display().to_string()), "{message}");
    assert!(message.contains(text), "{message}");
    assert!(message.contains("hint: "), "{message}");
}

#[test]
fn a_file_system_may_refuse_to_open() {
    let direct = Direct { open: |_| Err(invalid()), ..Direct::REAL };
    check_refused("refuses-open", direct, "refuses O_DIRECT (opening it said EINVAL)");
}

#[test]
fn a_file_system_may_refuse_by_alignment_zero() {
    let zero = |_: &File| Some(Alignment { offset: 0, memory: 0 });
    let direct = Direct { alignment: zero, ..Direct::REAL };
    check_refused("aligns-to-0", direct, "refuses O_DIRECT (its alignment is given as 0)");
}

#[test]
fn a_file_system_may_refuse_the_first_read() {
    let direct = Direct { read: |_, _| Err(invalid()), ..Direct::REAL };
    check_refused("refuses-read", direct, "refuses O_DIRECT (the first read said EINVAL)");
}

#[test]
fn memory_must_not_need_more_than_a_page() {
    let large = |_: &File| Some(Alignment { offset: 4096, memory: 8192 });
    let direct = Direct { alignment: large, ..Direct::REAL };
    check_refused("aligns-memory", direct, "4096 bytes in the file and 8192 in memory");
}

#[test]
fn without_an_answer_a_page_is_assumed() {
    let scratch = Scratch::new("no-answer");
    let direct = Direct { alignment: |_| None, ..Direct::REAL };
    let target = open(&direct, &scratch.file(), Some(SIZE)).unwrap();
    assert_eq!((target.block(), target.unit()), (4096, 4096));
}

#[test]
fn a_size_must_be_whole_blocks_of_the_target() {
    let scratch = Scratch::new("large-blocks");
    let large = |_: &File| Some(Alignment { offset: 16384, memory: 512 });
    let direct = Direct { alignment: large, ..Direct::REAL };
    let error = open(&direct, &scratch.file(), Some(SIZE + 4096)).unwrap_err();
    assert!(error.to_string().contains("positive multiple of 16384"), "{error}");
    assert_eq!(error.exit_code(), 2);
    assert!(!scratch.file().exists());
    let target = open(&direct, &scratch.file(), Some(SIZE)).unwrap();
    assert_eq!(target.block(), 16384);
}

#[test]
fn another_file_in_its_place_is_not_used() {
    let scratch = Scratch::new("swapped");
    drop(Target::open(&scratch.file(), Some(SIZE)).unwrap());
    drop(Target::open(&scratch.0.join("other.img"), Some(SIZE)).unwrap());
    let swapped = |path: &Path| (Direct::REAL.open)(&path.with_file_name("other.img"));
    let direct = Direct { open: swapped, ..Direct::REAL };
    let error = open(&direct, &scratch.file(), None).unwrap_err();
    assert!(error.to_string().contains("took the place of another"), "{error}");
    assert_eq!(error.exit_code(), 5);
}

#[test]
fn a_file_that_another_process_has_open_is_free_once_we_are_done() {
    let scratch = Scratch::new("still-open");
    let path = scratch.file();
    for create in [Some(SIZE), None] {
        let mut nothing = |_, _| ControlFlow::Continue(());
        let opened = open_file(&Direct::REAL, &path, create, User::Run, &mut nothing).unwrap();
        // As a process that is being started meanwhile has it.
        let _copy = opened.direct.file.try_clone().unwrap();
        drop(opened);
        Target::open(&path, None).unwrap();
    }
}

#[test]
fn what_is_only_read_may_be_anybody_s_and_stays_as_it_is() {
    use std::io::Write as _;
    let scratch = Scratch::new("reading");
    let path = scratch.file();
    std::fs::write(&path, vec![7; (SIZE + 100) as usize]).unwrap();
    let held = File::open(&path).unwrap();
    rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let target = Target::open_reading(&path).unwrap();
    assert_eq!(target.capacity(), SIZE, "whole blocks");
    let written = rustix::io::pwrite(target.file(), &[0; 4096], 0);
    assert_eq!(written, Err(rustix::io::Errno::BADF), "the kernel sees to it");
    assert_eq!(target.resized(), None);
    File::options().append(true).open(&path).unwrap().write_all(b"more").unwrap();
    assert_eq!(target.resized(), None, "its owner may go on writing");
    File::options().write(true).open(&path).unwrap().set_len(SIZE).unwrap();
    assert_eq!(target.resized(), Some((SIZE, SIZE + 100)));
}

#[test]
fn what_is_not_there_or_holds_nothing_is_not_read() {
    let scratch = Scratch::new("nothing-to-read");
    let path = scratch.file();
    assert_eq!(Target::open_reading(&path).unwrap_err().exit_code(), 2);
    std::fs::write(&path, b"short").unwrap();
    assert_eq!(Target::open_reading(&path).unwrap_err().exit_code(), 2);
    assert_eq!(Target::open_reading(&scratch.0).unwrap_err().exit_code(), 2);
}

#[test]
fn an_owned_file_is_read_without_its_mark() {
    let scratch = Scratch::new("reading-ours");
    drop(Target::open(&scratch.file(), Some(SIZE)).unwrap());
    let target = Target::open_reading(&scratch.file()).unwrap();
    assert_eq!(target.capacity(), SIZE);
    assert_eq!(target.resized(), None);
}

#[test]
fn an_error_of_the_medium_is_a_failure() {
    let scratch = Scratch::new("bad-medium");
    let broken = |_: &File, _: &mut [u8]| Err(io::Error::from_raw_os_error(libc::EIO));
    let direct = Direct { read: broken, ..Direct::REAL };
    let error = open(&direct, &scratch.file(), Some(SIZE)).unwrap_err();
    assert_eq!(error.exit_code(), 1);
    assert!(error.to_string().contains("cannot read its first block"), "{error}");
    assert!(!scratch.file().exists());
}

#[test]
fn without_nameless_files_a_creation_has_its_name_from_the_start() {
    let scratch = Scratch::new("named");
    let direct = Direct { nameless: |_| Ok(None), ..Direct::REAL };
    let path = scratch.file();
    let mut stop = |done, _| {
        assert!(path.exists());
        if done == 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let error =
        Target::open_through(&direct, &path, Some(2 << 20), User::Run, &mut stop).unwrap_err();
    assert!(error.to_string().contains("interrupted"), "{error}");
    assert!(!path.exists(), "a creation that is stopped leaves nothing");
    assert_eq!(open(&direct, &path, Some(SIZE)).unwrap().capacity(), SIZE);
    assert_eq!(Target::open(&path, None).unwrap().capacity(), SIZE);
}

#[test]
fn a_file_that_may_not_have_a_name_is_made_once_more() {
    let scratch = Scratch::new("unlinkable");
    let nameless = |folder: &Path| {
        // With O_EXCL it never gets a name: linkat says ENOENT.
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::EXCL;
        let file = rustix::fs::open(folder, flags, rustix::fs::Mode::RWXU)?;
        Ok(Some(File::from(file)))
    };
    let direct = Direct { nameless, ..Direct::REAL };
    assert_eq!(open(&direct, &scratch.file(), Some(SIZE)).unwrap().capacity(), SIZE);
    assert_eq!(Target::open(&scratch.file(), None).unwrap().capacity(), SIZE);
    assert_eq!(std::fs::read_dir(&scratch.0).unwrap().count(), 1);
}
