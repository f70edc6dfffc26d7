//! Every refusal of a target: its message, its exit code, and an untouched file.

use std::fs::File;
use std::ops::ControlFlow;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::common::Scratch;
use penstock_live::{Engine, Settings, Stage, Target, User};

const SIZE: u64 = 64 << 10;

/// Checks that opening `path` is refused with `exit_code` and a message that has every one of
/// `texts`, the path and a hint.
fn refused(path: &Path, create: Option<u64>, exit_code: u8, texts: &[&str]) {
    let error = Target::open(path, create).expect_err("a refusal");
    let message = error.to_string();
    assert_eq!(error.exit_code(), exit_code, "{message}");
    let path = path.display().to_string();
    for text in texts.iter().copied().chain([path.as_str(), "\nhint: "]) {
        assert!(message.contains(text), "{text:?} is not in {message:?}");
    }
}

/// Checks that a file with `content` is refused and left as it is.
fn refused_as_not_ours(name: &str, content: &[u8], text: &str) {
    let scratch = Scratch::new(name);
    let path = scratch.path("theirs");
    std::fs::write(&path, content).unwrap();
    for create in [None, Some(SIZE)] {
        refused(&path, create, 5, &[text, "expected one that Penstock made"]);
    }
    assert!(std::fs::read(&path).unwrap() == content);
}

#[test]
fn a_created_file_is_ours_ever_after() {
    let scratch = Scratch::new("ours");
    let path = scratch.path("data.img");
    let target = Target::open(&path, Some(SIZE)).unwrap();
    assert_eq!((target.capacity(), target.path()), (SIZE, path.as_path()));
    assert!(target.block().is_power_of_two());
    assert!(!target.file_system().is_empty());
    drop(target);
    let content = std::fs::read(&path).unwrap();
    assert_eq!(content.len() as u64, SIZE + 4096, "the mark is behind the usable bytes");
    assert!(content[..65_536].chunks(512).all(|sector| sector.iter().any(|&byte| byte != 0)));
    assert_eq!(Target::open(&path, None).unwrap().capacity(), SIZE);
    assert_eq!(Target::open(&path, Some(SIZE)).unwrap().capacity(), SIZE);
    assert!(std::fs::read(&path).unwrap() == content, "used again as it is");
    let link = scratch.path("link");
    symlink(&path, &link).unwrap();
    assert!(Target::open(&link, None).is_ok(), "an owned file under another name");
}

#[test]
fn progress_is_reported_to_the_end() {
    let scratch = Scratch::new("progress");
    let mut reports = Vec::new();
    let mut progress = |done, all| {
        reports.push((done, all));
        ControlFlow::Continue(())
    };
    Target::open_with(&scratch.path("data.img"), Some(3 << 20), User::Run, &mut progress).unwrap();
    assert_eq!(reports.first(), Some(&(0, 3 << 20)));
    assert_eq!(reports.last(), Some(&(3 << 20, 3 << 20)));
    assert!(reports.is_sorted());
}

#[test]
fn an_interrupted_creation_leaves_nothing() {
    let scratch = Scratch::new("interrupted");
    let path = scratch.path("data.img");
    let mut stop =
        |done, _| if done == 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
    let error = Target::open_with(&path, Some(4 << 20), User::Run, &mut stop).unwrap_err();
    assert!(error.to_string().contains("interrupted"), "{error}");
    assert_eq!(error.exit_code(), 1);
    assert!(!path.exists());
}

#[test]
fn a_file_has_no_name_until_it_is_whole() {
    let scratch = Scratch::new("nameless");
    let path = scratch.path("data.img");
    let mut looked = 0;
    let mut look = |_, _| {
        looked += 1;
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 0);
        ControlFlow::Continue(())
    };
    let target = Target::open_with(&path, Some(2 << 20), User::Run, &mut look).unwrap();
    assert_eq!((looked, path.exists()), (3, true));
    let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
    std::fs::write(scratch.path("other"), "").unwrap();
    let usual = std::fs::metadata(scratch.path("other")).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, usual, "as any file that is made here");
    refused(&path, None, 5, &["in use"]);
    drop(target);
    assert_eq!(Target::open(&path, None).unwrap().capacity(), 2 << 20);
}

