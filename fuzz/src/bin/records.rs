//! Runs, recorded and replayed, and records whose bytes are changed.
#![no_main]

use libfuzzer_sys::fuzz_target;
use penstock_tests::properties;

fuzz_target!(|bytes: &[u8]| properties::record(bytes));
