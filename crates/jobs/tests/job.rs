//! How jobs are read: the example to the letter, defaults, `--set`, regions on a target; and a
//! written job reads back unchanged.

use std::num::NonZeroU32;
use std::path::Path;

use penstock_core::{ClassId, Flags, Op, Prio, Span, Time};
use penstock_jobs::devices::{self, HddSpec, Model};
use penstock_jobs::{Edge, Job, Stop, View};
use penstock_policy::{Params, Value};
use penstock_workload::Pattern::{Random, Sequential};
use penstock_workload::merge::Memory;
use penstock_workload::trace::Layout;
use penstock_workload::{Agent, Arrivals, Growth, Ops, Pace, Spacing, Spread, Think, Weighted};
use proptest::prelude::*;

const BANK_DAY: &str = include_str!("../../../examples/bank-day.toml");

/// A class and an agent, which `--set` may change.
pub(crate) const SMALL: &str = r#"
duration = "10s"
[class.a]
[[agent]]
class = "a"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "poisson", rate = "20/s" }
"#;

pub(crate) fn parse(text: &str, sets: &[&str]) -> Job {
    let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
    Job::parse("job.toml", text, &sets).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn small(sets: &[&str]) -> Job {
    parse(SMALL, sets)
}

#[test]
fn a_view_is_a_part_of_the_target() {
    let view = |sets: &[&str]| small(sets).live.view;
    assert_eq!(view(&[]), None, "all of it");
    let given = view(&["live.view.start=10GiB", "live.view.length=1GiB"]);
    assert_eq!(given, Some(View { start: 10 << 30, length: 1 << 30 }));
    assert_eq!(view(&["live.view.length=4KiB"]), Some(View { start: 0, length: 4096 }));
    let job = small(&["live.view.start=1MiB", "live.view.length=1GiB"]);
    let text = "view = { start = \"1MiB\", length = \"1GiB\" }";
    assert!(job.text().contains(text));
    assert_eq!(parse(&format!("{SMALL}[live]\n{text}\n"), &[]).live, job.live);
    assert_eq!(Job::parse("job.toml", &job.text(), &[]).unwrap(), job);
}

#[test]
fn bank_day_is_what_it_is_said_to_be() {
    let path = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/bank-day.toml"));
    let job = Job::load(path, &[]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((job.seed, job.duration), (1, Span::from_secs(600)));
    assert_eq!((job.warmup, job.stop), (Span::ZERO, Stop::Drained));
    assert_eq!(job.max_outstanding, 1_048_576);
    assert_eq!(job.device.as_ref().unwrap().name, "hdd-7200");
    let names: Vec<&str> = job.classes.iter().map(|class| class.name.as_str()).collect();
    assert_eq!(names, ["tellers", "balance", "batch", "report"]);
    assert!(job.classes.iter().all(|class| class.weight() == 100));
    let prios: Vec<u8> = job.classes.iter().map(|class| class.prio).collect();
    assert_eq!(prios, [0, 0, 1, 1]);

    let capacity = 100 << 30;
    let tenth = 10 << 30;
    let poisson = |rate| Arrivals::open(rate, Pace::Poisson);
    let closed = |depth| Arrivals::closed(depth, Span::ZERO);
    let agent = |class, op, size, region, pattern, arrivals| Agent {
        prio: Prio(prios[usize::from(class)]),
        pattern,
        active: Time::ZERO..Time::ZERO + Span::from_secs(600),
        ..Agent::new(ClassId(class), op, size, region, arrivals)
    };
    let mut tellers = agent(0, Op::Write, 4 << 10, 0..tenth, Random, poisson(20.0));
    tellers.flags = Flags::SYNC.with(Flags::FUA);
    assert_eq!(
        job.agents_on(capacity, 512).unwrap(),
        [
            tellers,
            agent(1, Op::Read, 8 << 10, 0..capacity, Random, poisson(10.0)),
            agent(2, Op::Write, 1 << 20, 4 * tenth..6 * tenth, Sequential, closed(4)),
            agent(3, Op::Read, 256 << 10, 8 * tenth..capacity, Sequential, closed(1)),
        ]
    );
    for name in ["noop", "size-priority"] {
        assert_eq!(job.params(name).unwrap(), penstock_policy::find(name).unwrap().defaults());
    }
}

#[test]
fn a_time_out_is_a_length_of_time_or_off() {
    let timeout = |sets: &[&str]| parse(BANK_DAY, sets).live.timeout;
    assert_eq!(timeout(&[]), Some(Span::from_secs(30)));
    assert_eq!(timeout(&["live.timeout=1.5s"]), Some(Span::from_ms(1500)));
    assert_eq!(timeout(&["live.timeout=off"]), None);
}

#[test]
fn a_job_written_out_reads_back_as_the_same() {
    let sets = [
        "seed=18446744073709551615",
        "warmup=1.5s",
        "stop=12min",
        "class.batch.prio=7",
        "agent.1.curve=0,1.5,0.25",
        "agent.3.think=2.5ms",
        "agent.2.region=1GiB,60%",
        "agent.0.start=1min",
        "live.timeout=off",
        "size-priority.guard=off",
        "size-priority.long_in_flight=10MB",
        "deadline.read_expire=1.5us",
    ];
    for job in [parse(BANK_DAY, &[]), parse(BANK_DAY, &sets)] {
        let again = Job::parse("job.toml", &job.text(), &[]).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(again, job, "{}", job.text());
        assert_eq!(again.text(), job.text());
    }
}

#[test]
fn every_named_device_can_be_a_jobs_device() {
    for (name, summary) in devices::named() {
        assert!(!summary.is_empty(), "{name}");
        let job = small(&[&format!("device={name}")]);
        assert_eq!(job.device.as_ref().unwrap(), &devices::find(name).unwrap());
        assert_eq!(parse(&job.text(), &[]), job, "{name}");
    }
}

#[test]
fn arguments_change_the_job() {
    let job = small(&[
        "duration=15s",
        "class.a.weight=3",
        "agent.0.rate=5/s",
        "agent.0.arrivals.curve=1,2",
        "agent.0.sync=true",
        "agent.0.region= 25%, 50%",
        "policy.noop.max_sectors=64KiB",
        "noop.max_sectors=128KiB",
    ]);
    assert_eq!(job.duration, Span::from_secs(15));
    assert_eq!(job.workload.agents()[0].stop, Span::from_secs(15));
    assert_eq!(job.classes[0].weight(), 3);
    let curve = vec![1.0, 2.0];
    assert_eq!(
        job.workload.agents()[0].arrivals,
        Arrivals::Open { rate: 5.0, pace: Pace::Poisson, curve, buffers: None }
    );
    assert_eq!(
        job.params("noop").unwrap(),
        Params::defaults(penstock_policy::noop::ENTRY.params)
            .with("max_sectors", Value::Size(128 << 10))
    );
    let agents = job.agents_on(1 << 30, 512).unwrap();
    assert_eq!(agents[0].region, 1 << 28..1 << 29);
    assert_eq!(agents[0].flags, Flags::SYNC);
}

#[test]
fn a_later_argument_wins() {
    let guard = |sets: &[&str]| small(sets).params("size-priority").unwrap().get("guard").clone();
    let off = "size-priority.guard=off";
    let after = "size-priority.guard.after=8";
    assert_eq!(guard(&[after, off]), Value::Word("off"));
    let Value::Group(members) = guard(&[off, after]) else { panic!("the guard is off") };
    assert_eq!((members.count("after"), members.duration("stall")), (8, Span::from_ms(100)));
}

#[test]
fn another_kind_of_arrivals_drops_what_belonged_to_the_old() {
    let closed = small(&["agent.0.kind=closed", "agent.0.depth=8"]);
    let arrivals = Arrivals::closed(8, Span::ZERO);
    assert_eq!(closed.workload.agents()[0].arrivals, arrivals);
    let other_order = small(&["agent.0.depth=8", "agent.0.kind=closed"]);
    assert_eq!(other_order.workload.agents()[0].arrivals, arrivals);
}

#[test]
fn requests_of_an_agent_may_be_aligned_apart_growing_and_counted() {
    let text = r#"
        duration = "10s"
        stop = "sent:a"
        [class.a]
        [[agent]]
        class = "a"
        op = "read"
        size = "8KiB"
        pattern = "sequential"
        align = "512B"
        first = "50%"
        gap = "5KiB"
        growth = { every = 100, size = "5KiB", gap = "10KiB" }
        arrivals = { kind = "fixed", rate = "100/s", count = 10000 }
    "#;
    let job = parse(text, &[]);
    assert_eq!(parse(&job.text(), &[]), job);
    assert_eq!(job.stop, Stop::Sent(ClassId(0)));
    let agents = job.agents_on(10 << 30, 512).unwrap();
    let growth = Some(Growth { every: 100, size: 5 << 10, gap: 10 << 10 });
    let spacing =
        Spacing { align: Some(512), first: 5 << 30, gap: 5 << 10, growth, ..Spacing::default() };
    assert_eq!((agents[0].spacing, agents[0].count), (spacing, 10_000));
    assert_eq!(agents[0].longest(), 503 << 10, "the last one has grown 99 times");
    // A pattern without these keys, read back from its text.
    let random = small(&["agent.0.count=7"]);
    assert_eq!(parse(&random.text(), &[]), random);
    assert_eq!(random.agents_on(10 << 30, 512).unwrap()[0].count, 7);
}

/// Returns the agent of a job with these keys in place of op, size, pattern and arrivals, on a
/// target of a gibibyte.
fn agent_with(keys: &str) -> Agent {
    let head = SMALL.split("op =").next().expect("a head");
    let job = parse(&format!("{head}{keys}\n"), &[]);
    assert_eq!(parse(&job.text(), &[]), job, "{}", job.text());
    job.agents_on(1 << 30, 512).unwrap_or_else(|error| panic!("{error}")).remove(0)
}

#[test]
fn an_agent_may_mix_operations_and_sizes_and_ask_for_flushes() {
    let agent = agent_with(
        "mix = 0.7\nsync = true\nflush = 100\nsize = [[\"4KiB\", 60], [\"64KiB\", 40]]\n\
         pattern = \"random\"",
    );
    assert_eq!(agent.ops, Ops::Mix { reads: 700_000_000 });
    assert_eq!((agent.flush, agent.flags), (NonZeroU32::new(100), Flags::SYNC.with(Flags::FUA)));
    assert_eq!(Some(agent.sizes), Weighted::new([(4096, 60), (65_536, 40)]));
    let trim = agent_with("op = \"trim\"\nsync = true\nsize = \"1MiB\"\npattern = \"sequential\"");
    assert_eq!((trim.ops, trim.flags), (Ops::Only(Op::Discard), Flags::SYNC));
    assert_eq!(
        trim.arrivals,
        Arrivals::closed(1, Span::ZERO),
        "a closed loop, if nothing else is said"
    );
}

#[test]
fn spreads_are_over_the_region_of_the_agent() {
    let spread = |law: &str| {
        let region = "region = [\"256MiB\", \"512MiB\"]";
        let what = "op = \"read\"\nsize = \"4KiB\"\npattern = \"random\"";
        agent_with(&format!("{what}\n{region}\nspread = {law}")).spread
    };
    assert_eq!(spread("\"uniform\""), Spread::Uniform);
    assert_eq!(spread("\"once\""), Spread::Once);
    assert_eq!(spread("{ zipf = { theta = 1.2 } }"), Spread::Zipf { theta: 1.2 });
    assert_eq!(spread("{ pareto = { h = 0.2 } }"), Spread::Pareto { h: 0.2 });
    let (mean, dev) = (f64::from(128 << 20), f64::from(1 << 20));
    let normal = spread("{ normal = { mean = \"50%\", dev = \"1MiB\" } }");
    assert_eq!(normal, Spread::Normal { mean, dev });
    assert_eq!(spread("{ poisson = { mean = \"128MiB\" } }"), Spread::Poisson { mean });
    let zones = [((0, 100_000_000), 60), ((100_000_000, 1_000_000_000), 40)];
    let zoned = Weighted::new(zones).map(Spread::Zoned);
    assert_eq!(Some(spread("{ zoned = [[\"10%\", 60], [\"90%\", 40]] }")), zoned);
}

#[test]
fn an_agent_ends_with_its_total_its_count_or_its_passes() {
    let agent = |quota: &str| {
        let what = "op = \"read\"\nsize = \"1MiB\"\npattern = \"sequential\"";
        let agent = agent_with(&format!("{what}\nstride = \"3MiB\"\n{quota}"));
        assert_eq!(agent.spacing.stride, Some(3 << 20));
        (agent.count, agent.bytes)
    };
    assert_eq!(agent(""), (u64::MAX, u64::MAX));
    assert_eq!(agent("total = \"10MB\""), (u64::MAX, 10_000_000));
    assert_eq!(agent("count = 7"), (7, u64::MAX));
    assert_eq!(agent("count = 7\narrivals = { kind = \"closed\", count = 7 }"), (7, u64::MAX));
    // Places 0, 3 MiB, … 1023 MiB.
    assert_eq!(agent("passes = 2"), (684, u64::MAX));
    let sizes = agent_with(
        "op = \"read\"\nsize = [[\"4KiB\", 1], [\"8KiB\", 1]]\npattern = \"random\"\npasses = 2",
    );
    assert_eq!((sizes.count, sizes.bytes), (u64::MAX, 2 << 30));
    // An argument overrides the file, wherever the key stands.
    let set = |argument: &str| {
        let text = SMALL.replace("op =", "total = \"1MiB\"\nop =");
        let agent = parse(&text, &[argument]).agents_on(1 << 30, 512).unwrap().remove(0);
        (agent.count, agent.bytes)
    };
    assert_eq!(set("agent.0.count=9"), (9, u64::MAX));
    assert_eq!(set("agent.0.total=2MiB"), (u64::MAX, 2 << 20));
}

#[test]
fn a_job_whose_agents_all_end_by_themselves_needs_no_duration() {
    let text = SMALL.replace("duration = \"10s\"", "").replace("op =", "count = 9\nop =");
    let job = parse(&text, &[]);
    assert_eq!((job.duration, job.workload.agents()[0].stop), (Span::MAX, Span::MAX));
    assert!(!job.text().contains("duration") && parse(&job.text(), &[]) == job);
    let stopped = parse(&text, &["stop=1s", "duration=1s"]);
    assert_eq!(
        (stopped.duration, stopped.stop),
        (Span::from_secs(1), Stop::At(Span::from_secs(1)))
    );
}

#[test]
fn buffers_and_depth_are_one_fact() {
    let closed = |keys: &str| {
        let what = "op = \"read\"\nsize = \"1MiB\"\npattern = \"sequential\"";
        agent_with(&format!("{what}\n{keys}")).arrivals
    };
    for (keys, depth) in [
        ("call = \"async\"\nbuffers = 16", 16),
        ("buffers = 16", 16),
        ("arrivals = { kind = \"closed\", depth = 16 }\nbuffers = 16", 16),
        ("call = \"async\"", 1),
        ("call = \"sync\"\nbuffers = 1", 1),
    ] {
        assert_eq!(closed(keys), Arrivals::closed(depth, Span::ZERO), "{keys}");
    }
    let think = closed("arrivals = { kind = \"closed\", think = { exponential = \"5ms\" } }");
    let mean = Think::Exponential(Span::from_ms(5));
    assert_eq!(think, Arrivals::Closed { depth: 1, think: mean, burst: None });
    let open = |keys: &str| match closed(&format!(
        "{keys}\narrivals = {{ kind = \"fixed\", rate = \"9/s\" }}"
    )) {
        Arrivals::Open { buffers, .. } => buffers.map(NonZeroU32::get),
        _ => unreachable!(),
    };
    assert_eq!([open(""), open("call = \"sync\""), open("buffers = 4")], [None, Some(1), Some(4)]);
    // An argument overrides the file.
    let set = |file: &str, argument: &str| {
        let text = SMALL.replace("op =", &format!("{file}\nop ="));
        let sets = ["agent.0.kind=closed", argument];
        parse(&text, &sets).workload.agents()[0].arrivals.clone()
    };
    assert_eq!(set("buffers = 4", "agent.0.depth=8"), Arrivals::closed(8, Span::ZERO));
    assert_eq!(set("buffers = 4", "agent.0.call=sync"), Arrivals::closed(1, Span::ZERO));
    assert_eq!(set("call = \"sync\"", "agent.0.buffers=4"), Arrivals::closed(4, Span::ZERO));
}

#[test]
fn shares_end_on_whole_pages_and_at_the_end() {
    let region = |edges: &str, capacity, block| {
        let job = small(&[&format!("agent.0.region={edges}")]);
        job.agents_on(capacity, block).unwrap()[0].region.clone()
    };
    assert_eq!(region("0%,50%", 99_999, 1), 0..49_152);
    assert_eq!(region("50%,100%", 99_999, 1), 49_152..99_999);
    assert_eq!(region("50%,100%", 99_999, 512), 49_152..99_840);
    assert_eq!(region("50%,100%", 99_999, 8192), 49_152..98_304);
    assert_eq!(region("1kB,100%", 99_999, 1), 1_000..99_999);
}

#[test]
fn edges_keep_how_they_were_written() {
    let job = small(&["agent.0.region=1GiB,50%"]);
    assert_eq!(job.workload.agents()[0].places.region.from, Edge::At(1 << 30));
    assert!(
        matches!(job.workload.agents()[0].places.region.to, Edge::Share(share) if share.of(10) == 5)
    );
}

/// Checks that any input gives a job that reads back, or a message.
fn answers(text: &str, sets: &[String]) {
    match Job::parse("job.toml", text, sets) {
        Ok(job) => {
            let _ = job.agents_on(1 << 40, 512).map_err(|error| error.to_string());
            let _ = job.agents_on(1, 4096).map_err(|error| error.to_string());
            let again = Job::parse("job.toml", &job.text(), &[]);
            assert_eq!(again.unwrap_or_else(|error| panic!("{error}")), job);
        }
        Err(error) => assert!(error.to_string().starts_with("error: "), "{error}"),
    }
}

/// Generates text that looks like TOML, and some that does not.
fn toml_ish() -> impl Strategy<Value = String> {
    let token = prop_oneof![
        Just("[".to_string()),
        Just("]\n".to_string()),
        Just("[[agent]]\n".to_string()),
        Just("[class.a]\n".to_string()),
        Just(" = ".to_string()),
        Just("\n".to_string()),
        Just("{ kind = \"closed\" }".to_string()),
        "(duration|seed|size|class|agent|region|arrivals|policy|device)",
        "\"[0-9]{1,3}(KiB|ms|s|%|/s|)\"",
        "[-+0-9.eE_xinfa]{1,6}",
        "\\PC{0,6}",
        "[\\x00-\\x7f]{0,4}",
    ];
    prop::collection::vec(token, 0..24).prop_map(|tokens| tokens.concat())
}

fn argument() -> impl Strategy<Value = String> {
    let step = "(agent|class|policy|device|0|1|9|tellers|region|arrivals|rate|kind|depth|curve\
                |size|size-priority|guard|after|split|duration|[a-z0-9é]{0,4})";
    let value = "(off|closed|poisson|true|-?[0-9]{1,22}(ms|KiB|%|/s|)|[0-9.,%]{0,8}|\\PC{0,8})";
    let known = (prop::collection::vec(step, 1..5), value);
    prop_oneof![known.prop_map(|(steps, value)| steps.join(".") + "=" + &value), "\\PC{0,12}"]
}

proptest! {

    #[test]
    fn no_text_panics(text in toml_ish()) {
        answers(&text, &[]);
    }

    #[test]
    fn no_change_of_the_example_panics(
        from in 0..BANK_DAY.len(),
        len in 0..12_usize,
        put in prop_oneof![toml_ish(), "\\PC{0,3}", "[0-9.%a-zA-Z\"]{0,3}"],
    ) {
        let bytes = BANK_DAY.as_bytes();
        let behind = &bytes[(from + len).min(bytes.len())..];
        let text = [&bytes[..from], put.as_bytes(), behind].concat();
        answers(&String::from_utf8_lossy(&text), &[]);
    }

    #[test]
    fn no_argument_panics(arguments in prop::collection::vec(argument(), 1..4)) {
        answers(BANK_DAY, &arguments);
    }
}

const PLAYED: &str = "[class.a]\n[[rule]]\nclass = \"a\"\n[trace]\nfile = \"/t.blkparse\"\n";

/// Returns the devices of the trace, with the devices on which they are played.
fn on(job: &Job) -> Vec<(&str, &str)> {
    let devices = job.workload.trace().unwrap().on.iter();
    devices.map(|device| (device.name.as_str(), device.spec.name.as_str())).collect()
}

#[test]
fn a_device_of_a_trace_has_one_of_its_own_kind() {
    let text = format!("{PLAYED}[trace.on]\n\"8,0\" = \"hdd-7200\"\nsda = \"ssd-sata\"\n");
    let job = parse(&text, &[]);
    assert_eq!(on(&job), [("8,0", "hdd-7200"), ("sda", "ssd-sata")]);
    assert_eq!(job.workload.trace().unwrap().layout, Some(Layout::Each));
    assert_eq!(parse(&job.text(), &[]), job, "with every default in place");
    let sets = ["trace.on.8,0=hdd-7200", "trace.on.sda=ssd-sata"];
    assert_eq!(parse(PLAYED, &sets).workload, job.workload);
    let changed = parse(&text, &["trace.on.sda=flash", "trace.on.\"hm.1=x\"=flash"]);
    assert_eq!(on(&changed), [("8,0", "hdd-7200"), ("sda", "flash"), ("hm.1=x", "flash")]);
    assert_eq!(parse(&changed.text(), &[]), changed);
}

#[test]
fn a_part_of_a_device_of_a_trace_can_be_changed() {
    let text = format!("{PLAYED}[trace.on]\n\"hm.1\" = \"hdd-7200-ncq\"\nsda = \"ssd-sata\"\n");
    let job = parse(&text, &["trace.on.\"hm.1\".queue.depth=4"]);
    assert_eq!(on(&job), [("hm.1", "hdd-7200-ncq, changed"), ("sda", "ssd-sata")]);
    let Model::Hdd(HddSpec { queue, .. }) = &job.workload.trace().unwrap().on[0].spec.model else {
        panic!("not a disk")
    };
    assert_eq!(queue.depth, 4);
}

#[test]
fn an_argument_decides_between_one_device_and_one_for_each_of_a_trace() {
    let each = format!("{PLAYED}[trace.on]\nsda = \"ssd-sata\"\n");
    let job = parse(&each, &["device=flash"]);
    assert_eq!(on(&job), []);
    assert_eq!(job.device.unwrap().name, "flash");
    assert_eq!(job.workload.trace().unwrap().layout, Some(Layout::Each), "each still has its own");
    let job = parse(&each, &["trace.layout=side-by-side", "device=flash"]);
    assert_eq!(job.workload.trace().unwrap().layout, Some(Layout::SideBySide));
    let one = format!("device = \"flash\"\n{PLAYED}layout = \"side-by-side\"\n");
    let job = parse(&one, &["trace.on.sda=ssd-sata"]);
    assert_eq!((on(&job), &job.device), (vec![("sda", "ssd-sata")], &None));
    assert_eq!(job.workload.trace().unwrap().layout, Some(Layout::Each));
}

#[test]
fn an_io_priority_alone_decides_the_weight_and_a_job_is_what_it_writes() {
    for (class, weight, ioprio) in [
        ("", 100, "be:4"),
        ("ioprio = \"be:0\"", 80, "be:0"),
        ("ioprio = \"rt:7\"", 10, "rt:7"),
        ("ioprio = \"idle\"", 10, "idle"),
        ("ioprio = \"be:0\"\nweight = 100", 100, "be:0"),
    ] {
        let read = parse(&SMALL.replace("[class.a]", &format!("[class.a]\n{class}")), &[]);
        let [a] = &read.classes[..] else { panic!("one class") };
        assert_eq!((a.weight(), a.ioprio.to_string().as_str()), (weight, ioprio), "{class}");
        assert_eq!(parse(&read.text(), &[]), read, "{class}");
    }
}

#[test]
fn merges_read_back_as_they_were_written() {
    let text = "seed = 3\nstop = \"20s\"\n[merge]\njobs = 3\nruns = 4\nrun = \"4MiB\"\nblock = \"8KiB\"\n\
                read = 5\nwrite = 7\nplacement = [{ inputs = [1, 2], output = 0 }, \
                { inputs = [0], output = 1 }, { inputs = [0, 1], output = 2 }]\n\
                layout = \"output-middle\"\nmemory = { partition = 90 }\nwhen_full = \"defer\"\n\
                depletion = { keys = 64 }\nstagger = \"2s\"\ncpu = \"1us\"\n";
    let job = Job::parse("m.toml", text, &[]).unwrap_or_else(|error| panic!("{error}"));
    let merges = job.workload.merges().unwrap();
    assert_eq!((merges.shape.run, merges.shape.blocks()), (512, 2048));
    let names: Vec<_> = job.classes.iter().map(|class| class.name.as_str()).collect();
    assert_eq!(names, ["job0", "job1", "job2"]);
    let written = job.text();
    assert!(!written.contains("[class"), "they follow from the number of jobs: {written}");
    assert_eq!(Job::parse("m.toml", &written, &[]).unwrap(), job);
    let named = format!("{text}[class.a]\n[class.b]\nweight = 5\n[class.c]\n");
    let named = Job::parse("m.toml", &named, &[]).unwrap();
    assert!(named.text().contains("[class.b]\nweight = 5\n"), "{}", named.text());
    assert_eq!(Job::parse("m.toml", &named.text(), &[]).unwrap(), named);
    let defaults = Job::parse("m.toml", "[merge]\njobs = 2\n", &[]).unwrap();
    assert_eq!(Job::parse("m.toml", &defaults.text(), &[]).unwrap(), defaults);
}

/// An argument replaces the memory of the file.
#[test]
fn arguments_change_the_memory_of_merges() {
    let memory = |file: &str, sets: &[&str]| {
        let text = format!("[merge]\njobs = 2\n{file}\n");
        let sets: Vec<String> = sets.iter().map(ToString::to_string).collect();
        let job = Job::parse("m.toml", &text, &sets).unwrap_or_else(|error| panic!("{error}"));
        job.workload.merges().unwrap().memory
    };
    let partition = &["merge.memory.partition=580"][..];
    for file in ["", "memory = \"unlimited\"", "memory = { pool = 1200 }"] {
        assert_eq!(memory(file, partition), Memory::Partition(580), "{file}");
    }
    assert_eq!(memory("memory = { pool = 1200 }", &["merge.memory=unlimited"]), Memory::Unlimited);
    let both = &["merge.memory.pool=1300", "merge.memory.writes=80"][..];
    assert_eq!(memory("", both), Memory::Writes(80), "the later one");
}
