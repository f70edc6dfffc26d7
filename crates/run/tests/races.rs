//! Races in records of merges and in traces: runs that have races, runs that have none, and files that are
//! refused.

use std::path::{Path, PathBuf};

use penstock_run::traces::races::{RacesResult, races};
use penstock_run::{Options, compare_text};

/// Merges on disks of the model `linear` with a queue before each.
const JOB: &str = "[device]\nmodel = \"linear\"\n\
     array = { level = \"jbod\", disks = 5, scheduler = \"each\" }\n[merge]\njobs = 2\n";

/// A folder of one test, gone when it ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("penstock-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Finds the races in the record of `job` under `policy`.
    fn recorded(&self, job: &str, policy: &str, sets: &[&str]) -> RacesResult {
        let record = self.0.join("run.record");
        for file in [record.clone(), penstock_run::record::decisions_of(&record)] {
            let _ = std::fs::remove_file(file);
        }
        let options = Options {
            policies: vec![policy.into()],
            record: Some(record.clone()),
            ..Options::default()
        };
        let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
        compare_text("merge.toml", job, &sets, &options, &mut |_| true).unwrap();
        races(&record, None, None).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn refused(path: &Path, format: Option<&str>, classes: Option<&Path>) -> String {
    races(path, format, classes).unwrap_err().to_string()
}

#[test]
fn merges_race_where_others_read_what_they_write() {
    let folder = Folder::new("races-found");
    for jobs in [2, 5] {
        for seed in 1..=3 {
            let sets = [format!("merge.jobs={jobs}"), format!("seed={seed}")];
            let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
            let found = folder.recorded(JOB, "fcfs", &sets);
            let what = format!("{jobs} jobs, seed {seed}: {:?}", found.races);
            assert!(!found.races.is_empty() && found.races_share > 0.4, "{what}");
            for race in &found.races {
                // Job k writes disk k, and stalls behind no other job there.
                assert_eq!(race.by.strip_prefix("job"), race.disk.strip_prefix("disk"), "{what}");
                assert_ne!(race.by, race.blocked, "{what}");
                // The queue grew, and never faster than the writer reads and writes.
                assert!(race.growth.is_some_and(|growth| (1.0..3.0).contains(&growth)), "{what}");
                assert!(
                    race.from_s < race.to_s && race.lost_s <= race.to_s - race.from_s,
                    "{what}"
                );
            }
            if jobs == 2 {
                // One runs ahead until it has ended; the other has done nothing until then.
                let [race] = found.races.as_slice() else { panic!("{what}") };
                assert!(race.lost_s > 20.0 && race.queued_writes_max > 150, "{what}");
            }
        }
    }
}

#[test]
fn there_is_no_race_where_they_do_not_or_a_policy_prevents_it() {
    let folder = Folder::new("races-none");
    let placed = ["dedicated", "shared", "all"].map(|placement| (placement, "fcfs"));
    let kept = ["round-robin", "read-first"].map(|policy| ("separate", policy));
    for (placement, policy) in placed.into_iter().chain(kept) {
        for jobs in if placement == "dedicated" { [2, 3] } else { [2, 5] } {
            for seed in 1..=3 {
                let sets = [
                    format!("merge.jobs={jobs}"),
                    format!("merge.placement={placement}"),
                    format!("seed={seed}"),
                ];
                let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
                let found = folder.recorded(JOB, policy, &sets);
                let what = format!("{placement}, {policy}, {jobs} jobs, seed {seed}: {found:?}");
                assert!(found.races.is_empty() && found.races_share.abs() < 1e-9, "{what}");
            }
        }
    }
    // Nor where a merge writes less than the disk does meanwhile, on two disks.
    let two = JOB.replace("disks = 5", "disks = 2");
    assert!(folder.recorded(&two, "fcfs", &[]).races.is_empty());
}

/// A race is found from the times of its requests alone, as a trace has them.
#[test]
fn a_trace_has_the_race_of_its_requests() {
    let folder = Folder::new("races-trace");
    let begin = "time_ms,op,offset,size,device,process,latency_ms\n\
         0,write,0,4096,a,writer,100\n1,read,8192,4096,a,reader,120\n";
    let turn = |n: u64| {
        let at = 2 + 10 * n;
        format!("{at},read,0,4096,b,writer,9\n{},write,0,4096,a,writer,200\n", at + 9)
    };
    let rows: String = std::iter::once(begin.to_owned()).chain((0..9).map(turn)).collect();
    let found = races(&folder.file("trace.csv", &rows), None, None).unwrap();
    assert_eq!(found.classes, ["writer", "reader"]);
    let [race] = found.races.as_slice() else { panic!("{found:?}") };
    let found = (race.disk.as_str(), race.blocked.as_str(), race.by.as_str());
    assert_eq!(found, ("a", "reader", "writer"));
    assert!((race.from_s - 0.001).abs() < 1e-9 && (race.to_s - 0.1).abs() < 1e-9, "{race:?}");
    assert_eq!((race.growth, race.reads_meanwhile), (None, 9));
}

#[test]
fn a_file_without_what_it_takes_is_refused() {
    let folder = Folder::new("races-refused");
    let issued = "time_ms,op,offset,size,process\n0,read,0,4096,a\n1,write,0,4096,b\n";
    let message = refused(&folder.file("issued.csv", issued), None, None);
    assert!(message.contains("none of its 2 requests has a completion"), "{message}");
    assert!(message.contains("hint: record completions too"), "{message}");
    let one = "time_ms,op,offset,size,process,latency_ms\n0,read,0,4096,a,1\n1,write,0,4096,a,1\n";
    let one = folder.file("one.csv", one);
    let message = refused(&one, None, None);
    assert!(message.contains("all of its requests are of one process"), "{message}");
    assert!(message.contains("hint: name classes by the rules of a job"), "{message}");
    let job = folder.file(
        "job.toml",
        "device = \"flash\"\n[trace]\nfile = \"x\"\n[class.all]\n[[rule]]\nclass = \"all\"\n",
    );
    let message = refused(&one, None, Some(&job));
    assert!(message.contains("all of its requests are of the class all"), "{message}");
    let message = refused(&folder.0.join("none"), None, None);
    assert!(message.contains("none cannot be read: No such file"), "{message}");
}

#[test]
fn a_record_names_its_own_classes_and_must_have_two() {
    let folder = Folder::new("races-record");
    folder.recorded(JOB, "fcfs", &["merge.run=100blocks"]);
    let record = folder.0.join("run.record");
    let message = refused(&record, Some("csv"), None);
    assert!(message.contains("found --format with"), "{message}");
    assert!(message.contains("hint: leave it out: a record names its own classes"), "{message}");
    let message = refused(&record, None, Some(&record));
    assert!(message.contains("found --classes with"), "{message}");
    let options = Options {
        policies: vec!["fcfs".into()],
        record: Some(folder.0.join("one")),
        ..Options::default()
    };
    let sets = ["merge.jobs=1".to_owned(), "merge.run=100blocks".to_owned()];
    compare_text("merge.toml", JOB, &sets, &options, &mut |_| true).unwrap();
    let message = refused(&folder.0.join("one"), None, None);
    assert!(message.contains("its run has one class (job0)"), "{message}");
}
