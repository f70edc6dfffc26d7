//! A capture of a disk's requests by the events of this kernel.

use std::path::Path;

use penstock_workload::trace::capture::{CaptureCounts, CapturedDisk, Recorder};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::traces::kernel_layout::{event_failure, kernel_layout};

/// A capture while it is made.
pub struct Capture {
    recorder: Recorder,
    events: Vec<&'static str>,
}

impl Capture {
    /// Creates a capture of the disk `name`, whose own number and those of its partitions are
    /// `numbers`, from the tracefs at `tracefs`.
    ///
    /// # Errors
    /// If this kernel has other events.
    pub fn new(tracefs: &Path, name: String, numbers: Vec<u32>) -> Result<Self, Failure> {
        let (kernel, events) = kernel_layout(tracefs, |_| true)?;
        let recorder = Recorder::new(kernel, CapturedDisk { name, numbers }, std::process::id());
        Ok(Self { recorder, events })
    }

    /// Names of the events to switch on.
    pub fn events(&self) -> &[&'static str] {
        &self.events
    }

    /// Adds a page of events of the processor `cpu`.
    ///
    /// # Errors
    /// If it is no such page.
    pub fn add(&mut self, cpu: u32, page: &[u8]) -> Result<(), Failure> {
        self.recorder.add(cpu, page).map_err(|error| event_failure(cpu, &error))
    }

    /// Notes that the kernel lost events.
    pub fn lose(&mut self, events: u64) {
        self.recorder.lose(events);
    }

    /// Returns the next bytes of the file: events before `before_ns`.
    pub fn take(&mut self, before_ns: u64) -> Vec<u8> {
        self.recorder.take(before_ns)
    }

    /// Returns the counts of what `take` returned.
    pub fn counts(&self) -> Value {
        let CaptureCounts { requests, merges, completions, completed_bytes, lost } =
            self.recorder.counts();
        json!({
            "requests": requests, "merges": merges, "completions": completions,
            "completed_bytes": completed_bytes, "lost": lost,
        })
    }
}
