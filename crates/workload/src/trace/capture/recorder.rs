//! Records the events of a disk in the file of a capture.

use super::event::{Action, CapturedEvent};
use super::file::Encoder;
use super::incoming::{CapturedDisk, Incoming};
use super::pages::{KernelEvents, PageError};
use crate::trace::builder::BLOCK_BYTES;

/// Counts of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CaptureCounts {
    /// Requests of programs: what was queued.
    pub requests: u64,
    /// Requests that the kernel merged into others.
    pub merges: u64,
    /// Commands with data that the disk completed.
    pub completions: u64,
    /// Bytes of these commands.
    pub completed_bytes: u64,
    /// Events that the kernel lost.
    pub lost: u64,
}

/// A capture while it is made. Requests of the process that writes the file are left out.
pub struct Recorder {
    incoming: Incoming,
    /// The process that writes the file.
    writer: u32,
    encoder: Encoder,
    counts: CaptureCounts,
}

impl Recorder {
    /// Creates a recorder for the events of `disk`, whose file the process `writer` writes.
    pub fn new(kernel: KernelEvents, disk: CapturedDisk, writer: u32) -> Self {
        let (incoming, encoder) = (Incoming::new(kernel, disk), Encoder::new());
        Self { incoming, writer, encoder, counts: CaptureCounts::default() }
    }

    /// Adds the events of a page that the processor `cpu` wrote.
    ///
    /// # Errors
    /// If it is not such a page.
    pub fn add(&mut self, cpu: u32, page: &[u8]) -> Result<(), PageError> {
        self.incoming.add(cpu, page)
    }

    /// Notes that the kernel lost events.
    pub fn lose(&mut self, events: u64) {
        if events > 0 {
            self.encoder.lost(events);
            self.counts.lost += events;
        }
    }

    /// Returns the next bytes of the file: all events before `before_ns`, in order of time.
    pub fn take(&mut self, before_ns: u64) -> Vec<u8> {
        let Self { incoming, writer, encoder, counts } = self;
        incoming.take(before_ns, |event| {
            if event.action == Action::Queued && event.pid == *writer {
                return;
            }
            counts.add(event);
            // A flush has no address: the kernel records an arbitrary sector.
            let sector = if event.sectors == 0 { 0 } else { event.sector };
            encoder.event(&CapturedEvent { sector, ..*event });
        });
        self.encoder.take()
    }

    /// Counts of the events that `take` returned.
    pub fn counts(&self) -> CaptureCounts {
        self.counts
    }
}

impl CaptureCounts {
    fn add(&mut self, event: &CapturedEvent<'_>) {
        match event.action {
            Action::Queued => self.requests += 1,
            Action::MergedBehind | Action::MergedBefore => self.merges += 1,
            Action::Completed if event.sectors > 0 => {
                self.completions += 1;
                self.completed_bytes += event.sectors * BLOCK_BYTES;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pages::tests::{data, kernel_events, page, word};
    use super::*;
    use crate::trace::{format, parse};

    fn recorder(numbers: &[u32]) -> Recorder {
        let disk = CapturedDisk { name: "8,16".into(), numbers: numbers.into() };
        Recorder::new(kernel_events("block_bio_queue", 77), disk, 1)
    }

    fn event_at(at_ns: u64, sector: u64) -> Vec<u8> {
        page(at_ns, &[&word(17, 0), &data(77, sector, 1)])
    }

    #[test]
    fn events_of_all_processors_come_in_order_of_time() {
        let mut recorder = recorder(&[8 << 20 | 16]);
        recorder.add(0, &event_at(3000, 0)).unwrap();
        recorder.add(1, &event_at(2000, 8)).unwrap();
        recorder.add(1, &event_at(4000, 16)).unwrap();
        let mut file = recorder.take(3500);
        assert_eq!(recorder.counts().requests, 2);
        file.extend(recorder.take(u64::MAX));
        recorder.lose(0);
        recorder.lose(4);
        file.extend(recorder.take(u64::MAX));
        let trace = parse(&file, format("ptrace").unwrap()).unwrap();
        let places: Vec<u64> = trace.records.iter().map(|record| record.start / 512).collect();
        assert_eq!(places, [8, 0, 16]);
        assert_eq!(trace.origin_ns, 2000);
        assert_eq!(trace.devices, ["8,16"]);
        assert_eq!(trace.processes, ["", "postgres"]);
        assert_eq!(trace.remarks.len(), 1, "{:?}", trace.remarks);
        assert!(trace.remarks[0].starts_with("the kernel lost 4 events"), "{:?}", trace.remarks);
    }

    #[test]
    fn other_disks_and_the_writer_are_left_out() {
        let mut other = recorder(&[8 << 20]);
        other.add(0, &event_at(1, 0)).unwrap();
        assert!(other.take(u64::MAX).len() < 32);
        assert_eq!(other.counts(), CaptureCounts::default());
        let mut writing = Recorder { writer: 4242, ..recorder(&[8 << 20 | 16]) };
        writing.add(0, &event_at(1, 0)).unwrap();
        writing.take(u64::MAX);
        assert_eq!(writing.counts(), CaptureCounts::default());
    }
}
