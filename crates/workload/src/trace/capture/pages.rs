//! The pages of the kernel's ring buffers, as `trace_pipe_raw` gives them.
//!
//! A page has the time of its first event, the number of its bytes, and its events. An event is a
//! word, whose lowest five bits are its kind and whose others the nanoseconds since the event before,
//! and its data, in words of four bytes. Where the fields of an event are, the kernel says in
//! `events/block/NAME/format`. Numbers are in the order of the machine. Source: `events/header_page`
//! and `events/header_event` of tracefs, and the kernel's documentation, "Event Tracing".

use std::fmt;
use std::ops::Range;

use penstock_core::{IoClass, IoPrio};

use super::event::{Action, KERNEL_EVENTS};

/// Kinds of events in a page; smaller ones are the number of words of the data.
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// Bits of the time in the word of an event.
const TIME_BITS: u32 = 27;
/// The bytes of a page without the kernel's marks.
const COMMIT_MASK: u64 = 0x3fff_ffff;
/// Bits of the class in an I/O priority, and of the level.
const CLASS_SHIFT: u16 = 13;
const LEVEL_MASK: u16 = 7;

/// Longest operation and longest name of a process that an event has.
pub(super) const LETTERS_BYTES: usize = 16;
pub(super) const NAME_BYTES: usize = 16;

/// An event of a page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PageEvent {
    pub(super) at_ns: u64,
    pub(super) action: Action,
    /// Number of the device, `major << 20 | minor`.
    pub(super) device: u32,
    pub(super) sector: u64,
    pub(super) sectors: u32,
    pub(super) cpu: u32,
    pub(super) pid: u32,
    pub(super) ioprio: Option<IoPrio>,
    /// Whether it is a command to the device itself, such as an inquiry.
    pub(super) is_command: bool,
    pub(super) letters: [u8; LETTERS_BYTES],
    pub(super) process: [u8; NAME_BYTES],
}

/// An error in what the kernel says of its events, or in a page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PageError(String);

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PageError {}

/// The layout of the block events of this kernel.
#[derive(Debug)]
pub struct KernelEvents {
    time: usize,
    commit: Range<usize>,
    data: usize,
    events: Vec<EventLayout>,
}

/// The first bytes of the fields of an event.
#[derive(Debug)]
struct EventLayout {
    id: u16,
    action: Action,
    pid: usize,
    device: usize,
    sector: usize,
    sectors: usize,
    letters: Range<usize>,
    process: Option<Range<usize>>,
    ioprio: Option<usize>,
    command: Option<usize>,
}

impl KernelEvents {
    /// Reads `events/header_page`, and the `format` of each event with its name.
    ///
    /// # Errors
    /// If a field is missing or has another size.
    pub fn new(header_page: &str, formats: &[(String, String)]) -> Result<Self, PageError> {
        let page = EventFields { event: "header_page", text: header_page };
        let events = formats.iter().map(|(name, text)| EventLayout::read(name, text));
        Ok(Self {
            time: page.start("timestamp", 8)?,
            commit: page.field("commit")?,
            data: page.field("data")?.start,
            events: events.collect::<Result<_, _>>()?,
        })
    }

