//! Findings over trees that stand for a machine, and this machine itself.

use super::*;

/// Roots in a folder that goes with the test.
struct Tree(std::path::PathBuf);

impl Tree {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let root =
            std::env::temp_dir().join(format!("penstock-doctor-{name}-{}", std::process::id()));
        for (path, text) in files {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        std::fs::create_dir_all(&root).unwrap();
        Self(root)
    }

    fn roots(&self) -> Roots {
        let [sys, proc, dev] = ["sys", "proc", "dev"].map(|name| self.0.join(name));
        Roots { sys, proc, dev }
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn find<'a>(checks: &'a [Check], name: &str) -> &'a Check {
    checks.iter().find(|check| check.name == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn a_machine_that_reports_nothing_is_a_finding() {
    let tree = Tree::new("nothing", &[]);
    let roots = tree.roots();
    let machine = machine::checks(&roots);
    assert_eq!(find(&machine, "memory").state, State::Limited);
    let privileges = find(&machine, "privileges");
    assert_eq!(privileges.state, State::Limited);
    assert!(privileges.found.contains("CAP_SYS_ADMIN"), "{}", privileges.found);
    let kernel = kernel::checks(&roots);
    assert_eq!(find(&kernel, "io_uring_disabled").state, State::Ok);
    assert_eq!(find(&kernel, "kernel tracing").state, State::No);
    assert_eq!(find(&kernel, "loop devices").state, State::No);
    assert_eq!(find(&kernel, "FUSE").state, State::No);
    assert_eq!(find(&kernel, "cgroup weights").state, State::No);
    let disk = storage::checks(&roots, &tree.0).unwrap();
    assert_eq!(find(&disk, "disk").state, State::Limited);
    let ill = machine.iter().chain(&kernel).chain(&disk).filter(|c| c.state != State::Ok);
    ill.for_each(|check| assert!(check.advice.is_some(), "{} has no advice", check.name));
}

#[test]
fn a_machine_is_reported_as_it_describes_itself() {
    let status = "Name:\tx\nUid:\t5\t1000\t5\t5\nCapEff:\t0000000000204000\n";
    let tree = Tree::new(
        "reports",
        &[
            ("proc/meminfo", "MemTotal:  2000000 kB\nMemAvailable: 1000000 kB\n"),
            ("proc/self/status", status),
            ("proc/sys/kernel/io_uring_disabled", "2\n"),
            ("sys/kernel/tracing/events/block/enable", "0\n"),
            ("dev/loop-control", ""),
            ("dev/fuse", ""),
        ],
    );
    let roots = tree.roots();
    let machine = machine::checks(&roots);
    let memory = find(&machine, "memory");
    assert_eq!(memory.found, "2.0 GB, of which 1.0 GB are free");
    assert_eq!(memory.facts["available_bytes"], 1_024_000_000);
    let privileges = find(&machine, "privileges");
    assert_eq!((privileges.state, privileges.facts["user"].as_u64()), (State::Ok, Some(1000)));
    let kernel = kernel::checks(&roots);
    let switch = find(&kernel, "io_uring_disabled");
    assert_eq!((switch.state, switch.facts["value"].as_u64()), (State::No, Some(2)));
    assert!(switch.advice.as_ref().unwrap().contains("sysctl"));
    assert_eq!(find(&kernel, "kernel tracing").state, State::Ok);
    assert_eq!(find(&kernel, "loop devices").state, State::Ok);
    assert_eq!(find(&kernel, "FUSE").state, State::Ok);
}

#[test]
fn a_balloon_that_reports_free_pages_is_a_finding() {
    for (features, state) in [("01100100", State::Limited), ("01100000", State::Ok)] {
        let balloon = "sys/bus/virtio/drivers/virtio_balloon/virtio0/features";
        let meminfo = ("proc/meminfo", "MemTotal:  2000000 kB\nMemAvailable: 1000000 kB\n");
        let tree = Tree::new("balloon", &[meminfo, (balloon, features)]);
        let checks = machine::checks(&tree.roots());
        let memory = find(&checks, "memory");
        assert_eq!(memory.state, state);
        assert_eq!(memory.facts["returned_when_free"], state == State::Limited);
    }
}

#[test]
fn processor_time_that_a_host_takes_is_a_finding() {
    let taken = "the host took 10.0 % of the time they had work";
    for (times, share) in [
        ("500 0 300 9000 100 50 50 100 0 0", Some(0.1)),
        ("500 0 300 9000 100 50 99 1 0 0", Some(1.0 / 950.0)),
        ("500 0", None),
    ] {
        let stat = format!("cpu  {times}\ncpu0 0 0 0 1 0 0 0 0 0 0\n");
        let tree = Tree::new("steal", &[("proc/stat", &stat)]);
        let checks = machine::checks(&tree.roots());
        let cpus = find(&checks, "CPUs");
        assert_eq!(cpus.facts["stolen_share"], serde_json::json!(share));
        assert_eq!(cpus.found.contains(taken), share == Some(0.1), "{cpus:?}");
    }
}

#[test]
fn without_an_engine_nothing_runs_live() {
    let checks = |uring, threads| {
        let engine = |name: &str, state| Check::new(name, state, "");
        [Check::ok("simulation", ""), engine("io_uring", uring), engine("threads", threads)]
    };
    assert!(engines::able(&checks(State::No, State::Ok)));
    assert!(engines::able(&checks(State::Ok, State::No)));
    assert!(!engines::able(&checks(State::No, State::No)));
    assert!(!engines::able(&checks(State::Ok, State::Ok)[1..]));
}

#[test]
fn this_machine_can_run_something() {
    let folder = Tree::new("here", &[]);
    let report = doctor(&folder.0, false).unwrap();
    assert!(report.able);
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0, "nothing stays behind");
    let mut groups: Vec<_> = report.checks.iter().map(|check| check.group).collect();
    groups.dedup();
    assert_eq!(groups, ["machine", "engines", "path", "kernel", "time", "leftovers"]);
    assert_eq!(find(&report.checks, "simulation").state, State::Ok);
    let missing = doctor(&folder.0.join("none"), false).unwrap_err();
    assert_eq!(missing.exit_code(), 2);
    assert!(missing.to_string().contains("\nhint: "), "{missing}");
}

#[test]
fn figures_have_three_digits() {
    let texts = [0, 7, 63_871, 999_900, 1_234_567].map(about);
    assert_eq!(texts, ["0s", "7ns", "63.9us", "1ms", "1.23ms"]);
}
