//! The form of the calls of a pass, and the buffer of its records.

use std::io;

use penstock_core::Seed;

use crate::engine::buffers::{Area, BUFFER_ALIGNMENT, Layout};
use crate::engine::error::EngineError;
use crate::filling::fill;
use crate::passes::data::PassData;
use crate::passes::error::RecordFailed;

/// Calls of one form on an open file. Every record has the same length, and offsets are those in the file.
pub(crate) trait Form {
    /// Reads the record at byte `at`. Its data is checked when it is there: at once, or by a later call.
    ///
    /// # Errors
    /// A call failed, or the data of a record differs.
    fn read(&mut self, at: u64, data: &mut PassData) -> Result<(), RecordFailed>;

    /// Writes the record at byte `at`.
    ///
    /// # Errors
    /// As of [`read`](Self::read).
    fn write(&mut self, at: u64, data: &mut PassData) -> Result<(), RecordFailed>;

    /// Ends what earlier calls have begun: afterwards the kernel has all records.
    ///
    /// # Errors
    /// As of [`read`](Self::read).
    fn settle(&mut self, _: &mut PassData) -> Result<(), RecordFailed> {
        Ok(())
    }

    /// Moves what was written to the device.
    ///
    /// # Errors
    /// An error of the system.
    fn flush(&mut self) -> io::Result<()>;
}

/// Aligned memory for records, which is there before the first call.
pub(crate) struct RecordBuffers {
    pub(crate) area: Area,
    pub(crate) len: usize,
}

impl RecordBuffers {
    /// Returns buffers for `count` records of `len` bytes, filled with data of `seed`.
    ///
    /// # Errors
    /// There is not as much memory.
    pub(crate) fn new(count: u32, len: u64, seed: u64) -> Result<Self, EngineError> {
        let most = u32::try_from(len).unwrap_or(u32::MAX);
        // The memory of an ordinary program: huge pages would make a disk faster than programs see it.
        let layout = Layout::new(count, most, BUFFER_ALIGNMENT)?.in_huge_pages(false);
        let mut buffers = Self { area: Area::new(layout, Seed(seed))?, len: len as usize };
        for number in 0..count {
            fill(Seed(seed), buffers.bytes(number));
        }
        Ok(buffers)
    }

    /// Returns the buffer with this number.
    #[inline]
    pub(crate) fn bytes(&mut self, number: u32) -> &mut [u8] {
        let offset = self.area.layout().slot(number);
        self.area.own(offset, self.len)
    }
}
