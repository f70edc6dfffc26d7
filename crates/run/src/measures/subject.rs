//! The properties of the measured run that measures need.

use penstock_core::Time;

use crate::workload::Load;

/// The run that is measured.
#[derive(Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is asked for by itself")]
pub(crate) struct Subject<'a> {
    pub(crate) load: &'a Load,
    /// When the warm-up ends. Requests due before it do not count.
    pub(crate) warmup: Time,
    /// Whether it takes place in real time.
    pub(crate) live: bool,
    /// Commands that fill the queue of a real target.
    pub(crate) depth: u32,
    /// Whether complete distributions and figures over time are asked for.
    pub(crate) detail: bool,
    /// Whether every request is to be kept.
    pub(crate) requests: bool,
    /// Whether the stability of the requests of each class is asked for.
    pub(crate) stability: bool,
    /// Whether the run ends when everything written is on its device; rates are then over the time
    /// until that.
    pub(crate) durable: bool,
}

impl<'a> Subject<'a> {
    /// The names of its classes, in the order of the job.
    pub(crate) fn class_names(&self) -> Vec<&'a str> {
        self.load.classes.iter().map(|class| class.name.as_str()).collect()
    }
}
