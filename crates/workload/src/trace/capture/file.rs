//! The file of a capture, `.ptrace`.
//!
//! A record is `length: u16 little-endian | kind: u8 | rest`; the length counts kind and rest. The
//! first record is of kind `P` and says `enstock trace` and the version. Numbers in the others have
//! seven bits a byte, the lowest first, and the highest bit of all bytes but the last set.
//!
//! | kind | rest |
//! |---|---|
//! | `T` | a text: events name it by its number, from 0 |
//! | `E` | an event: letter of the action; I/O priority; ns since the event before; device, letters and name of the process as numbers of texts; CPU; process; sector less the end of the event before, twice that or twice its opposite less one; sectors |
//! | `L` | number of events that the kernel lost until here |
//!
//! The I/O priority is a byte: 0 if unknown, else 1 + 8 · class + level, with the classes real-time,
//! best-effort and idle. Other kinds of records are skipped. The format is Penstock's own.

use std::collections::BTreeMap;

use super::event::{Action, CapturedEvent};
use crate::trace::error::{ParseError, Parsed};
use crate::trace::record::{byte_of, ioprio_of};

/// Bytes of a record before its kind.
pub(crate) const HEAD_BYTES: usize = 2;

/// The first record, without its length.
const HEADING: &[u8] = b"Penstock trace\x01";
/// Kinds of records.
const HEADING_KIND: u8 = HEADING[0];
const TEXT: u8 = b'T';
const EVENT: u8 = b'E';
const LOST: u8 = b'L';

/// Most bytes of a text; longer ones are cut.
const TEXT_BYTES_MAX: usize = 4096;
/// Most texts of a file: a damaged one must not fill the memory.
const TEXTS_MAX: usize = 1 << 18;

/// Returns the size in bytes of the record that begins with `head`; `is_first` in its file.
pub(crate) fn size(head: &[u8], is_first: bool) -> Parsed<usize> {
    let len = u16::from_le_bytes([head[0], head[1]]);
    if is_first && usize::from(len) != HEADING.len() {
        return Err(wrong_heading(head));
    }
    if len == 0 {
        let error = ParseError::new(&[], "the length of a record");
        return Err(error.with_found("a length of 0"));
    }
    Ok(HEAD_BYTES + usize::from(len))
}

/// Encodes events.
pub(crate) struct Encoder {
    texts: BTreeMap<Vec<u8>, u64>,
    last_ns: u64,
    last_end: u64,
    out: Vec<u8>,
}

impl Encoder {
    /// Creates an encoder, with the heading of the file in its output.
    pub(crate) fn new() -> Self {
        let (kind, rest) = (HEADING_KIND, &HEADING[1..]);
        let mut encoder = Self { texts: BTreeMap::new(), last_ns: 0, last_end: 0, out: Vec::new() };
        encoder.record(kind, |out| out.extend_from_slice(rest));
        encoder
    }

    /// Adds an event. One that is earlier than the event before gets the time of that.
    pub(crate) fn event(&mut self, event: &CapturedEvent<'_>) {
        let [device, letters, process] =
            [event.device, event.letters, event.process].map(|text| self.text(text));
        let passed_ns = event.at_ns.saturating_sub(self.last_ns);
        self.last_ns += passed_ns;
        let moved = event.sector.wrapping_sub(self.last_end).cast_signed();
        self.last_end = event.sector.wrapping_add(event.sectors);
        self.record(EVENT, |out| {
            out.push(event.action.letter());
            out.push(byte_of(event.ioprio));
            let numbers = [
                passed_ns,
                device,
                letters,
                process,
                u64::from(event.cpu),
                u64::from(event.pid),
                (moved << 1 ^ moved >> 63).cast_unsigned(),
                event.sectors,
            ];
            for number in numbers {
                put(out, number);
            }
        });
    }

    /// Says that the kernel lost events.
    pub(crate) fn lost(&mut self, events: u64) {
        self.record(LOST, |out| put(out, events));
    }

