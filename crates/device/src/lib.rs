//! Modelled devices, one file each. Pure: no clock, no I/O; the loop tells them the time.
#![forbid(unsafe_code)]

mod faults;
mod fixed;
pub mod hdd;
pub mod page_cache;

pub use faults::{Faults, Rates};
pub use fixed::{Cost, Fixed};
pub use hdd::Hdd;
pub use page_cache::PageCache;
