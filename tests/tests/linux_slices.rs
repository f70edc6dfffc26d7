//! Time slices and budgets: figures for the known properties of `cfq` and `bfq`.

use std::path::Path;

use penstock_core::{
    ClassId, ClassInfo, Flags, Io, IoClass, Op, Prio, ReqId, Seed, Served, Span, StreamId, Time,
    Virtual,
};
use penstock_policy::Value;
use penstock_run::result::RunResult;
use penstock_run::{Options, compare, compare_text};
use penstock_tests::{Chaotic, journal};
use proptest::prelude::*;

/// hdd-7200 with its cache, which reads ahead.
const DISK: &str = r#"
[device]
model = "hdd"
drive = "hdd-7200"
overheads = "0.3ms"
bus = "none"
cache = "drive"
"#;

fn options(policy: &str) -> Options {
    Options { policies: vec![policy.into()], ..Options::default() }
}

fn owned(sets: &[&str]) -> Vec<String> {
    sets.iter().map(|&set| set.into()).collect()
}

/// Runs an example.
fn example(name: &str, policy: &str, sets: &[&str]) -> RunResult {
    let job = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/linux")).join(name);
    compare(&job, &owned(sets), &options(policy), &mut |_| true).unwrap().runs.remove(0)
}

/// Runs classes, each with its keys and those of its agent, over the disk.
fn programs(classes: &[(&str, String)], policy: &str, sets: &[&str]) -> RunResult {
    let mut job = String::from("duration = \"20s\"\n");
    for (number, (class, agent)) in classes.iter().enumerate() {
        let name = format!("c{number}");
        job.extend([
            "[class.",
            &name,
            "]\n",
            class,
            "\n[[agent]]\nclass = \"",
            &name,
            "\"\n",
            agent,
            "\n",
        ]);
    }
    job += DISK;
    let run = compare_text("job.toml", &job, &owned(sets), &options(policy), &mut |_| true);
    run.unwrap().runs.remove(0)
}

/// An agent that reads one block after another in a part of the disk, in percent.
fn sequential(size: &str, [from, to]: [u32; 2], arrivals: &str) -> String {
    format!(
        "op = \"read\"\nsize = \"{size}\"\npattern = \"sequential\"\n\
         region = [\"{from}%\", \"{to}%\"]\narrivals = {{ kind = \"closed\", {arrivals} }}"
    )
}

/// An agent that reads 4 KiB at random places all over the disk.
fn random(arrivals: &str) -> String {
    format!(
        "op = \"read\"\nsize = \"4KiB\"\npattern = \"random\"\n\
         arrivals = {{ kind = \"closed\", {arrivals} }}"
    )
}

const SLICES: &str = "cfq.mode=slices";
const WEIGHTS_ALONE: &str = "bfq.low_latency=0";

fn throughput(run: &RunResult) -> f64 {
    run.classes.iter().map(|class| class.bw_bytes).sum()
}

fn parts(values: &[f64]) -> Vec<f64> {
    let sum: f64 = values.iter().sum();
    values.iter().map(|value| value / sum).collect()
}

fn parts_of_time(run: &RunResult) -> Vec<f64> {
    parts(&run.classes.iter().map(|class| class.device_time_s).collect::<Vec<_>>())
}

fn parts_of_bytes(run: &RunResult) -> Vec<f64> {
    parts(&run.classes.iter().map(|class| class.bw_bytes).collect::<Vec<_>>())
}

/// Returns Jain's index: 1 if all are equal.
fn jain(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().sum();
    sum * sum / (values.len() as f64 * values.iter().map(|value| value * value).sum::<f64>())
}

fn worst(found: &[f64], expected: &[f64]) -> f64 {
    found.iter().zip(expected).map(|(found, right)| (found - right).abs()).fold(0.0, f64::max)
}

