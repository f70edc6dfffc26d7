//! The data that runs generate: bytes that look random and can be recognised.
//!
//! Each sector begins with eight random bytes and eight bytes computed from them. A disk, even one that
//! compresses or deduplicates, cannot tell them from others. A reader knows with near certainty that the
//! sector holds no other data.

use penstock_core::Seed;
use rand::Rng as _;

/// The size of a sector in bytes: no write is aligned to less.
pub(crate) const SECTOR: usize = 512;

/// Fills `bytes`, which begin at a sector, with data generated from `seed`.
pub fn fill(seed: Seed, bytes: &mut [u8]) {
    seed.stream("data written", 0).fill_bytes(bytes);
    for sector in bytes.chunks_exact_mut(SECTOR) {
        let tag = tag(sector);
        sector[8..16].copy_from_slice(&tag);
    }
}

/// Returns whether `bytes`, which begin at a sector, hold no data: each sector is as [`fill`] makes it, or all
/// zeros or all ones, as on media that are new, erased or discarded.
pub(crate) fn holds_no_data(bytes: &[u8]) -> bool {
    bytes.chunks(SECTOR).all(|sector| {
        let consists_of = |value| sector.iter().all(|&byte| byte == value);
        consists_of(0)
            || consists_of(0xff)
            || (sector.len() == SECTOR && sector[8..16] == tag(sector))
    })
}

/// Returns the second eight bytes of a sector: the first eight plus a constant, mixed with the finaliser of
/// `SplitMix64` (Steele, Lea and Flood, 2014).
pub(crate) fn tag(sector: &[u8]) -> [u8; 8] {
    const OURS: u64 = u64::from_le_bytes(*b"penstock");
    let random = u64::from_le_bytes(sector[..8].try_into().expect("eight bytes"));
    let mixed = random.wrapping_add(OURS);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(seed: u64) -> Vec<u8> {
        let mut bytes = vec![0; 1 << 20];
        fill(Seed(seed), &mut bytes);
        bytes
    }

    #[test]
    fn what_a_run_writes_is_known_whatever_its_seed_and_wherever_it_begins() {
        for seed in [0, 1, u64::MAX] {
            let bytes = filled(seed);
            assert!(holds_no_data(&bytes));
            assert!(holds_no_data(&bytes[4096 + 512..]));
        }
        assert!(holds_no_data(&[0; 4096]) && holds_no_data(&[0xff; 4096]));
        let mixed = [&[0; 512], &filled(1)[..1024], &[0xff; 512], &[0; 512]].concat();
        assert!(holds_no_data(&mixed), "a run, and a discard");
    }

    #[test]
    fn one_byte_of_data_is_enough() {
        let mut bytes = filled(1);
        bytes[700 * 512 + 9] ^= 1;
        assert!(!holds_no_data(&bytes));
        let mut zeros = [0; 4096];
        zeros[4095] = 1;
        assert!(!holds_no_data(&zeros));
        assert!(!holds_no_data(&[0x55; 4096]));
        let mut random = vec![0; 4096];
        Seed(1).stream("data written", 0).fill_bytes(&mut random);
        assert!(!holds_no_data(&random), "bytes that only look random");
    }

    #[test]
    fn it_does_not_compress() {
        // The bytes of a million are distributed like any random ones.
        let mut counts = [0_u32; 256];
        for byte in filled(3) {
            counts[usize::from(byte)] += 1;
        }
        assert!(counts.iter().all(|&count| (3600..4600).contains(&count)), "{counts:?}");
        let tags: std::collections::BTreeSet<_> =
            filled(4).chunks(SECTOR).map(|sector| sector[..16].to_vec()).collect();
        assert_eq!(tags.len(), (1 << 20) / SECTOR, "no two are alike");
    }
}
