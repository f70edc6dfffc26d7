//! A table whose first line names its columns, in any order, separated by commas, semicolons or
//! tabs. Names ignore case; quotes around a cell are removed.
//!
//! | what | columns | |
//! |---|---|---|
//! | time | `time_s`, `time_ms`, `time_us`, `time_ns`, or `timestamp_` and a unit | needed |
//! | operation | `op`: `read` `r`, `write` `w`, `flush` `f`, `discard` `d` `trim`, in any case | needed |
//! | place | `offset` in bytes; `lba`, `sector` or `block` in blocks of 512 bytes | needed |
//! | length | `size`, `length` or `bytes`; `sectors` or `blocks` of 512 bytes | needed |
//! | device, process | `device`, `process`: names; `pid`: a number | |
//! | latency | `latency_s`, `latency_ms`, `latency_us` or `latency_ns` | |
//!
//! Other columns are ignored, with a remark. A time column must name its unit: a guess could be
//! wrong by a factor of a thousand. A flush needs no place and no length; cells of optional columns
//! may be empty, and a latency may be `-` or `-1`. Numbers may have a decimal point, or a decimal comma if commas do not separate the
//! columns. The format is Penstock's own.

use penstock_core::{Op, Span};

use crate::trace::builder::{BLOCK_BYTES, Builder, NewRequest, is_missing};
use crate::trace::error::{ParseError, Parsed, TraceError, quoted};
use crate::trace::fields::{decimal, number32, scaled};
use crate::trace::format::Format;
use crate::trace::input::Input;
use crate::trace::record::ProcessId;
use crate::trace::recording::Trace;

const EXAMPLE: &str = "a first line that names the columns, as in `time_ms,op,offset,size`, and a \
                       line for each request, as in `0.25,read,4096,8192`";

pub(super) const FORMAT: Format = Format {
    name: "csv",
    summary: "a table whose first line names its columns, such as time_ms,op,offset,size",
    example: EXAMPLE,
    read,
    write: None,
};

/// Name of the device in a table without a device column.
const DEVICE: &[u8] = b"disk";
/// Number of needed columns from which a first line counts as a heading of this format. Headings of
/// other formats have two of them.
const HEADING_COLUMNS: usize = 3;

/// The content of a column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    /// A time in units of 10^n ns.
    Time(usize),
    Op,
    /// An offset in units of this many bytes.
    Start(u64),
    /// A length in units of this many bytes.
    Len(u64),
    Device,
    Process,
    Pid,
    /// A latency in units of 10^n ns.
    Latency(usize),
    Ignored,
}

/// The needed columns, whatever their unit, and their names in messages.
const NEEDED: [(Column, &str); 4] = [
    (Column::Time(0), "the time with its unit (`time_s`, `time_ms`, `time_us` or `time_ns`)"),
    (Column::Op, "the operation (`op`)"),
    (Column::Start(1), "the place (`offset`, `lba`, `sector` or `block`)"),
    (Column::Len(1), "the length (`size`, `length`, `bytes`, `sectors` or `blocks`)"),
];

impl Column {
    /// Whether both have the same content, in any unit.
    fn is_like(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }

    fn named(name: &[u8]) -> Self {
        let name = name.to_ascii_lowercase();
        let unit = |unit: &[u8]| match unit {
            b"s" => Some(9),
            b"ms" => Some(6),
            b"us" => Some(3),
            b"ns" => Some(0),
            _ => None,
        };
        let time = name.strip_prefix(b"time_").or_else(|| name.strip_prefix(b"timestamp_"));
        if let Some(digits) = time.and_then(unit) {
            return Self::Time(digits);
        }
        if let Some(digits) = name.strip_prefix(b"latency_").and_then(unit) {
            return Self::Latency(digits);
        }
        match &name[..] {
            b"op" => Self::Op,
            b"offset" => Self::Start(1),
            b"lba" | b"sector" | b"block" => Self::Start(BLOCK_BYTES),
            b"size" | b"length" | b"bytes" => Self::Len(1),
            b"sectors" | b"blocks" => Self::Len(BLOCK_BYTES),
            b"device" => Self::Device,
            b"process" => Self::Process,
            b"pid" => Self::Pid,
            _ => Self::Ignored,
        }
    }
}

fn read(input: &mut Input<'_>) -> Result<Trace, TraceError> {
    let mut trace = Builder::new();
    let mut table: Option<Table> = None;
    input.lines(|text, line| match &table {
        Some(table) if table.complete => {
            let parsed = table.request(text, line, &mut trace);
            parsed.map_err(|error| table.columns_differ(text).unwrap_or(error))
        }
        // Reached only in a trial of a format: an incomplete heading counts as a single mistake.
        Some(table) if table.is_heading() => Ok(()),
        Some(_) => Err(ParseError::new(text, EXAMPLE)),
        None => {
            let mut heading = Table::parse(text);
            let checked = heading.check(text);
            heading.complete = checked.is_ok();
            trace.headed = heading.is_heading();
            trace.skipped += 1;
            trace.remarks.extend(heading.remark(text));
            table = Some(heading);
            checked
        }
    })?;
    trace.finish(input, EXAMPLE)
}

/// The columns of a file.
struct Table {
    separator: u8,
    columns: Vec<Column>,
    /// Whether it has all needed columns.
    complete: bool,
}

