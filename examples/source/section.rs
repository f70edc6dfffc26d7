//! Reads volleys of a job: `[volley]`.

use penstock_core::{ClassId, Span};

use crate::amount::{Count, TIME};
use crate::classes::{self, Class};
use crate::diagnose::JobError;
use crate::keys::{keys, table};
use crate::kinds::section;
use crate::reader::Reader;
use crate::rows::Rows;
use crate::text::Lines;
use crate::tree::Node;
use crate::workload::agents::CLASSES;
use crate::workload::sizes::REQUEST;

keys! {
    /// Reads in volleys, in place of agents.
    VOLLEY volley: Node = section(|| table(KEYS));
}

keys! {
    /// Keys of `[volley]`.
    KEYS:
    /// The class of the reads.
    CLASS class: String = CLASSES, needs "\"…\"";
    /// Bytes of each.
    BYTES size: u32 = REQUEST, needs "\"4KiB\"";
    /// Reads of a volley.
    COUNT count: u32 = Count(1, 1000), needs "8";
    /// From one volley to the next.
    PERIOD period: Span = TIME.above_zero().hint("volleys need time between them"),
        needs "\"1s\"";
}

/// Volleys, checked as far as possible without the target.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VolleySpec {
    /// The class of the reads: an index into the job's classes.
    pub class: ClassId,
    /// Bytes of each read.
    pub size: u32,
    /// Reads of a volley.
    pub count: u32,
    /// Time from one volley to the next.
    pub period: Span,
}

impl VolleySpec {
    pub(crate) fn read(job: &Reader<'_>, classes: &[Class]) -> Result<Self, JobError> {
        let node = job.node(&VOLLEY).expect("a job with volleys");
        let reader = Reader::new(node, VOLLEY.name, &[KEYS])?;
        Ok(Self {
            class: classes::named(&reader.get(&CLASS)?, reader.place(&CLASS), classes)?,
            size: reader.get(&BYTES)?,
            count: reader.get(&COUNT)?,
            period: reader.get(&PERIOD)?,
        })
    }

    pub(crate) fn write(&self, out: &mut Lines, classes: &[Class]) {
        Rows::of(&[KEYS])
            .put(&CLASS, &classes[self.class.index()].name)
            .put(&BYTES, &self.size)
            .put(&COUNT, &self.count)
            .put(&PERIOD, &self.period)
            .section(Some(&format!("[{}]", VOLLEY.name)), out);
    }
}
