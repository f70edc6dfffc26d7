//! Threads that hand over their result and are never joined.
//!
//! Use it for a thread that owns an engine. A thread whose ring was leaked cannot exit before the device
//! answers: when the thread ends, the kernel ends the ring's workers and waits for their calls. A join would
//! wait as long; the result must not.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::Builder;
use std::time::Duration;

/// The payload of a thread's panic, for [`resume_unwind`](std::panic::resume_unwind).
pub type Panic = Box<dyn Any + Send>;

/// The result of a thread, when it is there.
pub struct Handover<T>(Receiver<Result<T, Panic>>);

impl<T: Send + 'static> Handover<T> {
    /// Starts `work` on a thread called `name`.
    ///
    /// # Errors
    /// The system cannot create a thread.
    pub fn spawn(name: &str, work: impl FnOnce() -> T + Send + 'static) -> io::Result<Self> {
        let (sender, receiver) = sync_channel(1);
        Builder::new().name(name.into()).spawn(move || {
            // It fails if the receiver is gone; then the result is not needed.
            let _ = sender.send(catch_unwind(AssertUnwindSafe(work)));
        })?;
        Ok(Self(receiver))
    }

    /// Waits for the result for at most `longest`; returns `None` if it is not there yet.
    ///
    /// # Errors
    /// The payload of the thread's panic.
    pub fn wait(&mut self, longest: Duration) -> Result<Option<T>, Panic> {
        match self.0.recv_timeout(longest) {
            Ok(result) => result.map(Some),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(Box::new("a thread ended without a result")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_mins(1);

    #[test]
    fn a_result_is_there_although_its_thread_cannot_end() {
        /// Stands for a ring that the kernel does not give back.
        struct Stuck;
        impl Drop for Stuck {
            fn drop(&mut self) {
                std::thread::park();
            }
        }
        thread_local!(static STUCK: std::cell::OnceCell<Stuck> = const { std::cell::OnceCell::new() });
        let thread = Handover::spawn("stuck", || {
            STUCK.with(|stuck| stuck.set(Stuck).is_ok());
            7
        });
        assert_eq!(thread.unwrap().wait(SOON).unwrap(), Some(7));
    }

    #[test]
    fn a_result_that_is_not_there_yet_is_none() {
        let (go, come) = sync_channel::<()>(0);
        let mut thread = Handover::spawn("slow", move || come.recv().is_ok()).unwrap();
        assert_eq!(thread.wait(Duration::ZERO).unwrap(), None);
        go.send(()).unwrap();
        assert_eq!(thread.wait(SOON).unwrap(), Some(true));
    }

    #[test]
    fn a_panic_is_handed_over_too() {
        let mut thread = Handover::<()>::spawn("panics", || std::panic::panic_any("why")).unwrap();
        assert_eq!(*thread.wait(SOON).unwrap_err().downcast::<&str>().unwrap(), "why");
    }
}
