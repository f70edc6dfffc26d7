//! How devices are read: built-in ones, files and tables of a job, `--set` on their parts; and a
//! written device reads back unchanged.

use penstock_core::Span;
use penstock_device::hdd::{Bus, Options, Overheads, ReadAhead};
use penstock_device::{Cost, Law, Level};
use penstock_jobs::Job;
use penstock_jobs::devices::{
    self, Ahead, ArraySpec, CacheSpec, DriveSpec, FaultSpec, FixedSpec, HddSpec, Model, Scheduler,
};

use crate::job::{SMALL, parse, small};

#[test]
fn a_device_file_is_plain_facts() {
    let text = r#"
        duration = "10s"
        [class.a]
        [[agent]]
        class = "a"
        op = "read"
        size = "4KiB"
        pattern = "random"
        arrivals = { kind = "closed" }
        [device]
        model = "hdd"
        drive = "ibm18es"
        observed = true
        overheads = "0.3ms"
        bus = "none"
        cache = "none"
        turnaround = "1ms"
        queue = { policy = "deadline", depth = 16, overhead = "in-service", fifo_batch = 4 }
        faults = { errors = "0.1%", stalls = "0.5%", stall = "50ms", corrupt = "0.2%" }
        [device.array]
        level = "raid5"
        disks = 4
        stripe = "16KiB"
        depth = 64
        phase = "random"
    "#;
    let job = parse(text, &[]);
    assert_eq!(parse(&job.text(), &[]), job);
    let device = job.device.unwrap();
    let level = Level::Raid5 { stripe: 16 << 10 };
    let array = ArraySpec {
        level,
        disks: 4,
        max_extent: None,
        scheduler: Scheduler::One,
        depth: Some(64),
        random_phase: true,
    };
    assert_eq!(device.array, Some(array));
    let FaultSpec { errors, stalls, stall, corrupt } = device.faults.unwrap();
    let shares = [errors, stalls, corrupt].map(penstock_jobs::units::Share::fraction);
    assert_eq!((shares, stall), ([0.001, 0.005, 0.002], Span::from_ms(50)));
    let Model::Hdd(HddSpec { drive, observed, options, cache, queue }) = device.model else {
        panic!("not a disk")
    };
    assert_eq!((drive, observed), (DriveSpec::Named("ibm18es"), true));
    let overheads = Overheads::Constant(Span::from_us(300));
    let turnaround = Span::from_ms(1);
    assert_eq!(options, Options { overheads, bus: Bus::None, turnaround, cache: None });
    assert_eq!(cache, None);
    assert_eq!((queue.policy, queue.depth, queue.hides_overhead), ("deadline", 16, false));
    assert_eq!(queue.params.count("fifo_batch"), 4);
}

#[test]
fn any_part_of_a_named_device_can_be_changed() {
    let device = |sets: &[&str]| small(sets).device.unwrap();
    let observed = |sets: &[&str]| match device(sets).model {
        Model::Hdd(HddSpec { observed, .. }) => observed,
        _ => panic!("not a disk"),
    };
    assert!(observed(&["device=barracuda"]));
    assert!(!observed(&["device=barracuda", "device.observed=false"]));
    // A word is replaced by a table, and missing tables are added.
    let sets = ["device=barracuda", "device.cache.segments=2", "device.cache.blocks=16"];
    let Model::Hdd(HddSpec { cache, .. }) = device(&sets).model else { panic!("not a disk") };
    assert_eq!(cache.unwrap().size, Some((2, 16)));
    let sets = ["device=hp_c2249a", "device.bus.read=3MB/s", "device.bus.write=2MB/s"];
    let changed = device(&sets);
    assert_eq!(changed.name, "hp_c2249a, changed");
    let Model::Hdd(HddSpec { options, .. }) = changed.model else { panic!("not a disk") };
    assert_eq!(options.bus, Bus::Rates { read: 3_000_000, write: 2_000_000 });
    let sets = ["device=flash", "device.faults.errors=1%", "device.array.level=raid1"];
    let changed = device(&[&sets[..], &["device.array.disks=2"]].concat());
    assert!(changed.faults.is_some() && changed.array.is_some());
    assert_eq!(device(&["device=flash", "device.name=mine"]).name, "mine");
    // Keys of a cache in the device go with the cache; those of an argument do not.
    let sets = ["device=ibm18es", "device.cache=none"];
    let Model::Hdd(HddSpec { cache, .. }) = device(&sets).model else { panic!("not a disk") };
    assert_eq!(cache, None);
    let sets = ["device=ibm18es", "device.cache=none", "device.readahead=none"];
    let error = Job::parse("job.toml", SMALL, &sets.map(Into::into)).unwrap_err().to_string();
    assert!(error.contains("`readahead` is of a disk with a cache; this one has none"), "{error}");
}

#[test]
fn a_part_of_a_device_file_can_be_changed() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/devices/hdd-7200-ncq.toml");
    let sets = [format!("device={file}"), "device.queue.depth=4".into()];
    let Ok(job) = Job::parse("job.toml", SMALL, &sets) else { panic!("a job") };
    let device = job.device.unwrap();
    assert_eq!(device.name, "hdd-7200-ncq, changed");
    let Model::Hdd(HddSpec { queue, .. }) = device.model else { panic!("not a disk") };
    assert_eq!(queue.depth, 4);
    // A job names a file in its own folder.
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/devices/job.toml");
    let text = format!("device = \"hdd-7200-ncq.toml\"\n{SMALL}");
    let job = Job::parse(folder, &text, &["device.queue.depth=4".into()]).unwrap();
    assert_eq!(job.device.unwrap().name, "hdd-7200-ncq, changed");
}

