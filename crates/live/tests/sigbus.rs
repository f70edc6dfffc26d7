//! The handler of `SIGBUS` is in place while a target is mapped, and takes no signal that is not its own.
//! Each test runs alone in a process of its own, as handlers belong to all of it.

mod common;

use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::ptr;

use common::Scratch;
use penstock_live::{Caching, Engine, Settings, Stage, Target};

/// The variable whose value says what the process of a test is to do.
const PART: &str = "PENSTOCK_SIGBUS";

/// Runs `test` of this file as another process, in which `PART` has the value `part`.
fn run(test: &str, part: &str) -> ExitStatus {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(PART, part).output().unwrap().status
}

fn part() -> Option<String> {
    std::env::var(PART).ok()
}

/// A stage over a mapped file in `scratch`.
fn mapped(scratch: &Scratch) -> Stage {
    let target = Target::open(&scratch.path("data.img"), Some(1 << 20)).unwrap();
    let settings = Settings { caching: Caching::Buffered, ..Settings::new(1, 4096) };
    Stage::open(Engine::Mmap, vec![target], settings).unwrap()
}

fn handler() -> usize {
    // SAFETY: it only reads the present action, into a structure for which zeros are a valid value.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        assert_eq!(libc::sigaction(libc::SIGBUS, ptr::null(), &raw mut action), 0);
        action.sa_sigaction
    }
}

extern "C" fn exits(_: i32) {
    // SAFETY: it may be called in a handler.
    unsafe { libc::_exit(42) }
}

fn set_handler(handler: usize) {
    // SAFETY: one of the kernel's constants, or a function that calls only what it may.
    unsafe { libc::signal(libc::SIGBUS, handler) };
}

/// Reads a page that is behind the end of its file.
fn fault(scratch: &Scratch) {
    let file = File::create_new(scratch.path("empty")).unwrap();
    drop(file);
    let file = File::open(scratch.path("empty")).unwrap();
    let (protection, flags) = (rustix::mm::ProtFlags::READ, rustix::mm::MapFlags::SHARED);
    // SAFETY: a fresh mapping, which nothing else refers to.
    unsafe {
        let at = rustix::mm::mmap(ptr::null_mut(), 4096, protection, flags, &file, 0).unwrap();
        at.cast::<u8>().read_volatile();
    }
}

#[test]
fn the_handler_goes_with_the_last_mapped_target() {
    if part().is_none() {
        let test = "the_handler_goes_with_the_last_mapped_target";
        return assert!(run(test, "alone").success());
    }
    let folders = [Scratch::new("sigbus-first"), Scratch::new("sigbus-second")];
    let before = handler();
    for _ in 0..2 {
        let first = mapped(&folders[0]);
        let ours = handler();
        assert_ne!(ours, before);
        let second = mapped(&folders[1]);
        drop(first);
        assert_eq!(handler(), ours, "the second needs it");
        drop(second);
        assert_eq!(handler(), before);
    }
    // One that was put in front of it stays, and so does ours, which it may call.
    let stage = mapped(&folders[0]);
    set_handler(exits as *const () as usize);
    drop(stage);
    assert_eq!(handler(), exits as *const () as usize);
}

#[test]
fn other_signals_get_what_they_would_have_got() {
    let Some(part) = part() else {
        let run = |part| run("other_signals_get_what_they_would_have_got", part);
        for part in ["fault", "signal", "ignored fault"] {
            assert_eq!(run(part).signal(), Some(libc::SIGBUS), "{part}");
        }
        for part in ["fault for a handler", "signal for a handler"] {
            assert_eq!(run(part).code(), Some(42), "{part}");
        }
        return assert!(run("ignored signal").success());
    };
    let is_for_handler = part.ends_with("handler");
    let ignored = if part.starts_with("ignored") { libc::SIG_IGN } else { libc::SIG_DFL };
    set_handler(if is_for_handler { exits as *const () as usize } else { ignored });
    let scratch = Scratch::new(&format!("sigbus-{}", part.replace(' ', "-")));
    let stage = mapped(&scratch);
    // What is left when a signal ends the process.
    std::fs::remove_file(scratch.path("data.img")).unwrap();
    if part.contains("fault") {
        fault(&scratch);
    } else {
        // SAFETY: a signal to this thread.
        unsafe { libc::raise(libc::SIGBUS) };
    }
    drop(stage);
}
