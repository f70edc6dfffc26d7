//! The format that the system's own libblkid finds on a device, through the program `blkid`.
//!
//! It knows formats newer than our tables. A program is used rather than the library, because this process
//! goes on if it hangs or crashes. It reads the open device as its standard input, which does not depend on a
//! path, and gets no cache, no environment and no additional privileges.
//!
//! Invariant: a program that is missing, fails or does not answer is no error.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;

/// The places where distributions install it. The search path is not used: this may run as root, and another user may
/// set it.
const PROGRAMS: [&str; 3] = ["/usr/sbin/blkid", "/sbin/blkid", "/usr/bin/blkid"];

/// The longest wait: an answer takes some milliseconds, or seconds if a disk has to spin up.
const PATIENCE: Timespec = Timespec { tv_sec: 30, tv_nsec: 0 };

/// Its exit code for a device with several formats.
const AMBIVALENT: i32 = 8;

/// Returns libblkid's name of the format on `device`; `None` if it finds none or is missing.
pub(crate) fn ask(device: &File) -> Option<String> {
    let program = PROGRAMS.into_iter().find(|program| Path::new(program).exists())?;
    answer(Command::new(program), device, PATIENCE)
}

/// Runs `command` with the arguments of `blkid`, and returns its answer.
fn answer(mut command: Command, device: &File, patience: Timespec) -> Option<String> {
    // Low-level probing of the standard input.
    command.args(["-p", "-o", "export", "/proc/self/fd/0"]).env_clear().current_dir("/");
    command.stdin(device.try_clone().ok()?).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let Some(output) = output_of(&mut child, patience) else {
        let _ = child.kill();
        // No wait: a program that hangs in the kernel does not end even now.
        return None;
    };
    // If other code has waited for the child, there is no status, and the output counts.
    match child.wait().ok().and_then(|status| status.code()) {
        Some(AMBIVALENT) => Some("more than one format".into()),
        _ => format(&output),
    }
}

/// Returns the complete output of `child`; `None` if it does not end within `patience`.
fn output_of(child: &mut Child, patience: Timespec) -> Option<String> {
    let mut output = child.stdout.take()?;
    // A poll for no event still reports that the other end has closed. The output of blkid fits into
    // the pipe, so the child never blocks.
    let mut waited = [PollFd::new(&output, PollFlags::empty())];
    if retry_on_intr(|| poll(&mut waited, Some(&patience))) != Ok(1) {
        return None;
    }
    let mut text = String::new();
    output.read_to_string(&mut text).ok().map(|_| text)
}

/// Returns the format of a file system, a volume or a partition table in `output`. Entries about the table that
/// contains a partition do not describe its content.
fn format(output: &str) -> Option<String> {
    let value = |key: &str| output.lines().find_map(|line| line.strip_prefix(key));
    value("TYPE=").or_else(|| value("PTTYPE=")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The format that a line of shell reports in place of `blkid`.
    fn said(line: &str, patience: Timespec) -> Option<String> {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", line]);
        answer(shell, &File::open("/dev/null").unwrap(), patience)
    }

    #[test]
    fn a_format_or_a_table_is_reported_and_a_table_around_a_partition_is_not() {
        let said = |line| said(line, PATIENCE);
        let newfs = said("printf 'DEVNAME=x\\nUUID=1\\nTYPE=newfs\\nUSAGE=filesystem\\n'");
        assert_eq!(newfs.as_deref(), Some("newfs"));
        assert_eq!(said("echo PTTYPE=gpt").as_deref(), Some("gpt"));
        assert_eq!(said("echo PART_ENTRY_TYPE=0x83; echo PART_ENTRY_SCHEME=dos"), None);
        assert_eq!(said("exit 8").as_deref(), Some("more than one format"));
    }

    #[test]
    fn a_program_that_is_missing_fails_or_says_nothing_is_no_answer() {
        for line in ["exit 2", "exit 4", "kill -9 $$"] {
            assert_eq!(said(line, PATIENCE), None, "{line}");
        }
        let null = File::open("/dev/null").unwrap();
        for program in ["/no/such/blkid", "/dev/null"] {
            assert_eq!(answer(Command::new(program), &null, PATIENCE), None, "{program}");
        }
    }

    #[test]
    fn a_program_that_hangs_does_not_hang_us() {
        let soon = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
        assert_eq!(said("exec sleep 3600", soon), None);
    }

    #[test]
    fn it_reads_what_is_open_and_has_no_environment() {
        let shown = said("[ -z \"$HOME\" ] && echo TYPE=$(readlink $3)", PATIENCE);
        assert_eq!(shown.as_deref(), Some("/dev/null"));
    }
}
