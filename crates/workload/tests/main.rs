//! Traces and who asks: one module a subject.

mod trace_errors;
mod trace_formats;
mod trace_odd_lines;
mod trace_replay;
mod trace_snoop;
mod trace_stats;
