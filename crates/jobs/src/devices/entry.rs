//! What a model declares about itself.

use serde_json::Value as Json;

use crate::diagnose::JobError;
use crate::keys::Keys;
use crate::reader::Reader;

/// What the table of a model may hold, and how it is read.
pub(super) struct ModelEntry<T> {
    pub(super) name: &'static str,
    /// Two models may share a key, if it means the same.
    pub(super) keys: &'static [Keys],
    pub(super) read: fn(&Reader<'_>) -> Result<T, JobError>,
    /// What the schema says of several keys together.
    pub(super) rules: fn() -> Json,
}

impl<T> ModelEntry<T> {
    /// The same of a model that is read by `read`.
    pub(super) const fn into<U>(
        self,
        read: fn(&Reader<'_>) -> Result<U, JobError>,
    ) -> ModelEntry<U> {
        let Self { name, keys, rules, .. } = self;
        ModelEntry { name, keys, read, rules }
    }
}
