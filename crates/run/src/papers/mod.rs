//! Programs of papers, a file each: experiments on the engine, and no part of it.

pub mod online_batch;
