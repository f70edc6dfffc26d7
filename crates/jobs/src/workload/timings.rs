//! Timings of a trace that are a word. `--set` replaces the word by a table if it names a key of a
//! timing.

/// As recorded, as each process would ask, as fast as possible.
pub(crate) const TIMINGS: [&str; 3] = ["original", "closed", "afap"];