#[test]
fn a_file_created_meanwhile_is_not_replaced() {
    let scratch = Scratch::new("meanwhile");
    let path = scratch.path("data.img");
    let mut put = |done, _| {
        if done == 0 {
            std::fs::write(&path, "a thesis").unwrap();
        }
        ControlFlow::Continue(())
    };
    let error = Target::open_with(&path, Some(SIZE), User::Run, &mut put).unwrap_err();
    assert_eq!(error.exit_code(), 1);
    assert!(error.to_string().contains("cannot create it: File exists"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), b"a thesis");
    assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn a_file_without_our_mark_is_not_ours() {
    refused_as_not_ours("text", b"a thesis\n", "found a file of 9 bytes without Penstock's mark");
    refused_as_not_ours("large", &vec![7; 100_000], "found a file of 100000 bytes without");
    refused_as_not_ours("zeros", &vec![0; 100_000], "found a file of 100000 bytes without");
}

#[test]
fn a_file_that_changed_its_length_is_not_ours() {
    let scratch = Scratch::new("changed");
    let path = scratch.path("data.img");
    drop(Target::open(&path, Some(SIZE)).unwrap());
    let mut content = std::fs::read(&path).unwrap();
    refused_as_not_ours("cut", &content[..content.len() - 1], "without Penstock's mark");
    let mark = content.split_off(content.len() - 4096);
    content.extend([0; 4096]);
    content.extend(&mark);
    refused_as_not_ours("grown", &content, "whose mark does not fit its length");
    let mut later = mark;
    later[16] = 2;
    refused_as_not_ours("later", &[&vec![1; 65_536], &later[..]].concat(), "of unknown version 2");
}

#[test]
fn devices_pipes_and_sockets_are_not_ours() {
    refused(Path::new("/dev/null"), None, 5, &["found a character device"]);
    refused(Path::new("/dev/zero"), Some(SIZE), 5, &["found a character device"]);
    let scratch = Scratch::new("special");
    let socket = scratch.path("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    refused(&socket, None, 5, &["found a socket"]);
    let block = std::fs::read_dir("/dev").unwrap().filter_map(Result::ok).find(|entry| {
        use std::os::unix::fs::FileTypeExt;
        std::fs::metadata(entry.path()).is_ok_and(|meta| meta.file_type().is_block_device())
    });
    match block {
        Some(entry) => refused(&entry.path(), None, 5, &["found a block device"]),
        None => eprintln!("skipped: this machine shows no block device"),
    }
}

#[test]
fn wrong_paths_are_wrong_input() {
    let scratch = Scratch::new("wrong");
    refused(&scratch.path("none"), None, 2, &["found no file", "`--create 256MiB`"]);
    assert!(!scratch.path("none").exists());
    refused(&scratch.path("."), Some(SIZE), 2, &["found a directory", "expected a file"]);
    symlink(scratch.path("nowhere"), scratch.path("link")).unwrap();
    refused(&scratch.path("link"), Some(SIZE), 2, &["found a symbolic link to nothing"]);
    assert!(!scratch.path("nowhere").exists(), "creation does not follow links");
    let error = Target::open(&scratch.path("no/folder"), Some(SIZE)).unwrap_err();
    assert_eq!(error.exit_code(), 2, "{error}");
}

#[test]
fn links_in_a_circle_are_wrong_input_however_they_are_opened() {
    let scratch = Scratch::new("circle");
    let (one, other) = (scratch.path("one"), scratch.path("other"));
    symlink(&other, &one).unwrap();
    symlink(&one, &other).unwrap();
    for create in [None, Some(SIZE)] {
        refused(&one, create, 2, &["found symbolic links that lead in a circle"]);
        refused(&one.join("data.img"), create, 2, &["lead in a circle"]);
    }
    for opened in [Target::open_reading(&one), Target::adopt(&one)] {
        assert_eq!(opened.expect_err("a circle").exit_code(), 2);
    }
}

#[test]
fn files_of_the_kernels_own_are_refused_whoever_names_them() {
    let scratch = Scratch::new("kernels");
    let link = scratch.path("link");
    symlink("/sys/kernel/mm/transparent_hugepage/enabled", &link).unwrap();
    for path in ["/sys/power/state", "/proc/self/oom_score_adj", link.to_str().unwrap()] {
        let path = Path::new(path);
        if !path.exists() {
            eprintln!("skipped: no {}", path.display());
            continue;
        }
        for create in [None, Some(SIZE)] {
            refused(path, create, 5, &["found a file of the kernel's own ("]);
        }
        for opened in [Target::open_reading(path), Target::adopt(path)] {
            assert_eq!(opened.expect_err("the kernel's").exit_code(), 5);
        }
    }
    refused(Path::new("/proc/data.img"), Some(SIZE), 5, &["the kernel's own (proc)"]);
    refused(Path::new("/sys/data.img"), Some(SIZE), 5, &["the kernel's own (sysfs)"]);
}

#[test]
fn no_file_is_made_among_devices() {
    let slip = Path::new("/dev/penstock-no-such-disk");
    refused(slip, Some(SIZE), 2, &["found no such device", "`lsblk`"]);
    assert!(!slip.exists());
    let scratch = Scratch::new("dev");
    let dev = scratch.path("dev");
    symlink("/dev", &dev).unwrap();
    refused(&dev.join("penstock-no-such-disk"), Some(SIZE), 2, &["found no such device"]);
}

#[test]
fn a_file_with_nothing_in_it_is_too_small() {
    let scratch = Scratch::new("small");
    for len in [0, 100, 8191] {
        let path = scratch.path(&len.to_string());
        File::create(&path).unwrap().set_len(len).unwrap();
        let found = format!("found a file of {len} bytes");
        refused(&path, None, 2, &[&found, "expected at least 8192 bytes"]);
        refused(&path, Some(SIZE), 5, &[&found]);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), len);
    }
}

