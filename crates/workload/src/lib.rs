//! Sources of requests. They are pure: the loop passes the time in.
#![forbid(unsafe_code)]

mod agent;
pub mod merge;
pub mod program;
pub mod trace;

pub use agent::{
    ALL_REQUESTS, Agent, Agents, Arrivals, Growth, Ops, Pace, Pattern, Spacing, Spread, Think,
    WHOLE_REGION, Weighted,
};
pub use merge::{Merge, Merges};
pub use program::{Program, Programs};