#[test]
fn slices_give_readers_of_any_size_equal_time_and_several_times_the_throughput() {
    let [requests, slices] =
        ["cfq.mode=requests", SLICES].map(|mode| example("fair-readers.toml", "cfq", &[mode]));
    let (gain, jain) = (throughput(&slices) / throughput(&requests), jain(&parts_of_time(&slices)));
    assert!(gain >= 3.0 && jain >= 0.98, "{gain:.2} times, Jain's index {jain:.4}");
}

/// Equal requests of different sizes are the unfairness of this mode.
#[test]
fn turns_of_requests_give_readers_of_any_size_equal_requests() {
    let run = example("fair-readers.toml", "cfq", &["cfq.mode=requests"]);
    let counts: Vec<u64> = run.classes.iter().map(|class| class.requests).collect();
    let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
    // The difference is at most a turn.
    assert!(*least > 0 && most - least <= 4, "{counts:?} requests");
}

#[test]
fn levels_of_io_priority_share_the_time_as_their_slices() {
    for think in ["0ms", "1ms"] {
        let think = format!("think = \"{think}\"");
        let classes =
            [("be:0", [0, 33]), ("be:4", [33, 66]), ("be:7", [66, 99])].map(|(ioprio, region)| {
                (format!("ioprio = \"{ioprio}\""), sequential("64KiB", region, &think))
            });
        let classes = classes.each_ref().map(|(class, agent)| (class.as_str(), agent.clone()));
        let found = parts_of_time(&programs(&classes, "cfq", &[SLICES]));
        assert!(worst(&found, &[0.5625, 0.3125, 0.125]) <= 0.04, "{think}: {found:.3?}");
    }
}

/// Three readers and one that thinks for longer than the disk would be kept idle.
#[test]
fn slices_do_not_wait_for_a_stream_that_thinks_for_long() {
    let classes = [
        ("", sequential("64KiB", [0, 40], "think = \"0ms\"")),
        ("", sequential("64KiB", [60, 100], "think = \"30ms\"")),
    ];
    let run = programs(&classes, "cfq", &[SLICES]);
    let (held, declined) = (run.policy_stats["idle_held_ns"], run.policy_stats["idlings_declined"]);
    assert!(declined > 100 && held < 200_000_000, "{held} ns, declined {declined} times");
}

/// The order of service of I/O priorities: real time, best effort, idle.
fn rank(class: &ClassInfo) -> u32 {
    match class.ioprio.class() {
        IoClass::RealTime => 0,
        IoClass::BestEffort => 1,
        IoClass::Idle => 2,
    }
}

