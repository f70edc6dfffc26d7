//! Traces of the format `msr`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use penstock_tests::properties;

fuzz_target!(|bytes: &[u8]| properties::trace("msr", bytes));
