//! The effect of a completed command on its pages and on the requests that waited for it.

use penstock_core::{Device, Done, Time};

use super::cache::PageCache;
use super::commands::Kind;

impl<D: Device> PageCache<D> {
    /// Settles a completed command.
    pub(super) fn settle(&mut self, now: Time, done: &Done) {
        let mut command = self.commands.end(done.id);
        for number in command.first..command.first + u64::from(command.pages) {
            let slot = self.pages.find(number).expect("a page under way stays");
            match command.kind {
                Kind::Read => self.pages.filled(slot, now, done.error.is_none()),
                _ => self.pages.written(slot),
            }
        }
        let device = self.extents.get(command.extent).device;
        if command.kind == Kind::Background {
            self.lanes[device].back.ended();
        }
        if command.kind.writes() {
            self.limits.written(device, command.pages);
            let failed = &mut self.failed[command.extent];
            *failed = failed.or(done.error);
        }
        if let Some(payer) = command.payer {
            self.entry(payer).service += done.service;
        }
        // Waiters come out latest first, and `ready` reverses the order again.
        while let Some(request) = self.commands.waiter(&mut command) {
            let entry = self.entry(request);
            entry.pending -= 1;
            entry.begun = entry.begun.min(done.begun.max(entry.arrived));
            entry.error = entry.error.or(done.error);
            if entry.pending == 0 && !entry.stalled {
                self.ready.push(request);
            }
        }
        while let Some(request) = self.ready.pop() {
            self.step(now, request);
        }
    }
}
