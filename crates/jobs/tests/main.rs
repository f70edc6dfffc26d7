//! What people write, and what they are told: one module a subject.

mod files;
mod from_fio;
mod job;
mod keys;
mod messages;
mod study;