prop_compose! {
    /// Generates a request of one of three streams, each of its own class.
    fn any_request()(
        due_us in 0_u64..60_000,
        block in 0_u64..2_000,
        stream in 0_u32..3,
        write in any::<bool>(),
    ) -> Io {
        Io {
            due: Time::ZERO + Span::from_us(due_us),
            start: block * 65_536,
            len: 4096,
            stream: StreamId(stream),
            class: ClassId(stream as u16),
            op: if write { Op::Write } else { Op::Read },
            prio: Prio(0),
            flags: Flags::NONE,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// A request that arrives at the very instant of a decision may come too late for it.
    #[test]
    fn no_decision_passes_over_a_class_that_goes_first(
        ios in prop::collection::vec(any_request(), 1..120),
        bfq in any::<bool>(),
        depth in 1_usize..4,
        seed in any::<u64>(),
    ) {
        let entry = penstock_policy::find(if bfq { "bfq" } else { "cfq" }).expect("a policy");
        let mut params = entry.defaults();
        if !bfq {
            params.set("mode", Value::Word("slices"));
        }
        let classes = ["rt:4", "be:4", "idle"].map(|text| {
            ClassInfo { ioprio: text.parse().expect("one"), ..ClassInfo::new("class") }
        });
        let policy = (entry.build)(&params, &Served { classes: &classes, ..Served::ONE_DISK });
        let device = Chaotic::new(depth, false, Seed(seed));
        let journal = journal(policy, device, &mut Virtual::default(), &ios).expect("it ends");
        let mut waiting: Vec<_> = journal.enqueued.iter().collect();
        for decision in &journal.decisions {
            let sent = |id: ReqId| id == decision.go.id || decision.chain.contains(&id);
            let (_, first) = waiting.iter().find(|(_, req)| req.id == decision.go.id).unwrap();
            let mine = rank(&classes[first.class.index()]);
            for (came, req) in &waiting {
                let before = rank(&classes[req.class.index()]) < mine && *came < decision.at;
                prop_assert!(!before, "{req:?} waits, and {first:?} goes");
            }
            waiting.retain(|(_, req)| !sent(req.id));
        }
    }
}

/// Readers of these weights, each in its part of the disk.
fn weighted(weights: &[u32]) -> Vec<(String, String)> {
    let part = 80 / weights.len() as u32;
    let reader = |(number, weight): (u32, &u32)| {
        let region = [number * part, (number + 1) * part];
        (format!("weight = {weight}"), sequential("64KiB", region, "depth = 1"))
    };
    (0..).zip(weights).map(reader).collect()
}

fn as_programs(classes: &[(String, String)]) -> Vec<(&str, String)> {
    classes.iter().map(|(class, agent)| (class.as_str(), agent.clone())).collect()
}

const SEVENTHS: [f64; 3] = [1.0 / 7.0, 2.0 / 7.0, 4.0 / 7.0];

#[test]
fn budgets_give_bytes_by_weight() {
    let classes = weighted(&[100, 200, 400]);
    for sets in [&[WEIGHTS_ALONE][..], &[WEIGHTS_ALONE, "bfq.strict_guarantees=true"]] {
        let run = programs(&as_programs(&classes), "bfq", sets);
        let found = parts_of_bytes(&run);
        assert!(worst(&found, &SEVENTHS) <= 0.03, "{sets:?}: {found:.4?}");
    }
}

/// The random reader is charged time, so it takes about the time of its weight and little of the
/// throughput.
#[test]
fn a_random_reader_leaves_the_others_their_ratios_and_most_of_the_throughput() {
    let run = example("weights.toml", "bfq", &[]);
    let found = parts(&parts_of_bytes(&run)[..3]);
    let time = parts_of_time(&run)[3];
    let alone = example("weights.toml", "bfq", &["agent.3.start=19.9s"]);
    let kept = throughput(&run) / throughput(&alone);
    assert!(worst(&found, &SEVENTHS) <= 0.05, "{found:.4?}");
    assert!((time - 0.125).abs() < 0.03 && kept > 0.8, "{time:.3} of the time, {kept:.3} kept");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// A queue saves nothing up while it has nothing to do.
    #[test]
    fn a_queue_that_goes_on_and_off_gets_no_more_than_its_share(
        weight in 1_u32..=1_000,
        kib in prop::sample::select(&[4_u32, 16, 64, 256][..]),
        depth in 1_u32..16,
        think_ms in 1_u32..400,
        start_ms in 0_u32..3_000,
    ) {
        let mut classes = weighted(&[100, 200, 400]);
        let arrivals = format!("depth = {depth}, think = \"{think_ms}ms\"");
        let reader = sequential(&format!("{kib}KiB"), [80, 100], &arrivals);
        classes.push((format!("weight = {weight}"), format!("start = \"{start_ms}ms\"\n{reader}")));
        let run = programs(&as_programs(&classes), "bfq", &[WEIGHTS_ALONE, "duration=10s"]);
        let found = parts_of_bytes(&run)[3];
        let share = f64::from(weight) / f64::from(weight + 700);
        // Half of a largest budget in 10 s.
        prop_assert!(found <= share + 0.01, "{found:.4} of the bytes, share {share:.4}");
    }
}

/// Four agents that read all the time, and after 10 s a program that reads 20 MiB.
fn a_start(policy: &str, sets: &[&str]) -> RunResult {
    let mut classes: Vec<_> =
        (0..4).map(|n| ("", sequential("128KiB", [20 * n, 20 * n + 20], "depth = 1"))).collect();
    let program = sequential("64KiB", [85, 90], "count = 320");
    classes.push(("", format!("start = \"10s\"\n{program}")));
    programs(&classes, policy, sets)
}

#[test]
fn a_program_that_starts_is_done_in_half_the_time_with_low_latency() {
    let times = [WEIGHTS_ALONE, "bfq.low_latency=1"].map(|set| {
        let run = a_start("bfq", &[set]);
        let program = &run.classes[4];
        assert_eq!(program.requests, 320);
        program.lat_ns.mean * 320.0 / 1e9
    });
    assert!(times[1] <= 0.5 * times[0], "{times:.3?} s");
}

/// The player requests 64 KiB every 100 ms, which is next to nothing, and should never be late.
#[test]
fn a_player_is_late_less_often_with_low_latency() {
    let mut classes: Vec<_> =
        (0..4).map(|n| ("", sequential("128KiB", [20 * n, 20 * n + 20], "depth = 1"))).collect();
    let player = "op = \"read\"\nsize = \"64KiB\"\npattern = \"sequential\"\n\
                  region = [\"85%\", \"90%\"]\narrivals = { kind = \"fixed\", rate = \"10/s\" }";
    classes.push(("", player.into()));
    let late = [WEIGHTS_ALONE, "bfq.low_latency=1"].map(|set| {
        let run = programs(&classes, "bfq", &[set, "warmup=5s"]);
        run.classes[4].lat_ns.mean / 1e6
    });
    assert!(late[1] <= 0.5 * late[0], "{late:.1?} ms on average");
}

#[test]
fn weights_above_a_thousand_are_capped_and_counted() {
    let classes = weighted(&[1_000, 4_000]);
    let run = programs(&as_programs(&classes), "bfq", &[WEIGHTS_ALONE]);
    let found = parts_of_bytes(&run);
    assert_eq!(run.policy_stats["weights_capped"], 1);
    assert!(worst(&found, &[0.5, 0.5]) < 0.03, "{found:.4?}");
}

/// With equal weights nothing is gained by waiting for a random reader.
#[test]
fn random_readers_of_equal_weights_are_not_waited_for() {
    let classes: Vec<_> = (0..4).map(|_| ("", random("depth = 1"))).collect();
    let [fcfs, bfq] = ["fcfs", "bfq"].map(|policy| programs(&classes, policy, &[WEIGHTS_ALONE]));
    let kept = throughput(&bfq) / throughput(&fcfs);
    assert!(kept >= 0.95, "{kept:.3}, {:?}", bfq.policy_stats);
}

/// The drive is a third busy.
#[test]
fn direct_writes_of_an_ssd_wait_no_longer_than_its_reads() {
    let agent = |op: &str, region: &str| {
        format!(
            "[[agent]]\nclass = \"{op}s\"\nop = \"{op}\"\nsize = \"8KiB\"\npattern = \"random\"\n\
             region = {region}\narrivals = {{ kind = \"poisson\", rate = \"2000/s\" }}\n"
        )
    };
    let job = [
        "duration = \"5s\"\ndevice = \"ssd-sata\"\n[class.reads]\n[class.writes]\n",
        &agent("read", "[\"0%\", \"40%\"]"),
        &agent("write", "[\"50%\", \"90%\"]"),
    ]
    .concat();
    let p99_us = |policy: &str| {
        let run =
            compare_text("job.toml", &job, &owned(&[SLICES]), &options(policy), &mut |_| true);
        let run = run.unwrap().runs.remove(0);
        ["reads", "writes"].map(|class| {
            let class = run.classes.iter().find(|found| found.name == class).unwrap();
            class.lat_ns.percentile["99.000000"] / 1_000
        })
    };
    let [reads, writes] = p99_us("noop");
    assert_eq!(p99_us("bfq"), [reads, writes], "bytes are equal, so nothing is kept back");
    // By slices each waits for the slice of the other.
    let [reads, writes] = p99_us("cfq");
    assert!(reads.abs_diff(writes) < reads / 50, "{reads} and {writes} us");
}
