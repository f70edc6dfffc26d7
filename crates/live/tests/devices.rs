//! Block devices as targets, on loop devices of the machine's own: every refusal, and that nothing
//! was touched; a run on a free one. They need root; elsewhere each says why it is skipped.

use std::fs::File;
use std::os::unix::fs::{FileExt, symlink};
use std::path::Path;
use std::process::Command;

use crate::common::disk::{Disk, SIZE, call, make_node, named_twice, table};
use crate::common::{Closed, Fcfs, Scratch, drain, io, settings, ways};
use penstock_core::{Device as _, Op, Queued, Seed};
use penstock_live::{Contents, Settings, Stage, Target, TargetError};

#[test]
fn a_free_device_is_used_by_every_engine() {
    let Some(disk) = Disk::new("free", &[]) else { return };
    for way in ways() {
        let (engine, _) = way;
        let target = disk.open().unwrap();
        assert_eq!((target.capacity(), target.block()), (SIZE, 512));
        let (mut clock, device) = Stage::single(engine, target, settings(way, 4, 65_536)).unwrap();
        let make = |n: u32| match n {
            0..64 => io(Op::Write, u64::from(n) * 4096, 4096),
            64 => io(Op::Flush, 0, 0),
            65 => io(Op::Discard, 0, 65_536),
            _ => io(Op::Read, u64::from(n - 66) * 65_536, 65_536),
        };
        let mut stack = Queued::new(Fcfs::default(), device);
        let (seen, _) = drain(&mut Closed::new(1, 100, make), &mut stack, &mut clock);
        assert_eq!((seen.finished, seen.errors.len()), (100, 0), "{}", engine.name());
        let written = std::fs::read(&disk.file).unwrap();
        assert!(written[..65_536].iter().all(|&byte| byte == 0), "discarded");
        assert!(written[65_536..262_144].chunks(512).all(|block| block.iter().any(|&b| b != 0)));
        assert!(written[262_144..].iter().all(|&byte| byte == 0), "no byte is written there");
    }
}

#[test]
fn a_device_that_is_named_once_or_otherwise_is_refused() {
    let Some(disk) = Disk::new("once", &[]) else { return };
    for named in [None, Some("/dev/null"), Some("loop"), Some("")] {
        let error =
            Target::open_device(&disk.node, named, Contents::Empty).expect_err("not named twice");
        assert_eq!(error.exit_code(), 5, "{error}");
        assert!(error.to_string().contains("expected it to be named twice\nhint: "), "{error}");
    }
    // As a file it is not ours, under either name.
    assert_eq!(Target::open(&disk.node, None).expect_err("a device").exit_code(), 5);
    assert!(std::fs::read(&disk.file).unwrap().iter().all(|&byte| byte == 0));
}

#[test]
fn what_is_named_once_more_is_known_by_its_path_under_any_name() {
    let scratch = Scratch::new("named");
    let (path, link, other) = (scratch.path("data.img"), scratch.path("link"), scratch.path("no"));
    std::fs::write(&path, "theirs").unwrap();
    symlink(&path, &link).unwrap();
    let named = |path: &Path, named: &Path| Target::is_named(path, named.to_str().unwrap());
    assert!(named(&path, &path) && named(&path, &link) && named(&link, &path));
    assert!(!named(&path, &other) && !Target::is_named(&path, "") && named(&other, &other));
    let Some(disk) = Disk::new("named-device", &[]) else { return };
    assert!(named(&disk.node, &disk.node) && !named(&disk.node, &path));
    assert!(!Target::is_named(&disk.node, "") && !Target::is_named(&disk.node, "loop"));
}

#[test]
fn what_is_on_a_device_must_be_removed_first() {
    let Some(disk) = Disk::new("on-it", &[]) else { return };
    call("mkfs.ext4", &[Path::new("-q"), &disk.node]);
    disk.refused("found an ext2, ext3 or ext4 file system at byte 1080");
    disk.refused(&format!("`wipefs -a {}`", disk.node.display()));
    call("wipefs", &[Path::new("-a"), disk.free()]);
    disk.refused("found data at byte ");
    assert!(may_be_lost(disk.free()).is_ok());
}

#[test]
fn what_is_mounted_is_refused_by_any_name() {
    let Some(mut disk) = Disk::new("mounted", &[]) else { return };
    call("mkfs.ext4", &[Path::new("-q"), &disk.node]);
    let node = disk.node.clone();
    disk.mount(&node);
    disk.refused("found it mounted at /");
    // Another node of the same number.
    let number = rustix::fs::stat(&disk.node).unwrap().st_rdev;
    let alias = disk.file.with_file_name("alias");
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    make_node(&alias, (&major.to_string(), &minor.to_string()));
    disk.refused_at(&alias, "found it mounted at /");
}

#[test]
fn an_unread_table_of_partitions_is_refused() {
    let Some(disk) = Disk::filled("table", &[], table) else { return };
    disk.refused("found an MBR partition table at byte 510");
}

