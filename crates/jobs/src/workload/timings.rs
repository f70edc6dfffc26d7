//! Timings of a trace that are a word. `--set` replaces the word by a table if it names a key of a
//! timing.

/// Words for timings: as recorded, as each process would issue them, as fast as possible.
pub(crate) const TIMINGS: [&str; 3] = ["original", "closed", "afap"];
