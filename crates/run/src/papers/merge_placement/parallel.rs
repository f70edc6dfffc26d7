//! Independent work on all cores; what comes of it does not depend on how many there are.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// How often the caller is asked whether to go on.
const BEAT: Duration = Duration::from_millis(50);

/// What `of` makes of each item, in their order; fewer if `go_on` says no.
///
/// # Errors
/// The first item's that has one. Items begin in their order, so it is the same on any number of cores; no
/// other begins once there is one.
pub(super) fn all<I: Sync, T: Send, E: Send>(
    items: &[I],
    of: impl Fn(&I) -> Result<T, E> + Sync,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Vec<T>, E> {
    let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (sender, results) = channel();
    let threads = thread::available_parallelism().map_or(1, usize::from).min(items.len());
    thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, of, next, stop) = (sender.clone(), &of, &next, &stop);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(number) else { break };
                    let result = of(item);
                    if result.is_err() {
                        stop.store(true, Ordering::Relaxed);
                    }
                    let _ = sender.send((number, result));
                }
            });
        }
        drop(sender);
        let mut found = BTreeMap::new();
        loop {
            match results.recv_timeout(BEAT) {
                Ok((number, result)) => drop(found.insert(number, result)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if !go_on() {
                stop.store(true, Ordering::Relaxed);
            }
        }
        found.into_values().collect()
    })
}
