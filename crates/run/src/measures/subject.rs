//! The run that is measured, as far as measures need to know it.

use penstock_core::Time;

use crate::workload::Load;

/// The run that is measured.
#[derive(Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is asked for by itself")]
pub(crate) struct Subject<'a> {
    pub(crate) load: &'a Load,
    /// When the warm-up ends. What is due before is not counted.
    pub(crate) warmup: Time,
    /// It takes place in real time.
    pub(crate) live: bool,
    /// Commands that fill the queue of a real target.
    pub(crate) depth: u32,
    /// Whole distributions and the course over time are asked for.
    pub(crate) detail: bool,
    /// Every request is asked for.
    pub(crate) requests: bool,
    /// How stable the requests of each class are is asked for.
    pub(crate) stability: bool,
    /// It ends when everything written is on its device, and rates are over the time until then.
    pub(crate) durable: bool,
}

impl<'a> Subject<'a> {
    /// The names of its classes, in the order of the job.
    pub(crate) fn class_names(&self) -> Vec<&'a str> {
        self.load.classes.iter().map(|class| class.name.as_str()).collect()
    }
}
