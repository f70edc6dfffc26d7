//! Scheduling policies, one file each, and the registry that names them.
//!
//! A policy is a pure state machine (see [`penstock_core::Policy`]). To add one, write its file
//! here, add a line below and one in `registry.rs`, and accept its golden table. Its contract
//! tests, its name on the command line and its parameters in the reference follow from these.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod charge;
pub mod entry;
pub mod params;
pub mod queue;
pub mod registry;

mod cost;
mod feedback;
mod idling;
mod one_way;
mod per_class;
mod think_time;

pub mod anticipatory;
pub mod bfq;
pub mod c_look;
pub mod cfq;
pub mod class_priority;
pub mod deadline;
pub mod elevator;
pub mod fairio;
pub mod fcfs;
pub mod iocost;
pub mod kyber;
pub mod latency_target;
pub mod look;
pub mod max_queued;
pub mod mclock;
pub mod mq_deadline;
pub mod noop;
pub mod read_first;
pub mod round_robin;
pub mod scan;
pub mod sfq;
pub mod size_priority;
pub mod sptf;
pub mod sstf;
pub mod token_bucket;

pub use entry::{Bound, Conflict, Entry, Facts};
pub use params::{Kind, Param, Params, Value};
pub use queue::MAX_SECTORS;
pub use registry::{ALL, POLICIES, USUAL, find, text};
