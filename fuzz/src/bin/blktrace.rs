//! Traces of the format `blktrace`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use penstock_tests::properties;

fuzz_target!(|bytes: &[u8]| properties::trace("blktrace", bytes));
