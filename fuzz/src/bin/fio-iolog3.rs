//! Traces of the format `fio-iolog3`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use penstock_tests::properties;

fuzz_target!(|bytes: &[u8]| properties::trace("fio-iolog3", bytes));