    /// Returns what was encoded since the last call.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Returns the number of a text, which a record defines if it is new.
    fn text(&mut self, text: &[u8]) -> u64 {
        let text = &text[..text.len().min(TEXT_BYTES_MAX)];
        if let Some(&number) = self.texts.get(text) {
            return number;
        }
        let number = self.texts.len() as u64;
        self.texts.insert(text.to_vec(), number);
        self.record(TEXT, |out| out.extend_from_slice(text));
        number
    }

    fn record(&mut self, kind: u8, rest: impl FnOnce(&mut Vec<u8>)) {
        let start = self.out.len();
        self.out.extend([0, 0, kind]);
        rest(&mut self.out);
        let len = (self.out.len() - start - HEAD_BYTES) as u16;
        self.out[start..start + HEAD_BYTES].copy_from_slice(&len.to_le_bytes());
    }
}

fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// The content of a record.
#[derive(PartialEq, Debug)]
pub(crate) enum Decoded<'a> {
    /// An event.
    Event(CapturedEvent<'a>),
    /// The kernel lost so many events.
    Lost(u64),
    /// Something that is no event.
    Other,
}

/// Decodes the records of a file.
#[derive(Default)]
pub(crate) struct Decoder {
    begun: bool,
    texts: Vec<Vec<u8>>,
    last_ns: u64,
    last_end: u64,
}

impl Decoder {
    /// Decodes the next record of the file.
    pub(crate) fn record(&mut self, record: &[u8]) -> Parsed<Decoded<'_>> {
        let (kind, rest) = (record[HEAD_BYTES], &record[HEAD_BYTES + 1..]);
        if !self.begun {
            self.begun = true;
            return heading(&record[HEAD_BYTES..]).map(|()| Decoded::Other);
        }
        let mut rest = Rest(rest);
        match kind {
            EVENT => self.event(&mut rest).map(Decoded::Event),
            TEXT if self.texts.len() < TEXTS_MAX => {
                self.texts.push(rest.0.to_vec());
                Ok(Decoded::Other)
            }
            TEXT => Err(ParseError::new(rest.0, format!("at most {TEXTS_MAX} texts"))),
            LOST => rest.number().map(Decoded::Lost),
            _ => Ok(Decoded::Other),
        }
    }

    fn event(&mut self, rest: &mut Rest<'_>) -> Parsed<CapturedEvent<'_>> {
        let action =
            Action::of_letter(rest.byte()?).ok_or_else(|| wrong("the letter of an action"))?;
        let ioprio = ioprio_of(rest.byte()?);
        let passed_ns = rest.number()?;
        let texts = [rest.number()?, rest.number()?, rest.number()?];
        let (cpu, pid) = (rest.number32()?, rest.number32()?);
        let moved = rest.number()?;
        let sectors = rest.number()?;
        let sector = self.last_end.wrapping_add(moved >> 1 ^ (moved & 1).wrapping_neg());
        let at_ns =
            self.last_ns.checked_add(passed_ns).ok_or_else(|| wrong("a time in 64 bits"))?;
        (self.last_ns, self.last_end) = (at_ns, sector.wrapping_add(sectors));
        let text = |number: u64| {
            let text = usize::try_from(number).ok().and_then(|number| self.texts.get(number));
            text.map(Vec::as_slice).ok_or_else(|| wrong("the number of a text before it"))
        };
        let [device, letters, process] = texts;
        let (device, letters, process) = (text(device)?, text(letters)?, text(process)?);
        Ok(CapturedEvent {
            at_ns,
            action,
            device,
            letters,
            sector,
            sectors,
            cpu,
            pid,
            process,
            ioprio,
        })
    }
}

fn heading(record: &[u8]) -> Parsed<()> {
    let (name, version) = HEADING.split_at(HEADING.len() - 1);
    match record.strip_prefix(name) {
        Some(end) if end == version => Ok(()),
        Some(&[other, ..]) => {
            let found = format!("version {other} of the format");
            Err(ParseError::new(&[], format!("version {}", version[0])).with_found(found))
        }
        _ => Err(wrong_heading(record)),
    }
}

#[cold]
fn wrong_heading(start: &[u8]) -> ParseError {
    ParseError::new(start, "the beginning of a capture, two bytes and `Penstock trace`")
}

