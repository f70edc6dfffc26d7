//! Files on real targets: each has a policy, an engine and a loop of its own, and all are one run.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use penstock_run::result::{Comparison, Ended, RunResult, World};
use penstock_run::{Candidate, Failure, Options, Step, Survey, TargetOptions, compare_text};

/// Two programs that read and write four files, and one more file that only one of them uses.
const JOB: &str = r#"
duration = "300ms"
stop = "last-arrival"
[class.readers]
[class.writers]
[[file]]
name = "data"
count = 4
size = "256KiB"
[[file]]
name = "log"
size = "64KiB"
at = "64KiB"
[[agent]]
class = "readers"
file = "data"
copies = 2
op = "read"
size = "8KiB"
pattern = "random"
arrivals = { kind = "closed", depth = 4 }
[[agent]]
class = "writers"
file = ["data.1", "log"]
op = "write"
size = "4KiB"
pattern = "sequential"
arrivals = { kind = "poisson", rate = "200/s" }
"#;

/// A folder of one test on a disk, gone when it ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let path = root.join(format!("penstock-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().into()
    }

    /// The changes that put the files of the job into it.
    fn sets(&self) -> Vec<String> {
        let data = format!("file.data.path={}", self.path("disk%d.img"));
        vec![data, format!("file.log.path={}", self.path("log.img"))]
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name());
        let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn options(policies: &[&str]) -> Options {
    let policies = policies.iter().map(|name| Candidate::from(*name)).collect();
    let target = TargetOptions { create: Some("512KiB".into()), ..TargetOptions::default() };
    Options { policies, target, ..Options::default() }
}

fn run(sets: &[String], more: &[&str], options: &Options) -> Result<Comparison, Failure> {
    let sets: Vec<String> =
        sets.iter().cloned().chain(more.iter().map(|&set| set.into())).collect();
    compare_text("job.toml", JOB, &sets, options, &mut |_| true)
}

fn refused(sets: &[String], more: &[&str], options: &Options) -> String {
    run(sets, more, options).map(|_| ()).expect_err("a mistake").to_string()
}

fn requests(run: &RunResult) -> u64 {
    run.classes.iter().map(|class| class.requests).sum()
}

/// Everything that classes got is on a file, and the other way round.
fn check(run: &RunResult) {
    assert!(!run.interrupted && run.failure.is_none(), "{}: {:?}", run.policy, run.failure);
    assert!(run.classes.iter().all(|class| class.errors == 0), "{}", run.policy);
    let bytes: u64 = run.classes.iter().map(|class| class.bytes).sum();
    assert_eq!(run.files.iter().map(|file| file.requests).sum::<u64>(), requests(run));
    assert_eq!(run.files.iter().map(|file| file.bytes).sum::<u64>(), bytes);
}

#[test]
fn each_file_has_a_target_and_all_of_them_are_the_run() {
    let folder = Folder::new("targets");
    let result = run(&folder.sets(), &[], &options(&["fcfs", "deadline", "cfq"])).unwrap();
    assert_eq!(result.world, World::Measured);
    for run in &result.runs {
        check(run);
        let files: Vec<_> =
            run.files.iter().map(|file| (&file.name[..], file.path.clone())).collect();
        let names = ["data.0", "data.1", "data.2", "data.3", "log"];
        let paths = ["disk0.img", "disk1.img", "disk2.img", "disk3.img", "log.img"];
        let expected: Vec<_> =
            names.into_iter().zip(paths.map(|name| Some(folder.path(name)))).collect();
        assert_eq!(files, expected);
        assert!(
            run.files.iter().all(|file| file.requests > 0 && file.device.is_none()),
            "{:?}",
            run.files
        );
        assert!(run.classes.iter().all(|class| class.requests > 0));
        let busy: f64 = run.files.iter().map(|file| file.device_busy.unwrap()).sum();
        assert!((busy / 5.0 - run.device_busy).abs() < 1e-9, "the mean of all");
        assert!(run.device_busy > 0.0 && run.device_busy <= 1.0, "{}", run.device_busy);
        assert!(run.schedule.is_some(), "writers have a schedule");
    }
    // Each policy counts by itself.
    let counters: Vec<_> = result.runs[1].policy_stats.keys().collect();
    assert!(counters.iter().any(|name| name.starts_with("disk0.")), "{counters:?}");
    assert!(counters.iter().any(|name| name.starts_with("disk4.")), "{counters:?}");
    let said = |run: &RunResult| {
        run.remarks.iter().any(|said| said.contains("of 5 targets lie on one disk"))
    };
    assert_eq!(said(&result.runs[0]), !result.runs[0].schedulers.is_empty());
    assert_eq!(folder.names().len(), 5);
}

