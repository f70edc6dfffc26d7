//! Modelled devices, one file each. Pure: no clock, no I/O; the loop passes the time in.
#![forbid(unsafe_code)]

mod array;
mod faults;
mod fixed;
pub mod hdd;
mod linear;
pub mod page_cache;
mod rack;
pub mod ssd;

pub use array::{Array, ArrayError, Level};
pub use faults::{Faults, Rates};
pub use fixed::{Cost, Fixed, Law};
pub use hdd::Hdd;
pub use linear::{Latency, Linear, LinearFacts};
pub use page_cache::PageCache;
pub use rack::Rack;
pub use ssd::Ssd;
