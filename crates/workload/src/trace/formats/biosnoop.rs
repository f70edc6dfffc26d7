//! The output of `biosnoop` of bcc, in Python and with libbpf: a heading, then a line for each request.
//!
//! ```text
//! TIME(s)     COMM           PID    DISK    T SECTOR     BYTES  QUE(ms) LAT(ms)
//! 0.000771    sync           22177  nvme1n1 W 41963894   3072      0.11    0.47
//! ```
//!
//! TIME is when the request completed, in seconds since the first completion, or as a time of day
//! with `-t`, where the column is called TIMESTAMP. LAT is the time at the device and QUE the time in
//! the queue before it, which `-Q` adds: a request arrived at TIME − LAT − QUE, and its latency is
//! LAT + QUE. Without QUE a remark says that the arrivals are those at the device. SECTOR counts
//! blocks of 512 bytes. The column P of `-P`, sequential or random, is ignored.
//!
//! T has the letters of the kernel: the version in Python prints `W` for a write and `R` for all
//! else, so that its `W` without bytes is a flush; the other one prints `FWS`, `D` and so on as in
//! `blkparse`. A line of the process `?` without a disk is a command of the driver and skipped.
//!
//! `biosnoop.bt` of bpftrace has the same name, but prints neither the place nor the length of a
//! request. It cannot be replayed, and the error names the missing columns. Sources: the manual page
//! biosnoop(8) and the programs `tools/biosnoop.py` and `libbpf-tools/biosnoop.c` of
//! <https://github.com/iovisor/bcc>; `tools/biosnoop_example.txt` of
//! <https://github.com/bpftrace/bpftrace>.

use penstock_core::{Flags, Op};

use super::blkparse;
use crate::trace::block_events::Operation;
use crate::trace::error::{Parsed, TraceError};
use crate::trace::format::Format;
use crate::trace::input::Input;
use crate::trace::recording::Trace;
use crate::trace::snoop::{self, DAY_NS, SnoopColumn, SnoopLayout};

const EXAMPLE: &str = "a heading and lines as biosnoop of bcc prints them, as in \
                       `0.000771 sync 22177 nvme1n1 W 41963894 3072 0.11 0.47`";

pub(super) const FORMAT: Format = Format {
    name: "biosnoop",
    summary: "biosnoop of bcc: TIME(s) COMM PID DISK T SECTOR BYTES QUE(ms) LAT(ms)",
    example: EXAMPLE,
    read,
    write: None,
};

static LAYOUT: SnoopLayout = SnoopLayout {
    columns: &[
        ("TIME(s)", SnoopColumn::End(9)),
        ("TIME", SnoopColumn::End(9)),
        ("TIMESTAMP", SnoopColumn::End(9)),
        ("COMM", SnoopColumn::Process),
        ("PID", SnoopColumn::Pid),
        ("DISK", SnoopColumn::Device),
        ("T", SnoopColumn::Operation),
        ("SECTOR", SnoopColumn::Block),
        ("BYTES", SnoopColumn::Bytes),
        ("QUE(ms)", SnoopColumn::Queued(6)),
        ("LAT(ms)", SnoopColumn::Latency(6)),
    ],
    proof: &["COMM", "PID", "LAT(ms)"],
    operation,
    base_ns: DAY_NS,
    needed: [
        "the operation (`T`)",
        "the place (`SECTOR`)",
        "the length (`BYTES`)",
        "the time (`TIME(s)` and `LAT(ms)`)",
    ],
    example: EXAMPLE,
};

fn read(input: &mut Input<'_>) -> Result<Trace, TraceError> {
    snoop::read(input, &LAYOUT)
}

/// Parses the operation of a request of `bytes` bytes.
fn operation(letters: &[u8], bytes: u64) -> Parsed<Operation> {
    if letters == b"W" && bytes == 0 {
        return Ok(Operation { op: Some(Op::Flush), flush_first: false, flags: Flags::NONE });
    }
    blkparse::operation(letters)
}
