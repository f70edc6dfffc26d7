//! Reads a sorted run record by record. The run is read in groups of blocks.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::mem;
use std::path::PathBuf;

use super::record::{RecordFormat, compare, prefix};

/// A run that is read in groups. The next group is requested while the present one is in use.
#[derive(Debug)]
pub(super) struct RunReader {
    path: PathBuf,
    format: RecordFormat,
    /// Bytes of the file that are read in whole blocks.
    file_bytes: u64,
    /// The bytes behind them, with the end of the last line if the file lacks it.
    tail: Vec<u8>,
    /// Bytes of a group.
    group_bytes: u64,
    block: u64,
    /// Bytes of the run that have been requested, bytes that have arrived, and bytes of the records
    /// before the present one. Each is at most the one before.
    requested: u64,
    arrived: u64,
    used: u64,
    /// First byte of the group that was requested last.
    last_group: u64,
    cursor: Cursor,
    /// Groups that have arrived, behind the group of the cursor.
    groups: VecDeque<Vec<u8>>,
    /// A copy of the record before the present one, if the cursor has left its group.
    previous: Vec<u8>,
    /// Number of the present record, from 1.
    number: u64,
    over: bool,
    /// Buffers of groups that are used up.
    pub(super) spent: Vec<Vec<u8>>,
}

/// The position of the present record.
#[derive(Debug, Default)]
struct Cursor {
    group: Vec<u8>,
    /// First byte in the group of the present record, and of the next.
    at: usize,
    end: usize,
    /// The present record if it lies across groups, or the beginning of the next one.
    across: Vec<u8>,
    /// Whether the present record is in `across`.
    is_across: bool,
}

impl Cursor {
    #[inline]
    fn record(&self) -> &[u8] {
        if self.is_across { &self.across } else { &self.group[self.at..self.end] }
    }

    /// The bytes of the group behind the present record.
    #[inline]
    fn ahead(&self) -> &[u8] {
        &self.group[self.end..]
    }

    /// Makes the next `len` bytes of the group the present record, or the end of it if it begins in
    /// an earlier group.
    #[inline]
    fn complete(&mut self, len: usize) {
        if self.across.is_empty() {
            self.at = self.end;
        } else {
            self.across.extend_from_slice(&self.group[self.end..][..len]);
            self.is_across = true;
        }
        self.end += len;
    }

    /// Keeps the bytes ahead as the beginning of the next record, and goes to `group`. Returns the
    /// buffer of the group before.
    fn enter(&mut self, group: Vec<u8>) -> Vec<u8> {
        self.across.extend_from_slice(&self.group[self.end..]);
        (self.at, self.end) = (0, 0);
        mem::replace(&mut self.group, group)
    }
}

/// The next record of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NextRecord {
    /// It is the present record now. This is the prefix of its key.
    Record(u64),
    /// Part of it has not arrived.
    Lacks,
    /// There is none.
    Over,
}

/// Why a run cannot be merged, in words.
#[derive(Debug)]
pub(super) enum BadRun {
    /// A record is below the one before it.
    Unsorted(String),
    /// The file has changed since it was opened.
    Changed(String),
}

/// A group that can be requested.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ReadGroup {
    /// First byte of the run.
    pub(super) from: u64,
    /// Bytes to read from the file; 0 if all of them are in memory already.
    pub(super) read: u32,
    /// Bytes of the run.
    pub(super) bytes: u64,
}

impl RunReader {
    /// Creates a reader of the run at `path`. `file_bytes` are to be read in groups of `group_bytes`,
    /// made of blocks of `block` bytes; `tail` comes behind them.
    pub(super) fn new(
        path: PathBuf,
        format: RecordFormat,
        (file_bytes, tail): (u64, Vec<u8>),
        group_bytes: u64,
        block: u64,
    ) -> Self {
        Self {
            path,
            format,
            file_bytes,
            tail,
            group_bytes,
            block,
            requested: 0,
            arrived: 0,
            used: 0,
            last_group: 0,
            cursor: Cursor::default(),
            groups: VecDeque::new(),
            previous: Vec::new(),
            number: 0,
            over: false,
            spent: Vec::new(),
        }
    }

    /// Bytes of the run.
    pub(super) fn len(&self) -> u64 {
        self.file_bytes + self.tail.len() as u64
    }

    /// Returns the group to request next; it is empty at the end of the run.
    pub(super) fn next_group(&self) -> ReadGroup {
        let from = self.requested;
        let bytes = self.group_bytes.min(self.len() - from);
        let read = (from + bytes).min(self.file_bytes).saturating_sub(from) as u32;
        ReadGroup { from, read, bytes }
    }

    /// Notes that [`next_group`](Self::next_group) has been requested.
    pub(super) fn request(&mut self) {
        self.last_group = self.requested;
        self.requested += self.next_group().bytes;
        self.check();
    }

    /// Takes the `bytes` that were read for the requested group.
    pub(super) fn receive(&mut self, mut bytes: Vec<u8>) {
        let from = self.arrived.max(self.file_bytes);
        if self.requested > from {
            let [from, to] = [from, self.requested].map(|at| (at - self.file_bytes) as usize);
            bytes.extend_from_slice(&self.tail[from..to]);
        }
        self.arrived = self.requested;
        self.groups.push_back(bytes);
        self.check();
    }

    fn check(&self) {
        let Self { requested, arrived, used, .. } = self;
        assert!(requested >= arrived && arrived >= used && *requested <= self.len());
    }

    /// Returns whether a requested group has not arrived.
    pub(super) fn is_reading(&self) -> bool {
        self.arrived < self.requested
    }

    /// Returns whether to request the next group: a block of the last group is used up, or `lacks`
    /// says that the next record needs it; and there is more.
    pub(super) fn wants_more(&self, lacks: bool) -> bool {
        let begun = self.used >= self.last_group + self.block;
        self.requested < self.len() && !self.is_reading() && (begun || lacks)
    }