#[test]
fn sizes_are_whole_blocks_and_stay() {
    let scratch = Scratch::new("sizes");
    let path = scratch.path("data.img");
    for size in [0, 1, 4095, 65_537, u64::MAX - 4095] {
        let found = format!("found a size of {size} bytes");
        refused(&path, Some(size), 2, &[&found, "positive multiple of 4096"]);
        assert!(!path.exists());
    }
    drop(Target::open(&path, Some(SIZE)).unwrap());
    refused(&path, Some(2 * SIZE), 2, &["of 65536 usable bytes", "expected 131072"]);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), SIZE + 4096);
}

#[test]
fn a_lack_of_space_is_reported_before_anything_is_made() {
    let scratch = Scratch::new("space");
    let path = scratch.path("data.img");
    refused(&path, Some(1 << 60), 1, &["bytes free", "expected 1152921504606851072"]);
    assert!(!path.exists());
}

#[test]
fn two_runs_do_not_share_a_file() {
    let scratch = Scratch::new("lock");
    let path = scratch.path("data.img");
    let first = Target::open(&path, Some(SIZE)).unwrap();
    let clone = first.clone();
    drop(first);
    refused(&path, None, 5, &["in use by another run"]);
    drop(clone);
    assert!(Target::open(&path, None).is_ok());
}

/// Set for a child of the test below, which runs as the user `nobody`.
const AS_NOBODY: &str = "PENSTOCK_TEST_AS_NOBODY";

