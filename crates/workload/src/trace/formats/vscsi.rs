//! The binary traces of `VMware`'s virtual SCSI disks, in the two versions of the records that
//! `CloudPhysics` published. All numbers are little-endian:
//!
//! ```text
//! version 1, 32 bytes: sn u32, len u32, nSG u32, cmd u16, ver u16, lbn u64, ts u64
//! version 2, 40 bytes: cmd u16, ver u16, sn u32, len u32, nSG u32, lbn u64, ts u64, rt u64
//! ```
//!
//! `len` is in bytes, `lbn` counts blocks of 512 bytes, `ts` is in microseconds, `cmd` is the
//! operation code of SCSI, and the high byte of `ver` is the version. The unit of `rt` is not
//! published, so that it is ignored: the requests have no latency. Commands other than reads, writes
//! and flushes are skipped. Source: the records as libCacheSim documents them, the columns as
//! `vscsiStats` names them, operation codes of SBC-3.

use penstock_core::Op;

use crate::trace::builder::{Builder, NewRequest, bytes};
use crate::trace::error::{ParseError, Parsed, Place, TraceError};
use crate::trace::format::Format;
use crate::trace::input::Input;
use crate::trace::recording::Trace;

const EXAMPLE_1: &str = "records of 32 bytes: sn, len, nSG, cmd, ver, lbn, ts";
const EXAMPLE_2: &str = "records of 40 bytes: cmd, ver, sn, len, nSG, lbn, ts, rt";

pub(super) const FORMAT_1: Format = Format {
    name: "vscsi1",
    summary: "VMware's vSCSI traces, version 1: binary records of 32 bytes",
    example: EXAMPLE_1,
    read: read_1,
    write: None,
};

pub(super) const FORMAT_2: Format = Format {
    name: "vscsi2",
    summary: "VMware's vSCSI traces, version 2: binary records of 40 bytes",
    example: EXAMPLE_2,
    read: read_2,
    write: None,
};

const NS_PER_US: u64 = 1_000;

/// Offsets of the fields in a record.
struct FieldsAt {
    version: u8,
    bytes: usize,
    len: usize,
    cmd: usize,
    ver: usize,
    lbn: usize,
    ts: usize,
}

const LAYOUT_1: FieldsAt =
    FieldsAt { version: 1, bytes: 32, len: 4, cmd: 12, ver: 14, lbn: 16, ts: 24 };
const LAYOUT_2: FieldsAt =
    FieldsAt { version: 2, bytes: 40, len: 8, cmd: 0, ver: 2, lbn: 16, ts: 24 };

fn read_1(input: &mut Input<'_>) -> Result<Trace, TraceError> {
    read(input, &LAYOUT_1, EXAMPLE_1)
}

fn read_2(input: &mut Input<'_>) -> Result<Trace, TraceError> {
    read(input, &LAYOUT_2, EXAMPLE_2)
}

fn read(
    input: &mut Input<'_>,
    layout: &FieldsAt,
    expected: &'static str,
) -> Result<Trace, TraceError> {
    let mut trace = Builder::new();
    let size = |_: &[u8]| Ok(layout.bytes);
    input
        .records(layout.bytes, size, |record, place| request(record, place, layout, &mut trace))?;
    trace.finish(input, expected)
}

fn request(record: &[u8], place: Place, layout: &FieldsAt, trace: &mut Builder) -> Parsed<()> {
    let version = record[layout.ver + 1];
    if version != layout.version {
        let expected = format!("version {}", layout.version);
        return Err(
            ParseError::new(&[], expected).with_found(format!("version {version} of the records"))
        );
    }
    let cmd = u16::from_le_bytes([record[layout.cmd], record[layout.cmd + 1]]);
    let len = u32::from_le_bytes(field(record, layout.len));
    let lbn = u64::from_le_bytes(field(record, layout.lbn));
    let us = u64::from_le_bytes(field(record, layout.ts));
    let op = match cmd {
        // Commands of 6, 10, 12 and 16 bytes.
        0x08 | 0x28 | 0xa8 | 0x88 => Op::Read,
        0x0a | 0x2a | 0xaa | 0x8a => Op::Write,
        // Commands of 10 and 16 bytes.
        0x35 | 0x91 => Op::Flush,
        _ => {
            trace.skipped += 1;
            return Ok(());
        }
    };
    let pushed = (|| {
        let expected = "a time below 2^64 ns";
        let at_ns = us.checked_mul(NS_PER_US).ok_or_else(|| ParseError::new(&[], expected))?;
        let device = trace.device(b"disk")?;
        let request = NewRequest::new(at_ns, op, bytes(lbn, &[])?, u64::from(len), device);
        trace.push(place.number(), &[], &request).map(drop)
    })();
    pushed.map_err(|error: ParseError| {
        error.with_found(format!("command 0x{cmd:02x} of {len} B at block {lbn}, at {us} µs"))
    })
}

fn field<const N: usize>(record: &[u8], at: usize) -> [u8; N] {
    record[at..at + N].try_into().expect("a record has all of its fields")
}
