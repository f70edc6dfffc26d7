//! Traces of the format `fio-iolog2`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use penstock_tests::properties;

fuzz_target!(|bytes: &[u8]| properties::trace("fio-iolog2", bytes));