    /// Calls `handle` for each block event in `page`, which the processor `cpu` wrote.
    ///
    /// # Errors
    /// If the page ends within an event.
    pub(super) fn events(
        &self,
        page: &[u8],
        cpu: u32,
        mut handle: impl FnMut(&PageEvent),
    ) -> Result<(), PageError> {
        let cut = || PageError(format!("a page of {} bytes ends within an event", page.len()));
        let mut now = u64::from_ne_bytes(array(page, self.time).ok_or_else(cut)?);
        let commit = match self.commit.len() {
            4 => array(page, self.commit.start).map(u32::from_ne_bytes).map(u64::from),
            _ => array(page, self.commit.start).map(u64::from_ne_bytes),
        };
        let bytes = (commit.ok_or_else(cut)? & COMMIT_MASK) as usize;
        let mut rest = page.get(self.data..self.data + bytes).ok_or_else(cut)?;
        while let Some(word) = array(rest, 0).map(u32::from_ne_bytes) {
            let (kind, passed_ns) = (word & 31, u64::from(word >> 5));
            let second = || array(rest, 4).map(u32::from_ne_bytes).ok_or_else(cut);
            let (data, next) = match kind {
                PADDING if passed_ns == 0 => return Ok(()),
                PADDING => (0..0, 4 + second()? as usize),
                TIME_EXTEND => {
                    now += (u64::from(second()?) << TIME_BITS) + passed_ns;
                    (0..0, 8)
                }
                TIME_STAMP => {
                    now = u64::from(second()?) << TIME_BITS | passed_ns;
                    (0..0, 8)
                }
                0 => {
                    now += passed_ns;
                    let len = 4 + second()? as usize;
                    (8..len, len)
                }
                words => {
                    now += passed_ns;
                    let len = 4 + 4 * words as usize;
                    (4..len, len)
                }
            };
            if !data.is_empty()
                && let Some(event) = self.event(rest.get(data).ok_or_else(cut)?, now, cpu)
            {
                handle(&event);
            }
            rest = rest.get(next.next_multiple_of(4)..).ok_or_else(cut)?;
        }
        Ok(())
    }

    /// Reads an event from its data; `None` if it is not one of these.
    fn event(&self, data: &[u8], at_ns: u64, cpu: u32) -> Option<PageEvent> {
        let id = u16::from_ne_bytes(array(data, 0)?);
        let layout = self.events.iter().find(|layout| layout.id == id)?;
        let ioprio = layout.ioprio.and_then(|at| array(data, at)).map(u16::from_ne_bytes);
        // Where the bytes of a command are, and how many with the one that ends them.
        let command = layout.command.and_then(|at| array(data, at)).map(u32::from_ne_bytes);
        let process = layout.process.as_ref().and_then(|place| data.get(place.clone()));
        Some(PageEvent {
            at_ns,
            action: layout.action,
            device: u32::from_ne_bytes(array(data, layout.device)?),
            sector: u64::from_ne_bytes(array(data, layout.sector)?),
            sectors: u32::from_ne_bytes(array(data, layout.sectors)?),
            cpu,
            pid: u32::from_ne_bytes(array(data, layout.pid)?),
            ioprio: ioprio.and_then(ioprio_of),
            is_command: command.is_some_and(|place| place >> 16 > 1),
            letters: text(data.get(layout.letters.clone())?),
            process: process.map(text).unwrap_or_default(),
        })
    }
}

impl EventLayout {
    fn read(name: &str, text: &str) -> Result<Self, PageError> {
        let fields = EventFields { event: name, text };
        let (_, action) = KERNEL_EVENTS
            .iter()
            .find(|(event, _)| *event == name)
            .ok_or_else(|| PageError(format!("{name} is no event of a capture")))?;
        let id = text.lines().find_map(|line| line.strip_prefix("ID:")?.trim().parse().ok());
        Ok(Self {
            id: id.ok_or_else(|| PageError(format!("the event {name} has no number")))?,
            action: *action,
            pid: fields.start("common_pid", 4)?,
            device: fields.start("dev", 4)?,
            sector: fields.start("sector", 8)?,
            sectors: fields.start("nr_sector", 4)?,
            letters: fields.field("rwbs")?,
            process: fields.field("comm").ok(),
            ioprio: fields.start("ioprio", 2).ok(),
            command: fields.start("cmd", 4).ok(),
        })
    }
}

/// The fields of an event, as the kernel describes them.
struct EventFields<'a> {
    event: &'a str,
    text: &'a str,
}

