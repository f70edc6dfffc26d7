//! Passes over files: threads read or write all records of their files, call by call.
//!
//! Use them to measure what a program sees of a file system and a disk: no queue, no policy and no loop of events is
//! between the program and its calls. Between two calls there are some comparisons; the clock is read at the ends
//! only, and nothing is allocated.
//!
//! | file | what it is |
//! |---|---|
//! | `file_test` | the tests and what each does |
//! | `order` | the orders in which records are visited |
//! | `form` | the form of the calls; `calls`, `stream`, `mapping` and `in_flight` are the forms |
//! | `data` | what writes carry and reads expect |
//! | `pass` | one pass of one worker |
//!
//! The files are those of [`pass_file`](crate::targets::pass_file).

mod calls;
mod data;
pub(crate) mod error;
pub(crate) mod file_test;
mod form;
mod in_flight;
mod mapping;
mod order;
pub(crate) mod pass;
mod stream;
