//! Drives with everything that is known of them beside the real ones.

use penstock_validation::drives::real_drives;

/// The model's distances differ from `DiskSim`'s by 0.15 us at most: they are compared to the
/// microsecond.
#[test]
fn whole_drives_are_no_further_from_the_real_ones_than_disksim() {
    for drive in real_drives() {
        assert_eq!(drive.measured.len(), 10_000);
        let us = |ms: f64| (ms * 1e3).round();
        let (rms, (disksim, _)) = (drive.apart_ms(), drive.disksim);
        assert!(us(rms) <= us(disksim), "{}: {rms} ms apart", drive.name);
    }
}
