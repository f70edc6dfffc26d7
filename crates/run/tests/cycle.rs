//! What the length of a cycle depends on: measured as `fairio` has a device, with few requests there.

use penstock_run::TargetOptions;
use penstock_run::cycle::{CycleInputs, CycleJob, inputs};

const JOB: &str = "\
seed = 3
duration = \"60s\"
device = \"hdd-7200-ncq\"
[class.first]
weight = 1
[class.second]
weight = 3
[[agent]]
class = \"first\"
op = \"read\"
size = \"16KiB\"
pattern = \"random\"
arrivals = { kind = \"closed\", depth = 16 }
[[agent]]
class = \"second\"
op = \"write\"
size = \"64KiB\"
pattern = \"random\"
arrivals = { kind = \"poisson\", rate = \"20/s\" }
";

fn of(text: &str, load: Option<u32>, sets: &[&str]) -> Result<CycleInputs, String> {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let job = CycleJob { name: "job", text: Some(text), sets: &sets };
    inputs(job, TargetOptions::default(), load, &mut |_| true)
        .map_err(|failure| failure.to_string())
}

fn service_ms(inputs: &CycleInputs) -> f64 {
    inputs.classes[0].stability.service_ns.expect("it was served") as f64 / 1e6
}

#[test]
fn a_request_costs_more_where_fewer_are_at_the_device_to_be_sorted() {
    let (few, many) = (of(JOB, Some(2), &[]).unwrap(), of(JOB, Some(32), &[]).unwrap());
    assert_eq!((few.disks, few.load, many.load), (1, 2, 32));
    assert_eq!(of(JOB, None, &[]).unwrap().load, 2, "two for each disk");
    assert!(service_ms(&few) > 1.2 * service_ms(&many), "{few:?} {many:?}");
    assert!(few.busy > 0.95 && few.busy <= 1.0, "{}", few.busy);
}

#[test]
fn classes_come_with_their_weights_and_with_what_is_known_of_each() {
    let found = of(JOB, None, &[]).unwrap();
    let [first, second] = &found.classes[..] else { panic!("{found:?}") };
    assert_eq!((first.weight, second.weight), (1, 3));
    let names = |at: usize| -> Vec<&str> {
        found.classes[at].stability.characteristics.iter().map(|one| one.name).collect()
    };
    assert_eq!(names(0), ["size", "pattern", "type", "service time"], "it waits for answers");
    assert_eq!(names(1), ["size", "rate", "pattern", "type", "service time"]);
    for class in &found.classes {
        assert!(class.stability.blocks == class.stability.requests / 100, "{class:?}");
        for one in &class.stability.characteristics {
            assert!(one.instability < 0.05, "{class:?}");
        }
    }
    assert!(!first.limited_by_demand && second.limited_by_demand);
    assert!(found.remarks.is_empty(), "{:?}", found.remarks);
}

#[test]
fn what_is_due_in_the_warm_up_does_not_count() {
    let (all, late) = (of(JOB, None, &[]).unwrap(), of(JOB, None, &["warmup=30s"]).unwrap());
    let counts = |of: &CycleInputs| of.classes[1].stability.requests;
    assert!((counts(&late) as f64 / counts(&all) as f64 - 0.5).abs() < 0.1);
}

#[test]
fn equal_jobs_have_equal_figures() {
    let classes = || format!("{:?}", of(JOB, None, &[]).unwrap().classes);
    assert_eq!(classes(), classes());
}

#[test]
fn a_device_has_one_queue() {
    let array = "{ level = \"raid0\", disks = 2, stripe = \"64KiB\", scheduler = \"each\" }";
    let each = format!("{{ model = \"hdd\", drive = \"hdd-7200\", array = {array} }}");
    let message = of(&JOB.replace("\"hdd-7200-ncq\"", &each), None, &[]).unwrap_err();
    assert!(message.contains("a cycle is of one queue"), "{message}");
}
