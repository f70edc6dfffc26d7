//! Files of jobs: a written job reads back, and every request is for a byte of its file.

// The text of a job is easiest to read as it is put together.
#![allow(clippy::format_push_string)]

use penstock_core::{Seed, Source, Time};
use penstock_jobs::{Extent, Job, PageCacheSpec, machines};
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

/// Returns the name and the device of each file.
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

/// Returns the name and the real target of each file.
fn targets(job: &Job) -> Vec<(String, String)> {
    let targets = job.workload.file_targets().unwrap();
    targets.into_iter().map(|target| (target.file, target.path)).collect()
}

#[test]
fn files_are_on_targets_by_their_numbers() {
    let lines = "path = \"/disk%d/data\"\n";
    let text = THREE.replace("device = \"hdd-10k\"\non = { 1 = \"flash\" }\n", lines);
    let log = ["file.log.path=loop:/log.img"];
    let expected = [("data.0", "/disk0/data"), ("data.1", "/disk1/data"), ("log", "loop:/log.img")];
    let job = parse(&text, &log);
    assert_eq!(named(&targets(&job)), expected);
    let again = parse(&job.text(), &[]);
    assert_eq!((again.text(), again), (job.text(), job));
    // A list in the file, and one in an argument.
    let listed = text.replace("\"/disk%d/data\"", "[\"/a,b\", \"./disk%d\"]");
    let found = targets(&parse(&listed, &log));
    assert_eq!(named(&found)[..2], [("data.0", "/a,b"), ("data.1", "./disk1")]);
    let found = targets(&parse(&text, &[log[0], "file.data.path=/x,loop:y"]));
    assert_eq!(named(&found)[..2], [("data.0", "/x"), ("data.1", "loop:y")]);
    // Single files by their numbers.
    let job = parse(&text, &[log[0], "file.data.on.1=./other", "file.data.on.0=/first"]);
    assert_eq!(named(&targets(&job))[..2], [("data.0", "/first"), ("data.1", "./other")]);
    let again = parse(&job.text(), &[]);
    assert_eq!((again.text(), again), (job.text(), job));
}

#[test]
fn arguments_put_files_on_targets_or_on_models() {
    // In one file the target overrides the device, and an argument overrides the file.
    let on_log = "file.log.path=/log";
    let job = parse(THREE, &["file.data.path=/disk%d", on_log]);
    let found = [("data.0", "/disk0"), ("data.1", "/disk1"), ("log", "/log")];
    assert_eq!(named(&targets(&job)), found);
    let text = THREE.replace("device = \"hdd-10k\"", "device = \"hdd-10k\"\npath = \"/disk%d\"");
    let text = text.replace("size = \"1MiB\"", "size = \"1MiB\"\npath = \"/log\"");
    let text = text.replace("on = { 1 = \"flash\" }\n", "");
    assert_eq!(named(&targets(&parse(&text, &[]))), found);
    assert_eq!(targets(&parse(&text, &["device=flash"])), []);
    let modelled = parse(&text, &["file.data.device=flash", "file.log.device=flash"]);
    assert_eq!(targets(&modelled), []);
    let some = |sets: &[&str]| {
        parse(&text, sets).workload.file_targets().expect_err("one is on a model").to_string()
    };
    let error = some(&["file.data.on.1=flash"]);
    assert!(error.contains("file data.0 is on a real target, and data.1 names none"), "{error}");
    let error = some(&["device=flash", "file.data.path=/x%d"]);
    assert!(error.contains("file data.0 is on a real target, and log names none"), "{error}");
    let error = some(&["file.log.device=flash"]);
    assert!(error.contains("file data.0 is on a real target, and log names none"), "{error}");
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
    // A device for all files replaces those of the file.
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
    // Borders at thirds of a file, in pages.
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
            // The region is smaller than a request.
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
            // Shares refer to whole blocks.
            let whole = devices[file].capacity / u64::from(block) * u64::from(block);
            let from = devices[file].base + whole * at / 100;
            let to = from + size;
            // Borders are rounded down to a step of 8 KiB at most.
            prop_assert!(io.start + 8192 >= from && io.end() <= to, "{io:?} of {file}: {from} to {to}");
            prop_assert!(io.end() <= devices[file].base + devices[file].capacity);
            prop_assert!(io.start >= devices[file].base);
        }
    }
}

