//! Jobs, devices and studies as people write them, and the messages about them: one module a subject.

mod devices;
mod files;
mod from_fio;
mod job;
mod keys;
mod messages;
mod shared_devices;
mod study;
