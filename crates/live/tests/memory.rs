//! A process that runs out of memory says so, and one that aborts for another reason does not.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};

use penstock_live::{Noting, exit_without_memory};

#[global_allocator]
static ALLOCATOR: Noting = Noting;

/// The variable whose value says how the process of a test ends.
const PART: &str = "PENSTOCK_MEMORY";

/// More bytes than a process may have.
const TOO_MUCH: usize = isize::MAX as usize;

/// Runs `test` of this file as another process, in which `PART` has the value `part`.
fn run(test: &str, part: &str, backtrace: &str) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(PART, part);
    command.env("RUST_BACKTRACE", backtrace).output().unwrap()
}

#[test]
fn only_an_allocation_that_just_failed_is_reported() {
    match std::env::var(PART).as_deref() {
        Ok("allocation") => {
            exit_without_memory();
            drop(std::hint::black_box(Vec::<u8>::with_capacity(TOO_MUCH)));
        }
        Ok("abort") => {
            exit_without_memory();
            assert!(std::hint::black_box(Vec::<u8>::new()).try_reserve(TOO_MUCH).is_err());
            for number in 0..100 {
                drop(std::hint::black_box(Box::new(number)));
            }
            std::process::abort();
        }
        _ => {
            let run = |part, backtrace| {
                run("only_an_allocation_that_just_failed_is_reported", part, backtrace)
            };
            for backtrace in ["0", "1"] {
                let output = run("allocation", backtrace);
                assert_eq!(output.status.code(), Some(1), "{output:?}");
                let message = String::from_utf8(output.stderr).unwrap();
                assert!(message.contains("error: out of memory: asked for "), "{message}");
            }
            let output = run("abort", "0");
            assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{output:?}");
        }
    }
}
