//! Timings of a trace that are a word: a part of a timing that `--set` names takes their place.

/// As recorded, as each process would ask, as fast as possible.
pub(crate) const TIMINGS: [&str; 3] = ["original", "closed", "afap"];
