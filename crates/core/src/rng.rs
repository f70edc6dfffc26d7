//! Random numbers: every one derives from the one seed that a run prints.

use rand_pcg::Pcg64;

/// A named generator whose numbers stay the same over releases and machines.
pub type Rng = Pcg64;

/// The seed of a run. Each user of random numbers takes a stream of its own by label, so that an
/// additional user does not change the numbers of the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seed(pub u64);

impl Seed {
    /// The generator of the instance numbered `index` of the user `label`.
    pub fn stream(self, label: &str, index: u64) -> Rng {
        let mut hash = fnv(FNV_OFFSET, label.as_bytes());
        hash = fnv(hash, &index.to_le_bytes());
        // The stream selects one of 2^127 sequences, the state the place in it to begin at.
        Pcg64::new(u128::from(mix(self.0)) << 64 | u128::from(self.0), u128::from(hash))
    }
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a: short, well known, and the same everywhere.
fn fnv(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, &b| (hash ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

/// The finaliser of `SplitMix64`: neighbouring seeds become unlike.
fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
