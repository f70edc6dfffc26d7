//! Inputs to the length of a cycle, measured as `fairio` uses a device, with few requests there.

use std::num::NonZeroU32;

use penstock_run::result::{Comparison, SurveyResult};
use penstock_run::{Options, Survey, compare_text};

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

/// The job `text` changed by `sets`, run with at most `load` requests at the device.
fn survey(text: &str, load: Option<u32>, sets: &[&str]) -> Result<Comparison, String> {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    let survey = Survey { load: load.and_then(NonZeroU32::new) };
    let options =
        Options { policies: vec!["fcfs".into()], survey: Some(survey), ..Options::default() };
    compare_text("job", text, &sets, &options, &mut |_| true).map_err(|failure| failure.to_string())
}

fn found(comparison: &Comparison) -> &SurveyResult {
    comparison.runs[0].survey.as_ref().expect("it was asked for")
}

fn service_ms(comparison: &Comparison) -> f64 {
    found(comparison).classes[0].service_ns.expect("it was served") as f64 / 1e6
}

#[test]
fn a_request_costs_more_where_fewer_are_at_the_device_to_be_sorted() {
    let [few, many] = [2, 32].map(|load| survey(JOB, Some(load), &[]).unwrap());
    assert_eq!([&few, &many].map(|each| found(each).load), [2, 32]);
    assert!(service_ms(&few) > 1.2 * service_ms(&many), "{few:?} {many:?}");
    // What the job says of it does not count: two for each disk.
    let usual = survey(JOB, None, &["live.depth=32"]).unwrap();
    assert_eq!((found(&usual).disks.get(), found(&usual).load), (1, 2));
    assert_eq!(service_ms(&usual).to_bits(), service_ms(&few).to_bits());
}

#[test]
fn classes_come_with_their_weights_and_with_what_is_known_of_each() {
    let comparison = survey(JOB, None, &[]).unwrap();
    let [first, second] = &comparison.runs[0].classes[..] else { panic!("{comparison:?}") };
    assert_eq!((first.shares.weight, second.shares.weight), (1, 3));
    let stability = &found(&comparison).classes;
    let names = |number: usize| -> Vec<&str> {
        stability[number].characteristics.iter().map(|each| each.name).collect()
    };
    assert_eq!(names(0), ["size", "pattern", "type", "service time"], "it waits for answers");
    assert_eq!(names(1), ["size", "rate", "pattern", "type", "service time"]);
    for class in stability {
        assert!(class.blocks == class.requests / 100, "{class:?}");
        for characteristic in &class.characteristics {
            assert!(characteristic.instability < 0.05, "{class:?}");
        }
    }
    assert!(!first.shares.limited_by_demand && second.shares.limited_by_demand);
    assert!(comparison.remarks.is_empty(), "{:?}", comparison.remarks);
}

#[test]
fn what_is_due_in_the_warm_up_does_not_count() {
    let requests =
        |sets: &[&str]| found(&survey(JOB, None, sets).unwrap()).classes[1].requests as f64;
    assert!((requests(&["warmup=30s"]) / requests(&[]) - 0.5).abs() < 0.1);
}

#[test]
fn equal_jobs_have_equal_figures() {
    let figures = || format!("{:?}", found(&survey(JOB, None, &[]).unwrap()));
    assert_eq!(figures(), figures());
}

#[test]
fn a_device_has_one_queue() {
    let array = "{ level = \"raid0\", disks = 2, stripe = \"64KiB\", scheduler = \"each\" }";
    let each = format!("{{ model = \"hdd\", drive = \"hdd-7200\", array = {array} }}");
    let message = survey(&JOB.replace("\"hdd-7200-ncq\"", &each), None, &[]).unwrap_err();
    assert!(message.contains("a cycle is of one queue"), "{message}");
}
