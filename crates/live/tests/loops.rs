//! Loop devices over owned files: they come and go with a target, and leftovers are found.

mod common;

use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::disk::{Disk, SIZE, is_root, named_twice};
use common::{Closed, Fcfs, Scratch, drain, eventually, io, settings, ways};
use penstock_core::{Op, Queued};
use penstock_live::{Stage, Target, TargetError, User, loop_devices};

/// The loop devices over `file`, as the kernel lists them.
fn loops_over(file: &Path) -> Vec<PathBuf> {
    let blocks = std::fs::read_dir("/sys/block").unwrap().map(|entry| entry.unwrap().path());
    let backing = |folder: &PathBuf| std::fs::read_to_string(folder.join("loop/backing_file"));
    let over = |folder: &PathBuf| backing(folder).is_ok_and(|name| Path::new(name.trim()) == file);
    blocks.filter(over).collect()
}

fn open_loop(path: &Path, create: Option<u64>) -> Option<Target> {
    match Target::open_loop(path, create, User::Run, &mut |_, _| ControlFlow::Continue(())) {
        Ok(target) => Some(target),
        Err(error @ TargetError::NoLoopDevice { .. }) => {
            assert!(std::env::var_os("CI").is_none() || !is_root(), "CI has loop devices");
            assert_eq!(error.exit_code(), 77);
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_loop_device_has_the_depth_of_its_driver_whatever_an_earlier_user_has_left() {
    let scratch = Scratch::new("depth");
    let path = scratch.path("data.img");
    let depth = || loops_over(&path).pop().expect("a loop device").join("queue/nr_requests");
    let Some(target) = open_loop(&path, Some(SIZE)) else { return };
    std::fs::write(depth(), "8").unwrap();
    drop(target);
    assert!(eventually(|| loops_over(&path).is_empty()), "the kernel takes it down");
    let _target = open_loop(&path, None).expect("a loop device");
    let has = std::fs::read_to_string(depth()).unwrap();
    let driver = std::fs::read_to_string("/sys/module/loop/parameters/hw_queue_depth").unwrap();
    assert_eq!(has, driver);
}

#[test]
fn a_loop_device_over_an_owned_file_comes_and_goes_with_its_target() {
    let scratch = Scratch::new("loop");
    let path = scratch.path("data.img");
    let Some(target) = open_loop(&path, Some(SIZE)) else { return };
    assert_eq!(target.capacity(), SIZE, "without the mark");
    let folders = loops_over(&path);
    let attribute = |name: &str| std::fs::read_to_string(folders[0].join(name)).unwrap();
    assert_eq!(folders.len(), 1);
    assert_eq!(attribute("loop/autoclear").trim(), "1");
    assert_eq!(attribute("loop/dio").trim(), "1");
    assert!(attribute("queue/scheduler").contains("none"));
    let (file, device) = (
        Target::open(&path, None),
        named_twice(Path::new("/dev").join(folders[0].file_name().unwrap()).as_path()),
    );
    assert!(matches!(file, Err(TargetError::InUse { .. })), "locked meanwhile");
    assert_eq!(device.expect_err("ours alone").exit_code(), 5);
    for way in ways() {
        let (engine, settings) = (way.0, settings(way, 4, 65_536));
        let (mut clock, device) = Stage::single(engine, target.clone(), settings).unwrap();
        let mut stack = Queued::new(Fcfs::default(), device);
        let make = |n: u32| io(Op::Write, u64::from(n) * 65_536, 65_536);
        let (seen, _) = drain(&mut Closed::new(4, 128, make), &mut stack, &mut clock);
        assert_eq!((seen.finished, seen.errors.len()), (128, 0), "{}", engine.name());
    }
    drop(target);
    assert!(eventually(|| loops_over(&path).is_empty()), "the kernel takes it down");
    assert_eq!(Target::open(&path, None).unwrap().capacity(), SIZE, "the mark is whole");
}

#[test]
fn no_loop_device_is_made_of_a_foreign_file() {
    let scratch = Scratch::new("their-loop");
    let path = scratch.path("theirs");
    std::fs::write(&path, vec![7; 65_536]).unwrap();
    let error = Target::open_loop(&path, None, User::Run, &mut |_, _| ControlFlow::Continue(()));
    let error = error.expect_err("not ours");
    assert!(matches!(error.exit_code(), 5 | 77), "{error}");
    assert!(loops_over(&path).is_empty());
}

#[test]
fn an_unused_loop_device_is_left_behind_and_removed() {
    let scratch = Scratch::new("left");
    let path = scratch.path("data.img");
    drop(Target::open(&path, Some(SIZE)).unwrap());
    let size = SIZE.to_string();
    let Some(disk) = Disk::over(scratch, path.clone(), &["--sizelimit", &size]) else { return };
    let find = || loop_devices().into_iter().find(|one| one.file == path);
    let open = File::open(&disk.node).unwrap();
    assert!(eventually(|| find().is_some()), "only this process has it open");
    let mut other = Command::new("sleep").arg("60").stdin(open).spawn().unwrap();
    assert_eq!(find(), None, "another process has it open");
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(eventually(|| find().is_some()), "it is unused");
    let left = find().expect("it is unused still");
    assert_eq!(left.node, disk.node);
    left.remove().unwrap();
    assert!(loops_over(&path).is_empty());
    assert!(left.remove().is_err(), "it is another device by now");
    assert!(Target::open(&path, None).is_ok(), "the file stays");
}
