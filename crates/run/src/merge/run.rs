//! A sorted run as it is merged: record after record of the groups of blocks that have been read.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::mem;
use std::path::PathBuf;

use super::record::{RecordFormat, compare, prefix};

/// A run that is read in groups, of which each is asked for while there is another one left.
#[derive(Debug)]
pub(super) struct RunReader {
    path: PathBuf,
    format: RecordFormat,
    /// Bytes of its file that are read in whole blocks.
    whole: u64,
    /// What comes behind them, with the end of the last line if that lacks it.
    rest: Vec<u8>,
    /// Bytes that are read at once.
    group: u64,
    block: u64,
    /// Bytes that have been asked for, that have come, and whose records have been used up.
    asked: u64,
    arrived: u64,
    used: u64,
    /// Where the group that was asked for last begins.
    last_group: u64,
    /// The group that has the present record, which lies from `at` to `end` unless it is in `across`.
    current: Vec<u8>,
    at: usize,
    end: usize,
    /// A record that begins in one group and ends in another, or its beginning.
    across: Vec<u8>,
    /// The present record is in `across`.
    is_across: bool,
    groups: VecDeque<Vec<u8>>,
    /// The record before the present one, if that is in a group that is used up.
    before: Vec<u8>,
    /// Number of the present record, from 1.
    number: u64,
    over: bool,
    /// Buffers that are not used any more.
    pub(super) spent: Vec<Vec<u8>>,
}

/// The next record of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NextRecord {
    /// It is there, and this is the beginning of its key.
    Record(u64),
    /// Not all of it has been read.
    Lacks,
    /// There is none.
    Over,
}

/// Why a run cannot be merged any further, in words.
#[derive(Debug)]
pub(super) enum BadRun {
    /// A record is below the one before it.
    Unsorted(String),
    /// It is not as it was when it was opened.
    Changed(String),
}

/// Bytes of a file to be read, from `from` on, and how many bytes of the run this makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ReadGroup {
    pub(super) from: u64,
    /// Bytes to be read; none if all of it has been read already.
    pub(super) read: u32,
    /// Bytes of the run.
    pub(super) bytes: u64,
}

impl RunReader {
    /// The run at `path`, of which `whole` bytes are to be read in groups of `group` bytes, made of
    /// blocks of `block` bytes, and `rest` comes behind them.
    pub(super) fn new(
        path: PathBuf,
        format: RecordFormat,
        (whole, rest): (u64, Vec<u8>),
        group: u64,
        block: u64,
    ) -> Self {
        Self {
            path,
            format,
            whole,
            rest,
            group,
            block,
            asked: 0,
            arrived: 0,
            used: 0,
            last_group: 0,
            current: Vec::new(),
            at: 0,
            end: 0,
            across: Vec::new(),
            is_across: false,
            groups: VecDeque::new(),
            before: Vec::new(),
            number: 0,
            over: false,
            spent: Vec::new(),
        }
    }

    /// Bytes of the run.
    pub(super) fn len(&self) -> u64 {
        self.whole + self.rest.len() as u64
    }

    /// The group that is to be asked for next; empty at the end.
    pub(super) fn group(&self) -> ReadGroup {
        let from = self.asked;
        let bytes = self.group.min(self.len() - from);
        let read = (from + bytes).min(self.whole).saturating_sub(from) as u32;
        ReadGroup { from, read, bytes }
    }

    /// That group has been asked for.
    pub(super) fn asks(&mut self) {
        self.last_group = self.asked;
        self.asked += self.group().bytes;
    }

    /// The group that was asked for has come.
    pub(super) fn arrives(&mut self, mut bytes: Vec<u8>) {
        let from = self.arrived.max(self.whole);
        if self.asked > from {
            let [from, to] = [from, self.asked].map(|at| (at - self.whole) as usize);
            bytes.extend_from_slice(&self.rest[from..to]);
        }
        self.arrived = self.asked;
        self.groups.push_back(bytes);
    }

    /// Whether a group is on its way.
    pub(super) fn is_reading(&self) -> bool {
        self.arrived < self.asked
    }

    /// Whether the next group is to be asked for: a block of the last one is used up, or it ends in the
    /// middle of the next record, and there is more.
    pub(super) fn wants_more(&self, lacks: bool) -> bool {
        let begun = self.used >= self.last_group + self.block;
        self.asked < self.len() && !self.is_reading() && (begun || lacks)
    }