    /// Returns the number of used bytes from which [`wants_more`](Self::wants_more) is true.
    pub(super) fn mark(&self) -> u64 {
        let more = self.requested < self.len() && !self.is_reading();
        if more { self.last_group + self.block } else { u64::MAX }
    }

    /// Bytes of the records before the present one.
    pub(super) fn used(&self) -> u64 {
        self.used
    }

    /// Bytes in memory, with those that are being read.
    pub(super) fn held(&self) -> u64 {
        self.requested - self.used
    }

    /// Returns whether there is a present record.
    pub(super) fn has_record(&self) -> bool {
        self.number > 0 && !self.over
    }

    /// Returns whether all records are used up.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// The present record.
    #[inline]
    pub(super) fn record(&self) -> &[u8] {
        self.cursor.record()
    }

    /// The key of the present record.
    #[inline]
    pub(super) fn key(&self) -> &[u8] {
        self.format.key(self.record())
    }

    /// The prefix of that key.
    pub(super) fn prefix(&self) -> u64 {
        prefix(self.key())
    }

    /// Goes from the present record, whose key has the prefix `before`, to the next.
    ///
    /// # Errors
    /// [`BadRun`]: the next record is below the present one; the file has changed.
    #[inline]
    pub(super) fn step(&mut self, before: u64) -> Result<NextRecord, BadRun> {
        if self.cursor.is_across {
            return self.step_across();
        }
        let Cursor { at, end, .. } = self.cursor;
        self.used += (end - at) as u64;
        let Some(len) = self.format.first(self.cursor.ahead()) else {
            self.keep_previous();
            return self.load();
        };
        self.cursor.complete(len);
        self.number += 1;
        let prefix = self.prefix();
        if prefix <= before && (prefix < before || self.is_below(at)) {
            let previous = self.cursor.group[at..end].to_vec();
            return Err(self.unsorted(&previous));
        }
        Ok(NextRecord::Record(prefix))
    }

    /// Returns whether the present record is below the one at `previous`, whose key has the same prefix.
    fn is_below(&self, previous: usize) -> bool {
        let previous = self.format.key(&self.cursor.group[previous..self.cursor.at]);
        compare(self.key(), previous) == Ordering::Less
    }

    fn step_across(&mut self) -> Result<NextRecord, BadRun> {
        self.used += self.cursor.across.len() as u64;
        self.previous = mem::take(&mut self.cursor.across);
        self.cursor.is_across = false;
        self.cursor.at = self.cursor.end;
        self.load()
    }

    /// Copies the present record, because the next one ends in another group.
    fn keep_previous(&mut self) {
        self.previous.clear();
        self.previous.extend_from_slice(self.cursor.record());
        self.cursor.at = self.cursor.end;
    }

    /// Goes to the next record, which may lie in several groups.
    ///
    /// # Errors
    /// [`BadRun`]: it is below the record before it; the file has changed.
    pub(super) fn load(&mut self) -> Result<NextRecord, BadRun> {
        loop {
            let begun = self.cursor.across.len();
            if let Some(len) = self.format.completes(begun, self.cursor.ahead()) {
                self.cursor.complete(len);
                return self.compare_with_previous();
            }
            let group = self.groups.pop_front();
            let more = group.is_some();
            let spent = self.cursor.enter(group.unwrap_or_default());
            if spent.capacity() > 0 {
                self.spent.push(spent);
            }
            self.check();
            if !more {
                let complete = self.arrived == self.len();
                if complete && !self.cursor.across.is_empty() {
                    // It ended with a record when it was opened.
                    let path = self.path.display();
                    let message = format!("{path} ends in the middle of a record: it has changed");
                    return Err(BadRun::Changed(message));
                }
                self.over = complete;
                return Ok(if complete { NextRecord::Over } else { NextRecord::Lacks });
            }
        }
    }

    fn compare_with_previous(&mut self) -> Result<NextRecord, BadRun> {
        self.number += 1;
        let found = self.prefix();
        if self.number > 1 {
            let before = self.format.key(&self.previous);
            let order = found.cmp(&prefix(before)).then_with(|| compare(self.key(), before));
            if order == Ordering::Less {
                let previous = mem::take(&mut self.previous);
                return Err(self.unsorted(&previous));
            }
        }
        Ok(NextRecord::Record(found))
    }

    /// The error if the present record is below `previous`.
    fn unsorted(&self, previous: &[u8]) -> BadRun {
        let noun = match self.format {
            RecordFormat::Lines => "line",
            RecordFormat::Fixed { .. } => "record",
        };
        let [key, previous] = [self.key(), self.format.key(previous)].map(key_text);
        let (path, number) = (self.path.display(), self.number);
        BadRun::Unsorted(format!(
            "{path} is not sorted: {noun} {number} ({key}) is below {noun} {} ({previous})",
            number - 1
        ))
    }
}

/// Formats the beginning of a key for a message.
fn key_text(key: &[u8]) -> String {
    const SHOWN_BYTES: usize = 40;
    let part = &key[..key.len().min(SHOWN_BYTES)];
    let more = if part.len() < key.len() { "…" } else { "" };
    match std::str::from_utf8(part) {
        Ok(text) if !text.contains(char::is_control) => format!("\"{text}{more}\""),
        _ => format!("{}{more}", part.escape_ascii()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns all records of a run of `bytes` that is read in groups of `group` bytes. The last `rest`
    /// bytes are not a whole block.
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
                    let ReadGroup { from, read, .. } = run.next_group();
                    run.request();
                    assert!(run.is_reading());
                    run.receive(bytes[from as usize..][..read as usize].to_vec());
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
