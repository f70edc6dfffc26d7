//! The I/O priority of a thread.
//!
//! Source: `ioprio_set(2)`.

use std::ffi::c_long;
use std::io;

use penstock_core::{IoClass, IoPrio};

/// The call is about a process or a thread; 0 is the one that calls.
const WHO_PROCESS: c_long = 1;
/// Bits of a priority below its class.
const CLASS_SHIFT: u32 = 13;

/// Gives this thread the I/O priority `ioprio` from now on.
///
/// # Errors
/// The system's error: real-time priorities need a right.
pub fn set_io_priority(ioprio: IoPrio) -> io::Result<()> {
    let class = match ioprio.class() {
        IoClass::RealTime => 1,
        IoClass::BestEffort => 2,
        IoClass::Idle => 3,
    };
    let value = c_long::from(class << CLASS_SHIFT | i32::from(ioprio.level()));
    // SAFETY: the call has three numbers and no pointer.
    let answer = unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0 as c_long, value) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_has_it_and_the_others_do_not() {
        let own = || {
            // SAFETY: as above.
            unsafe { libc::syscall(libc::SYS_ioprio_get, WHO_PROCESS, 0 as c_long) }
        };
        let before = own();
        let idle = std::thread::spawn(move || {
            set_io_priority(IoPrio::IDLE).unwrap();
            own()
        });
        assert_eq!(idle.join().unwrap(), 3 << CLASS_SHIFT | 7);
        assert_eq!(own(), before);
    }
}