    /// How far records may be used up before [`wants_more`](Self::wants_more) changes its answer.
    pub(super) fn mark(&self) -> u64 {
        let more = self.asked < self.len() && !self.is_reading();
        if more { self.last_group + self.block } else { u64::MAX }
    }

    /// Bytes whose records have been used up.
    pub(super) fn used(&self) -> u64 {
        self.used
    }

    /// Bytes that are in memory, or on their way there.
    pub(super) fn held(&self) -> u64 {
        self.asked - self.used
    }

    /// Whether it has a present record.
    pub(super) fn has_record(&self) -> bool {
        self.number > 0 && !self.over
    }

    /// Whether all of it is used up.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// The present record.
    #[inline]
    pub(super) fn record(&self) -> &[u8] {
        if self.is_across { &self.across } else { &self.current[self.at..self.end] }
    }

    /// What of it is compared.
    #[inline]
    pub(super) fn key(&self) -> &[u8] {
        self.format.key(self.record())
    }

    /// The beginning of its key.
    pub(super) fn prefix(&self) -> u64 {
        prefix(self.key())
    }

    /// Uses up the present record, whose key begins with `before`, and goes on to the next.
    #[inline]
    pub(super) fn step(&mut self, before: u64) -> Result<NextRecord, BadRun> {
        if self.is_across {
            return self.step_across();
        }
        self.used += (self.end - self.at) as u64;
        let Some(len) = self.format.first(&self.current[self.end..]) else {
            self.leave();
            return self.load();
        };
        let last = mem::replace(&mut self.at, self.end);
        self.end += len;
        self.number += 1;
        let found = self.prefix();
        if found <= before && (found < before || self.is_below(last)) {
            let before = self.current[last..self.at].to_vec();
            return Err(self.unsorted(&before));
        }
        Ok(NextRecord::Record(found))
    }

    /// Whether the present record is below the one at `last`, whose key begins alike.
    fn is_below(&self, last: usize) -> bool {
        let before = self.format.key(&self.current[last..self.at]);
        compare(self.key(), before) == Ordering::Less
    }

    fn step_across(&mut self) -> Result<NextRecord, BadRun> {
        self.used += self.across.len() as u64;
        self.before = mem::take(&mut self.across);
        self.is_across = false;
        self.at = self.end;
        self.load()
    }

    /// The present record is used up, and the next is not whole in its group.
    fn leave(&mut self) {
        self.before.clear();
        self.before.extend_from_slice(&self.current[self.at..self.end]);
        self.at = self.end;
    }

    /// Goes on to the next record, which may lie in several groups.
    pub(super) fn load(&mut self) -> Result<NextRecord, BadRun> {
        loop {
            let left = &self.current[self.end..];
            if let Some(len) = self.format.completes(self.across.len(), left) {
                if self.across.is_empty() {
                    self.at = self.end;
                } else {
                    self.across.extend_from_slice(&left[..len]);
                    self.is_across = true;
                }
                self.end += len;
                return self.found();
            }
            self.across.extend_from_slice(left);
            let group = self.groups.pop_front();
            let more = group.is_some();
            let spent = mem::replace(&mut self.current, group.unwrap_or_default());
            (self.at, self.end) = (0, 0);
            if spent.capacity() > 0 {
                self.spent.push(spent);
            }
            if !more {
                let whole = self.arrived == self.len();
                if whole && !self.across.is_empty() {
                    // It ended with a record when it was opened.
                    let path = self.path.display();
                    let message = format!("{path} ends in the middle of a record: it has changed");
                    return Err(BadRun::Changed(message));
                }
                self.over = whole;
                return Ok(if whole { NextRecord::Over } else { NextRecord::Lacks });
            }
        }
    }

    /// There is a record that was looked for over several groups.
    fn found(&mut self) -> Result<NextRecord, BadRun> {
        self.number += 1;
        let found = self.prefix();
        if self.number > 1 {
            let before = self.format.key(&self.before);
            let order = found.cmp(&prefix(before)).then_with(|| compare(self.key(), before));
            if order == Ordering::Less {
                let before = mem::take(&mut self.before);
                return Err(self.unsorted(&before));
            }
        }
        Ok(NextRecord::Record(found))
    }