#[test]
fn threads_of_each_class_meet_at_each_target() {
    let folder = Folder::new("targets-kernel");
    for (engine, more) in [("threads", &[][..]), ("psync", &["agent.0.depth=1"][..])] {
        let mut options = options(&["kernel:as-is", "alone:writers"]);
        options.target.engine = Some(engine.into());
        let result = run(&folder.sets(), &[more, &["live.depth=1"]].concat(), &options);
        let result = result.unwrap_or_else(|error| panic!("{engine}: {error}"));
        for run in &result.runs {
            check(run);
        }
        let files =
            |run: &RunResult| run.files.iter().map(|file| file.requests).collect::<Vec<_>>();
        assert!(files(&result.runs[0]).iter().all(|requests| *requests > 0), "{engine}");
        let writers = files(&result.runs[1]);
        assert!(writers[1] > 0 && writers[4] > 0 && [0, 2, 3].map(|file| writers[file]) == [0; 3]);
    }
}

#[test]
fn requests_through_the_page_cache_go_to_the_files_of_their_agents() {
    let folder = Folder::new("targets-cached");
    for stop in ["drained", "durable", "300ms"] {
        let sets = ["agent.1.cache=buffered", "live.page_cache=drop", &format!("stop={stop}")];
        let result = run(&folder.sets(), &sets, &options(&["noop"])).unwrap();
        check(&result.runs[0]);
        assert!(result.runs[0].files[4].requests > 0);
    }
}

#[test]
fn one_file_with_a_path_is_on_one_target() {
    let folder = Folder::new("targets-one");
    let job = JOB.replace("count = 4", "").replace("[\"data.1\", \"log\"]", "\"data\"");
    let from = job.find("[[file]]\nname = \"log\"").unwrap();
    let to = job.find("[[agent]]").unwrap();
    let path = folder.path("data.img");
    let job = format!("{}path = \"{path}\"\n{}", &job[..from], &job[to..]);
    let result = compare_text("job.toml", &job, &[], &options(&["fcfs"]), &mut |_| true).unwrap();
    check(&result.runs[0]);
    assert_eq!(result.device, path);
    assert!(result.job.text.contains("path = "), "{}", result.job.text);
    let on_a_model = Options { target: TargetOptions::on("flash"), ..options(&["fcfs"]) };
    let result = compare_text("job.toml", &job, &[], &on_a_model, &mut |_| true).unwrap();
    assert_eq!((result.world, &result.device[..]), (World::Simulated, "flash"));
    assert!(!result.job.text.contains("path = "), "{}", result.job.text);
}

#[test]
fn an_interrupt_ends_the_runs_of_all_targets() {
    let folder = Folder::new("targets-interrupt");
    // The first file's agents end at once: another thread reports from then on.
    let sets: Vec<String> = folder.sets();
    let more = ["agent.0.file=data.0", "agent.0.count=1", "duration=1h", "warmup=0s"];
    let sets: Vec<String> = sets.into_iter().chain(more.map(Into::into)).collect();
    let mut steps = 0;
    let mut progress = |step: Step<'_>| {
        steps += u32::from(matches!(step, Step::Running { .. }));
        steps < 5
    };
    let result = compare_text("job.toml", JOB, &sets, &options(&["fcfs"]), &mut progress).unwrap();
    let run = &result.runs[0];
    assert!(run.interrupted && run.ended == Some(Ended::Asked), "{:?}", run.ended);
    assert!(run.duration_s < 600.0);
}

#[test]
fn a_failure_on_one_target_ends_the_run_and_names_it() {
    let folder = Folder::new("targets-failure");
    let two = folder.path("disk2.img");
    let cut = |progress: &mut u32| {
        *progress += 1;
        if *progress == 2 {
            let file = std::fs::File::options().write(true).open(&two).unwrap();
            file.set_len(64 << 10).unwrap();
        }
        true
    };
    let mut steps = 0;
    let mut progress = |step: Step<'_>| !matches!(step, Step::Running { .. }) || cut(&mut steps);
    let sets: Vec<String> = folder.sets().into_iter().chain(["duration=1h".into()]).collect();
    let result = compare_text("job.toml", JOB, &sets, &options(&["fcfs"]), &mut progress).unwrap();
    let run = &result.runs[0];
    assert_eq!(run.ended, Some(Ended::Resized));
    let failure = run.failure.as_ref().expect("the file is shorter");
    assert!(failure.starts_with(&format!("{two}: found a file of ")), "{failure}");
    // What cannot go on has no result at all.
    let sets: Vec<String> = folder.sets();
    std::fs::remove_file(&two).unwrap();
    let full = ["agent.1.file=log", "agent.1.arrivals.rate=1000000/s", "max_outstanding=64"];
    let error = refused(&sets, &full, &options(&["fcfs"]));
    let named =
        format!("error: {}: class writers found 64 requests outstanding", folder.path("log.img"));
    assert!(error.starts_with(&named), "{error}");
}

