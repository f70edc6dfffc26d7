//! Runs under a scheduler of the kernel: the disk has it meanwhile, and its own again afterwards,
//! however the run ends.
//!
//! They need root and a disk with schedulers; elsewhere they say why they are skipped. The disk is
//! a loop device of the test's own where one can be made, else the one under the build's folder.

#![expect(clippy::print_stdout, reason = "why a test is skipped is worth seeing with --nocapture")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use penstock_run::result::Comparison;
use penstock_run::{Failure, Options, Step, TargetOptions, compare_text};

/// Two programs that share a disk.
const JOB: &str = r#"
duration = "400ms"

[class.people]
[class.batch]

[[agent]]
class = "people"
op = "write"
sync = true
size = "4KiB"
pattern = "random"
region = ["0MiB", "4MiB"]
arrivals = { kind = "poisson", rate = "200/s" }

[[agent]]
class = "batch"
op = "write"
size = "64KiB"
pattern = "sequential"
region = ["4MiB", "8MiB"]
arrivals = { kind = "closed", depth = 2 }
"#;

/// Schedulers belong to the machine: one test at a time.
static ONE: Mutex<()> = Mutex::new(());

/// A folder on a disk to run on, gone when the test ends.
struct Folder {
    path: PathBuf,
    /// The loop device below it, if there is one.
    device: Option<String>,
}

