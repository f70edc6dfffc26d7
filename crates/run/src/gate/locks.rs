//! Locks of a gate's threads.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes the lock. Each statement leaves the guarded value consistent, so it is sound after a
/// panic.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
