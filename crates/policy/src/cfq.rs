//! Completely fair queueing: round robin over streams, by requests or by time.
//!
//! Each stream (an agent, a process) has its own queue, sorted by position, and streams take turns.
//! In `mode = "requests"`, the early form and the default, a turn ends after `quantum` commands or
//! when the queue is empty. In `mode = "slices"`, the later form, it is a slice of time, longer at
//! a higher I/O priority, in which the disk is kept idle for the stream's next request; real time
//! goes before best effort, and best effort before idle.
//!
//! Use it for disks with an arm that many programs read from at once: by slices each gets its part
//! of the disk's time and continues where it was; by requests each sends as many commands as the
//! others.
//!
//! By requests, the commands of a stream go in ascending position and then again from the lowest,
//! but a turn begins with the oldest if that has expired.
//!
//! By slices, a turn lasts `slice_sync · (1 + (4 − L) / 5)` at level L of the stream's I/O
//! priority, so 180 ms at `be:0`, 100 ms at `be:4`, 40 ms at `be:7`. When the stream's queue runs
//! empty within its slice, the disk is kept idle for `slice_idle`: the next request of a stream
//! that reads in sequence comes at once and is near the arm. The scheduler does not wait for a
//! stream whose mean think time is longer than `slice_idle` or than the rest of its slice. Requests
//! that no caller waits for share a queue for each level, with `slice_async` and `slice_async_rq`,
//! and without idling. A class that goes first interrupts the others. Commands go upwards from the
//! arm on, unless one a little behind is nearer.
//!
//! O(log n) per request in both modes.
//!
//! Promise of `requests`: of `n` streams that always have requests queued, each sends the same
//! number of commands, at most `quantum` in a turn; an expired request waits for at most one turn
//! of its stream for each older request of that stream. Of `slices`: streams of one class that
//! always have requests queued, or whose think times are shorter than `slice_idle`, have the disk
//! for times in the ratio of their slices. The time by which a turn exceeds its slice is taken off
//! the stream's next slice, up to a whole slice. There is no bound on a wait in commands: turns are
//! times, and a class that goes first may always have requests.
//!
//! What it leaves out: on a device that takes several commands at once, a turn begins while the
//! last commands of the previous turn are still in flight, and pays for them; there is no limit on
//! the commands of a turn in flight, no group of processes, and no merging of the queues of
//! processes that read in turn. A stream has one I/O priority at a time: that of the request that
//! finds its queue empty.
//!
//! Source: complete fair queueing as lectures describe its early form ("a queue a process, in
//! sector order, round robin, four requests a turn"), and the kernel's documentation of cfq-iosched
//! and ioprio, whose names and defaults these are. The kernel of the later form has a `quantum` of
//! 8.

use alloc::boxed::Box;
use alloc::format;

use penstock_core::{Policy, Span};

use crate::entry::{Bound, Conflict, Entry, Facts};
use crate::one_way::{BACK_SEEK_MAX, BACK_SEEK_PENALTY, FIFO_EXPIRE_ASYNC, FIFO_EXPIRE_SYNC};
use crate::params::{Kind, Param, Params, Value};
use crate::queue::{MAX_SECTORS, max_sectors};

mod requests;
mod slices;

const KERNEL: &str = "the kernel's cfq-iosched";

/// Parameters that only one mode uses.
const OF_REQUESTS: &[&str] = &["quantum"];
const OF_SLICES: &[&str] = &[
    "slice_sync",
    "slice_async",
    "slice_async_rq",
    "slice_idle",
    "back_seek_max",
    "back_seek_penalty",
];

/// The entry of the policy in the registry.
pub const ENTRY: Entry = Entry {
    name: "cfq",
    summary: "round robin over streams, each in order of position, by requests or by time",
    params: &[
        Param {
            name: "mode",
            kind: Kind::Choice(&["requests", "slices"]),
            default: Value::Word("requests"),
            doc: "requests: a turn is a number of commands, as in the early form; slices: a turn is a \
                  time, by I/O priority, with idling, as in the later form",
            source: "ours: the kernel had one form after the other",
        },
        Param {
            name: "quantum",
            kind: Kind::Count(1),
            default: Value::Count(4),
            doc: "requests: commands that a stream may send in one turn",
            source: KERNEL,
        },
        Param {
            name: "slice_sync",
            kind: Kind::PositiveDurationOr(&[]),
            default: Value::Duration(Span::from_ms(100)),
            doc: "slices: how long a turn of a stream at level 4 is",
            source: KERNEL,
        },
        Param {
            name: "slice_async",
            kind: Kind::PositiveDurationOr(&[]),
            default: Value::Duration(Span::from_ms(40)),
            doc: "slices: how long a turn at level 4 is for requests that no caller waits for",
            source: KERNEL,
        },
        Param {
            name: "slice_async_rq",
            kind: Kind::Count(1),
            default: Value::Count(2),
            doc: "slices: commands in such a turn at level 7, twice as many at level 6, \
                  and so on",
            source: KERNEL,
        },
        Param {
            name: "slice_idle",
            kind: Kind::Duration,
            default: Value::Duration(Span::from_ms(8)),
            doc: "slices: how long the disk is kept idle for the next request of the stream whose turn \
                  it is; 0 for not at all",
            source: KERNEL,
        },
        BACK_SEEK_MAX,
        BACK_SEEK_PENALTY,
        FIFO_EXPIRE_SYNC,
        FIFO_EXPIRE_ASYNC,
        MAX_SECTORS,
    ],
    build: |params, served| -> Box<dyn Policy> {
        if params.is("mode", "slices") {
            Box::new(slices::Slices::new(params, served))
        } else {
            Box::new(requests::Requests::new(params))
        }
    },
    bound: |params, streams| {
        let after = params.duration("fifo_expire_sync").max(params.duration("fifo_expire_async"));
        let overtakes = params.count("quantum").saturating_mul(streams.saturating_add(1));
        params.is("mode", "requests").then_some(Bound { after, overtakes })
    },
    facts: Facts {
        merges: max_sectors,
        heeds_ioprio: true,
        linux: Some("2.6 to 4.20"),
        conflict,
        ..Facts::NONE
    },
};

/// Checks that parameters of the other mode are left at their defaults.
fn conflict(params: &Params) -> Option<Conflict> {
    let (mode, others, hint) = if params.is("mode", "slices") {
        ("slices", OF_REQUESTS, "leave it out, or set mode to \"requests\"")
    } else {
        ("requests", OF_SLICES, "leave it out, or set mode to \"slices\"")
    };
    let changed = |param: &&Param| *params.get(param.name) != param.default;
    let mut unused = ENTRY.params.iter().filter(|param| others.contains(&param.name));
    let param = unused.find(changed)?.name;
    let message = format!("{param} has no effect with mode \"{mode}\"");
    Some(Conflict { param, message, hint })
}
