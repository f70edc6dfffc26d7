//! Drives with all published and observed facts, compared with the real ones.

use penstock_validation::drives::real_drives;

#[test]
fn drives_are_no_further_from_the_real_ones_than_disksim() {
    for drive in real_drives() {
        assert_eq!(drive.measured.len(), 10_000);
        let (rms, (disksim, _)) = (drive.apart_ms(), drive.disksim);
        assert!(rms <= disksim, "{}: {rms} ms apart", drive.name);
    }
}