impl EventFields<'_> {
    /// The bytes of a field.
    fn field(&self, name: &str) -> Result<Range<usize>, PageError> {
        let of_line = |line: &str| {
            let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
            let declared = parts.next()?.rsplit(' ').next()?;
            let number = |part: Option<&str>, key: &str| part?.strip_prefix(key)?.parse().ok();
            let start: usize = number(parts.next(), "offset:")?;
            let size: usize = number(parts.next(), "size:")?;
            (declared.split('[').next() == Some(name)).then_some(start..start + size)
        };
        let Self { event, text } = self;
        let field = text.lines().find_map(of_line);
        field.ok_or_else(|| PageError(format!("the event {event} has no field {name}")))
    }

    /// The first byte of a field of `size` bytes.
    fn start(&self, name: &str, size: usize) -> Result<usize, PageError> {
        let field = self.field(name)?;
        if field.len() != size {
            let (event, has) = (self.event, field.len());
            let message =
                format!("the field {name} of the event {event} has {has} bytes, not {size}");
            return Err(PageError(message));
        }
        Ok(field.start)
    }
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

/// Copies a text up to the byte 0 that ends it.
fn text<const N: usize>(field: &[u8]) -> [u8; N] {
    let mut text = [0; N];
    let len = field.iter().position(|&byte| byte == 0).unwrap_or(field.len()).min(N);
    text[..len].copy_from_slice(&field[..len]);
    text
}

