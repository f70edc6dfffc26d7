//! Traces of the format `ptrace`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use penstock_tests::properties;

fuzz_target!(|bytes: &[u8]| properties::trace("ptrace", bytes));
