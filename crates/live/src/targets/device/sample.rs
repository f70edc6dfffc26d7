//! A sample of a device, to detect data without a known format, as of a database or a virtual machine.
//!
//! The sample has both ends and a block in each of 128 equal parts, at an offset that is random but the same
//! for every device of this size. Data that fills two of the parts is found wherever it is. If one block in
//! twenty has data, all but one or two devices in a thousand are detected.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use penstock_core::Seed;
use rand::RngExt as _;
use rustix::fs::Advice;

use crate::filling::{SECTOR, holds_no_data};

/// Bytes that are read at each end.
const EDGE: u64 = 1 << 20;
/// The number of parts: they take a second on a hard disk.
const PARTS: u64 = 128;
/// The size of a block in bytes.
const BLOCK: u64 = 4096;

/// Returns the first byte of the first sector with data in the sample of `device`, which has `len` bytes.
///
/// # Errors
/// The device cannot be read.
pub(super) fn first_data(device: &File, len: u64) -> io::Result<Option<u64>> {
    // The kernel need not read ahead. Ignoring the advice only costs time.
    let _ = rustix::fs::fadvise(device, 0, None, Advice::Random);
    for (start, count) in places(len) {
        let mut bytes = vec![0; count as usize];
        device.read_exact_at(&mut bytes, start)?;
        let sectors = bytes.chunks(SECTOR).enumerate();
        for (number, sector) in sectors {
            if !holds_no_data(sector) {
                return Ok(Some(start + (number * SECTOR) as u64));
            }
        }
    }
    Ok(None)
}

/// Returns the ranges of the sample: the first byte and the length of each.
fn places(len: u64) -> Vec<(u64, u64)> {
    let edge = EDGE.min(len);
    let mut places = vec![(0, edge), ((len - edge) / SECTOR as u64 * SECTOR as u64, edge)];
    let mut random = Seed(0).stream("sample of a device", 0);
    let part = len / PARTS / BLOCK;
    places.extend((0..PARTS).filter(|_| part > 0).map(|number| {
        let block = number * part + random.random_range(0..part);
        (block * BLOCK, BLOCK)
    }));
    places.retain_mut(|(start, count)| {
        *count = (*count).min(len - *start);
        *count > 0
    });
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filling::fill;

    #[test]
    fn a_sample_has_both_ends_and_a_block_of_each_part() {
        for len in [1 << 20, 8 << 20, (1 << 30) + 512, 18 << 40] {
            let places = places(len);
            assert_eq!(places[0], (0, 1 << 20));
            assert_eq!(places[1], (len - (1 << 20), 1 << 20));
            let parts = places[2..].iter().zip(0..);
            for ((start, count), part) in parts {
                assert_eq!((start % BLOCK, *count), (0, BLOCK));
                assert_eq!(start / (len / PARTS / BLOCK * BLOCK), part, "{len}");
            }
            assert_eq!(places.len(), 130);
        }
        assert_eq!(places(0), []);
        assert_eq!(places(4096), [(0, 4096), (0, 4096)]);
    }

    /// A file of holes that is removed with the test, with `bytes` at `offset`.
    fn image(name: &str, len: u64, offset: u64, bytes: &[u8]) -> File {
        let path = std::env::temp_dir().join(format!("penstock-{name}-{}", std::process::id()));
        let mut options = File::options();
        let file = options.read(true).write(true).create_new(true).open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        file.set_len(len).unwrap();
        file.write_all_at(bytes, offset).unwrap();
        file
    }

    const LEN: u64 = 1 << 30;

    #[test]
    fn a_byte_at_either_end_is_found() {
        for offset in [0, 99_999, LEN - 99_999, LEN - 1] {
            let file = image("byte", LEN, offset, b"x");
            assert_eq!(first_data(&file, LEN).unwrap(), Some(offset / 512 * 512), "{offset}");
        }
    }

    #[test]
    fn data_of_two_parts_in_the_middle_are_found() {
        let file = image("middle", LEN, LEN / 2 + 4096, &vec![7; (LEN / PARTS * 2) as usize]);
        let found = first_data(&file, LEN).unwrap().expect("data");
        assert!((LEN / 2..LEN / 2 + LEN / PARTS * 2).contains(&found), "{found}");
    }

    #[test]
    fn what_earlier_runs_wrote_and_erased_is_no_data() {
        let mut bytes = vec![0; 2 << 20];
        fill(Seed(9), &mut bytes);
        let len = 6 << 20;
        let file = image("runs", len, 0, &bytes);
        file.write_all_at(&vec![0xff; 1 << 20], 3 << 20).unwrap();
        assert_eq!(first_data(&file, len).unwrap(), None);
        file.write_all_at(&vec![0xa5; 1 << 20], 4 << 20).unwrap();
        assert!(first_data(&file, len).unwrap().is_some());
    }
}
