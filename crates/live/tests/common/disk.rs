//! Block devices for tests: loop devices over files of their own, which need root.

use std::fs::File;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use penstock_live::{Contents, Target, TargetError};

use super::{Scratch, eventually};

pub(crate) const SIZE: u64 = 8 << 20;

/// A loop device over a file of zeros; both are removed when it is dropped.
pub(crate) struct Disk {
    pub(crate) node: PathBuf,
    pub(crate) file: PathBuf,
    mounts: Vec<PathBuf>,
    _scratch: Scratch,
}

impl Disk {
    /// `None`, with a word on stderr, where no loop device can be made. In CI as root that fails.
    pub(crate) fn new(name: &str, options: &[&str]) -> Option<Self> {
        Self::filled(name, options, |_| {})
    }

    /// Makes a device over a file that `fill` has written to.
    pub(crate) fn filled(name: &str, options: &[&str], fill: impl Fn(&File)) -> Option<Self> {
        let scratch = Scratch::new(name);
        let path = scratch.path("disk");
        let file = File::create(&path).unwrap();
        file.set_len(SIZE).unwrap();
        fill(&file);
        Self::over(scratch, path, options)
    }

    pub(crate) fn over(scratch: Scratch, file: PathBuf, options: &[&str]) -> Option<Self> {
        let mut losetup = Command::new("losetup");
        let answer = losetup.args(["--find", "--show"]).args(options).arg(&file).output();
        let node = answer.ok().filter(|answer| answer.status.success()).map(|answer| {
            PathBuf::from(String::from_utf8(answer.stdout).unwrap().trim().to_owned())
        });
        let Some(node) = node else {
            assert!(std::env::var_os("CI").is_none() || !is_root(), "CI has loop devices");
            eprintln!("skipped: no loop device can be made here (it needs root and losetup)");
            return None;
        };
        Some(Self { node, file, mounts: Vec::new(), _scratch: scratch })
    }

    pub(crate) fn mount(&mut self, node: &Path) {
        let point = self.file.with_file_name("mounted");
        std::fs::create_dir_all(&point).unwrap();
        call("mount", &[node, &point]);
        self.mounts.push(point);
    }

    pub(crate) fn open(&self) -> Result<Target, TargetError> {
        named_twice(self.free())
    }

    /// The node, once nothing has it open exclusively. A process that another test starts has a copy
    /// of every descriptor of ours until it executes its program.
    pub(crate) fn free(&self) -> &Path {
        let exclusive = rustix::fs::OFlags::EXCL.bits().cast_signed();
        let mut options = File::options();
        let _ = options.read(true).custom_flags(exclusive);
        let _ = eventually(|| options.open(&self.node).is_ok());
        &self.node
    }

    /// Checks that `node` is refused with a message that has `text`, and is left as it is.
    pub(crate) fn refused_at(&self, node: &Path, text: &str) {
        let before = std::fs::read(&self.file).unwrap();
        let mut message = String::new();
        let _ = eventually(|| {
            let error = named_twice(node).expect_err("a refusal");
            assert_eq!(error.exit_code(), 5, "{error}");
            message = error.to_string();
            message.contains(text)
        });
        for text in [text, &node.display().to_string(), "expected ", "\nhint: "] {
            assert!(message.contains(text), "{text:?} is not in {message:?}");
        }
        assert!(std::fs::read(&self.file).unwrap() == before, "untouched");
    }

    pub(crate) fn refused(&self, text: &str) {
        self.refused_at(&self.node, text);
    }

    /// A node of its own for a partition: some machines have no program that makes them.
    pub(crate) fn partition(&self, number: u32) -> PathBuf {
        let name = self.node.file_name().unwrap().display();
        let number_file = format!("/sys/block/{name}/{name}p{number}/dev");
        let number_file = std::fs::read_to_string(number_file).unwrap();
        let node = self.file.with_file_name(format!("p{number}"));
        make_node(&node, number_file.trim().split_once(':').unwrap());
        node
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        for point in self.mounts.drain(..) {
            let _ = Command::new("umount").arg(point).status();
        }
        for number in ["1", "2"] {
            let _ = Command::new("delpart").arg(&self.node).arg(number).output();
        }
        let _ = Command::new("losetup").arg("--detach").arg(&self.node).status();
    }
}

pub(crate) fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

pub(crate) fn named_twice(node: &Path) -> Result<Target, TargetError> {
    Target::open_device(node, Some(node.to_str().unwrap()), Contents::Empty)
}

pub(crate) fn call(command: &str, arguments: &[&Path]) {
    let answer = Command::new(command).args(arguments).output().unwrap();
    assert!(answer.status.success(), "{command}: {}", String::from_utf8_lossy(&answer.stderr));
}

pub(crate) fn make_node(node: &Path, (major, minor): (&str, &str)) {
    call("mknod", &[node, Path::new("b"), Path::new(major), Path::new(minor)]);
}

/// A table of two partitions of three MiB each.
pub(crate) fn table(file: &File) {
    let entry = |start: u32| {
        let mut entry = [0; 16];
        entry[4] = 0x83;
        entry[8..12].copy_from_slice(&start.to_le_bytes());
        entry[12..].copy_from_slice(&6144_u32.to_le_bytes());
        entry
    };
    file.write_all_at(&entry(2048), 446).unwrap();
    file.write_all_at(&entry(8192), 462).unwrap();
    file.write_all_at(b"\x55\xaa", 510).unwrap();
}
