//! Records of a binary file.

use super::error::{Parsed, Place, TraceError};
use super::input::{Input, PIECE_BYTES_MAX};

impl Input<'_> {
    /// Calls `handle` for each record, with its place. `size` returns the size of a record, given
    /// its first `head` bytes.
    pub(super) fn records(
        &mut self,
        head: usize,
        size: impl Fn(&[u8]) -> Parsed<usize>,
        mut handle: impl FnMut(&[u8], Place) -> Parsed<()>,
    ) -> Result<(), TraceError> {
        let (mut number, mut byte) = (0_u64, 0_u64);
        loop {
            self.place = Place::Record { number, byte };
            if self.fill_to(head)? == 0 {
                return Ok(());
            }
            number += 1;
            let place = Place::Record { number, byte };
            let Some(first) = self.waiting().get(..head) else { return self.cut(place, head) };
            // After a record of unknown size the next one cannot be found.
            let len = match size(first) {
                Ok(len) => len.clamp(head, PIECE_BYTES_MAX),
                Err(error) => return self.count(Err(error), place, None),
            };
            self.fill_to(len)?;
            let Some(record) = self.waiting().get(..len) else { return self.cut(place, len) };
            let parsed = handle(record, place);
            self.count(parsed, place, None)?;
            self.start += len;
            byte += len as u64;
        }
    }

    /// Reads until `bytes` bytes wait or the file ends. Returns the number of waiting bytes.
    fn fill_to(&mut self, bytes: usize) -> Result<usize, TraceError> {
        while !self.ended && self.waiting().len() < bytes {
            self.fill()?;
        }
        Ok(self.waiting().len())
    }

    /// The result if the file ends within a record of `size` bytes: an error, except in a trial on
    /// the beginning of a file.
    #[cold]
    fn cut(&self, place: Place, size: usize) -> Result<(), TraceError> {
        if self.trial.is_some() {
            return Ok(());
        }
        let found = format!("{} bytes", self.waiting().len());
        let expected = format!("the {size} bytes of a record");
        let hint = Some("the file ends within this record: it may have been cut off".into());
        Err(TraceError::Unexpected { place, found, expected, hint })
    }
}
