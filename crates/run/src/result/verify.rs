//! What was verified in a run.

use penstock_live::Difference;
use schemars::JsonSchema;
use serde::Serialize;

/// What was verified in a run, in blocks of 4096 bytes.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Verified")]
pub struct VerifyResult {
    /// Where the records of verified writes are, one for each target; none over models.
    pub records: Vec<String>,
    /// Blocks that were written with a stamp and acknowledged, in the warm-up too.
    pub written: u64,
    /// Blocks that were read and compared with what is recorded, in the warm-up too.
    pub checked: u64,
    /// Blocks that were read where reads are checked, and that could not be compared: no verified write of them
    /// is recorded, or too many were under way at once.
    pub unchecked: u64,
    /// Blocks that were read again at the end, and compared.
    pub read_again: u64,
    /// Blocks that were not what was written.
    pub different: u64,
    /// The first of them, 16 at most.
    pub differences: Vec<DifferenceResult>,
}

/// A block that was not what was written.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Difference")]
pub struct DifferenceResult {
    /// The target.
    pub file: String,
    /// The first byte of the block in the target.
    pub offset: u64,
    /// What should be there: what was acknowledged last, and what was in flight.
    pub expected: String,
    /// What is there.
    pub found: String,
}

impl From<Difference> for DifferenceResult {
    fn from(difference: Difference) -> Self {
        let Difference { path, offset, expected, found } = difference;
        Self { file: path.display().to_string(), offset, expected, found }
    }
}