impl Folder {
    fn new(name: &str) -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let path = root.join(format!("penstock-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        let device = Self::mounted(&path);
        if device.is_none() {
            println!("no loop device can be made here: the disk under {} it is", root.display());
        }
        Self { path, device }
    }

    /// A file system in a loop device, mounted at `path`.
    fn mounted(path: &Path) -> Option<String> {
        let (image, path) = (path.with_extension("img"), path.to_str()?);
        let file = std::fs::File::create(&image).ok()?;
        file.set_len(64 << 20).ok()?;
        let device = did("losetup", &["--find", "--show", image.to_str()?]);
        let mounted = device.as_ref().is_some_and(|device| {
            did("mkfs.ext4", &["-q", device]).is_some() && did("mount", &[device, path]).is_some()
        });
        match device {
            Some(device) if !mounted => {
                did("losetup", &["--detach", &device]);
                None
            }
            device => device,
        }
    }

    fn file(&self) -> String {
        self.path.join("disk.img").to_str().unwrap().into()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Some(device) = &self.device {
            did("umount", &[self.path.to_str().unwrap()]);
            did("losetup", &["--detach", device]);
        }
        let _ = std::fs::remove_file(self.path.with_extension("img"));
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Returns the output of a command, if there is such a command and it succeeded.
fn did(command: &str, words: &[&str]) -> Option<String> {
    let output = Command::new(command).args(words).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Every disk's schedulers, the one that it has in brackets.
fn schedulers() -> BTreeMap<String, String> {
    let disks = std::fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let read = |disk: std::fs::DirEntry| {
        let text = std::fs::read_to_string(disk.path().join("queue/scheduler")).ok()?;
        Some((disk.file_name().to_string_lossy().into_owned(), text.trim().to_owned()))
    };
    disks.filter_map(read).collect()
}

/// The disk that holds `file`, and the scheduler that it is under.
fn schedulers_of(file: &str) -> (String, String) {
    let stack = penstock_live::Sysfs::new("/sys").under(Path::new(file)).unwrap().unwrap();
    let disk = &stack.disks[0];
    (disk.name.clone(), disk.in_force().unwrap().to_owned())
}

fn run(
    on: &str,
    scheduler: &str,
    sets: &[&str],
    progress: &mut dyn FnMut(Step<'_>) -> bool,
) -> Result<Comparison, Failure> {
    let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
    let options = Options {
        policies: vec![format!("kernel:{scheduler}").as_str().into()],
        target: TargetOptions {
            create: Some("8MiB".into()),
            engine: Some("threads".into()),
            ..TargetOptions::on(on)
        },
        ..Options::default()
    };
    compare_text("job.toml", JOB, &sets, &options, progress)
}

/// Runs `test` with a file and a scheduler that its disk takes and does not have, or says why not.
fn under_another(name: &str, test: impl FnOnce(&str, &str)) {
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = Folder::new(name);
    let (file, before) = (folder.file(), schedulers());
    let mut why = "no disk has two schedulers".to_owned();
    for scheduler in ["mq-deadline", "kyber", "bfq", "none"] {
        let bracketed = format!("[{scheduler}]");
        let mut switched = false;
        let mut progress = |_: Step<'_>| {
            let now = schedulers();
            switched |= now.iter().any(|(disk, text)| {
                text.contains(&bracketed) && before.get(disk).is_some_and(|old| old != text)
            });
            true
        };
        match run(&file, scheduler, &[], &mut progress) {
            Ok(_) if switched => {
                assert_eq!(schedulers(), before, "put back after a whole run");
                test(&file, scheduler);
                assert_eq!(schedulers(), before, "put back");
                return;
            }
            Ok(_) => {}
            Err(failure) => {
                assert!([2, 77].contains(&failure.exit_code()), "{failure}");
                why = failure.to_string();
            }
        }
    }
    println!("skipped: {why}");
}

#[test]
fn each_class_runs_by_itself_under_the_scheduler() {
    under_another("kernel-whole", |file, scheduler| {
        let comparison = run(file, scheduler, &[], &mut |_| true).unwrap();
        let [run] = &comparison.runs[..] else { panic!("one run") };
        assert_eq!(run.policy, format!("kernel:{scheduler}"));
        let names: Vec<_> = run.classes.iter().map(|class| &*class.name).collect();
        assert_eq!(names, ["people", "batch"]);
        assert!(run.classes.iter().all(|class| class.requests > 0 && class.errors == 0));
        // Each has a schedule of its own, or none, and all of them are one together.
        assert!(run.schedule.is_some());
        assert!(run.classes[0].schedule.is_some() && run.classes[1].schedule.is_none());
        assert!(run.remarks.iter().any(|remark| remark.contains("at the same time as the others")));
        let named = run.schedulers.values().any(|name| name.as_deref() == Some(scheduler));
        assert!(named, "{:?}", run.schedulers);
        let shares: f64 = run.classes.iter().map(|class| class.share).sum();
        assert!((shares - 1.0).abs() < 1e-9);
    });
}

#[test]
fn after_an_interrupt_the_disk_has_its_own_scheduler_again() {
    under_another("kernel-ctrl-c", |file, scheduler| {
        let mut steps = 0;
        let mut progress = |_: Step<'_>| {
            steps += 1;
            steps < 3
        };
        let comparison = run(file, scheduler, &["duration=1h"], &mut progress).unwrap();
        assert!(comparison.runs[0].interrupted);
    });
}

#[test]
fn a_run_fails_if_another_program_switches_the_scheduler() {
    under_another("kernel-changed", |file, scheduler| {
        let bracketed = format!("[{scheduler}]");
        let before = schedulers();
        let mut changed = None;
        let mut progress = |_: Step<'_>| {
            let ours = schedulers().into_iter().find(|(disk, text)| {
                text.contains(&bracketed) && before.get(disk).is_some_and(|old| old != text)
            });
            if let (None, Some((disk, _))) = (&changed, ours) {
                let other = if scheduler == "none" { "mq-deadline" } else { "none" };
                let path = format!("/sys/block/{disk}/queue/scheduler");
                std::fs::write(path, other).unwrap();
                changed = Some(disk);
            }
            true
        };
        let comparison = run(file, scheduler, &[], &mut progress).unwrap();
        let disk = changed.expect("the run reports while it goes on");
        let failure = comparison.runs[0].failure.as_ref().expect("it says so");
        assert!(failure.starts_with(&format!("{disk}: found scheduler at ")), "{failure}");
    });
}

#[test]
fn an_ordinary_run_names_the_scheduler_and_says_if_a_killed_run_left_it() {
    under_another("kernel-left", |file, scheduler| {
        let ordinary = || {
            let options = Options {
                policies: vec!["fcfs".into()],
                target: TargetOptions::on(file),
                ..Options::default()
            };
            compare_text("job.toml", JOB, &[], &options, &mut |_| true).unwrap().runs.remove(0)
        };
        let run = ordinary();
        let (disk, own) = run.schedulers.iter().next().expect("a disk below");
        let own = own.clone().expect("it has schedulers");
        let now =
            |disk: &str| std::fs::read_to_string(format!("/sys/block/{disk}/queue/scheduler"));
        assert!(now(disk).unwrap().contains(&format!("[{own}]")), "as the kernel says");
        assert!(!run.remarks.iter().any(|remark| remark.contains("was killed")));
        // As after a run that is killed under another scheduler.
        let note = PathBuf::from(format!("/run/penstock/queue.{disk}"));
        std::fs::create_dir_all(note.parent().unwrap()).unwrap();
        std::fs::write(&note, format!("switch {own} scheduler {own}\n")).unwrap();
        std::fs::write(format!("/sys/block/{disk}/queue/scheduler"), scheduler).unwrap();
        let left = ordinary();
        std::fs::write(format!("/sys/block/{disk}/queue/scheduler"), &own).unwrap();
        std::fs::remove_file(&note).unwrap();
        assert_eq!(left.schedulers[disk].as_deref(), Some(scheduler));
        let said = format!("{disk} was not under its own scheduler {own}, since a run was killed");
        let remark = left.remarks.iter().find(|remark| remark.starts_with(&said));
        assert!(remark.is_some_and(|remark| remark.contains("doctor --clean")), "{left:?}");
    });
}

#[test]
fn a_switch_of_the_scheduler_during_an_ordinary_run_is_reported() {
    under_another("ordinary-changed", |file, scheduler| {
        let options = Options {
            policies: vec!["fcfs".into()],
            target: TargetOptions::on(file),
            ..Options::default()
        };
        let mut own = None;
        let mut progress = |step: Step<'_>| {
            if let (Step::Running { .. }, None) = (step, &own) {
                let (disk, text) = schedulers_of(file);
                own = Some((disk.clone(), text));
                std::fs::write(format!("/sys/block/{disk}/queue/scheduler"), scheduler).unwrap();
            }
            true
        };
        let comparison = compare_text("job.toml", JOB, &[], &options, &mut progress).unwrap();
        let (disk, own) = own.expect("the run reports while it goes on");
        std::fs::write(format!("/sys/block/{disk}/queue/scheduler"), &own).unwrap();
        let remarks = &comparison.runs[0].remarks;
        let said = format!("{disk} went from the scheduler {own} to {scheduler} during the run");
        assert!(remarks.iter().any(|remark| remark.starts_with(&said)), "{remarks:?}");
    });
}

#[test]
fn after_a_run_that_failed_the_disk_has_its_own_scheduler_again() {
    under_another("kernel-failed", |file, scheduler| {
        let full = ["agent.0.arrivals.rate=100000/s", "max_outstanding=2"];
        let failure = run(file, scheduler, &full, &mut |_| true).expect_err("it is overloaded");
        assert_eq!(failure.exit_code(), 1, "{failure}");
    });
}

#[test]
fn a_scheduler_that_no_disk_has_changes_nothing() {
    under_another("kernel-unknown", |file, _| {
        let failure = run(file, "elevator", &[], &mut |_| true).expect_err("no disk has it");
        assert_eq!(failure.exit_code(), 2);
        assert!(failure.to_string().contains(" has no scheduler elevator; it has "), "{failure}");
    });
}
