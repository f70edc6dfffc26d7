//! Generated jobs, run whole: some seconds of the work that the fuzz targets do for hours.
//!
//! `PROPTEST_CASES` sets the number of cases, `PROPTEST_RNG_SEED` the seed. The seed is printed,
//! and so is the text of a failed case.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::panic::catch_unwind;

use penstock_tests::generate::Case;
use penstock_tests::properties;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestError, TestRunner};

/// Bytes of a case: a job takes some hundred.
const LONGEST: usize = 600;
/// Number of simpler cases that are tried after a failure: some seconds.
const SHRINKS: u32 = 400;

/// Checks that `check` holds for `cases` cases, unless the environment sets another number.
fn holds(cases: u32, check: fn(&[u8]), show: fn(&[u8]) -> String) {
    let mut config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    config.max_shrink_iters = SHRINKS;
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = cases;
    }
    if matches!(config.rng_seed, RngSeed::Random) {
        config.rng_seed = RngSeed::Fixed(RandomState::new().build_hasher().finish());
    }
    let RngSeed::Fixed(seed) = config.rng_seed else { unreachable!("it was set") };
    eprintln!("{} cases of PROPTEST_RNG_SEED={seed}", config.cases);
    let mut runner = TestRunner::new(config);
    let bytes = vec(any::<u8>(), 0..LONGEST);
    let found = runner.run(&bytes, |bytes| {
        check(&bytes);
        Ok(())
    });
    if let Err(TestError::Fail(reason, bytes)) = found {
        // Writing the text may be the failing part.
        let shown = catch_unwind(|| show(&bytes)).unwrap_or_default();
        panic!("{shown}\n{bytes:?}\n{reason}\nPROPTEST_RNG_SEED={seed} finds it again");
    }
}

#[test]
fn whole_runs_of_generated_jobs_hold() {
    holds(100, properties::whole_run, |bytes| Case::of(bytes).to_string());
}

#[test]
fn records_of_generated_runs_replay_alike_and_are_never_trusted() {
    holds(100, properties::record, properties::record_text);
}

#[test]
fn generated_jobs_changed_by_arguments_hold() {
    holds(250, properties::set, properties::set_text);
}

#[test]
fn gates_change_what_is_named_and_say_how_far_a_failure_came() {
    holds(60, properties::gate, properties::gate_text);
}