#[test]
fn a_partition_is_free_next_to_a_mounted_one() {
    let Some(mut disk) = Disk::new("partitions", &[]) else { return };
    for (number, start) in [("1", "2048"), ("2", "8192")] {
        // The kernel gets the partition directly: it may not know this kind of table.
        let words = [&disk.node, Path::new(number), Path::new(start), Path::new("6144")];
        call("addpart", &words);
    }
    let (first, second) = (disk.partition(1), disk.partition(2));
    disk.refused("found a block device with partitions (");
    call("mkfs.ext4", &[Path::new("-q"), &second]);
    disk.mount(&second);
    disk.refused("found its partition ");
    disk.refused_at(&second, "found it mounted at /");
    assert_eq!(named_twice(&first).unwrap().capacity(), 3 << 20);
}

#[test]
fn swap_is_refused() {
    let Some(disk) = Disk::new("swap", &[]) else { return };
    call("mkswap", &[&disk.node]);
    disk.refused("found swap space at byte 4086");
    if !Command::new("swapon").arg(&disk.node).status().is_ok_and(|status| status.success()) {
        return eprintln!("skipped: swap cannot be switched on here");
    }
    let error = named_twice(&disk.node);
    call("swapoff", &[&disk.node]);
    let message = error.expect_err("it is in use").to_string();
    assert!(message.contains("found it in use as swap"), "{message}");
}

#[test]
fn what_is_under_another_device_is_refused() {
    let Some(disk) = Disk::new("under", &[]) else { return };
    let Some(upper) = Disk::over(Scratch::new("upper"), disk.node.clone(), &[]) else { return };
    disk.refused(&format!("found it in use under {}", upper.node.file_name().unwrap().display()));
}

#[test]
fn what_is_read_only_is_refused() {
    let Some(disk) = Disk::new("read-only", &["--read-only"]) else { return };
    disk.refused("found a block device that is read-only");
}

#[test]
fn what_is_too_small_is_refused() {
    let Some(disk) = Disk::new("small", &["--sizelimit", "2048"]) else { return };
    disk.refused("found a block device of 2048 bytes");
}

#[test]
fn a_superblock_at_the_end_is_refused() {
    let end = |file: &File| file.write_all_at(b"\xfc\x4e\x2b\xa9", SIZE - 8192).unwrap();
    let Some(disk) = Disk::filled("end", &[], end) else { return };
    disk.refused("found a member of an md array (1.0) at byte 8380416");
}

/// Formats that tools of the machine write, and the message for each.
const MADE: &[(&str, &[&str], &str)] = &[
    ("mkfs.minix", &["-1"], "a MINIX file system at byte 1040"),
    ("mkfs.minix", &["-2"], "a MINIX file system at byte 1040"),
    ("mkfs.minix", &["-3"], "a MINIX file system at byte 1048"),
    ("mkfs.bfs", &[], "an SCO BFS file system at byte 0"),
    ("mkfs.jfs", &["-q"], "a JFS file system at byte 32768"),
    ("hformat", &[], "an HFS file system at byte 1024"),
];

#[test]
fn what_tools_of_the_machine_make_is_refused() {
    for (tool, options, found) in MADE {
        let Some(disk) = Disk::new("made", &[]) else { return };
        let node = disk.node.to_str().unwrap();
        match Command::new(tool).args(*options).arg(node).output() {
            Ok(answer) if answer.status.success() => disk.refused(&format!("found {found}")),
            _ => eprintln!("skipped: {tool} is not installed, or does not take a small device"),
        }
    }
}

#[test]
fn what_only_libblkid_knows_is_refused_too() {
    // A FAT file system without its name, a jump or a table: libblkid reads its other figures.
    let fat = |file: &File| {
        let sizes = b"\0\x02\x04\x01\0\x02\0\x02\0\x40\xf8\x10\0\x20\0\x04\0";
        file.write_all_at(sizes, 11).unwrap();
        file.write_all_at(b"\x07", 446).unwrap();
        file.write_all_at(b"\x55\xaa", 510).unwrap();
    };
    let Some(disk) = Disk::filled("libblkid", &[], fat) else { return };
    let blkid = Command::new("/usr/sbin/blkid").arg("-p").arg(&disk.node).output();
    if !blkid.is_ok_and(|answer| String::from_utf8_lossy(&answer.stdout).contains("vfat")) {
        return eprintln!("skipped: this machine's libblkid does not know it");
    }
    disk.refused("found what libblkid calls vfat");
}

#[test]
fn data_that_no_format_announces_are_refused_until_they_may_be_lost() {
    let database = |file: &File| file.write_all_at(&vec![0xdb; 100_000], SIZE / 2).unwrap();
    let Some(disk) = Disk::filled("database", &[], database) else { return };
    let start = SIZE / 2;
    let error = disk.open().expect_err("data").to_string();
    let at = error.split("found data at byte ").nth(1).and_then(|rest| rest.split(';').next());
    let at: u64 = at.and_then(|at| at.parse().ok()).expect("a place");
    assert!((start - 512..start + 100_000).contains(&at), "{error}");
    disk.refused("`--even-if-not-empty`");
    assert_eq!(may_be_lost(disk.free()).unwrap().capacity(), SIZE);
    // The confirmation covers data, not formats that are recognised.
    call("mkswap", &[disk.free()]);
    let error = may_be_lost(disk.free()).expect_err("swap space").to_string();
    assert!(error.contains("found swap space at byte 4086"), "{error}");
}

