//! The messages for wrong input: each kind of mistake with the whole message.
//!
//! Each case changes one good job, so that it contains a single mistake.

use insta::assert_snapshot;
use penstock_jobs::{Extent, Job, devices, machines};

const GOOD: &str = r#"duration = "10min"

[class.tellers]
[class.batch]

[[agent]]
class = "tellers"
op = "write"
size = "4KiB"
pattern = "random"
region = ["0%", "10%"]
arrivals = { kind = "poisson", rate = "20/s" }

[[agent]]
class = "batch"
op = "write"
size = "1MiB"
pattern = "sequential"
arrivals = { kind = "closed", depth = 4 }

[policy.size-priority]
split = "512KiB"
"#;

fn message(text: &str, sets: &[&str]) -> String {
    let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
    // A gibibyte, a very small target.
    let job = Job::parse("bank.toml", text, &sets).and_then(|job| job.agents_on(1 << 30, 512));
    job.expect_err("a mistake").to_string()
}

/// Returns the message when `good` is replaced by `bad`.
fn instead(good: &str, bad: &str) -> String {
    assert_eq!(GOOD.matches(good).count(), 1, "{good} is not one place");
    message(&GOOD.replace(good, bad), &[])
}

/// Returns the message for these arguments.
fn set(arguments: &[&str]) -> String {
    message(GOOD, arguments)
}

/// Compares messages, one below the other, with the accepted ones.
macro_rules! messages {
    ($messages:expr) => {
        insta::with_settings!({ omit_expression => true }, {
            assert_snapshot!($messages.join("\n\n"));
        })
    };
}

/// Returns the message when the tellers write in `region` of a disk of 4 TB.
fn large(region: &str) -> String {
    let job = Job::parse("bank.toml", &GOOD.replace("[\"0%\", \"10%\"]", region), &[]).unwrap();
    job.agents_on(3_999_786_649_600, 512).expect_err("a mistake").to_string()
}

fn device(table: &str) -> String {
    message(&format!("device = {{ {table} }}\n{GOOD}"), &[])
}

