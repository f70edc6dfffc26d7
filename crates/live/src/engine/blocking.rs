//! Blocking calls on the thread of the loop, one command at a time.
//!
//! Use them for programs that wait for each of their requests: nothing passes between threads, so a
//! request costs only its call. The call blocks the loop, so such an engine holds one command.

use std::time::Duration;

use crate::engine::driver::{Bell, Command, Driver, Outcome};
use crate::engine::idle::Idle;

/// Carries out one command at a time.
pub(crate) trait Call {
    /// Makes the call. Returns the bytes transferred, or a negated error number.
    fn serve(&mut self, command: &Command) -> i32;
}

/// An engine that makes each call when it gets the command.
pub(crate) struct Blocking<C> {
    call: C,
    /// The result of the last command, until it is reaped.
    ended: Option<Outcome>,
}

impl<C> Blocking<C> {
    pub(crate) const fn new(call: C) -> Self {
        Self { call, ended: None }
    }
}

impl<C: Call> Driver for Blocking<C> {
    fn queue(&mut self, slot: u32, command: &Command) {
        assert!(self.ended.is_none(), "one command at a time");
        self.ended = Some(Outcome { slot, result: self.call.serve(command) });
    }

    fn submit(&mut self) {}

    fn ready(&mut self) -> bool {
        self.ended.is_some()
    }

    fn reap(&mut self, outcomes: &mut Vec<Outcome>) {
        outcomes.extend(self.ended.take());
    }

    fn wait(&mut self, longest: Duration) {
        if self.ended.is_none() {
            Idle.wait(longest);
        }
    }

    fn bell(&mut self) -> Option<Bell> {
        Idle.bell()
    }
}
