//! Runs a job with volleys, and checks its measures.

use penstock_run::{Options, compare_text};

#[test]
fn a_volley_is_outstanding_at_once() {
    let job = "duration = \"10s\"\ndevice = \"hdd-7200\"\n[class.all]\n\
               [volley]\nclass = \"all\"\nsize = \"4KiB\"\ncount = 8\nperiod = \"1s\"\n";
    let options = Options { policies: vec!["fcfs".into()], ..Options::default() };
    let result = compare_text("volleys", job, &[], &options, &mut |_| true).unwrap();
    let [run] = &result.runs[..] else { panic!("one run") };
    assert_eq!((run.classes[0].requests, run.most_outstanding), (80, 8));
    assert!(result.job.text.contains("[volley]"), "{}", result.job.text);
}
