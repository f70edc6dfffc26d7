//! The comparison with measurements and independent programs: one module a subject.

mod accesses;
mod decisions;
mod drives;
mod page;
