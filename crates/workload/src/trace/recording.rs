//! A trace: its requests in order of time, and the names that they refer to.

use std::io;

use penstock_core::{Flags, Span, Time};

use super::record::{DeviceId, Record};
use super::requests::Requests;

/// A recorded workload.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Trace {
    /// The requests in order of time; equal times in the order of the file.
    pub records: Requests,
    /// Names of the processes. The first is empty and stands for an unrecorded process.
    pub processes: Vec<String>,
    /// Names of the devices, volumes or files.
    pub devices: Vec<String>,
    /// The time of the first request by the file's own clock, in nanoseconds.
    pub origin_ns: u64,
    /// Number of requests with an earlier time than a line before them. They were sorted.
    pub out_of_order: u64,
    /// Number of lines or records that are not requests: other events, file actions, summaries.
    pub skipped: u64,
    /// Remarks for users on how the file was read: sentences without a full stop.
    pub remarks: Vec<String>,
    /// Whether each request was sent some time after the completion of the previous one.
    pub one_by_one: bool,
    /// Whether the file says of each request if a caller waits for it. If not, all are taken for
    /// direct requests of programs.
    pub tells_sync: bool,
}

impl Trace {
    /// The name of the process that issued this request; empty if it was not recorded.
    pub fn process(&self, record: &Record) -> &str {
        &self.processes[record.process.index()]
    }

    /// The name of the device that this request went to.
    pub fn device(&self, record: &Record) -> &str {
        &self.devices[record.device.index()]
    }

    /// The flags of this request: as recorded, or those of a direct request.
    pub const fn flags(&self, record: &Record) -> Flags {
        if self.tells_sync { record.flags } else { record.flags.with(Flags::of_program(record.op)) }
    }

    /// Whether a caller waits for this request.
    pub const fn is_sync(&self, record: &Record) -> bool {
        self.flags(record).is_sync(record.op)
    }

    /// Time from the first request to the last.
    pub fn span(&self) -> Span {
        self.records.last().map_or(Span::ZERO, |last| last.at.since(Time::ZERO))
    }

    /// The byte after the last requested one on any device.
    pub fn end(&self) -> u64 {
        self.records.ends().iter().flatten().copied().max().unwrap_or(0)
    }

    /// Bytes of its largest request.
    pub fn longest(&self) -> u32 {
        self.records.longest()
    }

    /// Keeps only the requests to these devices, timed from the first of them.
    ///
    /// # Errors
    /// If they cannot be read or kept.
    pub fn keep(&mut self, devices: &[DeviceId]) -> io::Result<()> {
        let mut requests = Requests::new();
        let mut first = None;
        for mut record in self.records.iter().filter(|record| devices.contains(&record.device)) {
            let first = *first.get_or_insert(record.at);
            record.at = Time::ZERO + record.at.since(first);
            requests.push(record)?;
        }
        self.records.check()?;
        self.records = requests;
        self.origin_ns += first.map_or(0, Time::ns);
        Ok(())
    }
}
