//! Policies from outside: they run as built-in ones do, over models only, and may quit.

use std::path::Path;
use std::sync::{Arc, Mutex};

use penstock_core::{ClassInfo, Counter, Go, Out, Part, Policy, Request, Served, Time};
use penstock_policy::Params;
use penstock_policy::fcfs::Fcfs;
use penstock_run::{
    Candidate, Failure, Foreign, Options, Quit, QuitFlag, TargetOptions, compare_text,
};
use serde_json::{Value, json};

const JOB: &str = r#"duration = "2s"
device = "flash"
[class.one]
[class.two]
[[agent]]
class = "two"
op = "read"
size = "4KiB"
pattern = "random"
arrivals = { kind = "poisson", rate = "1000/s" }
"#;

/// `fcfs` that quits after a number of requests have come back.
struct Until {
    policy: Fcfs,
    left: u32,
    flag: QuitFlag,
    quit: Quit,
}

impl Policy for Until {
    fn enqueue(&mut self, now: Time, req: &Request) {
        self.policy.enqueue(now, req);
    }

    fn dispatch(&mut self, now: Time, out: &mut Out<'_>) -> Option<Go> {
        self.policy.dispatch(now, out).filter(|_| self.flag.get().is_none())
    }

    fn complete(&mut self, _: Time, _: &Request, _: &Part) {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            let _ = self.flag.set(self.quit.clone());
        }
    }

    fn wakeup(&self) -> Time {
        if self.flag.get().is_some() { Time::ZERO } else { Time::NEVER }
    }
}

/// A policy called `name` that quits after `after` requests.
fn until(name: &str, after: u32, quit: Quit) -> Candidate {
    let build = move |served: &Served<'_>, flag: QuitFlag| -> Box<dyn Policy> {
        assert_eq!(served.classes.len(), 2);
        let policy = Fcfs::new(&Params::NONE);
        Box::new(Until { policy, left: after, flag, quit: quit.clone() })
    };
    Candidate::Foreign(Foreign { name: name.into(), build: Arc::new(build) })
}

fn whole(name: &str) -> Candidate {
    until(name, u32::MAX, Quit::Interrupted)
}

fn run(policies: Vec<Candidate>, more: Options) -> Result<Value, Failure> {
    let options = Options { policies, ..more };
    let result = compare_text("job.toml", JOB, &[], &options, &mut |_| true);
    result.map(|comparison| serde_json::to_value(&comparison).unwrap()["runs"].clone())
}

/// The message of a run that is refused or fails.
fn message(policies: Vec<Candidate>, more: Options) -> (String, u8) {
    let failure = run(policies, more).expect_err("a mistake");
    (failure.to_string(), failure.exit_code())
}

#[test]
fn one_from_outside_runs_as_a_built_in_one_does() {
    let mut runs = run(vec!["fcfs".into(), whole("mine")], Options::default()).unwrap();
    assert_eq!(runs[1]["policy"], "mine");
    runs[1]["policy"] = "fcfs".into();
    assert_eq!(runs[0], runs[1]);
    assert!(runs[0]["classes"][1]["requests"].as_u64().unwrap() > 1000);
}

/// `fcfs` that counts what it sends.
struct Counting(Fcfs, u64);

impl Policy for Counting {
    fn enqueue(&mut self, now: Time, req: &Request) {
        self.0.enqueue(now, req);
    }

    fn dispatch(&mut self, now: Time, out: &mut Out<'_>) -> Option<Go> {
        let go = self.0.dispatch(now, out);
        self.1 += u64::from(go.is_some());
        go
    }

    fn complete(&mut self, now: Time, req: &Request, part: &Part) {
        self.0.complete(now, req, part);
    }

    fn counters(&self, count: &mut dyn FnMut(Counter<'_>, u64)) {
        count(Counter::total("sent"), self.1);
        count(Counter::level("never"), 0);
    }
}

#[test]
fn counters_of_a_policy_are_in_its_result_alone() {
    let build = |_: &Served<'_>, _: QuitFlag| -> Box<dyn Policy> {
        Box::new(Counting(Fcfs::new(&Params::NONE), 0))
    };
    let counting = Foreign { name: "counting".into(), build: Arc::new(build) };
    let runs = run(vec![Candidate::Foreign(counting), "fcfs".into()], Options::default()).unwrap();
    let sent = &runs[0]["classes"][1]["requests"];
    assert_eq!(runs[0]["policy_stats"], json!({"never": 0, "sent": sent}));
    assert_eq!(runs[1].get("policy_stats"), None);
}

/// Returns the facts that a policy gets about `job` on `on`, as `name/weight/prio/ioprio`, and the number
/// of disks.
fn served(job: &str, on: Option<&str>) -> (Vec<String>, u32) {
    let found = Arc::new(Mutex::new(None));
    let inside = Arc::clone(&found);
    let build = move |served: &Served<'_>, _: QuitFlag| -> Box<dyn Policy> {
        let known = |class: &ClassInfo| {
            let ClassInfo { name, weight, prio, ioprio } = class;
            format!("{name}/{weight}/{}/{ioprio}", prio.0)
        };
        let classes = served.classes.iter().map(known).collect();
        *inside.lock().unwrap() = Some((classes, served.disks.get()));
        Box::new(Fcfs::new(&Params::NONE))
    };
    let policies =
        vec![Candidate::Foreign(Foreign { name: "mine".into(), build: Arc::new(build) })];
    let target = TargetOptions { on: on.map(Into::into), ..TargetOptions::default() };
    let options = Options { policies, target, ..Options::default() };
    compare_text("job.toml", job, &[], &options, &mut |_| true).unwrap();
    found.lock().unwrap().take().unwrap()
}