/// The bytes of a record that are not decoded yet.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn byte(&mut self) -> Parsed<u8> {
        let (&first, rest) = self.0.split_first().ok_or_else(|| wrong("more bytes in it"))?;
        self.0 = rest;
        Ok(first)
    }

    fn number(&mut self) -> Parsed<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(wrong("a number in 64 bits"))
    }

    fn number32(&mut self) -> Parsed<u32> {
        u32::try_from(self.number()?).map_err(|_| wrong("a number in 32 bits"))
    }
}

#[cold]
fn wrong(expected: &'static str) -> ParseError {
    ParseError::new(&[], expected).with_found("a damaged record")
}

#[cfg(test)]
mod tests {
    use penstock_core::IoPrio;

    use super::*;

    const EVENTS: [CapturedEvent<'static>; 3] = [
        CapturedEvent {
            at_ns: 5_000_000_001,
            action: Action::Queued,
            device: b"8,0",
            letters: b"WS",
            sector: u64::MAX >> 9,
            sectors: 8,
            cpu: 1,
            pid: 4_000_000_000,
            process: b"postgres",
            ioprio: None,
        },
        CapturedEvent {
            at_ns: 5_000_000_001,
            action: Action::Issued,
            device: b"8,0",
            letters: b"R",
            sector: 0,
            sectors: 1 << 40,
            cpu: 300,
            pid: 0,
            process: b"",
            ioprio: Some(IoPrio::DEFAULT),
        },
        CapturedEvent {
            at_ns: u64::MAX,
            action: Action::Completed,
            device: b"8,16",
            letters: b"R",
            sector: u64::MAX,
            sectors: 0,
            cpu: 0,
            pid: 0,
            process: b"",
            ioprio: Some(IoPrio::IDLE),
        },
    ];

    /// Decodes a file.
    fn decoded(mut bytes: &[u8], mut handle: impl FnMut(Decoded<'_>)) -> Parsed<()> {
        let mut decoder = Decoder::default();
        while !bytes.is_empty() {
            let (record, rest) = bytes.split_at(size(bytes, !decoder.begun)?);
            handle(decoder.record(record)?);
            bytes = rest;
        }
        Ok(())
    }

    #[test]
    fn what_was_encoded_is_decoded() {
        let mut encoder = Encoder::new();
        for event in &EVENTS {
            encoder.event(event);
        }
        encoder.lost(300);
        let mut count = 0;
        decoded(&encoder.take(), |record| match record {
            Decoded::Event(event) => {
                assert_eq!(event, EVENTS[count]);
                count += 1;
            }
            Decoded::Lost(events) => assert_eq!((events, count), (300, 3)),
            Decoded::Other => {}
        })
        .unwrap();
        assert_eq!(count, 3);
        assert!(encoder.take().is_empty());
    }

    #[test]
    fn an_event_takes_a_few_bytes() {
        let mut encoder = Encoder::new();
        encoder.event(&EVENTS[0]);
        encoder.take();
        let next =
            CapturedEvent { at_ns: 5_000_090_000, sector: EVENTS[0].sector + 8, ..EVENTS[0] };
        encoder.event(&next);
        assert!(encoder.take().len() <= 24);
    }

    #[test]
    fn a_damaged_record_is_an_error() {
        let mut encoder = Encoder::new();
        for event in &EVENTS {
            encoder.event(event);
        }
        let bytes = encoder.take();
        let first = size(&bytes, true).unwrap();
        let version = {
            let mut other = bytes.clone();
            other[first - 1] = 9;
            other
        };
        let error = decoded(&version, |_| {}).unwrap_err();
        assert!(format!("{error:?}").contains("version 9"), "{error:?}");
        // An event before the texts that it names.
        let without: Vec<u8> = [&bytes[..first], &[14, 0, EVENT, b'Q', 0], &[0; 11]].concat();
        assert!(decoded(&without, |_| {}).is_err());
        assert!(decoded(&[3, 0, b'X', 1, 2], |_| {}).is_err());
        assert!(decoded(&[0, 0], |_| {}).is_err());
        assert!(decoded(&[&bytes[..first], &[0, 0]].concat(), |_| {}).is_err());
    }
}
