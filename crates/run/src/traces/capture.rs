//! A capture of a disk's requests by the events of this kernel.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use penstock_workload::trace::capture::{
    CaptureCounts, CapturedDisk, KERNEL_EVENTS, KernelEvents, Recorder,
};
use serde_json::{Value, json};

use crate::failure::Failure;

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
        let cannot = |reason: &dyn std::fmt::Display| {
            Failure::cannot(
                format_args!("the block events of this kernel cannot be read: {reason}"),
                "`blktrace` may know them; `penstock replay` plays its files",
            )
        };
        let events = tracefs.join("events");
        let header = header(&events.join("header_page")).map_err(|error| cannot(&error))?;
        let mut formats = Vec::new();
        let mut names = Vec::new();
        for (name, _) in KERNEL_EVENTS {
            // Which events there are depends on the kernel.
            if let Ok(format) = fs::read_to_string(events.join("block").join(name).join("format")) {
                formats.push((name.to_owned(), format));
                names.push(name);
            }
        }
        let kernel = KernelEvents::new(&header, &formats).map_err(|error| cannot(&error))?;
        let recorder = Recorder::new(kernel, CapturedDisk { name, numbers }, std::process::id());
        Ok(Self { recorder, events: names })
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
        self.recorder.add(cpu, page).map_err(|error| {
            Failure::run(format_args!("the kernel's events of processor {cpu}: {error}"))
        })
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

/// Reads the layout of a page. The kernel gives this file to one read only.
fn header(path: &Path) -> io::Result<String> {
    let mut text = vec![0; 1 << 16];
    let len = File::open(path)?.read(&mut text)?;
    text.truncate(len);
    String::from_utf8(text).map_err(|_| io::ErrorKind::InvalidData.into())
}