#[test]
fn a_policy_is_given_the_classes_and_the_disks() {
    let known = |classes: &[&str]| classes.iter().map(|&class| class.to_owned()).collect();
    assert_eq!(served(JOB, None), (known(&["one/100/0/be:4", "two/100/0/be:4"]), 1));
    let job = JOB.replace("[class.two]", "[class.two]\nweight = 10000\nprio = 7");
    assert_eq!(served(&job, Some("hdd-7200")), (known(&["one/100/0/be:4", "two/10000/7/be:4"]), 1));
    let raid5 = "{ model = \"fixed\", base = \"1us\", array = { level = \"raid5\", disks = 3 } }";
    let job = job.replace("\"flash\"", raid5);
    assert_eq!(served(&job, None), (known(&["one/100/0/be:4", "two/10000/7/be:4"]), 3));
}

/// The remark of a comparison of `policies` with these weights of the two classes.
fn remarks(policies: Vec<Candidate>, weights: [u32; 2]) -> Vec<String> {
    let [one, two] = weights;
    let job = JOB.replace("[class.one]", &format!("[class.one]\nweight = {one}"));
    let job = job.replace("[class.two]", &format!("[class.two]\nweight = {two}"));
    let options = Options { policies, ..Options::default() };
    compare_text("job.toml", &job, &[], &options, &mut |_| true).unwrap().remarks
}

#[test]
fn weights_that_no_policy_uses_get_a_remark() {
    let two = || vec!["noop".into(), "cfq".into()];
    assert_eq!(remarks(two(), [100, 100]), [""; 0]);
    let remark = "weight of class `two` has no effect: none of the policies noop, cfq uses weights";
    assert_eq!(remarks(two(), [100, 1]), [remark]);
    let remark = "weights of classes `one`, `two` have no effect: noop does not use weights";
    assert_eq!(remarks(vec!["noop".into()], [3, 10_000]), [remark]);
    // Whether a policy from outside uses weights is unknown.
    assert_eq!(remarks(vec!["noop".into(), whole("mine")], [3, 1]), [""; 0]);
}

#[test]
fn one_that_fails_ends_its_run_and_says_why() {
    let at = Time::from_ns(1_500_000_000);
    let quit = Quit::Failed { at, what: "it is bored".into(), hint: "amuse it".into() };
    let text = message(vec!["fcfs".into(), until("mine", 100, quit)], Options::default());
    assert_eq!(text, ("error: policy mine, at 1.500 s: it is bored\nhint: amuse it".into(), 1));
}

#[test]
fn the_result_so_far_stays_after_an_interrupt() {
    let policies = vec![until("mine", 100, Quit::Interrupted), "fcfs".into()];
    let runs = run(policies, Options::default()).unwrap();
    assert_eq!(runs.as_array().unwrap().len(), 1, "the next one does not run");
    assert_eq!(runs[0]["interrupted"], true);
    assert_eq!(runs[0]["classes"][1]["requests"], 100);
}

#[test]
fn no_two_policies_have_one_name() {
    let (text, code) = message(vec![whole("noop")], Options::default());
    assert!(text.contains("is called noop, as a built-in one is"), "{text}");
    assert_eq!(code, 2);
    let (text, code) = message(vec![whole("mine"), whole("mine")], Options::default());
    assert!(text.contains("two policies are called mine"), "{text}");
    assert_eq!(code, 2);
}

#[test]
fn neither_a_live_run_nor_a_record_is_begun() {
    let folder = std::env::temp_dir();
    let file = folder.join(format!("penstock-candidates-{}", std::process::id()));
    let path = |path: &Path| path.display().to_string();
    let target = TargetOptions { create: Some("16MiB".into()), ..TargetOptions::on(path(&file)) };
    let live = Options { target, ..Options::default() };
    let (text, code) = message(vec!["fcfs".into(), whole("mine")], live);
    assert!(text.contains("policy mine is from outside and runs over a model"), "{text}");
    assert_eq!((code, file.exists()), (2, false));
    let record = Options { record: Some(file.clone()), ..Options::default() };
    let (text, code) = message(vec![whole("mine")], record);
    assert!(text.contains("only built-in policies can be recorded, and mine is not one"), "{text}");
    assert_eq!((code, file.exists()), (2, false));

    // Nor what needs one queue, where each disk has its own.
    let array = "{ model = \"fixed\", base = \"1us\", array = { level = \"raid0\", disks = 2, \
                 scheduler = \"each\" } }";
    let job = JOB.replace("\"flash\"", array);
    let refused = |policy, options: Options| {
        let options = Options { policies: vec![policy], ..options };
        compare_text("job.toml", &job, &[], &options, &mut |_| true).unwrap_err().to_string()
    };
    let text = refused(whole("mine"), Options::default());
    assert!(text.contains("policy mine is from outside and decides for one queue"), "{text}");
    // Or where each device of a trace has.
    let trace = folder.join(format!("penstock-candidates-{}.trace", std::process::id()));
    std::fs::write(&trace, "0.0 0 0 8 1\n0.0 1 0 8 1\n").unwrap();
    let job = format!(
        "device = \"flash\"\n[trace]\nfile = \"{}\"\nformat = \"disksim\"\nlayout = \"each\"\n",
        trace.display()
    );
    let options = Options { policies: vec![whole("mine")], ..Options::default() };
    let error = compare_text("job.toml", &job, &[], &options, &mut |_| true).unwrap_err();
    let said = "decides for one queue, and each device of the trace has its own";
    assert!(error.to_string().contains(said), "{error}");
    std::fs::remove_file(&trace).unwrap();
    assert!(!file.exists());
}
