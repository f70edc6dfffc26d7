//! Asks a thread that reads or writes a trace to stop: a person pressed Ctrl-C.
//!
//! A trace is read, sorted and read again in several places, each of which may take minutes. They look at the
//! flag of their thread whenever they go on to the next buffer, and fail then as if the file could not be read.
//! A read that waits for a quiet pipe does not look; who asks gives the thread up.

use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    static FLAG: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Does `work`, which ends early with an error once `flag` is set.
pub fn stoppable<T>(flag: Arc<AtomicBool>, work: impl FnOnce() -> T) -> T {
    FLAG.set(Some(flag));
    let result = work();
    FLAG.set(None);
    result
}

/// Checks that nothing has asked this thread to stop.
///
/// # Errors
/// If something has.
pub(super) fn check() -> io::Result<()> {
    let asked =
        FLAG.with_borrow(|flag| flag.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed)));
    if asked { Err(io::Error::other("interrupted")) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::read_any;

    #[test]
    fn a_trace_is_not_read_on_once_someone_asks() {
        let text = "0,8,4096,R,0.5\n".repeat(100);
        let read = |asked| {
            let flag = Arc::new(AtomicBool::new(asked));
            stoppable(flag, || read_any(text.as_bytes()).is_ok())
        };
        assert!(read(false) && !read(true));
        assert!(read_any(text.as_bytes()).is_ok(), "the flag is gone");
    }
}
