//! The use of a processor by a program: it computes, or lowers its priority.

use penstock_core::Span;
use rustix::process::setpriority_process;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// How long this thread has had a processor.
pub fn processor_time() -> Span {
    Span::from_ns(had())
}

/// Keeps a processor busy until this thread has had `time` of one. While other threads have it,
/// that takes longer.
pub fn use_processor(time: Span) {
    let until = had() + time.ns();
    while had() < until {
        std::hint::spin_loop();
    }
}

/// How long all threads of the process together have had one.
pub fn process_time() -> Span {
    Span::from_ns(ns_of(ClockId::ProcessCPUTime))
}

/// Nanoseconds that this thread had a processor.
fn had() -> u64 {
    ns_of(ClockId::ThreadCPUTime)
}

fn ns_of(clock: ClockId) -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
    tv_sec.cast_unsigned() * 1_000_000_000 + tv_nsec.cast_unsigned()
}

/// Lowers the priority of this thread below all others from now on: niceness 19, of this thread
/// alone, which Linux treats as a process of its own here.
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
        let before = had();
        use_processor(Span::from_us(200));
        assert!(had() - before >= 200_000);
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