/// The I/O priority of the kernel's number; `None` if the request has none.
fn ioprio_of(number: u16) -> Option<IoPrio> {
    let class = match number >> CLASS_SHIFT {
        1 => IoClass::RealTime,
        2 => IoClass::BestEffort,
        3 => IoClass::Idle,
        _ => return None,
    };
    IoPrio::new(class, (number & LEVEL_MASK) as u8)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The page header of a kernel, with 64 bytes of events.
    pub(crate) const HEADER: &str = "\
\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;
";

    /// The layout of an event that has all fields.
    pub(crate) const ISSUE: &str = "\
name: block_rq_issue
ID: 77
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;
\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;
\tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;
\tfield:unsigned short ioprio;\toffset:32;\tsize:2;\tsigned:0;
\tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;
\tfield:char comm[16];\toffset:44;\tsize:16;\tsigned:0;
\tfield:__data_loc char[] cmd;\toffset:60;\tsize:4;\tsigned:0;
";

    pub(crate) fn kernel_events(name: &str, id: u16) -> KernelEvents {
        let format = ISSUE.replace("ID: 77", &format!("ID: {id}"));
        KernelEvents::new(HEADER, &[(name.into(), format)]).unwrap()
    }

    /// The data of an event with the number `id`.
    pub(crate) fn data(id: u16, sector: u64, command_bytes: u32) -> Vec<u8> {
        let mut data = vec![0; 68];
        let mut set = |at: usize, bytes: &[u8]| data[at..at + bytes.len()].copy_from_slice(bytes);
        set(0, &id.to_ne_bytes());
        set(4, &4242_u32.to_ne_bytes());
        set(8, &(8_u32 << 20 | 16).to_ne_bytes());
        set(16, &sector.to_ne_bytes());
        set(24, &8_u32.to_ne_bytes());
        set(32, &(1_u16 << 13 | 3).to_ne_bytes());
        set(34, b"WS\0junk");
        set(44, b"postgres\0\0");
        set(60, &(command_bytes << 16 | 64).to_ne_bytes());
        data
    }

    /// A page of these words and data, which begins at `at_ns`.
    pub(crate) fn page(at_ns: u64, pieces: &[&[u8]]) -> Vec<u8> {
        let events = pieces.concat();
        let len = events.len() as u64 | 1 << 31;
        [&at_ns.to_ne_bytes()[..], &len.to_ne_bytes(), &events, &[0; 32]].concat()
    }

    pub(crate) fn word(kind: u32, passed_ns: u32) -> [u8; 4] {
        (passed_ns << 5 | kind).to_ne_bytes()
    }

    fn times(page: &[u8]) -> Vec<u64> {
        let mut times = Vec::new();
        let events = kernel_events("block_rq_issue", 77);
        events.events(page, 1, |event| times.push(event.at_ns)).unwrap();
        times
    }

    #[test]
    fn an_event_has_its_fields() {
        let bytes = page(1000, &[&word(17, 5), &data(77, 4096, 1)]);
        let mut events = Vec::new();
        kernel_events("block_rq_issue", 77).events(&bytes, 3, |event| events.push(*event)).unwrap();
        let expected = PageEvent {
            at_ns: 1005,
            action: Action::Issued,
            device: 8 << 20 | 16,
            sector: 4096,
            sectors: 8,
            cpu: 3,
            pid: 4242,
            ioprio: IoPrio::new(IoClass::RealTime, 3),
            is_command: false,
            letters: text(b"WS"),
            process: text(b"postgres"),
        };
        assert_eq!(events, [expected]);
        let bytes = page(1000, &[&word(17, 5), &data(77, 4096, 7)]);
        let mut commands = 0;
        let layout = kernel_events("block_rq_issue", 77);
        layout.events(&bytes, 3, |event| commands += u32::from(event.is_command)).unwrap();
        assert_eq!(commands, 1);
    }

    #[test]
    fn times_pass_in_steps_and_jumps() {
        let event = data(77, 0, 1);
        let other = data(78, 0, 1);
        let long = 72_u32.to_ne_bytes();
        let pieces: [&[u8]; 11] = [
            &[&word(17, 5)[..], &event].concat(),
            &[&word(17, 10)[..], &other].concat(),
            // A jump of 2 · 2^27 ns and one more.
            &[word(TIME_EXTEND, 1), 2_u32.to_ne_bytes()].concat(),
            &[&word(17, 0)[..], &event].concat(),
            // A discarded event.
            &[word(PADDING, 9), 8_u32.to_ne_bytes(), [0; 4]].concat(),
            // Its length is in a word of its own.
            &[&word(0, 100)[..], &long, &event].concat(),
            // The time as such.
            &[word(TIME_STAMP, 7), 1_u32.to_ne_bytes()].concat(),
            &[&word(17, 0)[..], &event].concat(),
            &word(PADDING, 0),
            &[&word(17, 0)[..], &event].concat(),
            &[],
        ];
        let jumped = 1015 + (2 << 27) + 1;
        assert_eq!(times(&page(1000, &pieces)), [1005, jumped, jumped + 100, (1 << 27) | 7]);
        assert_eq!(times(&page(1000, &[])), []);
    }

    #[test]
    fn a_page_that_is_cut_is_an_error() {
        let whole = page(1000, &[&word(17, 5), &data(77, 0, 1)]);
        let events = kernel_events("block_rq_issue", 77);
        for len in 0..whole.len() - 32 {
            assert!(events.events(&whole[..len], 0, |_| {}).is_err(), "{len} bytes");
        }
        let long = page(1000, &[&word(28, 5), &data(77, 0, 1)]);
        assert!(events.events(&long, 0, |_| {}).is_err());
        for length in [0_u32, 5, u32::MAX] {
            let odd = page(1000, &[&word(0, 5), &length.to_ne_bytes()]);
            _ = events.events(&odd, 0, |_| {});
        }
    }

    #[test]
    fn another_layout_is_an_error() {
        let of = |format: &str| {
            KernelEvents::new(HEADER, &[("block_rq_issue".into(), format.into())]).unwrap_err()
        };
        let wide = of(&ISSUE.replace("offset:16;\tsize:8", "offset:16;\tsize:4"));
        assert_eq!(
            wide.to_string(),
            "the field sector of the event block_rq_issue has 4 bytes, not 8"
        );
        let without = of(&ISSUE.replace("dev_t dev", "dev_t device"));
        assert_eq!(without.to_string(), "the event block_rq_issue has no field dev");
        assert!(of(&ISSUE.replace("ID:", "id")).to_string().contains("no number"));
        assert!(KernelEvents::new("", &[]).is_err());
    }
}
