//! Many jobs with merges at once: what comes of each is in its place, a job that waits for memory for good
//! is a result, and wrong input is a failure.

use penstock_run::papers::merge_placement::{MergeCell, MergeCellResult, layout, merges};

const TEXT: &str = "[device]\nmodel = \"linear\"\narray = { level = \"jbod\", disks = 5, scheduler = \"each\" }\n\
                    [merge]\njobs = 2\n";

fn cell(sets: &[&str]) -> MergeCell {
    MergeCell {
        name: "job.toml".into(),
        text: TEXT.into(),
        sets: sets.iter().map(ToString::to_string).collect(),
        policy: "fcfs".into(),
    }
}

#[test]
fn outcomes_are_in_the_order_of_the_cells() {
    let cells = [
        cell(&["merge.placement=separate"]),
        cell(&["merge.memory.partition=420"]),
        cell(&["merge.jobs=1"]),
        cell(&["merge.placement=shared"]),
    ];
    let found = merges(&cells, &mut || true).unwrap_or_else(|failure| panic!("{failure}"));
    let [
        MergeCellResult::Finished { merge: separate, utilisation },
        MergeCellResult::Deadlock { deadlock },
        MergeCellResult::Finished { merge: alone, .. },
        MergeCellResult::Finished { merge: shared, .. },
    ] = &found[..]
    else {
        panic!("{found:?}")
    };
    let times = [alone, shared, separate].map(|merge| merge.makespan_s.unwrap());
    assert!(times.is_sorted_by(|one, next| 1.2 * one < *next), "{times:?}");
    assert_eq!((alone.finish_s.len(), utilisation.len()), (1, 5));
    assert!(deadlock.contains("needs 12 more of 420"), "{deadlock}");
}

/// As many at once as there are processors, or one after the other: each has its own seed.
#[test]
fn what_comes_of_a_cell_does_not_depend_on_the_others() {
    let cells: Vec<_> =
        (1..=4).map(|seed| cell(&["merge.run=100blocks", &format!("seed={seed}")])).collect();
    let text = |found: &[MergeCellResult]| serde_json::to_string(found).unwrap();
    let together = merges(&cells, &mut || true).unwrap();
    for (number, alone) in cells.iter().enumerate() {
        let alone = merges(std::slice::from_ref(alone), &mut || true).unwrap();
        assert_eq!(text(&alone), text(&together[number..=number]));
    }
}

#[test]
fn wrong_input_is_a_failure() {
    let failure = merges(&[cell(&[]), cell(&["merge.read=0"])], &mut || true).unwrap_err();
    assert_eq!((failure.exit_code(), failure.is_deadlock()), (2, false));
    let no_merges = MergeCell {
        text: "device = \"hdd-7200\"\n[[agent]]\nclass = \"a\"\nread = \"4KiB\"\n".into(),
        ..cell(&[])
    };
    assert!(merges(&[no_merges], &mut || true).is_err());
    assert!(layout("job.toml", "device = \"hdd-7200\"\n", &[]).is_err());
}

#[test]
fn work_that_is_given_up_ends_early() {
    let cells: Vec<_> = (1..=200).map(|seed| cell(&[&format!("seed={seed}")])).collect();
    let found = merges(&cells, &mut || false).unwrap();
    assert!(found.len() < cells.len(), "{}", found.len());
}

#[test]
fn a_layout_has_every_run_once_and_fills_its_disks() {
    for placement in ["dedicated", "separate", "shared", "all"] {
        let found = layout("job.toml", TEXT, &[format!("merge.placement={placement}")]).unwrap();
        let found = serde_json::to_value(&found).unwrap();
        let mut ends = vec![0; 5];
        for job in found["jobs"].as_array().unwrap() {
            let runs = job["runs"].as_array().unwrap();
            assert_eq!(runs.len(), 20);
            let lengths = runs.iter().map(|run| (run, &found["run"]));
            for (place, length) in lengths.chain([(&job["output"], &found["output"])]) {
                let end = place["block"].as_u64().unwrap() + length.as_u64().unwrap();
                let disk = place["disk"].as_u64().unwrap() as usize;
                ends[disk] = end.max(ends[disk]);
            }
        }
        assert_eq!(serde_json::to_value(&ends).unwrap(), found["used"], "{placement}");
        assert_eq!(ends.iter().sum::<u64>(), 2 * 2 * 20_000, "{placement}");
    }
}
