//! One die: reads as they come, and behind them its operations for writes.
//!
//! Reads form a timeline: each begins when the last has ended. Programs, collection and erasures
//! are one operation at a time. Reads delay it before it begins, and during it if the drive
//! suspends. An operation that was delayed for as long as it takes continues to its end, so that
//! reads cannot starve writes.
//!
//! Collection comes before the next page, unless the die has been idle: in that time it has freed
//! blocks ahead, and pages may be written to these before their collection is done.

use std::collections::VecDeque;

use super::collection::ONE;

/// Idle time beyond which longer idling makes no difference: two days, in nanoseconds.
const FOR_EVER: u64 = 1 << 47;

/// A page in the write buffer that waits to be programmed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct BufferedPage {
    /// Bytes from the host; fewer than a program takes if a flush closed the page early.
    pub(super) bytes: u32,
    /// Bytes of these from random writes.
    pub(super) random: u32,
    /// Number of the flush that waits for it.
    pub(super) epoch: u64,
}

/// Operations of a die for writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Work {
    /// Writes data of the host.
    Program(BufferedPage),
    /// Writes as much data again, so that a block can be erased.
    Collect,
    /// Erases a block.
    Erase,
}

#[derive(Debug)]
struct Operation {
    work: Work,
    begins: u64,
    ends: u64,
    /// Its own time, and the delay by reads.
    takes: u64,
    put_off: u64,
}

/// Times of its operations, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) program: u64,
    pub(super) collect: u64,
    pub(super) erase: u64,
    pub(super) suspend: Option<u64>,
    /// Programs between two erasures.
    pub(super) block_programs: u32,
    /// Limit on collection done ahead, in parts of [`ONE`].
    pub(super) most_ahead: i64,
}

#[derive(Debug, Default)]
pub(super) struct Die {
    /// Time at which its reads will have ended, if their pages leave at once.
    reads_until: u64,
    /// Time for which pages waited for the channel, and passed it, in all.
    held_up: u64,
    operation: Option<Operation>,
    pages: VecDeque<BufferedPage>,
    /// Programs that collection still has to do, in parts of [`ONE`]; negative if it has done more
    /// than it had to.
    owed: i64,
    /// Programs of collection done ahead while idle, in parts of [`ONE`]: the die may owe this many
    /// before pages wait for them.
    ahead: i64,
    /// Time at which it became idle, moved by the time of reads since then.
    idle: u64,
    /// Programs since the last erasure.
    programs: u32,
}

impl Die {
    /// Creates an idle die whose collection is `ahead` by this much.
    pub(super) fn new(ahead: i64) -> Self {
        Self { ahead, ..Self::default() }
    }

    /// Takes a read of `takes` nanoseconds at `now`. Returns when it will have ended.
    pub(super) fn read(&mut self, now: u64, takes: u64, times: &Times) -> u64 {
        let begins = match &mut self.operation {
            None => {
                self.idle += takes;
                self.reads_until.max(now)
            }
            Some(op) if self.reads_until > op.ends || op.put_off >= op.takes => {
                self.reads_until.max(op.ends)
            }
            Some(op) => {
                let (begins, delay) = match times.suspend {
                    _ if self.reads_until > now => (self.reads_until, takes),
                    Some(suspend) => (now + suspend, suspend + takes),
                    None => (op.ends, 0),
                };
                op.put_off += delay;
                op.ends += delay;
                begins
            }
        };
        self.reads_until = begins + takes;
        self.reads_until
    }

    /// Returns for how long pages have held up the die in all.
    pub(super) fn held_up(&self) -> u64 {
        self.held_up
    }

    /// Holds a page, whose read has ended at `now`, until it has left over the channel: later reads
    /// and programs wait for that.
    pub(super) fn hold(&mut self, now: u64, out: u64) {
        let longer = out - now;
        self.held_up += longer;
        let until = self.reads_until + longer;
        match &mut self.operation {
            None => self.idle += longer,
            // Its reads come first.
            Some(op) if op.begins >= self.reads_until => {
                let delay = until.saturating_sub(op.begins);
                op.begins += delay;
                op.ends += delay;
            }
            // It is suspended.
            Some(op) if op.ends >= self.reads_until => {
                op.put_off += longer;
                op.ends += longer;
            }
            // They go on when it has ended.
            Some(_) => {}
        }
        self.reads_until = until;
    }

    /// Queues a page to be programmed.
    pub(super) fn push(&mut self, page: BufferedPage) {
        self.pages.push_back(page);
    }

    /// Begins the next operation at `now`, if none is under way. Returns when it will have ended,
    /// unless reads come. Collection goes first. `transfer` moves the data of a number of programs
    /// over the channel and returns when that has ended.
    pub(super) fn begin(
        &mut self,
        now: u64,
        times: &Times,
        transfer: impl FnOnce(u32) -> u64,
    ) -> Option<u64> {
        if self.operation.is_some() {
            return None;
        }
        let due = self.owed >= ONE.cast_signed();
        if self.pages.is_empty() && !due && self.programs < times.block_programs {
            return None;
        }
        let idle = now.saturating_sub(self.idle).min(FOR_EVER);
        self.ahead += (idle * ONE / times.collect).cast_signed();
        self.ahead = self.ahead.min(times.most_ahead);
        let (work, takes, arrived) = if self.programs >= times.block_programs {
            (Work::Erase, times.erase, now)
        } else if due && (self.pages.is_empty() || self.owed > self.ahead) {
            // To the controller, which corrects errors, and back.
            (Work::Collect, times.collect, transfer(2))
        } else {
            (Work::Program(self.pages.pop_front()?), times.program, transfer(1))
        };
        let begins = self.reads_until.max(arrived);
        let ends = begins + takes;
        self.operation = Some(Operation { work, begins, ends, takes, put_off: 0 });
        Some(ends)
    }

