//! Engines that agents name, each on threads of its own or one behind a policy.

use std::path::PathBuf;

use penstock_run::result::Comparison;
use penstock_run::{Failure, Options, TargetOptions, compare_text};

/// Agents that ask in four ways, 90 requests.
const JOB: &str = r#"
duration = "1min"
[class.programs]
[class.server]
[[agent]]
class = "programs"
copies = 3
op = "read"
call = "sync"
size = "4KiB"
pattern = "random"
count = 10
[[agent]]
class = "programs"
op = "read"
engine = "mmap"
cache = "buffered"
size = "4KiB"
pattern = "sequential"
count = 20
[[agent]]
class = "server"
op = "write"
engine = "libaio"
buffers = 4
size = "4KiB"
pattern = "random"
count = 30
[[agent]]
class = "server"
op = "read"
size = "4KiB"
pattern = "random"
buffers = 2
count = 10
"#;

fn on(name: &str, job: &str, policy: &str, engine: Option<&str>) -> Result<Comparison, Failure> {
    let file = format!("penstock-engines-{name}-{}", std::process::id());
    let path: PathBuf = std::env::temp_dir().join(file);
    let target = TargetOptions {
        create: Some("4MiB".into()),
        engine: engine.map(Into::into),
        ..TargetOptions::on(path.display().to_string())
    };
    let options = Options { policies: vec![policy.into()], target, ..Options::default() };
    let compared = compare_text("job.toml", job, &[], &options, &mut |_| true);
    let _ = std::fs::remove_file(&path);
    compared
}

fn requests(comparison: &Comparison) -> Vec<u64> {
    let classes = &comparison.runs[0].classes;
    assert!(classes.iter().all(|class| class.errors + class.unfinished == 0));
    classes.iter().map(|class| class.requests).collect()
}

fn engines(comparison: &Comparison) -> Option<&str> {
    let mut remarks = comparison.runs[0].remarks.iter();
    remarks.find_map(|remark| remark.strip_prefix("engines of the threads: "))
}

#[test]
fn without_a_policy_each_agent_has_its_own() {
    let found = on("own", JOB, "kernel:as-is", None).unwrap();
    assert_eq!(requests(&found), [50, 40]);
    let said = engines(&found).unwrap();
    assert!(said.contains("3 of psync") && said.contains("1 of mmap"), "{said}");
}

#[test]
fn an_argument_wins_over_what_agents_name() {
    let direct = JOB.replace("engine = \"mmap\"\ncache = \"buffered\"", "engine = \"psync\"");
    for policy in ["kernel:as-is", "fcfs"] {
        let found = on("argument", &direct, policy, Some("threads")).unwrap();
        assert_eq!(requests(&found), [50, 40]);
        assert_eq!((engines(&found), found.machine.engine), (None, Some("threads")));
    }
}

#[test]
fn a_policy_stands_before_one_engine() {
    let failure = on("one", JOB, "fcfs", None).unwrap_err();
    assert_eq!(failure.exit_code(), 2);
    let expected = "agents name the engines mmap and libaio; the policy fcfs stands before one";
    assert!(failure.to_string().contains(expected), "{failure}");
    let same = JOB.replace("engine = \"mmap\"\ncache = \"buffered\"", "");
    let found = on("same", &same, "fcfs", None).unwrap();
    assert_eq!(requests(&found), [50, 40]);
    assert_eq!(found.machine.engine, Some("libaio"));
}
