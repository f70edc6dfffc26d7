//! Files of any format, packed or not: detection and unpacking.
#![no_main]

use libfuzzer_sys::fuzz_target;
use penstock_tests::properties;

fuzz_target!(|bytes: &[u8]| properties::file(bytes));
