//! The declaration of a model.

use serde_json::Value as Json;

use crate::diagnose::JobError;
use crate::keys::Keys;
use crate::reader::Reader;

/// The keys of a model's table, and the function that reads it.
pub(super) struct ModelEntry<T> {
    pub(super) name: &'static str,
    /// Groups of keys. Two models may share a key that means the same in both.
    pub(super) keys: &'static [Keys],
    pub(super) read: fn(&Reader<'_>) -> Result<T, JobError>,
    /// Schema rules that concern several keys together.
    pub(super) rules: fn() -> Json,
}

impl<T> ModelEntry<T> {
    /// Replaces the function that reads the model.
    pub(super) const fn into<U>(
        self,
        read: fn(&Reader<'_>) -> Result<U, JobError>,
    ) -> ModelEntry<U> {
        let Self { name, keys, rules, .. } = self;
        ModelEntry { name, keys, read, rules }
    }
}
