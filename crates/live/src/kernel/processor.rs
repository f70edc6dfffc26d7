//! Processor time and priority of threads.

use penstock_core::Span;
use rustix::process::setpriority_process;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Returns how long this thread has had a processor.
pub fn processor_time() -> Span {
    Span::from_ns(thread_ns())
}

/// Keeps a processor busy until this thread has used `time` of it. If other threads use it too, that takes
/// longer.
pub fn use_processor(time: Span) {
    let until = thread_ns() + time.ns();
    while thread_ns() < until {
        std::hint::spin_loop();
    }
}

/// Returns how long all threads of the process together have had a processor.
pub fn process_time() -> Span {
    Span::from_ns(ns_of(ClockId::ProcessCPUTime))
}

/// Returns the nanoseconds for which this thread has had a processor.
fn thread_ns() -> u64 {
    ns_of(ClockId::ThreadCPUTime)
}

fn ns_of(clock: ClockId) -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
    tv_sec.cast_unsigned() * 1_000_000_000 + tv_nsec.cast_unsigned()
}

/// Gives this thread the lowest priority from now on: niceness 19, which on Linux concerns the thread alone.
///
/// # Errors
/// The system's error.
pub fn lower_priority() -> std::io::Result<()> {
    const NICEST: i32 = 19;
    Ok(setpriority_process(None, NICEST)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_had_the_processor_for_as_long_as_it_says() {
        let before = thread_ns();
        use_processor(Span::from_us(200));
        assert!(thread_ns() - before >= 200_000);
    }

    #[test]
    fn one_thread_is_nice_and_the_others_are_not() {
        let nice = || rustix::process::getpriority_process(None).unwrap();
        let before = nice();
        std::thread::spawn(move || {
            lower_priority().unwrap();
            assert_eq!(nice(), 19);
        })
        .join()
        .unwrap();
        assert_eq!(nice(), before);
    }
}