#[test]
fn what_is_made_for_a_run_that_did_not_take_place_is_removed() {
    let folder = Folder::new("targets-made");
    let sets = folder.sets();
    // The last is not ours: nothing is made.
    std::fs::write(folder.path("log.img"), vec![1; 65_536]).unwrap();
    let error = refused(&sets, &[], &options(&["fcfs"]));
    assert!(
        error.contains(&format!("{}: found a file of 65536 bytes", folder.path("log.img"))),
        "{error}"
    );
    assert_eq!(folder.names(), ["log.img"]);
    std::fs::remove_file(folder.path("log.img")).unwrap();
    // The files do not fit what would be made.
    let error = refused(&sets, &["file.log.size=1MiB"], &options(&["fcfs"]));
    assert!(error.contains("file log has 1MiB; its device has 512KiB"), "{error}");
    // One of them cannot be made.
    let lost = ["file.log.path=/no/such/folder/log.img"];
    let error = refused(&sets, &lost, &options(&["fcfs"]));
    assert!(error.contains("/no/such/folder/log.img"), "{error}");
    // What is asked for goes with none of them.
    let error = refused(&sets, &["agent.1.size=1000B"], &options(&["fcfs"]));
    assert!(error.contains("direct I/O on"), "{error}");
    // Creating them is interrupted.
    let all: Vec<String> = sets.clone();
    let mut progress = |step: Step<'_>| !matches!(step, Step::Creating { path, .. } if path.ends_with("disk3.img"));
    let stopped = compare_text("job.toml", JOB, &all, &options(&["fcfs"]), &mut progress);
    assert!(stopped.is_err());
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn two_paths_of_one_target_are_refused() {
    let folder = Folder::new("targets-twice");
    let one = folder.path("one.img");
    let twice = |other: &str| {
        let sets = [format!("file.data.path={one},{other}"), "file.data.count=2".into()];
        let log = format!("file.log.path={}", folder.path("log.img"));
        let sets: Vec<String> = sets.into_iter().chain([log]).collect();
        refused(&sets, &[], &options(&["fcfs"]))
    };
    let link = folder.path("link");
    symlink(&folder.0, &link).unwrap();
    let through = format!("{link}/one.img");
    for other in
        [through.clone(), format!("loop:{one}"), format!("{}/./one.img", folder.0.display())]
    {
        let said = format!(
            "error: files data.0 and data.1 are on {one} and {other}, which are the same\n"
        );
        let error = twice(&other);
        assert!(error.starts_with(&said), "{error}");
        let target = penstock_live::Target::open(one.as_ref(), Some(65_536)).unwrap();
        drop(target);
        let error = twice(&other);
        assert!(error.starts_with(&said), "{error}");
        std::fs::remove_file(&one).unwrap();
    }
    symlink(folder.path("two.img"), folder.path("other")).unwrap();
    drop(penstock_live::Target::open(folder.path("two.img").as_ref(), Some(65_536)).unwrap());
    let sets = vec![
        "file.data.count=1".into(),
        format!("file.data.path={}", folder.path("two.img")),
        format!("file.log.path={}", folder.path("other")),
        "agent.1.file=log".into(),
    ];
    assert!(refused(&sets, &[], &options(&["fcfs"])).contains("files data and log are on "));
}

#[test]
fn what_needs_one_loop_is_refused_before_anything_is_made() {
    let folder = Folder::new("targets-loops");
    let sets = folder.sets();
    let needs = |more: &[&str], change: &dyn Fn(&mut Options)| {
        let mut options = options(&["fcfs"]);
        change(&mut options);
        let error = refused(&sets, more, &options);
        assert!(error.contains(", and each real target has a loop of its own"), "{error}");
        assert_eq!(folder.names(), [""; 0]);
        error
    };
    let sent = ["agent.1.arrivals.kind=closed", "agent.1.count=5", "stop=sent:writers"];
    assert!(needs(&sent, &|_| {}).contains("stop = \"sent:writers\" ends one loop at a request"));
    let record = Some(folder.path("run.record").into());
    let recorded = |options: &mut Options| options.record.clone_from(&record);
    assert!(needs(&[], &recorded).contains("a record is of one loop"));
    let stable = |options: &mut Options| options.survey = Some(Survey::default());
    assert!(needs(&[], &stable).contains("a cycle is of one queue"));
    let many = ["agent.0.depth=1", "agent.0.copies=2048", "file.data.count=64"];
    let error = refused(&sets, &many, &options(&["fcfs"]));
    let said = "error: found 131074 agents on 65 real targets; at most 64527 may be\n";
    assert!(error.starts_with(said), "{error}");
    assert_eq!(folder.names(), [""; 0]);
    let turns = ["agent.1.arrivals.kind=turns", "agent.1.count=4"];
    assert!(needs(&turns, &|_| {}).contains("agents of several targets take turns in one loop"));
}

#[test]
fn a_person_who_watches_sees_what_all_targets_do() {
    let folder = Folder::new("targets-watched");
    let options = Options {
        watch: Some(penstock_run::Pace::default().into()),
        ..options(&["fcfs", "kernel:as-is"])
    };
    let sets: Vec<String> = folder.sets().into_iter().chain(["duration=1s".into()]).collect();
    let mut shown = [0.0_f64; 2];
    let mut outstanding = [0; 2];
    let mut progress = |step: Step<'_>| {
        if let Step::Running { number, now: Some(now), .. } = step {
            let readers = &now.classes[0];
            shown[number] = shown[number].max(readers.iops * now.window_s);
            outstanding[number] = outstanding[number].max(readers.outstanding);
        }
        true
    };
    let result = compare_text("job.toml", JOB, &sets, &options, &mut progress).unwrap();
    for (run, (shown, outstanding)) in result.runs.iter().zip(shown.into_iter().zip(outstanding)) {
        check(run);
        assert!(shown > 0.0 && shown <= run.classes[0].requests as f64, "{shown}");
        // Two agents on each of four files with four requests each, where one target has eight of them.
        assert!(outstanding > 8 && outstanding <= 32, "{outstanding}");
    }
}

