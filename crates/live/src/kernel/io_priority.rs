//! The I/O priorities of threads.
//!
//! Source: `ioprio_set(2)`.

use std::ffi::c_long;
use std::io;

use penstock_core::{IoClass, IoPrio};

/// The call is about a process or a thread; 0 is the one that calls.
const WHO_PROCESS: c_long = 1;
/// Bits of a priority below its class.
const CLASS_SHIFT: u32 = 13;
/// Bits of the level; hints to the disk are above them.
const LEVEL_MASK: c_long = 7;

/// Gives the thread `thread` (0 is this one) the I/O priority `ioprio` from now on; `None` is that of its
/// nice value.
///
/// # Errors
/// The system's error: the thread has ended, real-time priorities need a right, and so do threads of
/// other users.
pub fn set_io_priority(thread: u32, ioprio: Option<IoPrio>) -> io::Result<()> {
    let value = ioprio.map_or(0, |ioprio| {
        let class = match ioprio.class() {
            IoClass::RealTime => 1,
            IoClass::BestEffort => 2,
            IoClass::Idle => 3,
        };
        class << CLASS_SHIFT | c_long::from(ioprio.level())
    });
    let thread = c_long::from(thread);
    // SAFETY: the call has three numbers and no pointer.
    let answer = unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, thread, value) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Returns the I/O priority of the thread `thread`; 0 is this one. `None` if none was set.
///
/// # Errors
/// The system's error: the thread has ended.
pub fn io_priority(thread: u32) -> io::Result<Option<IoPrio>> {
    // SAFETY: the call has two numbers and no pointer.
    let value = unsafe { libc::syscall(libc::SYS_ioprio_get, WHO_PROCESS, c_long::from(thread)) };
    if value < 0 {
        return Err(io::Error::last_os_error());
    }
    let class = match value >> CLASS_SHIFT {
        1 => IoClass::RealTime,
        2 => IoClass::BestEffort,
        3 => IoClass::Idle,
        _ => return Ok(None),
    };
    Ok(IoPrio::new(class, (value & LEVEL_MASK) as u8))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn one_thread_has_it_and_the_others_do_not() {
        let before = io_priority(0).unwrap();
        let idle = std::thread::spawn(move || {
            set_io_priority(0, Some(IoPrio::IDLE)).unwrap();
            io_priority(0).unwrap()
        });
        assert_eq!(idle.join().unwrap(), Some(IoPrio::IDLE));
        assert_eq!(io_priority(0).unwrap(), before);
    }

    #[test]
    fn that_of_another_thread_is_set_and_taken_back() {
        let ((number, its_number), (end, ended)) = (channel(), channel::<()>());
        let other = std::thread::spawn(move || {
            number.send(rustix::thread::gettid().as_raw_nonzero().get() as u32).unwrap();
            let _ = ended.recv();
        });
        let thread = its_number.recv().unwrap();
        assert_eq!(io_priority(thread).unwrap(), None);
        for text in ["be:0", "be:7", "idle"] {
            let ioprio = text.parse().ok();
            set_io_priority(thread, ioprio).unwrap();
            assert_eq!(io_priority(thread).unwrap(), ioprio, "{text}");
        }
        set_io_priority(thread, None).unwrap();
        assert_eq!(io_priority(thread).unwrap(), None);
        drop(end);
        other.join().unwrap();
    }

    #[test]
    fn a_thread_that_is_not_there_is_an_error() {
        // Above the largest number of a thread.
        let gone = (1 << 22) + 1;
        let number = Some(libc::ESRCH);
        assert_eq!(io_priority(gone).unwrap_err().raw_os_error(), number);
        assert_eq!(set_io_priority(gone, None).unwrap_err().raw_os_error(), number);
    }
}
