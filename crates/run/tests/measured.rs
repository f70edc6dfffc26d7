//! Response times measured on real drives, compared with the modelled drives of the same name.
//!
//! The drives had their caches on, which are not modelled here: what is held is that requests go one
//! at a time and how the two are compared. `--nocapture` prints how near the model comes.
#![expect(clippy::print_stdout, reason = "how near the model comes is worth seeing")]

use penstock_run::result::RunResult;
use penstock_run::{Options, TargetOptions, compare_text};

const DRIVES: [(&str, f64); 3] =
    [("barracuda", 6.6274), ("cheetah9LP", 4.2729), ("ibm18es", 5.2605)];

fn replay(drive: &str, on: &str) -> RunResult {
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/real-drives");
    let text = format!(
        "[class.all]\n[[rule]]\nclass = \"all\"\n[trace]\nfile = \"{data}/{drive}.csv.gz\"\n\
         format = \"measured\"\n"
    );
    let policies = vec!["noop".into()];
    let options = Options { policies, target: TargetOptions::on(on), ..Options::default() };
    compare_text("job.toml", &text, &[], &options, &mut |_| true).unwrap().runs.remove(0)
}

#[test]
fn a_run_says_how_far_it_is_from_what_was_measured() {
    for (drive, measured_mean_ms) in DRIVES {
        let run = replay(drive, drive);
        let all = &run.classes[0];
        assert_eq!((all.requests, all.unfinished), (10_000, 0));
        assert!(all.wait_ns.max == 0, "one request at a time never waits");
        let found = run.against_measured.expect("it was measured");
        println!("{drive}: {found:?}");
        assert!((found.measured_mean_ms - measured_mean_ms).abs() < 5e-5, "{drive}: {found:?}");
        assert!((found.mean_ms - all.lat_ns.mean / 1e6).abs() < 1e-9);
        assert!((found.rms_relative - found.rms_ms / found.measured_mean_ms).abs() < 1e-12);
        // No distance is less than that of the means.
        assert!(found.rms_ms >= (found.mean_ms - found.measured_mean_ms).abs());
        let json = serde_json::to_value(&run).unwrap();
        assert_eq!(json["rms_ms"], found.rms_ms, "at the top of the run");
    }
}

#[test]
fn a_trace_with_times_of_its_own_is_compared_with_nothing() {
    let text = "[class.all]\n[[rule]]\nclass = \"all\"\n[trace]\nfile = \"-\"\n";
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/data/traces/sample.msr");
    let options = Options {
        policies: vec!["noop".into()],
        target: TargetOptions::on("flash"),
        ..Options::default()
    };
    let set = [format!("trace.file={sample}"), "trace.layout=side-by-side".to_owned()];
    let run = compare_text("job.toml", text, &set, &options, &mut |_| true).unwrap().runs.remove(0);
    assert!(run.against_measured.is_none());
    assert!(serde_json::to_value(&run).unwrap().get("rms_ms").is_none());
}
