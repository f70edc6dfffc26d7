//! The events of a disk on their way from the kernel: from the pages of all processors, in order of
//! time.

use super::event::CapturedEvent;
use super::pages::{KernelEvents, PageError, PageEvent};

/// A disk, as the kernel numbers it.
#[derive(Clone, Debug)]
pub struct CapturedDisk {
    /// Its number, as `8,0`.
    pub name: String,
    /// Device numbers of the disk and its partitions, `major << 20 | minor`.
    pub numbers: Vec<u32>,
}

/// Events that were read and not yet taken.
///
/// Requests to partitions become requests of the disk. Commands to the device itself are left out.
pub struct Incoming {
    kernel: KernelEvents,
    disk: CapturedDisk,
    /// Events that one of another processor may still precede.
    waiting: Vec<PageEvent>,
}

impl Incoming {
    /// Creates the events of `disk`; there are none yet.
    pub fn new(kernel: KernelEvents, disk: CapturedDisk) -> Self {
        Self { kernel, disk, waiting: Vec::new() }
    }

    /// Adds the events of a page that the processor `cpu` wrote.
    ///
    /// # Errors
    /// If it is not such a page.
    pub fn add(&mut self, cpu: u32, page: &[u8]) -> Result<(), PageError> {
        let Self { kernel, disk, waiting } = self;
        kernel.events(page, cpu, |event| {
            // The kernel's letter for commands to the device itself.
            let is_command = event.is_command || event.letters[0] == b'N';
            if disk.numbers.contains(&event.device) && !is_command {
                waiting.push(*event);
            }
        })
    }

    /// Calls `handle` for all events before `before_ns`, in order of time, and forgets them.
    pub fn take(&mut self, before_ns: u64, mut handle: impl FnMut(&CapturedEvent<'_>)) {
        // Those of a processor are in order: this only merges them.
        self.waiting.sort_by_key(|event| event.at_ns);
        let settled = self.waiting.partition_point(|event| event.at_ns < before_ns);
        for event in self.waiting.drain(..settled) {
            handle(&CapturedEvent {
                at_ns: event.at_ns,
                action: event.action,
                device: self.disk.name.as_bytes(),
                letters: trimmed(&event.letters),
                sector: event.sector,
                sectors: u64::from(event.sectors),
                cpu: event.cpu,
                pid: event.pid,
                process: trimmed(&event.process),
                ioprio: event.ioprio,
            });
        }
    }
}

fn trimmed(text: &[u8]) -> &[u8] {
    text.split(|&byte| byte == 0).next().unwrap_or_default()
}