/// Loads `THREE` on a machine with two disks and a drive of flash, in a file called `box`.
fn on_a_machine(change: impl Fn(String) -> String, sets: &[&str]) -> Job {
    let folder = std::env::temp_dir().join(format!(
        "penstock-machine-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    ));
    std::fs::create_dir_all(&folder).unwrap();
    let machine = "[machine]\nscheduler = \"deadline\"\n[machine.page_cache]\nmemory = \"2GiB\"\n\
                   dirty_ratio = \"40%\"\n[[machine.devices]]\nname = \"disk\"\ncount = 2\n\
                   device = { model = \"fixed\", base = \"5ms\" }\n[[machine.devices]]\n\
                   name = \"log-drive\"\ndevice = \"flash\"\n";
    std::fs::write(folder.join("box.toml"), machine).unwrap();
    let bare = THREE
        .replace("device = \"hdd-10k\"\non = { 1 = \"flash\" }\n", "")
        .replace("device = { model = \"fixed\", base = \"1ms\" }\n", "");
    let text = change(format!("device = \"box.toml\"\n{bare}"));
    let path = folder.join("job.toml");
    std::fs::write(&path, text).unwrap();
    let sets: Vec<String> = sets.iter().map(|&set| set.into()).collect();
    let job = Job::load(&path, &sets).unwrap_or_else(|error| panic!("{error}"));
    std::fs::remove_dir_all(&folder).unwrap();
    job
}

#[test]
fn files_lie_on_the_devices_of_a_machine() {
    let found = |change: &dyn Fn(String) -> String, sets: &[&str]| on(&on_a_machine(change, sets));
    let same = |text| text;
    let next = found(&same, &[]);
    let (disk, flash) = ("box.disk", "flash");
    assert_eq!(named(&next), [("data.0", disk), ("data.1", disk), ("log", flash)]);
    // Files that name a device have it, whatever their order.
    let first = found(&same, &["file.log.device=disk.0"]);
    assert_eq!(named(&first), [("data.0", disk), ("data.1", flash), ("log", disk)]);
    let single = found(&same, &["file.data.on.0=log-drive", "file.log.device=disk"]);
    assert_eq!(named(&single), [("data.0", flash), ("data.1", disk), ("log", disk)]);
    // A file may lie elsewhere, and then takes no device of the machine.
    let other = found(&same, &["file.log.device=hdd-7200", "file.data.on.1=ssd-sata"]);
    assert_eq!(named(&other), [("data.0", disk), ("data.1", "ssd-sata"), ("log", "hdd-7200")]);
    // An argument puts all files on another device, or on another machine.
    let named_in_file =
        |text: String| text.replace("size = \"1MiB\"", "size = \"1MiB\"\ndevice = \"disk.1\"");
    let flashes = on_a_machine(named_in_file, &["device=ssd-nvme"]);
    assert_eq!(
        (flashes.device.as_ref().unwrap().name.as_str(), on(&flashes).len()),
        ("ssd-nvme", 0)
    );
    let moved = found(&named_in_file, &["device=openpower-710"]);
    assert!(moved.iter().all(|(_, device)| device == "openpower-710.disk"), "{moved:?}");
}

#[test]
fn a_job_on_a_machine_is_written_as_it_is_read() {
    for sets in [&[][..], &["file.log.device=disk.0"], &["agent.0.cache=buffered"]] {
        let job = on_a_machine(|text| text, sets);
        let again = Job::parse(&job.name, &job.text(), &[]).unwrap();
        assert_eq!((again.text(), again), (job.text(), job));
    }
}

#[test]
fn the_memory_of_a_machine_is_the_page_cache_of_a_job_that_does_not_say_otherwise() {
    let memory_and_limit = |sets: &[&str]| {
        let cache = on_a_machine(|text| text, sets).page_cache?;
        Some((cache.memory >> 20, cache.dirty_ratio == PageCacheSpec::default().dirty_ratio))
    };
    assert_eq!(memory_and_limit(&[]), None, "no agent is buffered");
    let buffered = "agent.0.cache=buffered";
    assert_eq!(memory_and_limit(&[buffered]), Some((2048, false)));
    assert_eq!(memory_and_limit(&[buffered, "page_cache.memory=64MiB"]), Some((64, false)));
    assert_eq!(memory_and_limit(&[buffered, "page_cache.dirty_ratio=20%"]), Some((2048, true)));
    assert_eq!(memory_and_limit(&[buffered, "device=flash"]), Some((1024, true)));
}

#[test]
fn the_machine_of_the_io_agent_study_is_what_its_table_says() {
    let machine = machines::find("openpower-710").unwrap().unwrap();
    assert_eq!((machine.count(), machine.scheduler), (4, Some("cfq")));
    let options = machine.page_cache.options();
    let mib = [options.memory, options.dirty_background, options.dirty].map(|bytes| bytes >> 20);
    assert_eq!(mib, [4096, 409, 1638]);
    let job = parse(&format!("device = \"openpower-710\"\n{THREE}"), &["device=openpower-710"]);
    let devices = job.workload.lane_devices(None).unwrap();
    assert_eq!(devices.len(), 3);
    let capacity = devices[0].spec.build(Seed(0)).capacity();
    assert!((capacity as f64 / 146.8e9 - 1.0).abs() < 0.001, "{capacity} bytes");
}
