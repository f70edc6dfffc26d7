//! scratch
use penstock_run::{Options, compare_text};
use penstock_run::result::RunResult;

fn runs(jobs: u32, disks: u32, placement: &str, policy: &str, extra: &[&str], seeds: u32) -> Vec<RunResult> {
    let job = format!(
        "device = {{ model = \"linear\", array = {{ level = \"jbod\", disks = {disks}, scheduler = \"each\" }} }}\n\
         [merge]\njobs = {jobs}\nplacement = \"{placement}\"\n"
    );
    let options = Options { policies: vec![policy.into()], repeat: Some(seeds), ..Options::default() };
    let sets: Vec<String> = extra.iter().map(ToString::to_string).collect();
    compare_text("merge.toml", &job, &sets, &options, &mut |_| true)
        .unwrap_or_else(|failure| panic!("{failure}")).runs
}

#[test]
fn scratch() {
    let seeds = 10;
    for policy in ["fcfs", "round-robin", "read-first"] {
        for placement in ["dedicated", "separate", "shared", "all"] {
            if policy != "fcfs" && placement != "separate" { continue }
            for jobs in 1..=5 {
                if placement == "dedicated" && jobs == 5 { continue }
                let began = std::time::Instant::now();
                let runs = runs(jobs, 5, placement, policy, &[], seeds);
                let took = began.elapsed().as_secs_f64() * 1e3 / f64::from(seeds);
                let merges: Vec<_> = runs.iter().map(|run| run.merge.as_ref().unwrap()).collect();
                let all: Vec<f64> = merges.iter().map(|m| m.makespan_s.unwrap()).collect();
                let mean = all.iter().sum::<f64>() / all.len() as f64;
                let sd = (all.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (all.len() - 1) as f64).sqrt();
                let avg = |f: &dyn Fn(&penstock_run::result::MergeResult) -> f64| merges.iter().map(|m| f(m)).sum::<f64>() / merges.len() as f64;
                let first = avg(&|m| m.finish_s.iter().map(|x| x.unwrap()).fold(f64::MAX, f64::min));
                println!("{policy} {placement} J={jobs} T={mean:.2}±{sd:.2} first={first:.1} div={:.3} mean={:.3} q={:.0} r={:.2} w={:.2} util={:.2} {took:.1}ms",
                    avg(&|m| m.divergence_max), avg(&|m| m.divergence_mean), avg(&|m| m.max_queued_writes as f64), avg(&|m| m.read_ms), avg(&|m| m.write_ms),
                    runs.iter().map(|r| r.device_stats.as_ref().unwrap().all.utilisation).sum::<f64>() / runs.len() as f64);
            }
        }
    }
}
