//! The stack over real disks: one module a subject. What needs a process of its own has its own target.

mod common;
mod devices;
mod emulated;
mod passes;
mod stack;
mod targets;
