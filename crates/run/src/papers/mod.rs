//! Programs of papers, a file or a folder each: experiments on the engine, and no part of it.

pub mod merge_placement;
pub mod online_batch;
