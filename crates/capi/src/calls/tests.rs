//! Calls as C makes them, for the sanitizer; the rest is tested from C, Go and Python.

use std::ffi::{CString, c_char, c_int};
use std::path::PathBuf;
use std::ptr;

use super::*;

/// A folder of a test, which goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("penstock-capi-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Opens a gate before a file of the program itself, with the options `more`.
    fn open(&self, more: &str) -> *mut Handle {
        let path = self.0.join("data");
        std::fs::write(&path, b"").unwrap();
        open(&format!("path = \"{}\"\nadopt = true\n{more}", path.display())).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn open(options: &str) -> Result<*mut Handle, (c_int, String)> {
    let (options, mut message) = (CString::new(options).unwrap(), [0; 4096]);
    // SAFETY: both are there during the call.
    let gate = unsafe { pg_open(options.as_ptr(), message.as_mut_ptr(), message.len()) };
    if gate.is_null() { Err((errno(), read(&message))) } else { Ok(gate) }
}

fn read(text: &[c_char]) -> String {
    // SAFETY: the library has ended it.
    unsafe { CStr::from_ptr(text.as_ptr()) }.to_str().unwrap().to_owned()
}

fn errno() -> c_int {
    std::io::Error::last_os_error().raw_os_error().unwrap()
}

/// The last error: its number, its text and the bytes done.
fn last(gate: *mut Handle) -> (c_int, String, u64) {
    let (mut text, mut done) = ([0; 4096], u64::MAX);
    // SAFETY: the gate is open, and the rest is there during the call.
    let errno = unsafe { pg_error(gate, text.as_mut_ptr(), text.len(), &raw mut done) };
    (errno, read(&text), done)
}

fn write(gate: *mut Handle, class: *const c_char, offset: u64, data: &[u8]) -> c_int {
    // SAFETY: the gate is open, and the data is there during the call.
    unsafe { pg_write(gate, class, 0, offset, data.as_ptr().cast(), data.len(), SYNC) }
}

/// Waits for a completion.
fn completion(gate: *mut Handle) -> PgDone {
    let mut done = PgDone { token: 0, bytes: 0, error: 0 };
    loop {
        // SAFETY: the gate is open, there is room for one, and buffers outlive the gate.
        match unsafe { pg_poll(gate, &raw mut done, 1) } {
            0 => std::thread::yield_now(),
            count => {
                assert_eq!(count, 1);
                return done;
            }
        }
    }
}

#[test]
fn what_was_written_is_read_with_and_without_waiting() {
    let (folder, mut buffer) = (Folder::new("read"), [0; 16]);
    let gate = folder.open("parameters = { split = \"4KiB\" }\n[class.tellers]\n[class.batch]");
    let (tellers, batch) = (c"tellers".as_ptr(), c"batch".as_ptr());
    let to = buffer.as_mut_ptr().cast();
    // SAFETY: the gate is open until the end, and the buffers are there longer.
    unsafe {
        assert_eq!(write(gate, tellers, 3, b"short"), 0);
        let long = vec![7_u8; 100_000];
        assert_eq!(pg_submit_write(gate, batch, 0, 8, long.as_ptr().cast(), long.len(), 0, 1), 0);
        drop(long);
        let done = completion(gate);
        assert_eq!((done.token, done.bytes, done.error), (1, 100_000, 0));
        assert_eq!(pg_sync(gate, tellers, 0), 0);
        assert_eq!(pg_read(gate, tellers, 0, 3, to, 7), 7);
        assert_eq!(&buffer[..8], b"short\x07\x07\0");
        assert_eq!(pg_submit_read(gate, tellers, 0, 100_000, to, 16, 2), 0);
        assert_eq!(completion(gate).bytes, 8);
        assert_eq!(pg_submit_sync(gate, batch, 0, 3), 0);
        assert_eq!((completion(gate).token, buffer[0]), (3, 7));
        assert_eq!(pg_submit_read(gate, tellers, 0, 200_000, to, 16, 4), 0);
        assert_eq!((completion(gate).token, completion_count(gate)), (4, 0));
        let stats = pg_stats(gate);
        let text = CStr::from_ptr(stats).to_str().unwrap();
        assert!(text.contains("\"classes\":{\"tellers\":{\"requests\":4,"), "{text}");
        libc::free(stats.cast());
        pg_close(gate);
    }
}

/// Takes a completion if there is one.
fn completion_count(gate: *mut Handle) -> c_int {
    let mut done = PgDone { token: 0, bytes: 0, error: 0 };
    // SAFETY: the gate is open, and there is room for one.
    unsafe { pg_poll(gate, &raw mut done, 1) }
}

#[test]
fn a_gate_with_requests_that_are_not_taken_is_closed_without_touching_their_buffers() {
    let folder = Folder::new("left");
    let gate = folder.open("");
    assert_eq!(write(gate, ptr::null(), 0, &[1; 4096]), 0);
    for token in 0..100 {
        let mut buffer = vec![0_u8; 4096];
        let to = buffer.as_mut_ptr().cast();
        // SAFETY: the gate is open. The buffer goes before the completion is taken, which never is.
        assert_eq!(unsafe { pg_submit_read(gate, ptr::null(), 0, 0, to, 4096, token) }, 0);
    }
    // SAFETY: it is open, and not used any more.
    unsafe { pg_close(gate) };
}

#[test]
fn errors_have_a_number_and_a_text_of_the_thread() {
    let (folder, null) = (Folder::new("errors"), ptr::null());
    let gate = folder.open("") as usize;
    let other = std::thread::spawn(move || {
        let gate = gate as *mut Handle;
        assert_eq!(write(gate, c"tellers".as_ptr(), 0, b"x"), -1);
        (errno(), last(gate))
    });
    let (number, (kept, text, done)) = other.join().unwrap();
    assert_eq!((number, kept, done), (libc::EINVAL, libc::EINVAL, 0));
    assert!(text.contains("unknown class `tellers`"), "{text}");
    let gate = gate as *mut Handle;
    assert_eq!(last(gate), (0, String::new(), 0), "this thread had no error");
    // SAFETY: the gate is open until the end.
    unsafe {
        assert_eq!(pg_write(gate, null, 0, 0, ptr::null(), 1, 0), -1);
        assert!(last(gate).1.contains("a null pointer for 1 bytes"));
        assert_eq!(pg_shutdown(gate), 0);
        assert_eq!(write(gate, null, 0, b"x"), -1);
        assert_eq!((errno(), last(gate).0), (libc::ESHUTDOWN, libc::ESHUTDOWN));
        pg_close(gate);
        pg_close(ptr::null_mut());
    }
    assert_eq!(pg_sync_of_null(), (-1, libc::EINVAL));
    assert_eq!(open("pth = 1").unwrap_err().0, libc::EINVAL);
}

fn pg_sync_of_null() -> (c_int, c_int) {
    // SAFETY: a null pointer is allowed.
    (unsafe { pg_sync(ptr::null_mut(), ptr::null(), 0) }, errno())
}

#[test]
fn a_panic_ends_as_an_error() {
    let folder = Folder::new("panic");
    let gate = folder.open("");
    // SAFETY: the gate is open until the end.
    unsafe {
        assert_eq!(call(gate, -1, |_| panic!("planted")), -1);
        assert_eq!(errno(), libc::EIO);
        assert!(last(gate).1.contains("a defect of the library"));
        pg_close(gate);
    }
}
