//! Commands of requests: ranges in whole blocks, and the rest of a transfer that came short.

use penstock_core::{Errno, Flags, Op, Request};

use super::caching::LaneFiles;
use crate::engine::buffers::Layout;
use crate::engine::driver::{Action, Command};
use crate::targets::Target;

/// Returns the command for `req` on `target`, and the unit of its transfers. Its range is rounded outward to whole blocks
/// for direct I/O, and to multiples of `grain` in any case. Only this function turns offsets in a view into
/// offsets in the file.
pub(super) fn command(
    target: &Target,
    files: LaneFiles,
    req: &Request,
    layout: &Layout,
    slot: u32,
    grain: u32,
) -> (Command, u32) {
    let (file, unit) = if req.flags.has(Flags::BUFFERED) && files.buffered != files.own {
        (files.buffered, 1)
    } else {
        (files.direct, target.unit())
    };
    let action = match req.op {
        Op::Read => Action::Read,
        Op::Write if req.flags.has(Flags::FUA) => Action::WriteThrough,
        Op::Write => Action::Write,
        Op::Flush => {
            return (Command { action: Action::Flush, file, start: 0, len: 0, buffer: 0 }, unit);
        }
        Op::Discard => Action::Discard,
    };
    let capacity = target.capacity();
    let end = req.start.checked_add(u64::from(req.len)).expect("a range ends");
    assert!(req.len > 0 && end <= capacity, "{req:?} is outside the {capacity} bytes");
    if action == Action::Discard {
        // Not rounded: the bytes next to the range must stay, and the call needs no alignment.
        let start = target.start() + req.start;
        return (Command { action, file: files.own, start, len: req.len, buffer: 0 }, unit);
    }
    // The capacity is a multiple of the block, so rounding outward stays within it.
    // Blocks are powers of two, and masks avoid divisions, which take as long as ten other operations.
    let mask = u64::from(unit.max(grain)) - 1;
    let start = req.start & !mask;
    let end = (end + mask) & !mask;
    assert!(end <= capacity, "a capacity of whole blocks");
    let len = (end - start) as u32;
    assert!(len as usize <= layout.stride(), "{req:?} is longer than the largest command");
    let start = target.start() + start;
    let buffer = if action == Action::Read { layout.slot(slot) } else { layout.source_for(start) };
    (Command { action, file, start, len, buffer }, unit)
}

/// The next step after a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    Again,
    Ended(Option<Errno>),
}

/// Subtracts `result` from the rest of a command, and returns the next step. Each repetition is shorter by at least a
/// unit, so they end.
pub(super) fn settle(rest: &mut Command, result: i32, unit: u32) -> Step {
    if result < 0 {
        return Step::Ended(Errno::new(-result));
    }
    let transfers = !matches!(rest.action, Action::Flush | Action::Discard);
    let count = result as u32;
    if !transfers || count >= rest.len {
        return Step::Ended(None);
    }
    // Direct I/O continues at whole units only. Less than a unit is no progress, as at the end of a
    // file that was cut.
    let count = count / unit * unit;
    if count == 0 {
        return Step::Ended(Some(Errno::EIO));
    }
    rest.start += u64::from(count);
    rest.len -= count;
    rest.buffer += count as usize;
    Step::Again
}

/// Describes `command` for an error message.
pub(super) fn describe(command: &Command) -> String {
    let Command { action, start, len, .. } = *command;
    let operation = match action {
        Action::Read => "a read",
        Action::Write | Action::WriteThrough => "a write",
        Action::Discard => "a discard",
        Action::Flush => return "a flush".into(),
    };
    format!("{operation} of {len} bytes at byte {start}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(start: u64, len: u32) -> Command {
        Command { action: Action::Read, file: 0, start, len, buffer: 0 }
    }

    #[test]
    fn a_short_read_goes_on_where_it_stopped() {
        let mut rest = read(8192, 16384);
        assert_eq!(settle(&mut rest, 5000, 4096), Step::Again);
        assert_eq!((rest.start, rest.len, rest.buffer), (12288, 12288, 4096));
        assert_eq!(settle(&mut rest, 12288, 4096), Step::Ended(None));
    }

    #[test]
    fn no_progress_is_an_error() {
        for result in [0, 511] {
            assert_eq!(settle(&mut read(0, 4096), result, 512), Step::Ended(Some(Errno::EIO)));
        }
        let no_space = Errno::new(28);
        assert_eq!(settle(&mut read(0, 4096), -28, 512), Step::Ended(no_space));
    }

    #[test]
    fn calls_without_a_count_end_at_once() {
        for action in [Action::Flush, Action::Discard] {
            let mut rest = Command { action, ..read(0, 4096) };
            assert_eq!(settle(&mut rest, 0, 4096), Step::Ended(None));
        }
    }
}
