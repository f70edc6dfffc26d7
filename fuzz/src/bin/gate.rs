//! What an application asks of a gate, with commands that fail, against memory.
#![no_main]

use libfuzzer_sys::fuzz_target;
use penstock_tests::properties;

fuzz_target!(|bytes: &[u8]| properties::gate(bytes));
