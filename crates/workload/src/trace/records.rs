//! Records of a binary file.

use super::error::{Parsed, Place, TraceError};
use super::input::{Input, PIECE_BYTES_MAX};

impl Input<'_> {
    /// Hands each record to `one`, with its place. `size` says from the first `head` bytes how long
    /// the whole record is.
    pub(super) fn records(
        &mut self,
        head: usize,
        size: impl Fn(&[u8]) -> Parsed<usize>,
        mut one: impl FnMut(&[u8], Place) -> Parsed<()>,
    ) -> Result<(), TraceError> {
        let (mut number, mut byte) = (0_u64, 0_u64);
        loop {
            self.place = Place::Record { number, byte };
            if self.holds(head)? == 0 {
                return Ok(());
            }
            number += 1;
            let place = Place::Record { number, byte };
            let Some(first) = self.waiting().get(..head) else { return self.cut(place, head) };
            // Behind a record of unknown length no other can be found.
            let whole = match size(first).map_err(|wrong| wrong.at(place, None)) {
                Ok(whole) => whole.clamp(head, PIECE_BYTES_MAX),
                Err(error) => {
                    self.seen();
                    return if self.goes_on() { Ok(()) } else { Err(error) };
                }
            };
            self.holds(whole)?;
            let Some(record) = self.waiting().get(..whole) else { return self.cut(place, whole) };
            let parsed = one(record, place).map_err(|wrong| wrong.at(place, None));
            self.seen();
            match parsed {
                Err(error) if !self.goes_on() => return Err(error),
                _ => {}
            }
            self.start += whole;
            byte += whole as u64;
        }
    }

    /// Reads until `bytes` wait or the file ends; how many wait.
    fn holds(&mut self, bytes: usize) -> Result<usize, TraceError> {
        while !self.ended && self.waiting().len() < bytes {
            self.fill()?;
        }
        Ok(self.waiting().len())
    }

    /// The file ends within a record of `size` bytes. The beginning of a file may.
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