#[test]
fn what_erased_media_read_as_is_empty() {
    let ones = |file: &File| file.write_all_at(&vec![0xff; SIZE as usize], 0).unwrap();
    let Some(disk) = Disk::filled("erased", &[], ones) else { return };
    assert!(disk.open().is_ok());
}

fn may_be_lost(node: &Path) -> Result<Target, TargetError> {
    Target::open_device(node, Some(node.to_str().unwrap()), Contents::MayBeLost)
}

/// Another process that has `node` open, until this is dropped.
struct Holder(std::process::Child);

impl Holder {
    fn new(node: &Path, how: &str) -> Self {
        let mut shell = Command::new("sh");
        let line = format!("exec 7{how}\"$0\"; echo open; exec sleep 3600");
        let shell = shell.args(["-c", &line]).arg(node).stdout(std::process::Stdio::piped());
        let mut child = shell.spawn().unwrap();
        let mut said = [0; 5];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut said).unwrap();
        assert_eq!(&said, b"open\n");
        Self(child)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn what_another_process_has_open_for_writing_is_refused() {
    let Some(disk) = Disk::new("open-elsewhere", &[]) else { return };
    let process = |holder: &Holder| format!("open for writing in process {} (s", holder.0.id());
    let holder = Holder::new(&disk.node, ">");
    disk.refused(&format!("found it {}", process(&holder)));
    call("addpart", &[&disk.node, Path::new("1"), Path::new("2048"), Path::new("6144")]);
    let partition = disk.partition(1);
    let of = disk.node.file_name().unwrap().display();
    disk.refused_at(&partition, &format!("found {of}, the disk of it, {}", process(&holder)));
    drop(holder);
    let holder = Holder::new(&partition, "<>");
    disk.refused_at(&partition, &format!("found it {}", process(&holder)));
    drop(holder);
    let _reads = Holder::new(&disk.node, "<");
    assert!(named_twice(&partition).is_ok(), "a reader is no obstacle");
}

#[test]
fn two_runs_do_not_share_a_device() {
    let Some(disk) = Disk::new("two-runs", &[]) else { return };
    let first = disk.open().unwrap();
    disk.refused("in use by another run");
    drop(first);
    assert!(disk.open().is_ok());
}

#[test]
fn a_view_is_all_that_is_touched() {
    let scratch = Scratch::new("view");
    let path = scratch.path("data.img");
    let target = Target::open(&path, Some(SIZE)).unwrap();
    check_view(&target, &path);
    let Some(disk) = Disk::new("view-of-a-device", &[]) else { return };
    check_view(&disk.open().unwrap(), &disk.file);
}

/// Writes all of a view of `target`, and checks the bytes around it in the file below.
fn check_view(target: &Target, file: &Path) {
    const START: u64 = 1 << 20;
    const LEN: u64 = 2 << 20;
    for (start, len) in [(0, 0), (1, 4096), (4096, 1), (SIZE, 4096), (4096, SIZE), (!4095, 8192)] {
        let error = target.view(start, len).expect_err("no such view");
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("hint: change `live.view`"), "{error}");
    }
    let view = target.view(START, LEN).unwrap();
    assert_eq!(view.capacity(), LEN);
    assert!(view.view(LEN, 4096).is_err(), "a view of a view lies in it");
    for (seed, way) in ways().enumerate() {
        let (engine, _) = way;
        let before = std::fs::read(file).unwrap();
        let seed = Seed(100 + seed as u64);
        let settings = Settings { seed, ..settings(way, 4, 4096) };
        let (mut clock, device) = Stage::single(engine, view.clone(), settings).unwrap();
        assert_eq!(device.capacity(), LEN);
        let mut stack = Queued::new(Fcfs::default(), device);
        let blocks = (LEN / 4096) as u32;
        let make = |n: u32| match n.checked_sub(blocks) {
            None => io(Op::Write, u64::from(n) * 4096, 4096),
            Some(0) => io(Op::Discard, LEN - 4096, 4096),
            Some(_) => io(Op::Flush, 0, 0),
        };
        // One after the other: the last ones are not to overtake a write.
        drain(&mut Closed::new(1, blocks + 2, make), &mut stack, &mut clock);
        let after = std::fs::read(file).unwrap();
        let (start, end) = (START as usize, (START + LEN) as usize);
        assert!(before[..start] == after[..start] && before[end..] == after[end..]);
        let changed = |at: usize| before[at..at + 512] != after[at..at + 512];
        assert!((start..end - 4096).step_by(512).all(changed), "{}", engine.name());
        assert!(after[end - 4096..end].iter().all(|&byte| byte == 0), "discarded");
    }
}