    /// The present record is below `before`.
    fn unsorted(&self, before: &[u8]) -> BadRun {
        let what = match self.format {
            RecordFormat::Lines => "line",
            RecordFormat::Fixed { .. } => "record",
        };
        let [found, before] = [self.key(), self.format.key(before)].map(shown);
        let (path, number) = (self.path.display(), self.number);
        BadRun::Unsorted(format!(
            "{path} is not sorted: {what} {number} ({found}) is below {what} {} ({before})",
            number - 1
        ))
    }
}

/// The beginning of a key as a message has it.
fn shown(key: &[u8]) -> String {
    const MOST: usize = 40;
    let part = &key[..key.len().min(MOST)];
    let more = if part.len() < key.len() { "…" } else { "" };
    match std::str::from_utf8(part) {
        Ok(text) if !text.contains(char::is_control) => format!("\"{text}{more}\""),
        _ => format!("{}{more}", part.escape_ascii()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All records of a run of `bytes` that is read in groups of `group` bytes, of which the last
    /// `rest` are no whole block.
    fn records(
        bytes: &[u8],
        format: RecordFormat,
        group: u64,
        rest: usize,
    ) -> Result<Vec<Vec<u8>>, BadRun> {
        let whole = bytes.len() - rest;
        let parts = (whole as u64, bytes[whole..].to_vec());
        let mut run = RunReader::new("a.run".into(), format, parts, group, group);
        let mut records = Vec::new();
        let mut next = NextRecord::Lacks;
        loop {
            match next {
                NextRecord::Record(before) => {
                    records.push(run.record().to_vec());
                    next = run.step(before)?;
                }
                NextRecord::Lacks => {
                    assert!(run.wants_more(true));
                    let ReadGroup { from, read, .. } = run.group();
                    run.asks();
                    assert!(run.is_reading());
                    run.arrives(bytes[from as usize..][..read as usize].to_vec());
                    next = run.load()?;
                }
                NextRecord::Over => break,
            }
        }
        assert!(run.is_over() && run.used() == run.len() && run.held() == 0);
        Ok(records)
    }

    #[test]
    fn records_are_found_however_they_lie_across_groups() {
        let text = b"\n\na\nab\nabc\nb\nbbbbbbbbbbbbbbbb\nc\n";
        let lines: Vec<_> =
            text.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
        let fixed = RecordFormat::Fixed { length: 3, key: 1, end: 2 };
        let triples = b"x1yz2a33 x9b";
        for group in 1..40 {
            for rest in 0..5 {
                assert_eq!(records(text, RecordFormat::Lines, group, rest).unwrap(), lines);
                let found = records(triples, fixed, group, rest).unwrap();
                assert_eq!(found.concat(), triples);
                assert_eq!(found.len(), 4);
            }
        }
    }

    #[test]
    fn the_record_that_is_out_of_order_is_named_wherever_it_lies() {
        for group in 1..20 {
            let error = records(b"a\nc\nb\nd\n", RecordFormat::Lines, group, 0).unwrap_err();
            let message = "a.run is not sorted: line 3 (\"b\") is below line 2 (\"c\")";
            assert!(matches!(error, BadRun::Unsorted(found) if found == message));
        }
        let fixed = RecordFormat::Fixed { length: 2, key: 0, end: 1 };
        let error = records(b"\x01a\x00b", fixed, 3, 0).unwrap_err();
        let message = "a.run is not sorted: record 2 (\\x00) is below record 1 (\\x01)";
        assert!(matches!(error, BadRun::Unsorted(found) if found == message));
        assert!(records(b"aa\nab\nab\nabc\n", RecordFormat::Lines, 5, 0).is_ok());
        let long = format!("{}b\n{}a\n", "x".repeat(60), "x".repeat(60));
        assert!(records(long.as_bytes(), RecordFormat::Lines, 7, 0).is_err());
    }

    #[test]
    fn a_run_whose_last_line_has_lost_its_end_meanwhile_is_an_error() {
        for group in 1..8 {
            let error = records(b"a\nb\nc", RecordFormat::Lines, group, 0).unwrap_err();
            let message = "a.run ends in the middle of a record: it has changed";
            assert!(matches!(error, BadRun::Changed(found) if found == message));
        }
    }
}
