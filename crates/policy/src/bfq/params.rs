//! The parameters of `bfq` and their defaults.

use penstock_core::Span;

use crate::one_way::{BACK_SEEK_MAX, BACK_SEEK_PENALTY, FIFO_EXPIRE_ASYNC, FIFO_EXPIRE_SYNC};
use crate::params::{Kind, Param, Value};
use crate::queue::MAX_SECTORS;

const KERNEL: &str = "the kernel's bfq-iosched";

pub(super) const PARAMS: &[Param] = &[
    Param {
        name: "slice_idle",
        kind: Kind::Duration,
        default: Value::Duration(Span::from_ms(8)),
        doc: "how long the disk is kept idle for the next request of the queue in service; 0 for \
                  not at all",
        source: KERNEL,
    },
    Param {
        name: "timeout_sync",
        kind: Kind::PositiveDurationOr(&[]),
        default: Value::Duration(Span::from_ms(125)),
        doc: "how long a queue is in service at most",
        source: KERNEL,
    },
    Param {
        name: "max_budget",
        kind: Kind::SizeOr(&["auto"]),
        default: Value::Word("auto"),
        doc: "what a queue may get in one service at most; auto (0 in the kernel): what the disk \
                  serves in timeout_sync",
        source: KERNEL,
    },
    Param {
        name: "low_latency",
        kind: Kind::Switch,
        default: Value::Switch(true),
        doc: "raise the weights of programs that start and of those that play or record",
        source: KERNEL,
    },
    Param {
        name: "strict_guarantees",
        kind: Kind::Switch,
        default: Value::Switch(false),
        doc: "one command at a time, and always idle when the queue in service is empty",
        source: KERNEL,
    },
    BACK_SEEK_MAX,
    BACK_SEEK_PENALTY,
    FIFO_EXPIRE_SYNC,
    FIFO_EXPIRE_ASYNC,
    MAX_SECTORS,
];
