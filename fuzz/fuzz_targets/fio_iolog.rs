//! Logs of fio, versions 2 and 3.
#![no_main]

use libfuzzer_sys::fuzz_target;
use penstock_tests::properties;

fuzz_target!(|bytes: &[u8]| {
    properties::trace("fio-iolog2", bytes);
    properties::trace("fio-iolog3", bytes);
});