#[test]
fn without_permission_the_message_says_so() {
    let check = |path: &Path| {
        refused(path, None, 2, &["found no permission to open it", "change its permissions"]);
        let inside = path.with_file_name("locked").join("new");
        refused(&inside, Some(SIZE), 2, &["found no permission to"]);
    };
    if let Some(path) = std::env::var_os(AS_NOBODY) {
        return check(Path::new(&path));
    }
    let scratch = Scratch::new("permission");
    let path = scratch.path("data.img");
    drop(Target::open(&path, Some(SIZE)).unwrap());
    let allow = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    allow(&path, 0o000);
    let locked = scratch.path("locked");
    std::fs::create_dir(&locked).unwrap();
    allow(&locked, 0o000);
    if File::open(&path).is_err() {
        check(&path);
        return allow(&locked, 0o755);
    }
    // Root may do everything, so a child tries as the user `nobody`. It runs from a copy, as that
    // user may not look into the folder that this program was built in.
    let copy = scratch.path("test");
    std::fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
    allow(&scratch.path("."), 0o755);
    allow(&copy, 0o755);
    let child = Command::new(&copy)
        .args(["--exact", "targets::without_permission_the_message_says_so", "--nocapture"])
        .env(AS_NOBODY, &path)
        .current_dir("/")
        .gid(65534)
        .uid(65534)
        .output();
    match child {
        Err(error) => eprintln!("skipped: cannot become an unprivileged user here: {error}"),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success() && said.contains("1 passed"), "{output:?}");
        }
    }
}

#[test]
fn a_stage_refuses_what_it_cannot_hold() {
    let scratch = Scratch::new("stage");
    let target = Target::open(&scratch.path("data.img"), Some(SIZE)).unwrap();
    let refused = |depth, max_len, text: &str| {
        let settings = Settings::new(depth, max_len);
        let Err(error) = Stage::single(Engine::Threads, target.clone(), settings) else {
            panic!("expected: {text}");
        };
        assert_eq!(error.exit_code(), 2);
        let message = error.to_string();
        assert!(message.contains(text) && message.contains("hint: "), "{message}");
    };
    refused(0, 4096, "found a depth of 0 on 1 target(s); expected 1 to 1024");
    refused(1025, 4096, "found a depth of 1025");
    refused(1, 0, "found a largest command of 0 bytes");
    refused(1, u32::MAX, "expected 1 to 268435456 bytes");
    refused(1024, 8 << 20, "found buffers of");
}

#[test]
fn an_applications_data_is_not_a_runs_to_write_over_until_it_is_given_up() {
    let scratch = Scratch::new("data");
    let path = scratch.path("data.img");
    let open = |user, create| {
        Target::open_with(&path, create, user, &mut |_, _| ControlFlow::Continue(()))
    };
    drop(open(User::Application, Some(SIZE)).unwrap());
    let before = std::fs::read(&path).unwrap();
    for create in [None, Some(SIZE)] {
        let error = open(User::Run, create).unwrap_err();
        assert_eq!(error.exit_code(), 5);
        let message = error.to_string();
        let hint = format!("add `--i-will-lose-data {}`", path.display());
        assert!(message.contains("found a file with an application's data"), "{message}");
        assert!(message.contains(&hint), "{message}");
    }
    assert!(Target::open_reading(&path).is_ok(), "a reader changes nothing");
    assert!(std::fs::read(&path).unwrap() == before);
    drop(open(User::Application, None).unwrap());
    drop(open(User::RunOverData, None).unwrap());
    drop(open(User::Run, None).unwrap());
    // A file that runs wrote to is the application's as soon as a gate is opened on it.
    drop(open(User::Application, None).unwrap());
    assert_eq!(open(User::Run, None).unwrap_err().exit_code(), 5);
}

#[test]
fn the_file_of_an_earlier_version_is_a_runs_until_a_gate_takes_it() {
    let scratch = Scratch::new("earlier");
    let path = scratch.path("data.img");
    // As versions without a second kind wrote it, by hand.
    let mut bytes = vec![7; 8192 + 4096];
    bytes[8192..].fill(0);
    bytes[8192..8208].copy_from_slice(b"penstock owned\n\0");
    bytes[8208] = 1;
    bytes[8216..8224].copy_from_slice(&8192_u64.to_le_bytes());
    std::fs::write(&path, &bytes).unwrap();
    assert_eq!(Target::open(&path, None).unwrap().capacity(), 8192);
    let go_on = &mut |_, _| ControlFlow::Continue(());
    let target = Target::open_with(&path, None, User::Application, go_on).unwrap();
    assert_eq!(target.capacity(), 8192);
    drop(target);
    assert_eq!(Target::open(&path, None).unwrap_err().exit_code(), 5);
    let after = std::fs::read(&path).unwrap();
    assert!(after[..8192] == bytes[..8192], "what it holds is as it was");
}