#[test]
fn a_bus_has_rates_of_its_own() {
    let text = format!(
        "{SMALL}[device]\nmodel = \"hdd\"\ndrive = \"hp_c2249a\"\n\
         bus = {{ read = \"3.01MB/s\", write = \"2740kB/s\" }}\n"
    );
    let job = parse(&text, &[]);
    assert_eq!(parse(&job.text(), &[]), job);
    let bus = |job: &Job| match &job.device.as_ref().unwrap().model {
        Model::Hdd(HddSpec { options, .. }) => options.bus,
        _ => panic!("not a disk"),
    };
    assert_eq!(bus(&job), Bus::Rates { read: 3_010_000, write: 2_740_000 });
    let job = parse(&text, &["device.bus.write=5MB/s"]);
    assert_eq!(bus(&job), Bus::Rates { read: 3_010_000, write: 5_000_000 });
    assert_eq!(bus(&parse(&text, &["device.bus=none"])), Bus::None);
}

#[test]
fn a_drive_of_which_no_bus_is_published_says_so() {
    let found = devices::find("hp_c2249a").unwrap();
    assert!(found.summary.ends_with("no bus of it is published"), "{}", found.summary);
    assert!(devices::text("hp_c2249a").unwrap().contains("\nbus = \"none\"\n"));
    assert!(devices::text("hp_c2247a").unwrap().contains("\nbus = \"drive\"\n"));
    assert!(devices::find("hp_c2247a").unwrap().summary.contains("bus and cache"));
}

#[test]
fn a_data_sheet_describes_a_drive() {
    let sheet = r#"{ capacity = "4TB", rpm = 7200, single_seek = "0.8ms", average_seek = "8.5ms",
        full_seek = "16ms", outer_rate = "200MB/s", inner_rate = "95MB/s" }"#
        .replace('\n', " ");
    let text = format!("{SMALL}[device]\nmodel = \"hdd\"\ndrive = {sheet}\ncache = \"drive\"\n");
    let job = parse(&text, &[]);
    assert_eq!(parse(&job.text(), &[]), job);
    let Model::Hdd(HddSpec { drive: DriveSpec::Sheet(sheet), .. }) = job.device.unwrap().model
    else {
        panic!("no sheet")
    };
    assert_eq!(sheet.seeks, [800, 8_500, 16_000].map(Span::from_us));
    assert_eq!(sheet.rates, [200_000_000, 95_000_000]);
    let found = (sheet.heads, sheet.head_switch, sheet.write_settle, sheet.buffer);
    assert_eq!(found, (8, Span::from_us(800), Span::ZERO, 128 << 20));
}

#[test]
fn the_examples_devices_are_as_they_are_named() {
    let model = |name| devices::find(name).unwrap().model;
    let (unit, unit_bytes) = (Span::from_ms(1), 10_000);
    let law = Law::of(Cost::Units { unit, unit_bytes });
    let fixed = FixedSpec { reads: law, writes: law, depth: 1, capacity: 1 << 40 };
    assert_eq!(model("paper-io-path"), Model::Fixed(fixed));
    let Model::Hdd(HddSpec { options, .. }) = model("hdd-7200") else { panic!("not a disk") };
    assert_eq!(options.overheads, Overheads::Constant(Span::from_us(300)));
    for (name, expected) in [("cheetah9LP", true), ("cheetah4LP", false), ("hdd-7200", false)] {
        let Model::Hdd(HddSpec { observed, .. }) = model(name) else { panic!("not a disk") };
        assert_eq!(observed, expected, "{name}");
    }
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/devices/flash.toml");
    assert_eq!(devices::find(file).unwrap(), devices::find("flash").unwrap());
}

#[test]
fn a_drive_of_flash_reads_back_as_it_was_written() {
    for (name, overhead) in [("ssd-sata", 45_700), ("ssd-nvme", 31_000)] {
        let job = small(&[&format!("device={name}")]);
        let Model::Ssd(spec) = &job.device.as_ref().unwrap().model else { panic!("not flash") };
        assert_eq!(spec.facts.command_overhead, Span::from_ns(overhead));
        let again = Job::parse("job.toml", &job.text(), &[]).unwrap();
        assert_eq!(again.device, job.device);
    }
}

#[test]
fn caches_are_the_drives_or_what_is_said_of_them() {
    let disk = |more: &str| {
        let text = format!("{SMALL}[device]\nmodel = \"hdd\"\ndrive = \"ibm18es\"\n{more}");
        let parsed = parse(&text, &[]);
        assert_eq!(parse(&parsed.text(), &[]), parsed, "{more}");
        let Model::Hdd(HddSpec { cache, .. }) = parsed.device.unwrap().model else {
            panic!("not a disk")
        };
        cache
    };
    let own = CacheSpec::default();
    assert_eq!(disk(""), None);
    assert_eq!(disk("cache = \"none\""), None);
    assert_eq!(disk("cache = \"drive\""), Some(own));
    assert_eq!(
        disk("cache = { segments = 2, blocks = 16 }\nreadahead = \"track\"\nwrite_back = false"),
        Some(CacheSpec {
            size: Some((2, 16)),
            ahead: Some(Ahead::By(ReadAhead::Track)),
            write_back: Some(false),
        })
    );
    let ahead = Some(Ahead::Most(8_192));
    assert_eq!(
        disk("cache = \"drive\"\nreadahead = \"8KiB\"\nwrite_back = \"drive\""),
        Some(CacheSpec { ahead, ..own })
    );
}
