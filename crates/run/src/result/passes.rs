//! The result of a test whose workers go through files call by call.

use schemars::JsonSchema;
use serde::Serialize;

/// A test of `penstock iozone`: every worker went through its file once.
#[derive(Clone, Debug, JsonSchema, Serialize)]
#[schemars(rename = "FileTest")]
pub struct FileTestResult {
    /// Name of the test, as `random_read`.
    pub test: &'static str,
    /// Number of workers.
    pub threads: u32,
    /// Bytes of a record, the range of a call.
    pub record_bytes: u64,
    /// Bytes of each worker's file: whole records.
    pub file_bytes: u64,
    /// Nanoseconds from the common start to the end of the last worker.
    pub parent_ns: u64,
    /// The workers, in the order of their files.
    pub workers: Vec<WorkerResult>,
}

/// A worker of a test.
#[derive(Clone, Copy, Debug, JsonSchema, Serialize)]
#[schemars(rename = "Worker")]
pub struct WorkerResult {
    /// Bytes that it read or wrote in its time.
    pub bytes: u64,
    /// Number of records that it read or wrote.
    pub calls: u64,
    /// Nanoseconds from its first call to the end of its last, with the flush and the close if they
    /// are included.
    pub ns: u64,
}
