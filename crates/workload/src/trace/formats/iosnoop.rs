//! The output of two programs called `iosnoop` that write the times of requests: a heading, then a line
//! for each request.
//!
//! ```text
//! STARTs         ENDs           COMM       PID    TYPE DEV      BLOCK        BYTES     LATms
//! 5982800.302061 5982800.302679 supervise  1809   W    202,1    17039600     4096       0.62
//!
//! STIME(us)      TIME(us)       DEVICE    UID   PID D    BLOCK   SIZE       COMM PATHNAME
//! 5982800302061  5982800302679  sd0       100 15795 W 17039600   4096        tar /usr/bin/eject
//! ```
//!
//! The first is of perf-tools, called with `-s` or `-t`: STARTs is when the request was sent to the
//! device, or with `-Q` when it was queued, and ENDs when it completed, both in seconds; `LATms` is the
//! time between them. The letters of TYPE are those of `blkparse`. The second is of the `DTraceToolkit`
//! for BSD, macOS and Solaris, called with `-s`, or with `-t` and `-D`: STIME, TIME and DELTA are the
//! same in microseconds, D is `R` or `W`. Blocks are of 512 bytes. Other columns are ignored. Without
//! a time of the request, nothing says when it arrived: the error names the option. Sources: the
//! programs and examples of <https://github.com/brendangregg/perf-tools> and
//! <https://github.com/opendtrace/toolkit>.

use super::blkparse;
use crate::trace::error::TraceError;
use crate::trace::format::Format;
use crate::trace::input::Input;
use crate::trace::recording::Trace;
use crate::trace::snoop::{self, SnoopColumn, SnoopLayout};

const EXAMPLE: &str = "a heading and lines as `iosnoop -st` prints them, as in \
                       `5982800.302061 5982800.302679 tar 1809 W 202,1 17039600 4096 0.62`";

pub(super) const FORMAT: Format = Format {
    name: "iosnoop",
    summary: "iosnoop -st of perf-tools or of the DTraceToolkit: STARTs ENDs COMM PID TYPE DEV …",
    example: EXAMPLE,
    read,
    write: None,
};

static LAYOUT: SnoopLayout = SnoopLayout {
    columns: &[
        ("STARTs", SnoopColumn::Start(9)),
        ("ENDs", SnoopColumn::End(9)),
        ("TYPE", SnoopColumn::Letters),
        ("DEV", SnoopColumn::Device),
        ("BYTES", SnoopColumn::Bytes),
        ("LATms", SnoopColumn::Latency(6)),
        // Of both programs.
        ("COMM", SnoopColumn::Process),
        ("PID", SnoopColumn::Pid),
        ("BLOCK", SnoopColumn::Block),
        // Of the DTraceToolkit, which omits the units in `iosnoop -A`.
        ("STIME(us)", SnoopColumn::Start(3)),
        ("STIME", SnoopColumn::Start(3)),
        ("TIME(us)", SnoopColumn::End(3)),
        ("TIME", SnoopColumn::End(3)),
        ("DELTA(us)", SnoopColumn::Latency(3)),
        ("DELTA", SnoopColumn::Latency(3)),
        ("DEVICE", SnoopColumn::Device),
        ("D", SnoopColumn::Operation),
        ("SIZE", SnoopColumn::Bytes),
        ("PATHNAME", SnoopColumn::Rest),
        ("ARGS", SnoopColumn::Rest),
    ],
    proof: &["PID", "BLOCK"],
    operation: |letters, _| blkparse::operation(letters),
    base_ns: 0,
    needed: [
        "the operation (`TYPE` or `D`)",
        "the place (`BLOCK`)",
        "the length (`BYTES` or `SIZE`)",
        "the time of the request (option -s: `STARTs` or `STIME(us)`)",
    ],
    example: EXAMPLE,
};

fn read(input: &mut Input<'_>) -> Result<Trace, TraceError> {
    snoop::read(input, &LAYOUT)
}
