//! Results of verification in a run.

use penstock_live::Difference;
use schemars::JsonSchema;
use serde::Serialize;

/// Results of verification in a run, in blocks of 4096 bytes.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Verified")]
pub struct VerifyResult {
    /// Paths of the records of verified writes, one for each target; empty over models.
    pub records: Vec<String>,
    /// Blocks that were written with a stamp and acknowledged, warm-up included.
    pub written: u64,
    /// Blocks that were read and compared with what is recorded, warm-up included.
    pub checked: u64,
    /// Blocks that were read where reads are checked, but could not be compared: no verified write
    /// of them is recorded, or too many were under way at once.
    pub unchecked: u64,
    /// Blocks that were read again at the end, and compared.
    pub read_again: u64,
    /// Blocks that differed from what was written.
    pub different: u64,
    /// The first different blocks, at most 16.
    pub differences: Vec<DifferenceResult>,
}

/// A block that differed from what was written.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Difference")]
pub struct DifferenceResult {
    /// Path of the target.
    pub file: String,
    /// The first byte of the block in the target.
    pub offset: u64,
    /// The versions that may be there: the one acknowledged last, and those in flight.
    pub expected: String,
    /// A description of the data that is there.
    pub found: String,
}

impl From<Difference> for DifferenceResult {
    fn from(difference: Difference) -> Self {
        let Difference { path, offset, expected, found } = difference;
        Self { file: path.display().to_string(), offset, expected, found }
    }
}
