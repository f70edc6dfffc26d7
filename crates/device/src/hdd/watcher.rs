//! Who is told of every access to the platter.

use std::fmt;

use penstock_core::Time;

use super::{Access, Hdd};

type Listener = Box<dyn FnMut(Time, &Access)>;

/// Nobody, or one listener.
#[derive(Default)]
pub(super) struct Watcher(Option<Listener>);

impl Watcher {
    /// An access begins at `now`.
    pub(super) fn tell(&mut self, now: Time, access: &Access) {
        if let Some(listener) = &mut self.0 {
            listener(now, access);
        }
    }
}

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "watched" } else { "unwatched" })
    }
}

impl Hdd {
    /// The same, with `listener` told of every access when it begins: with all of its parts, as an
    /// access once begun is not changed.
    #[must_use]
    pub fn watched(mut self, listener: impl FnMut(Time, &Access) + 'static) -> Self {
        self.watcher = Watcher(Some(Box::new(listener)));
        self
    }
}