#[test]
fn options_that_do_not_go_with_these_targets_are_refused() {
    let folder = Folder::new("targets-options");
    let sets = folder.sets();
    let with = |change: &dyn Fn(&mut TargetOptions)| {
        let mut options = options(&["fcfs"]);
        change(&mut options.target);
        refused(&sets, &[], &options)
    };
    let named = with(&|target| target.i_will_lose_data = vec!["/dev/none".into()]);
    assert!(named.contains("--i-will-lose-data /dev/none names no target of --on"), "{named}");
    let nothing = with(&|target| target.even_if_not_empty = true);
    assert!(nothing.contains("--even-if-not-empty does not go with data.0="), "{nothing}");
    let reading = with(&|target| target.read_only = true);
    assert!(reading.contains("--read-only does not go with --create"), "{reading}");
    let missing = with(&|target| target.create = None);
    assert!(missing.contains(&folder.path("disk0.img")), "{missing}");
    assert_eq!(folder.names(), [""; 0]);
    let some = vec![format!("file.data.path={}", folder.path("disk%d.img"))];
    let error = refused(&some, &[], &options(&["fcfs"]));
    assert!(error.contains("file data.0 is on a real target, and log names none"), "{error}");
    let one = Options { target: TargetOptions::on("./data.img"), ..options(&["fcfs"]) };
    let error = refused(&sets, &[], &one);
    assert!(
        error.contains("the job has 5 files, each on a device of its own; ./data.img is one"),
        "{error}"
    );
    let modelled = Options { target: TargetOptions::on("flash"), ..options(&["fcfs"]) };
    assert_eq!(run(&sets, &[], &modelled).unwrap().world, World::Simulated);
}

#[test]
fn files_on_nothing_have_a_loop_each() {
    let null = Options { target: TargetOptions::on("null"), ..options(&["fcfs", "kernel:as-is"]) };
    let result = run(&[], &["duration=50ms"], &null).unwrap();
    for run in &result.runs {
        check(run);
        assert!(run.files.iter().all(|file| file.requests > 0), "{:?}", run.files);
        assert!(run.files.iter().all(|file| file.device.as_deref() == Some("null")));
    }
}

#[test]
fn files_are_laid_out_anew_before_each_run() {
    let folder = Folder::new("laid-out");
    let read = |name: &str| std::fs::read(folder.path(name)).unwrap();
    let options = options(&["fcfs"]);
    check(&run(&folder.sets(), &[], &options).unwrap().runs[0]);
    let (written, never) = (read("log.img"), read("disk0.img"));
    check(
        &run(&folder.sets(), &["live.lay_out=true", "agent.1.op=read"], &options).unwrap().runs[0],
    );
    assert!(read("log.img") != written, "it has its first contents");
    assert!(read("log.img") == never, "as every file");
}

#[test]
fn a_run_that_is_stopped_while_its_files_are_laid_out_ends_at_once() {
    let folder = Folder::new("laid-out-stopped");
    let sets = [folder.sets(), vec!["live.lay_out=true".into()]].concat();
    let mut progress = |step: Step<'_>| !matches!(step, Step::Running { .. });
    let options = options(&["fcfs", "noop"]);
    let result = compare_text("job.toml", JOB, &sets, &options, &mut progress).unwrap();
    assert_eq!(result.runs.len(), 1);
    assert!(result.runs[0].interrupted);
    assert_eq!(result.runs[0].ended, Some(Ended::Asked));
    assert_eq!(result.runs[0].classes.len(), 2);
}