impl Table {
    /// Parses the heading `text`.
    fn parse(text: &[u8]) -> Self {
        let has = |separator: &&u8| text.contains(separator);
        let separator = *b";\t,".iter().find(has).unwrap_or(&b',');
        let columns = TableCells { rest: Some(text), separator }.map(Column::named).collect();
        Self { separator, columns, complete: false }
    }

    fn cells<'a>(&self, text: &'a [u8]) -> TableCells<'a> {
        TableCells { rest: Some(text), separator: self.separator }
    }

    fn has(&self, kind: Column) -> bool {
        self.columns.iter().any(|column| column.is_like(kind))
    }

    /// Whether the first line counts as a heading of this format.
    fn is_heading(&self) -> bool {
        NEEDED.iter().filter(|(column, _)| self.has(*column)).count() >= HEADING_COLUMNS
    }

    /// Checks that each needed column is present, and none is present twice.
    fn check(&self, text: &[u8]) -> Parsed<()> {
        let missing = NEEDED.iter().filter(|(column, _)| !self.has(*column));
        let missing: Vec<_> = missing.map(|(_, what)| *what).collect();
        if !missing.is_empty() {
            let expected = format!("names of columns, also one for {}", missing.join(" and for "));
            return Err(ParseError::new(text, expected));
        }
        for (index, column) in self.columns.iter().enumerate() {
            let twice = self.columns[..index].iter().any(|other| other.is_like(*column));
            if twice && *column != Column::Ignored {
                let name = self.cells(text).nth(index).unwrap_or_default();
                let expected = "a column that says something new, not a second one for the same";
                return Err(ParseError::new(name, expected));
            }
        }
        Ok(())
    }

    /// Names the columns that are ignored.
    fn remark(&self, text: &[u8]) -> Option<String> {
        let named = self.cells(text).zip(&self.columns);
        let ignored = named.filter(|(_, column)| **column == Column::Ignored);
        let names: Vec<_> = ignored.map(|(name, _)| name).collect();
        (!names.is_empty())
            .then(|| format!("these columns are ignored: {}", quoted(&names.join(&b", "[..]))))
    }

    fn request(&self, text: &[u8], line: u32, trace: &mut Builder) -> Parsed<()> {
        let (mut at_ns, mut op, mut start, mut len) = (0, None, Ok(0), Ok(0));
        let (mut device, mut pid, mut process, mut latency) = (DEVICE, 0, ProcessId(0), None);
        let mut cells = self.cells(text);
        for column in &self.columns {
            let cell = cells.next().ok_or_else(|| ParseError::new(text, EXAMPLE))?;
            match *column {
                Column::Time(digits) => at_ns = decimal(cell, digits, "the time")?,
                Column::Op => op = Some(operation(cell)?),
                Column::Start(unit) => start = scaled(cell, unit, "the place, a whole number"),
                Column::Len(unit) => len = scaled(cell, unit, "the length, a whole number"),
                _ if cell.is_empty() => {}
                Column::Latency(_) if is_missing(cell) => {}
                Column::Device => device = cell,
                Column::Process => process = trace.process(cell)?,
                Column::Pid => pid = number32(cell, "the number of the process")?,
                Column::Latency(digits) => {
                    latency = Some(Span::from_ns(decimal(cell, digits, "the latency")?));
                }
                Column::Ignored => {}
            }
        }
        if cells.next().is_some() {
            return Err(ParseError::new(text, EXAMPLE));
        }
        let op = op.unwrap_or(Op::Flush);
        let (start, len) = if op == Op::Flush { (0, 0) } else { (start?, len?) };
        let device = trace.device(device)?;
        let request =
            NewRequest { pid, process, latency, ..NewRequest::new(at_ns, op, start, len, device) };
        trace.push(line, text, &request).map(drop)
    }

    /// The error for a line with another number of columns, which explains all other errors in it.
    #[cold]
    fn columns_differ(&self, text: &[u8]) -> Option<ParseError> {
        let (found, expected) = (self.cells(text).count(), self.columns.len());
        if found == expected {
            return None;
        }
        let comma = if self.separator == b',' { ", and no commas in numbers" } else { "" };
        let expected = format!("{expected} columns as in the first line{comma}");
        Some(
            ParseError::new(&[], expected).with_found(format!("{found} columns, {}", quoted(text))),
        )
    }
}

fn operation(cell: &[u8]) -> Parsed<Op> {
    match &cell.to_ascii_lowercase()[..] {
        b"read" | b"r" => Ok(Op::Read),
        b"write" | b"w" => Ok(Op::Write),
        b"flush" | b"f" => Ok(Op::Flush),
        b"discard" | b"d" | b"trim" => Ok(Op::Discard),
        _ => Err(ParseError::new(cell, "`read`, `write`, `flush` or `discard`")),
    }
}

/// The cells of a line, without the white space and the quotes around them.
struct TableCells<'a> {
    rest: Option<&'a [u8]>,
    separator: u8,
}

impl<'a> Iterator for TableCells<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        // A quoted cell may hold separators.
        let quote = rest.strip_prefix(b"\"").and_then(|inner| memchr::memchr(b'"', inner));
        let from = quote.map_or(0, |end| end + 1);
        let end = memchr::memchr(self.separator, &rest[from..]).map(|end| from + end);
        self.rest = end.map(|end| &rest[end + 1..]);
        let cell = rest[..end.unwrap_or(rest.len())].trim_ascii();
        let inner = cell.strip_prefix(b"\"").and_then(|cell| cell.strip_suffix(b"\""));
        Some(inner.unwrap_or(cell))
    }
}