    /// Returns the operation that has ended at `now`, or the time at which it will have ended.
    pub(super) fn end(&mut self, now: u64) -> Result<Work, u64> {
        let operation = self.operation.as_ref().expect("an operation is under way");
        if operation.ends > now {
            return Err(operation.ends);
        }
        let work = operation.work;
        self.operation = None;
        self.idle = now.max(self.reads_until);
        match work {
            Work::Program(_) => self.programs += 1,
            Work::Collect => {
                self.programs += 1;
                self.owed -= ONE.cast_signed();
            }
            Work::Erase => self.programs = 0,
        }
        Ok(work)
    }

    /// Adds `part` programs to the debt of collection, in parts of [`ONE`]; a negative number
    /// lowers it.
    pub(super) fn owe(&mut self, part: i64) {
        self.owed += part;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: BufferedPage = BufferedPage { bytes: 32_768, random: 0, epoch: 0 };

    fn times(suspend: Option<u64>) -> Times {
        Times {
            program: 700,
            collect: 800,
            erase: 4_000,
            suspend,
            block_programs: 2,
            most_ahead: 0,
        }
    }

    fn programming(times: &Times) -> Die {
        let mut die = Die::default();
        die.push(PAGE);
        assert_eq!(die.begin(0, times, |_| 30), Some(730));
        die
    }

    #[test]
    fn reads_follow_each_other() {
        let (mut die, times) = (Die::default(), times(None));
        assert_eq!([0, 10, 500].map(|now| die.read(now, 60, &times)), [60, 120, 560]);
    }

    #[test]
    fn a_read_waits_for_a_program_that_cannot_be_suspended() {
        let times = times(None);
        let mut die = programming(&times);
        assert_eq!(die.read(100, 60, &times), 790);
        assert_eq!(die.end(730), Ok(Work::Program(PAGE)));
        die.push(PAGE);
        // The next program waits for the read; reads that come meanwhile go before it.
        assert_eq!(die.begin(730, &times, |_| 760), Some(790 + 700));
        assert_eq!(die.read(780, 60, &times), 850);
        assert_eq!(die.end(1_490), Err(1_550));
    }

    #[test]
    fn a_read_suspends_a_program_and_puts_it_off() {
        let times = times(Some(20));
        let mut die = programming(&times);
        assert_eq!(die.read(100, 60, &times), 180);
        assert_eq!(die.read(150, 60, &times), 240, "it is suspended already");
        assert_eq!(die.end(730), Err(730 + 140));
        assert_eq!(die.end(870), Ok(Work::Program(PAGE)));
    }

    #[test]
    fn a_page_that_is_held_puts_off_reads_and_programs() {
        let times = times(Some(20));
        let mut die = Die::default();
        assert_eq!(die.read(0, 60, &times), 60);
        die.push(PAGE);
        assert_eq!(die.begin(0, &times, |_| 30), Some(760), "it waits for the read");
        die.hold(60, 100);
        assert_eq!((die.end(760), die.held_up()), (Err(800), 40));
        assert_eq!(die.read(200, 60, &times), 280, "it is suspended");
        die.hold(280, 300);
        assert_eq!(die.end(800), Err(800 + 80 + 20));
        assert!(die.end(900).is_ok());
        assert_eq!(die.read(300, 60, &times), 360);
    }

    #[test]
    fn an_idle_die_collects_ahead() {
        let times =
            Times { most_ahead: 10 * ONE.cast_signed(), block_programs: 100, ..times(None) };
        let works = |idle: u64| {
            let mut die = Die::default();
            (0..4).for_each(|_| die.push(PAGE));
            die.owe(2 * ONE.cast_signed());
            let mut now = idle;
            std::iter::from_fn(|| {
                now = die.begin(now, &times, |_| now)?;
                Some(matches!(die.end(now), Ok(Work::Collect)))
            })
            .collect::<Vec<bool>>()
        };
        assert_eq!(works(0), [true, true, false, false, false, false]);
        assert_eq!(works(2 * times.collect), [false, false, false, false, true, true]);
        assert_eq!(works(times.collect), [true, false, false, false, false, true]);
    }

    #[test]
    fn reads_do_not_put_off_a_program_for_ever() {
        let times = times(Some(20));
        let mut die = programming(&times);
        let mut now = 100;
        for _ in 0..100 {
            now = die.read(now, 60, &times);
        }
        // The time of the program again, and the read that crossed that bound.
        assert!(die.end(730 + 700 + 80).is_ok());
    }

    #[test]
    fn what_is_owed_goes_before_the_next_page() {
        let times = times(None);
        let mut die = programming(&times);
        assert!(die.end(730).is_ok());
        die.owe((ONE + ONE / 2).cast_signed());
        die.push(PAGE);
        assert_eq!(die.begin(730, &times, |moves| 730 + u64::from(moves)), Some(732 + 800));
        assert_eq!(die.end(1_532), Ok(Work::Collect));
        // Two programs fill a block here.
        assert_eq!(die.begin(1_532, &times, |_| 0), Some(5_532));
        assert_eq!(die.end(5_532), Ok(Work::Erase));
        assert_eq!(die.begin(5_532, &times, |_| 5_540), Some(6_240), "half a page is not due");
    }
}
