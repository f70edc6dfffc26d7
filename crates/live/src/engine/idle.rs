//! An engine without commands, for devices that need no system call: the clock only sleeps on it.

use std::time::Duration;

use crate::engine::driver::{Bell, Command, Driver, Outcome};

/// An engine that never gets a command.
pub(crate) struct Idle;

impl Driver for Idle {
    fn queue(&mut self, _: u32, command: &Command) {
        unreachable!("{command:?} has no target");
    }

    fn submit(&mut self) {}

    fn ready(&mut self) -> bool {
        false
    }

    fn reap(&mut self, _: &mut Vec<Outcome>) {}

    fn wait(&mut self, longest: Duration) {
        std::thread::park_timeout(longest);
    }

    fn bell(&mut self) -> Option<Bell> {
        let waiting = std::thread::current();
        Some(Bell::new(move || waiting.unpark()))
    }
}
