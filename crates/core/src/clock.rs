//! The clock owns waiting.

use crate::time::Time;

/// Reads the time and waits. Only the clock differs between simulation and the real world.
pub trait Clock {
    /// The time now.
    fn now(&mut self) -> Time;

    /// Waits until `until` or until a command completes by itself, whichever comes first. Returns
    /// `false` if nothing can happen any more.
    fn park(&mut self, until: Time) -> bool;
}

impl<C: Clock + ?Sized> Clock for &mut C {
    fn now(&mut self) -> Time {
        (**self).now()
    }

    fn park(&mut self, until: Time) -> bool {
        (**self).park(until)
    }
}

/// Virtual time: parking jumps.
#[derive(Debug, Default)]
pub struct Virtual {
    now: Time,
}

impl Clock for Virtual {
    fn now(&mut self) -> Time {
        self.now
    }

    fn park(&mut self, until: Time) -> bool {
        if until == Time::NEVER {
            return false;
        }
        self.now = self.now.max(until);
        true
    }
}