#[test]
fn the_job_without_a_mistake_is_fine() {
    let job = Job::parse("bank.toml", GOOD, &[]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(job.agents_on(1 << 30, 512).unwrap().len(), 2);
}

#[test]
fn unknown_keys() {
    messages!([
        instead("size = \"4KiB\"", "sise = \"4KiB\""),
        instead("duration = \"10min\"", "duration = \"10min\"\nwarmpu = \"1s\""),
        instead("depth = 4", "deep = 4"),
    ]);
}

#[test]
fn missing_keys() {
    messages!([
        instead("op = \"write\"\nsize = \"4KiB\"", "op = \"write\""),
        instead("duration = \"10min\"\n", ""),
        instead(", rate = \"20/s\"", ""),
        set(&["live.view.start=1GiB"]),
    ]);
}

#[test]
fn units() {
    messages!([
        instead("\"4KiB\"", "4096"),
        instead("\"4KiB\"", "\"4096\""),
        instead("\"4KiB\"", "\"4ms\""),
        instead("\"4KiB\"", "\"4k\""),
        instead("\"10min\"", "\"10minutes\""),
        instead("\"20/s\"", "20"),
        instead("\"10%\"", "10"),
        instead("\"10min\"", "\"-10min\""),
        instead("\"10min\"", "\"5m\""),
        instead("\"10min\"", "5"),
    ]);
}

#[test]
fn unknown_names() {
    let job = Job::parse("bank.toml", GOOD, &[]).unwrap();
    messages!([
        instead("class = \"tellers\"", "class = \"telers\""),
        instead("[policy.size-priority]\nsplit", "[policy.sizepriority]\nsplit"),
        instead("split =", "splitt ="),
        message(&format!("device = \"hdd-720\"\n{GOOD}"), &[]),
        message(&format!("device = \"./data.img\"\n{GOOD}"), &[]),
        instead("pattern = \"random\"", "pattern = \"rnadom\""),
        job.params("deadlin").unwrap_err().to_string(),
        job.params("none").unwrap_err().to_string(),
        instead("class = \"batch\"", "class = \"b\""),
    ]);
}

#[test]
fn words_of_fio() {
    let agent =
        |line: &str| instead("pattern = \"random\"", &format!("pattern = \"random\"\n{line}"));
    messages!([
        agent("rw = \"randread\""),
        agent("bs = \"4k\""),
        agent("iodepth = 4"),
        agent("numjobs = 2"),
        agent("rwmixread = 70"),
        agent("zipf = 1.1"),
        instead("duration", "runtime"),
        message("[global]\nioengine=libaio\n\n[reader]\nrw=randread\nbs=4k\n", &[]),
        message("[global]\niodepth=4\n\n[reader]\nbs=4096\n", &[]),
    ]);
}

#[test]
fn regions() {
    messages!([
        instead("[\"0%\", \"10%\"]", "[\"1GiB\", \"2GiB\"]"),
        large("[\"4TB\", \"5TB\"]"),
        instead("[\"0%\", \"10%\"]", "[\"10%\", \"10%\"]"),
        instead("[\"0%\", \"10%\"]", "[\"512MiB\", \"50%\"]"),
        instead("[\"0%\", \"10%\"]", "[\"0%\", \"101%\"]"),
        instead("[\"0%\", \"10%\"]", "[\"0%\"]"),
        instead("[\"0%\", \"10%\"]", "[\"0%\", \"0.0001%\"]"),
    ]);
}

#[test]
fn workloads_of_no_length() {
    messages!([
        instead("\"10min\"", "\"0s\""),
        instead("\"4KiB\"", "\"0KiB\""),
        instead("\"20/s\"", "\"0/s\""),
        instead("depth = 4", "depth = 0"),
        instead("rate = \"20/s\"", "rate = \"20/s\", curve = [0, 0.0]"),
        message("duration = \"1s\"\n", &[]),
        set(&["live.view.length=0B"]),
    ]);
}

#[test]
fn combinations_that_cannot_be() {
    let with = |line: &str| message(&format!("{line}\n{GOOD}"), &[]);
    messages!([
        instead("depth = 4", "depth = 4, rate = \"1/s\""),
        instead("rate = \"20/s\"", "rate = \"20/s\", think = \"1ms\""),
        with("warmup = \"10min\""),
        with("stop = \"9min\""),
        with("stop = \"draind\""),
        with("stop = \"durabel\""),
        with("max_outstanding = 3"),
        instead("size = \"4KiB\"", "size = \"4KiB\"\nstart = \"5s\"\nstop = \"5s\""),
        instead("size = \"4KiB\"", "size = \"4KiB\"\nstop = \"11min\""),
        instead("\"4KiB\"", "\"2GiB\""),
        instead("[class.tellers]", "[class.tellers]\nprio = 8"),
        instead("[class.tellers]", "[class.tellers]\nweight = 0"),
        instead("[class.tellers]", "[class.tellers]\nweight = 10001"),
        instead("[class.tellers]", "[class.tellers]\nioprio = \"be:8\""),
        instead("[class.tellers]", "[class.tellers]\nioprio = \"rt\""),
        instead("[class.tellers]", "[class.tellers]\nioprio = 4"),
        instead("[class.batch]", "[class.\"a b\"]"),
        message(&format!("{GOOD}\n[[program]]\nclass = \"batch\""), &[]),
    ]);
}

#[test]
fn parameters_of_slices_and_budgets() {
    let cfq = |keys: &str| message(&format!("{GOOD}\n[policy.cfq]\n{keys}\n"), &[]);
    messages!([
        set(&["cfq.mode=slice"]),
        cfq("mode = \"slice\""),
        cfq("mode = \"slices\"\nslice_idle = 8"),
        cfq("mode = \"slices\"\nslice_sync = \"0ms\""),
        cfq("mode = \"slices\"\nquantum = 8"),
        cfq("mode = \"requests\"\nslice_idle = \"2ms\""),
        cfq("slice_async_rq = 4"),
        set(&["bfq.slice_idle=8"]),
        set(&["bfq.max_budget=16384"]),
        set(&["bfq.low_latency=2"]),
        set(&["bfq.weight=100"]),
    ]);
}

#[test]
fn parameters_of_elevators() {
    messages!([
        set(&["elevator.read_latency=0"]),
        set(&["anticipatory.antic_expire=501ms"]),
        set(&["anticipatory.read_batch_expire=5ms"]),
        set(&["anticipatory.antic_expire=6"]),
        set(&["deadline.wrap=fif"]),
        set(&["noop.nomerges=3"]),
        message(&format!("{GOOD}\n[policy.elevator]\nwrite_latency = 0"), &[]),
        message(&format!("{GOOD}\n[policy.anticipatory]\nantic_expire = \"1s\""), &[]),
    ]);
}

#[test]
fn toml() {
    messages!([
        instead("\"4KiB\"", "4KiB"),
        instead("\"4KiB\"", "\"4KiB"),
        instead("op = \"write\"\nsize = \"4KiB\"", "size = \"1KiB\"\nsize = \"4KiB\""),
        instead("split = \"512KiB\"", "split = ["),
        message("[agent]\nop = \"read\"\n\n[agent]\nop = \"write\"\n", &[]),
    ]);
}

#[test]
fn types() {
    messages!([
        instead("class = \"tellers\"", "class = 3"),
        instead("depth = 4", "depth = \"4\""),
        instead("size = \"4KiB\"", "size = \"4KiB\"\nsync = \"yes\""),
        instead("arrivals = { kind = \"closed\", depth = 4 }", "arrivals = \"closed\""),
        instead("split = \"512KiB\"", "split = \"of\""),
        instead("split = \"512KiB\"", "guard = \"maybe\""),
        instead("split = \"512KiB\"", "guard = { after = 0 }"),
        instead("split = \"512KiB\"", "order = \"lifo\""),
        instead("\"10min\"", "2026-11-20"),
    ]);
}

#[test]
fn arguments() {
    messages!([
        set(&["duration"]),
        set(&["=3"]),
        set(&["durration=15s"]),
        set(&["duration=15"]),
        set(&["duration="]),
        set(&["agent.0.sise=4KiB"]),
        set(&["agent.2.size=4KiB"]),
        set(&["agent.rate=4/s"]),
        set(&["agent.0.size.big=true"]),
        set(&["agent.0.region=[0%,10%]"]),
        set(&["agent.0.region=0%,1o%"]),
        set(&["agent.0.depth=4"]),
        set(&["class.teller.weight=3"]),
        set(&["size-priorty.split=64KiB"]),
        set(&["size-priority.splitt=64KiB"]),
        set(&["size-priority.guard.after=8ms"]),
        set(&["device=hdd7200"]),
        set(&["device=hdd7200", "device.observed=false"]),
        set(&["device.observed=false"]),
        set(&["device=barracuda", "device.observd=false"]),
        set(&["device=barracuda", "device.cache.segments=2"]),
    ]);
}

#[test]
fn devices_of_a_job() {
    let faulty =
        |faults: &str| device(&format!("model = \"fixed\", base = \"1ms\", faults = {faults}"));
    let sheet = |capacity: &str, average: &str, full: &str| {
        device(&format!(
            "model = \"hdd\", drive = {{ {capacity}, rpm = 7200, single_seek = \"0.8ms\", \
             average_seek = \"{average}\", full_seek = \"{full}\", outer_rate = \"200MB/s\", \
             inner_rate = \"95MB/s\" }}"
        ))
    };
    messages!([
        device("model = \"fixd\", base = \"1ms\""),
        device("model = \"fixed\""),
        device("model = \"fixed\", base = \"0ms\""),
        device("model = \"fixed\", base = \"1ms\", unit = \"1ms\""),
        device("model = \"fixed\", base = \"1ms\", drive = \"ibm18es\""),
        device("model = \"linear\", latency = \"1ms\""),
        device("model = \"linear\", base = \"1ms\""),
        device("model = \"linear\", turn = \"0ms\", transfer = \"0ms\""),
        device("model = \"linear\", seek = \"1h\", capacity = \"1TB\", per_cylinder = 1"),
        device("model = \"fixed\", base = \"1ms\", latency = \"uniform\""),
        device("model = \"hdd\", drive = \"ibm18s\""),
        device("model = \"hdd\", drive = { rpm = 7200 }"),
        sheet("capacity = \"1MB\"", "8.5ms", "16ms"),
        sheet("capacity = \"4TB\"", "16ms", "8.5ms"),
        sheet("capacity = \"1000TB\"", "8.5ms", "16ms"),
        device("model = \"hdd\", drive = \"ibm18es\", cache = \"write-back\""),
        device("model = \"hdd\", drive = \"ibm18es\", cache = { segments = 2 }"),
        device("model = \"hdd\", drive = \"ibm18es\", write_back = true"),
        device("model = \"hdd\", drive = \"ibm18es\", cache = \"drive\", write_back = \"yes\""),
        device("model = \"hdd\", drive = \"ibm18es\", cache = \"drive\", readahead = \"trak\""),
        device("model = \"hdd\", drive = \"ibm18es\", cache = \"drive\", readahead = \"8\""),
        device("model = \"hdd\", drive = \"ibm18es\", overheads = \"some\""),
        device("model = \"hdd\", drive = \"atlas10k\", observed = true"),
        device("model = \"hdd\", drive = \"hp_c2249a\", bus = \"drive\""),
        device("model = \"hdd\", drive = \"hp_c2249a\""),
        device("model = \"hdd\", drive = \"ibm18es\", bus = \"scsi\""),
        device("model = \"hdd\", drive = \"ibm18es\", bus = { read = \"3MB/s\" }"),
        device(
            "model = \"hdd\", drive = \"ibm18es\", bus = { read = \"3MB/s\", write = \"1kB/s\" }"
        ),
        device("model = \"hdd\", drive = \"ibm18es\", queue = { policy = \"ssft\" }"),
        device("model = \"hdd\", drive = \"ibm18es\", queue = { quantum = 4 }"),
        device(
            "model = \"hdd\", drive = \"ibm18es\", queue = { policy = \"fcfs\", distance = \"bytes\" }"
        ),
        device(
            "model = \"hdd\", drive = \"ibm18es\", queue = { policy = \"sstf\", distance = \"tracks\" }"
        ),
        set(&["sstf.distance=cylinders"]),
        faulty("{ errors = \"0.1%\", stall = \"50ms\" }"),
        faulty("{ stalls = 0.005 }"),
    ]);
}

#[test]
fn drives_by_their_geometry() {
    let zone =
        |first: u32, last: u32| format!("{{ first = {first}, last = {last}, sectors = 100 }}");
    let zones = |zones: &[String], more: &str| {
        let zones = zones.join(", ");
        device(&format!(
            "model = \"hdd\", drive = {{ cylinders = 100, heads = 2, rpm = 7200, \
             zones = [{zones}], {more} }}"
        ))
    };
    let all = [zone(0, 49), zone(50, 99)];
    let seek = |seek: &str| zones(&all, &format!("seek = {seek}"));
    let curve = "seek = { single = \"1ms\", average = \"5ms\", full = \"9ms\" }";
    messages!([
        device("model = \"hdd\", drive = { zones = [] }"),
        device("model = \"hdd\", drive = { zones = 3 }"),
        zones(&all, "capacity = \"1MB\""),
        zones(&[zone(0, 49), zone(49, 99)], curve),
        zones(&[zone(50, 49)], curve),
        zones(&[zone(0, 100)], curve),
        zones(&all, &format!("capacity = \"11MB\", {curve}")),
        zones(&all, &format!("capacity = \"5MB\", {curve}")),
        seek("\"7ms\""),
        seek("{ single = \"1ms\", full = \"9ms\" }"),
        seek(
            "{ single = \"1ms\", average = \"5ms\", knee = 40, at_knee = \"3ms\", full = \"9ms\" }"
        ),
        seek("{ single = \"1ms\", knee = 40, at_knee = \"30ms\", full = \"9ms\" }"),
        seek("{ single = \"1ms\", knee = 99, at_knee = \"3ms\", full = \"9ms\" }"),
        seek("[{ distance = 3, takes = \"1ms\" }, { distance = 1, takes = \"1ms\" }]"),
        seek("[{ distance = 3, takes = \"10ms\" }, { distance = 9, takes = \"1ms\" }]"),
        device(&format!(
            "model = \"hdd\", cache = \"drive\", drive = {{ cylinders = 100, heads = 2, \
             rpm = 7200, zones = [{}], {curve} }}",
            all.join(", ")
        )),
    ]);
}

#[test]
fn how_requests_lie_and_how_many_there_are() {
    let sequential = |more: &str| {
        instead("pattern = \"sequential\"\narrivals = { kind = \"closed\", depth = 4 }", more)
    };
    let turns =
        "pattern = \"sequential\"\narrivals = { kind = \"turns\", count = 4 }\ngap = \"4KiB\"";
    messages!([
        set(&["agent.0.gap=4KiB"]),
        set(&["agent.0.first=50%"]),
        sequential(turns),
        set(&["agent.1.growth.every=100"]),
        set(&["agent.1.growth.size=4KiB", "agent.1.count=100"]),
        set(&["agent.1.growth.every=1", "agent.1.growth.size=4KiB", "agent.1.count=1000000"]),
        set(&[
            "agent.1.growth.every=1",
            "agent.1.growth.size=4KiB",
            "agent.1.count=100000",
            "agent.1.region=0%,10%"
        ]),
        set(&["agent.1.first=2GiB"]),
        set(&["agent.1.align=0B"]),
        set(&["agent.1.count=0"]),
        set(&["stop=sent:teller"]),
        set(&["stop=sent:batch"]),
        set(&["stop=sent:tellers", "agent.0.count=10", "agent.0.cache=buffered"]),
        set(&["stop=send:tellers"]),
    ]);
}

#[test]
fn how_much_an_agent_asks_for() {
    let agent = |keys: &str| {
        let sequential = "pattern = \"sequential\"\narrivals = { kind = \"closed\", depth = 4 }";
        instead(sequential, &format!("pattern = \"sequential\"\n{keys}"))
    };
    messages!([
        agent("total = \"1GiB\"\ncount = 100"),
        agent("passes = 2\narrivals = { kind = \"closed\", count = 100 }"),
        agent("count = 5\narrivals = { kind = \"closed\", count = 6 }"),
        agent("total = \"0B\""),
        agent("passes = 0"),
        agent("total = \"1GiB\"\ngrowth = { every = 1, size = \"4KiB\" }"),
        message(&GOOD.replace("duration = \"10min\"\n", ""), &["agent.0.count=100"]),
        message(
            &GOOD.replace("duration = \"10min\"\n", "stop = \"last-arrival\"\n"),
            &["agent.0.count=100", "agent.1.total=1GiB"]
        ),
        message(
            &GOOD.replace("duration = \"10min\"\n", ""),
            &["agent.0.count=100", "agent.0.curve=1,2", "agent.1.total=1GiB"]
        ),
        set(&["stop=sent:batch", "agent.1.passes=2"]),
    ]);
}

/// Returns the objection of direct I/O, on a target with units of 512 bytes, to an agent of the
/// job.
fn live(sets: &[&str]) -> String {
    let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
    let job = Job::parse("bank.toml", GOOD, &sets).unwrap_or_else(|error| panic!("{error}"));
    let fits = |agent: &penstock_jobs::AgentSpec| agent.fits_units(512, "disk.img");
    job.workload.agents().iter().try_for_each(fits).expect_err("a mistake").to_string()
}

#[test]
fn totals_and_sizes_off_the_unit_of_a_target() {
    messages!([
        live(&["agent.1.total=10000B"]),
        live(&["agent.1.total=100B"]),
        live(&["agent.1.stride=1048577B"]),
    ]);
}

#[test]
fn how_many_requests_are_in_flight() {
    let agent = |keys: &str| instead("size = \"1MiB\"", &format!("size = \"1MiB\"\n{keys}"));
    messages!([
        agent("buffers = 8"),
        agent("call = \"sync\""),
        instead("depth = 4 }", "depth = 1 }\ncall = \"sync\"\nbuffers = 2"),
        instead(
            "kind = \"closed\", depth = 4",
            "kind = \"turns\", count = 4 }\nbuffers = 2\nstart = \"1s\"\n# {"
        ),
        instead("size = \"4KiB\"", "size = \"4KiB\"\ncall = \"sync\"\nbuffers = 2"),
        instead("size = \"4KiB\"", "size = \"4KiB\"\ncall = \"wait\""),
        instead("size = \"4KiB\"", "size = \"4KiB\"\nbuffers = 0"),
        instead("kind = \"closed\", depth = 4", "kind = \"closed\", think = { exponential = 5 }"),
        instead("kind = \"closed\", depth = 4", "kind = \"closed\", think = { normal = \"5ms\" }"),
        instead("kind = \"closed\", depth = 4", "kind = \"closed\", think = {}"),
        message(&GOOD.replace(", depth = 4", ""), &["max_outstanding=3", "agent.1.buffers=4"]),
    ]);
}

#[test]
fn which_agents_wait_for_others() {
    let teller = |keys: &str| instead("size = \"4KiB\"", &format!("size = \"4KiB\"\n{keys}"));
    messages!([
        teller("after = []"),
        teller("after = 3"),
        teller("after = \"btch\""),
        teller("after = \"tellers\""),
        teller("after = \"batch\""),
        teller("after = \"batch\"\nstart = \"1s\""),
        teller("ends_class = \"yes\""),
        message(
            GOOD,
            &["agent.0.after=batch", "agent.1.count=8", "agent.1.after=tellers", "agent.0.count=3"]
        ),
    ]);
}

#[test]
fn how_requests_are_made() {
    let teller = |keys: &str| instead("size = \"4KiB\"", &format!("size = \"4KiB\"\n{keys}"));
    let batch = |keys: &str| instead("size = \"1MiB\"", &format!("size = \"1MiB\"\n{keys}"));
    messages!([
        teller("call = \"sync\"\nengine = \"libaio\""),
        batch("engine = \"psync\""),
        teller("engine = \"mmap\""),
        teller("engine = \"psnyc\""),
        teller("engine = 3"),
    ]);
}

#[test]
fn what_an_agent_asks_for() {
    let teller = |op: &str, keys: &str| {
        let whole = "op = \"write\"\nsize = \"4KiB\"";
        instead(whole, &format!("{op}{keys}size = \"4KiB\""))
    };
    messages!([
        teller("", ""),
        teller("op = \"erase\"\n", ""),
        teller("", "mix = 1.2\n"),
        teller("", "mix = \"70%\"\n"),
        teller("op = \"write\"\n", "mix = 0.7\n"),
        teller("op = \"read\"\n", "flush = 100\n"),
        teller("op = \"write\"\n", "flush = 0\n"),
    ]);
}

#[test]
fn sizes_of_an_agent() {
    let sizes = |list: &str| instead("size = \"4KiB\"", &format!("size = {list}"));
    messages!([
        sizes("[[\"4KiB\", 0], [\"64KiB\", 0]]"),
        sizes("[]"),
        sizes("[\"4KiB\", 60]"),
        sizes("[[\"4KiB\"]]"),
        sizes("[[\"4KiB\", \"60%\"]]"),
        sizes("[[\"0B\", 60]]"),
        sizes("[[\"4KiB\", 60], [\"2GiB\", 40]]"),
        set(&["agent.0.size=[[4KiB,60]]"]),
    ]);
}

#[test]
fn strides_and_directions() {
    let batch = |keys: &str| instead("size = \"1MiB\"", &format!("size = \"1MiB\"\n{keys}"));
    messages!([
        batch("stride = \"512KiB\""),
        batch("stride = \"2MiB\"\ngap = \"4KiB\""),
        instead("size = \"4KiB\"", "size = \"4KiB\"\nstride = \"8KiB\""),
        instead("pattern = \"sequential\"", "pattern = \"backwards\"\nfirst = \"50%\""),
        set(&["agent.1.pattern=backward"]),
        batch("shift = \"1MiB\""),
        batch("stride = \"2MiB\"\nshift = \"2MiB\""),
        batch("stride = \"2MiB\"\nshift = \"1MiB\"\npasses = 2"),
    ]);
}

#[test]
fn spreads_of_random_requests() {
    let spread =
        |law: &str| instead("size = \"4KiB\"", &format!("size = \"4KiB\"\nspread = {law}"));
    messages!([
        spread("\"zipf\""),
        spread("{}"),
        spread("{ zipf = { theta = 0 } }"),
        spread("{ zipf = {} }"),
        spread("{ zipf = { theta = 1.2 }, pareto = { h = 0.2 } }"),
        spread("{ pareto = { h = 1 } }"),
        spread("{ normal = { mean = \"50%\", dev = \"0%\" } }"),
        spread("{ normal = { mean = \"2GiB\", dev = \"5%\" } }"),
        spread("{ poisson = { mean = \"0B\" } }"),
        spread("{ zoned = [[\"10%\", 60], [\"30%\", 30]] }"),
        spread("{ zoned = [[\"10%\", 0], [\"90%\", 0]] }"),
        spread("{ zoned = [[\"0.0001%\", 60], [\"99.9999%\", 40]] }"),
        instead("size = \"1MiB\"", "size = \"1MiB\"\nspread = { zipf = { theta = 1.2 } }"),
    ]);
}

#[test]
fn arrays() {
    messages!([
        device(
            "model = \"fixed\", base = \"1ms\", array = { level = \"jbod\", disks = 2, depth = 0 }"
        ),
        device(
            "model = \"fixed\", base = \"1ms\", array = { level = \"jbod\", disks = 2, depth = 8, scheduler = \"each\" }"
        ),
        device("model = \"fixed\", base = \"1ms\", array = { disks = 4 }"),
        device("model = \"fixed\", base = \"1ms\", array = { level = \"raid6\", disks = 4 }"),
        device("model = \"fixed\", base = \"1ms\", array = { level = \"raid5\", disks = 2 }"),
        device(
            "model = \"fixed\", base = \"1ms\", array = { level = \"raid1\", disks = 2, stripe = \"64KiB\" }"
        ),
        device(
            "model = \"fixed\", base = \"1ms\", array = { level = \"raid0\", disks = 2, stripe = \"2GiB\" }"
        ),
        device(
            "model = \"fixed\", base = \"1ms\", array = { level = \"raid0\", disks = 2, max_extent = \"of\" }"
        ),
        device(
            "model = \"fixed\", base = \"1ms\", capacity = \"4KiB\", array = { level = \"raid0\", disks = 2 }"
        ),
    ]);
}

#[test]
fn drives_of_flash() {
    let with = |key: &str| {
        device(&format!(
            "model = \"ssd\", capacity = \"1TB\", dies = 16, read_time = \"60us\", program_time = \
             \"700us\", {key}"
        ))
    };
    messages!([
        device("model = \"ssd\", dies = 16"),
        with("channels = 8"),
        with("link_rate = \"550MB\""),
        with("link_rate = 550"),
        with("link_rate = \"1kB/s\""),
        with("link_rate = \"550MB/s\", planes = 0"),
        with("link_rate = \"550MB/s\", page = \"64B\""),
        with("link_rate = \"550MB/s\", erase_time = \"1min\""),
        with("link_rate = \"550MB/s\", suspend_time = \"of\""),
        with("link_rate = \"550MB/s\", over_provisioning = \"0.5%\""),
        with("link_rate = \"550MB/s\", write_buffer = \"16KiB\""),
        with("link_rate = \"550MB/s\", suspend_time = \"20us\", dies_per_chip = 2"),
        with("link_rate = \"550MB/s\", drive = \"ibm18es\""),
    ]);
}

#[test]
fn time_outs() {
    messages!([
        set(&["live.timeout=of"]),
        set(&["live.timeout=0s"]),
        set(&["live.timeout=30"]),
        set(&["live.timeout=true"]),
    ]);
}

#[test]
fn page_caches() {
    let with = |line: &str| message(&format!("{line}\n{GOOD}"), &[]);
    messages!([
        instead("size = \"4KiB\"", "size = \"4KiB\"\ncache = \"buffred\""),
        with("page_cache = { memory = \"4KiB\" }"),
        with("page_cache = { dirty_ratio = \"10%\" }"),
        with("page_cache = { dirty_ratio = \"0%\" }"),
        with("page_cache = { dirty_background_ratio = \"25%\" }"),
        with("page_cache = { base = \"0s\" }"),
        with("page_cache = { per_mb = \"2s\" }"),
        with("page_cache = { read_ahead = \"2GiB\" }"),
        with("page_cache = { read_ahead_kb = \"128KiB\" }"),
    ]);
}

#[test]
fn files() {
    let error = |name: &str| devices::find(name).unwrap_err().to_string();
    messages!([error("flsh"), error("no/such.toml"), error("tests/../Kargo.toml"),]);
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    let error = Job::load(folder.as_ref(), &[]).unwrap_err();
    assert!(error.to_string().contains("/src: it is a directory\n"), "{error}");
}

#[test]
fn a_mistake_in_a_device_file_is_shown_there() {
    let folder = std::env::temp_dir().join(format!("penstock-messages-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let job = folder.join("job.toml");
    std::fs::write(folder.join("slow.toml"), "[device]\nmodel = \"fixed\"\nbase = 9\n").unwrap();
    std::fs::write(&job, format!("device = \"slow.toml\"\n{GOOD}")).unwrap();
    let error = Job::load(&job, &[]).unwrap_err().to_string();
    std::fs::remove_dir_all(&folder).unwrap();
    let error = error.replace(&folder.display().to_string(), "FOLDER");
    messages!([error]);
}

#[test]
fn machines() {
    let on = |log: &str, sets: &[&str]| {
        let log = format!("size = \"1MiB\"\n{log}");
        message(
            &format!("device = \"openpower-710\"\n{}", with_files(&log, "file = \"data\"")),
            sets,
        )
    };
    let three = ["file.data.count=3"];
    let folder = std::env::temp_dir().join(format!("penstock-machines-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("mine.toml");
    let file = |text: &str| {
        std::fs::write(&path, text).unwrap();
        let error = machines::find(path.to_str().unwrap()).unwrap_err().to_string();
        error.replace(&folder.display().to_string(), "FOLDER")
    };
    let devices = |devices: &str| file(&format!("[machine]\ndevices = [{devices}]\n"));
    let disk = "{ name = \"disk\", device = \"flash\" }";
    let head = |line: &str| file(&format!("[machine]\n{line}\ndevices = [{disk}]\n"));
    let found = [
        // A machine as the device.
        message(&format!("device = \"openpower-710\"\n{GOOD}"), &[]),
        set(&["device=openpower-710"]),
        set(&["device=openpower-710", "device.queue.depth=4"]),
        on("device = \"openpower-710\"", &[]),
        devices::find("openpower-710").unwrap_err().to_string(),
        devices::find("openpower-71").unwrap_err().to_string(),
        // Files on its devices.
        on("", &[]),
        on("", &["file.log.device=disk.3"]),
        on("device = \"disk.4\"", &three),
        on("device = \"dsk\"", &three),
        on("on = { 0 = \"flsh\" }", &three),
        message(&with_files("size = \"1MiB\"\ndevice = \"disk.3\"", "file = \"data\""), &three),
        // Machine files.
        file("[machine]\n"),
        file("[machine]\n[device]\n"),
        devices(""),
        devices("\"disk\""),
        devices("{ name = \"disk\" }"),
        devices("{ name = \"disk\", device = \"flsh\" }"),
        devices("{ name = \"disk\", device = \"openpower-710\" }"),
        devices("{ name = \"disk.0\", device = \"flash\" }"),
        devices("{ name = \"flash\", device = \"flash\" }"),
        devices("{ name = \"disk\", count = 0, device = \"flash\" }"),
        devices(&format!("{disk}, {disk}")),
        devices(&format!("{disk}, {{ name = \"more\", count = 1024, device = \"flash\" }}")),
        head("scheduler = \"cqf\""),
        head("buses = 2"),
        head("page_cache = { memory = \"4KiB\" }"),
        head("page_cache = { dirty_ratio = \"10%\" }"),
    ];
    std::fs::remove_dir_all(&folder).unwrap();
    messages!(found);
}

#[test]
fn devices_of_a_trace() {
    let job = |lines: &str, head: &str, sets: &[&str]| {
        let trace = "[trace]\nfile = \"t.blkparse\"\n";
        message(&format!("{head}[class.a]\n[[rule]]\nclass = \"a\"\n{trace}{lines}"), sets)
    };
    messages!([
        job("on = { sda = \"hdd-7201\" }", "", &[]),
        job("on = \"hdd-7200\"", "", &[]),
        job("", "", &["trace.on.sda=hdd-7201"]),
        job("", "", &["trace.on.sda=./disk.img"]),
        job("", "", &["trace.on.sda=emulated:flash"]),
        job("", "", &["trace.on.sda.queue.depth=4"]),
        job("on = { sda = \"flash\" }", "device = \"flash\"\n", &[]),
        job("on = { sda = \"flash\" }\nlayout = \"side-by-side\"", "", &[]),
        job("", "", &["trace.on.\"hm.1=flash"]),
    ]);
}

/// A job with the files `data` (four of 1 GiB) and `log`, and an agent with `lines`; `log` has the
/// lines `log_lines`.
fn with_files(log_lines: &str, lines: &str) -> String {
    format!(
        "duration = \"1s\"\n[class.a]\n[[file]]\nname = \"data\"\ncount = 4\nsize = \"1GiB\"\n\
         [[file]]\nname = \"log\"\n{log_lines}\n[[agent]]\nclass = \"a\"\nop = \"read\"\nsize = \"8KiB\"\n\
         pattern = \"random\"\n{lines}\narrivals = {{ kind = \"closed\", depth = 32 }}\n"
    )
}

/// Returns the message for devices of `mib` MiB.
fn on_small(text: &str, mib: u64) -> String {
    let job = Job::parse("files.toml", text, &[]).unwrap_or_else(|error| panic!("{error}"));
    let extent = |number| Extent { base: number << 40, capacity: mib << 20, block: 512 };
    let devices: Vec<_> = (0..job.workload.file_names().len() as u64).map(extent).collect();
    job.agents_over(&devices).expect_err("a mistake").to_string()
}

#[test]
fn files_on_devices() {
    let of_log = |lines: &str| message(&with_files(lines, "file = \"data\""), &[]);
    let agent = |lines: &str| message(&with_files("size = \"1MiB\"", lines), &[]);
    let set = |argument| message(&with_files("size = \"1MiB\"", "file = \"data\""), &[argument]);
    let at = |at: &str, size: &str| {
        let log = format!("at = \"{at}\"\nsize = \"{size}\"");
        on_small(&with_files(&log, "file = \"log\""), 2048)
    };
    let slices = |more: &str| {
        let agent = format!("file = \"log\"\nshare = \"slices\"\n{more}");
        on_small(&with_files("size = \"256KiB\"", &agent), 2048)
    };
    messages!([
        agent("file = \"dat\""),
        agent("file = \"data.4\""),
        agent("file = [\"log\", \"data\", \"data.1\"]"),
        agent(""),
        agent("file = \"log\"\nshare = \"slice\""),
        instead("class = \"batch\"", "class = \"batch\"\nfile = \"data\""),
        of_log("size = \"1MiB\"\ncount = 0"),
        of_log(""),
        of_log("size = \"0B\""),
        of_log("size = \"1MiB\"\ndevice = \"hdd-10\""),
        of_log("size = \"1MiB\"\ncount = 2\non = { 2 = \"flash\" }"),
        of_log("size = \"1MiB\"\ncount = 1024"),
        of_log("size = \"1MiB\"\ndevice = \"./disk.img\""),
        message(
            &with_files("size = \"1MiB\"", "file = \"data\"").replace("\"log\"", "\"data\""),
            &[]
        ),
        message(&with_files("size = \"1MiB\"", "file = \"data\"").replace("\"log\"", "\"1\""), &[]),
        agent("file = \"data\"\ncopies = 0"),
        agent("file = \"data\"\ncopies = 10000"),
        message(
            &with_files("size = \"1MiB\"", "file = \"data\"\ncopies = 65536"),
            &[
                "agent.0.kind=fixed",
                "agent.0.rate=1/s",
                "file.log.count=9",
                "agent.0.file=data,log"
            ]
        ),
        set("file.dat.size=1GiB"),
        set("file.data.device.queue.depth=4"),
        message(GOOD, &["file.data.device=flash"]),
        message(
            &format!(
                "device = \"flash\"\n{}",
                with_files("size = \"1MiB\"\ndevice = \"flash\"", "file = \"log\"")
                    .replace("\"1GiB\"", "\"1GiB\"\ndevice = \"flash\"")
            ),
            &[]
        ),
        at("0%", "3GiB"),
        at("3GiB", "1MiB"),
        at("75%", "1GiB"),
        slices("copies = 64"),
        slices("copies = 3\nregion = [\"0B\", \"8KiB\"]"),
    ]);
}

#[test]
fn files_on_targets() {
    let of_log = |lines: &str| {
        message(&with_files(&format!("size = \"1MiB\"\n{lines}"), "file = \"data\""), &[])
    };
    let set = |argument| message(&with_files("size = \"1MiB\"", "file = \"data\""), &[argument]);
    messages!([
        of_log("path = \"null\""),
        of_log("path = \"emulated:flash\""),
        of_log("path = 4"),
        of_log("path = []"),
        of_log("path = [\"/a\", \"/b\"]"),
        of_log("count = 2\npath = \"/a\""),
        of_log("count = 3\npath = [\"/a\", \"/disk%d/b\"]"),
        of_log("count = 2\non = { 2 = \"/a\" }"),
        set("file.data.path=/a,/b"),
        set("file.data.device=./disk.img"),
    ]);
}

/// Returns the message for a job of merges with `lines` in its section.
fn merges(lines: &str) -> String {
    message(&format!("[merge]\njobs = 2\n{lines}\n"), &[])
}

#[test]
fn merges_side_by_side() {
    let with = |above: &str| message(&format!("{above}\n[merge]\njobs = 2\n"), &[]);
    messages!([
        message("[merge]\n", &[]),
        message("[merge]\njobs = 257\n", &[]),
        merges("runs = 0"),
        merges("run = 1000"),
        merges("run = \"0blocks\""),
        merges("run = \"1000 pages\""),
        merges("run = \"11blocks\""),
        merges("write = 1001"),
        merges("block = \"1GiB\""),
        merges("runs = 4096\nrun = \"1000000blocks\""),
        merges("placement = \"seperate\""),
        merges("placement = 2"),
        merges("placement = [{ inputs = [1] }]"),
        merges("placement = [{ inputs = [1, 256], output = 0 }]"),
        merges("layout = \"first\""),
        merges("memory = 580"),
        merges("memory = \"infinite\""),
        merges("memory = { partition = 580, pool = 1200 }"),
        merges("memory = { partiton = 580 }"),
        merges("memory = {}"),
        merges("memory = { partition = 287 }"),
        merges("memory = { partition = 239 }\nwhen_full = \"defer\""),
        merges("memory = { pool = 287 }"),
        merges("memory = { writes = 39 }"),
        merges("depletion = \"keys\""),
        merges("depletion = { keys = 0 }"),
        with("duration = \"10s\""),
        with("stop = \"done:job0\""),
        with("[class.a]"),
        with("[page_cache]"),
        with("[cpu]"),
        with("[[file]]"),
        message(&format!("{GOOD}[merge]\njobs = 2\n"), &[]),
        message("[merge]\njobs = 2\n", &["merge.memory=580"]),
        message("[merge]\njobs = 2\n", &["merge.memory.partition=100"]),
    ]);
}

#[test]
fn every_agent_at_once() {
    let every = |set: &str| {
        let sets = [set.to_owned()];
        Job::parse("bank.toml", GOOD, &sets)
            .map(|job| job.text().matches("\nsize = \"8KiB\"").count())
    };
    assert_eq!(every("agent.*.size=8KiB").unwrap(), 2);
    assert_eq!(every("agent.0.size=8KiB").unwrap(), 1);
    let closed = every("agent.*.arrivals.kind=closed").and_then(|_| every("agent.*.depth=8"));
    assert!(closed.unwrap_err().to_string().contains("`depth`"), "the first agent is poisson");
    let wrong = ["agent.*.sise=8KiB", "program.*.count=1", "class.*.weight=2", "agent.0.*=1"];
    let all = wrong.map(|set| message(GOOD, &[set])).join("\n\n");
    assert_snapshot!(all);
}
