//! Files of jobs: what is read is what is written, and every request is for a byte of its file.

// The text of a job reads best as it is put together.
#![allow(clippy::format_push_string)]

use penstock_core::{Seed, Source, Time};
use penstock_spec::{Extent, Job};
use penstock_workload::Agents;
use proptest::prelude::*;

const THREE: &str = r#"
duration = "1s"
[class.a]
[[file]]
name = "data"
count = 2
size = "1GiB"
at = "25%"
device = "hdd-10k"
on = { 1 = "flash" }
[[file]]
name = "log"
size = "1MiB"
device = { model = "fixed", base = "1ms" }
[[agent]]
class = "a"
file = ["log", "data.1"]
copies = 3
share = "slices"
op = "read"
size = "8KiB"
pattern = "sequential"
arrivals = { kind = "closed", depth = 2, count = 5 }
"#;

fn parse(text: &str, sets: &[&str]) -> Job {
    let sets: Vec<String> = sets.iter().map(|&set| set.into()).collect();
    Job::parse("job.toml", text, &sets).unwrap_or_else(|error| panic!("{error}"))
}

/// The devices of its files, by their names.
fn on(job: &Job) -> Vec<(String, String)> {
    let devices = job.workload.lane_devices(job.device.as_ref()).unwrap();
    devices.into_iter().map(|device| (device.name, device.spec.name)).collect()
}

fn named(devices: &[(String, String)]) -> Vec<(&str, &str)> {
    devices.iter().map(|(file, device)| (&file[..], &device[..])).collect()
}

#[test]
fn a_job_with_files_is_written_as_it_is_read() {
    let job = parse(THREE, &[]);
    assert_eq!(named(&on(&job)), [("data.0", "hdd-10k"), ("data.1", "flash"), ("log", "log")]);
    let again = parse(&job.text(), &[]);
    assert_eq!((again.text(), again), (job.text(), job));
}

#[test]
fn arguments_place_files() {
    let devices = |sets: &[&str]| on(&parse(THREE, sets));
    let found = devices(&["file.log.device=hdd-7200", "file.data.on.0=ssd-sata"]);
    assert_eq!(named(&found), [("data.0", "ssd-sata"), ("data.1", "flash"), ("log", "hdd-7200")]);
    let part = devices(&[
        "file.data.on.1.base=1ms",
        "file.0.device.queue.depth=4",
        "file.log.device=flash",
    ]);
    assert_eq!(part[1], ("data.1".into(), "flash, changed".into()));
    // One for all takes the place of those that the file gives.
    let found = devices(&["device=flash", "file.log.device=hdd-7200"]);
    assert_eq!(named(&found), [("data.0", "flash"), ("data.1", "flash"), ("log", "hdd-7200")]);
    assert_eq!(devices(&["device=flash"]), []);
}

#[test]
fn every_copy_on_every_file_counts() {
    let job = parse(THREE, &[]);
    assert_eq!(job.workload.streams(), 6);
    assert_eq!(job.workload.requests(penstock_core::ClassId(0)), Some(30));
    let extent = |number: u64| Extent { base: number << 40, capacity: 8 << 30, block: 512 };
    let agents = job.agents_over(&[extent(0), extent(1), extent(2)]).unwrap();
    let regions: Vec<_> = agents.iter().map(|agent| agent.region.clone()).collect();
    let [log, data] = [2_u64 << 40, (1 << 40) + (2 << 30)];
    // A third of a file, in pages.
    let (small, large) = ([0, 348_160, 696_320, 1 << 20], [0, 357_912_576, 715_825_152, 1 << 30]);
    let slices = |base: u64, at: [u64; 4]| [0, 1, 2].map(|n| base + at[n]..base + at[n + 1]);
    assert_eq!(regions, [slices(log, small), slices(data, large)].concat());
}

proptest! {
    #[test]
    fn a_request_is_for_its_file(
        files in prop::collection::vec((1_u32..4, 1_u64..2000, 0_u64..50), 1..4),
        agents in prop::collection::vec(
            (any::<prop::sample::Index>(), 1_u32..4, any::<bool>(), any::<bool>(), 0_u64..60, 1_u64..40),
            1..4,
        ),
        block in prop::sample::select(vec![1_u32, 512, 1000, 4096, 8192]),
        seed in any::<u64>(),
    ) {
        let mut text = String::from("duration = \"1s\"\n[class.a]\n");
        for (number, (count, kib, at)) in files.iter().enumerate() {
            text += &format!("[[file]]\nname = \"f{number}\"\ncount = {count}\nsize = \"{kib}KiB\"\nat = \"{at}%\"\n");
        }
        for (file, copies, slices, random, from, len) in &agents {
            let share = if *slices { "slices" } else { "whole" };
            let pattern = if *random { "random" } else { "sequential" };
            text += &format!(
                "[[agent]]\nclass = \"a\"\nfile = \"f{}\"\ncopies = {copies}\nshare = \"{share}\"\nop = \"read\"\n\
                 size = \"512B\"\npattern = \"{pattern}\"\nregion = [\"{from}%\", \"{}%\"]\n\
                 arrivals = {{ kind = \"fixed\", rate = \"20/s\" }}\n",
                file.index(files.len()),
                from + len,
            );
        }
        let job = parse(&text, &[]);
        let names = job.workload.file_names();
        // Devices of different sizes with gaps between them.
        let mut base = 0;
        let devices: Vec<Extent> = (0..names.len() as u64).map(|number| {
            let extent = Extent { base, capacity: (5 << 20) + number * 777, block };
            base += extent.capacity + 4096;
            extent
        }).collect();
        let Ok(all) = job.agents_over(&devices) else {
            // A region of less than a request.
            return Ok(());
        };
        let mut numbers = Vec::new();
        for agent in job.workload.agents() {
            let copies = agent.agents() as usize / agent.file_numbers().count();
            numbers.extend(agent.file_numbers().flat_map(|file| vec![file as usize; copies]));
        }
        prop_assert_eq!(numbers.len(), all.len());
        let sections: Vec<_> = files.iter().flat_map(|&(count, kib, at)| vec![(kib << 10, at); count as usize]).collect();
        let mut source = Agents::new(all, Seed(seed));
        while let Some(io) = source.take(Time::NEVER) {
            let file = numbers[io.stream.0 as usize];
            let (size, at) = sections[file];
            let from = devices[file].base + devices[file].capacity * at / 100;
            let to = from + size;
            // Shares are rounded down to a step of 8 KiB at most.
            prop_assert!(io.start + 8192 >= from && io.end() <= to, "{io:?} of {file}: {from} to {to}");
            prop_assert!(io.end() <= devices[file].base + devices[file].capacity);
            prop_assert!(io.start >= devices[file].base);
        }
    }
}
